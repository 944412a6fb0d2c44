/**
 * The checkers are checked: each of them finds the bug that was planted for it, and finds nothing in the
 * real thing.
 *
 * The debit that reads and then writes is found by interleaving alone: the embedded engine runs every
 * script to its end before the next one, so that no load makes it go wrong there.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readThenWriteDebit, unguardedDebit } from '../harness/planted-debit.ts';
import { seeded } from '../harness/seeded.ts';
import type { Script } from '../../src/storage/sql.ts';
import { contend, openArena, type Contender, type Violation } from './contest.ts';
import { crash } from './crash.ts';
import { raceDebits } from './race-debits.ts';
import { perform, type Desk, type Done } from './service-under-test.ts';

type Debit = (desk: Desk, amount: bigint) => Script<Done>;

const real: Debit = (desk, amount) =>
  perform(desk, { kind: 'debit', amount, partial: false, card: 0, isCurrent: null });

const planted =
  (debit: typeof readThenWriteDebit): Debit =>
  ({ ctx, store, places: { cards } }, amount) =>
    debit(ctx, {
      storeId: store.id,
      cardId: cards[0] ?? 0,
      amount: { minor: amount, currency: store.currency },
    });

/** What goes wrong when debits of a card that can afford only some of them meet, by kind, in so many orders. */
function contendWith(debit: Debit, orders = 300): ReadonlyMap<Violation['kind'], number> {
  using arena = openArena();
  const found = new Map<Violation['kind'], number>();
  const amounts = [1_000n, 2_000n, 1_000n, 500n];
  const contenders = amounts.map(
    (amount): Contender =>
      (desk) =>
        debit(desk, amount),
  );
  const preparation = [{ kind: 'issue', amount: 3_000n, expiresOn: null }] as const;
  for (let seed = 1; seed <= orders; seed += 1) {
    const { violation } = contend(arena, { preparation, contenders }, seeded(seed));
    if (violation) found.set(violation.kind, (found.get(violation.kind) ?? 0) + 1);
  }
  return found;
}

test('interleaved, the real debit is fair', () => {
  assert.deepEqual(contendWith(real), new Map());
});

test('interleaved, a debit that reads and then writes is found out: the ledger disagrees', () => {
  assert.ok((contendWith(planted(readThenWriteDebit)).get('books') ?? 0) > 100);
});

test('interleaved, a debit without the guard is found out: callers meet errors', () => {
  assert.ok((contendWith(planted(unguardedDebit)).get('error') ?? 0) > 100);
});

test('racing, the real debit is done as often as the card can afford it', async () => {
  assert.deepEqual(await raceDebits(real), []);
});

test('racing, a debit without the guard is found out', async () => {
  const complaints = await raceDebits(planted(unguardedDebit));
  assert.ok(
    complaints.some((complaint) => /CHECK constraint failed/.test(complaint)),
    complaints.join('\n'),
  );
});

test('killed, the real engine loses nothing', async () => {
  const { complaints, acknowledged } = await crash({ rounds: 1, random: seeded(1) });
  assert.deepEqual(complaints, []);
  assert.ok(acknowledged > 0);
});

test('killed, an engine that answers before it commits is found out: what was acknowledged is lost', async (t) => {
  const imports = [import.meta.resolve('../harness/planted-preload.ts')];
  const { complaints, acknowledged } = await crash({
    rounds: 4,
    random: seeded(1),
    killAfter: { min: 400, max: 900 },
    imports,
  });
  t.diagnostic(`${acknowledged} requests acknowledged; ${complaints.length} complaints`);
  assert.ok(acknowledged > 0);
  assert.ok(
    complaints.some((complaint) => /^lost: |were acknowledged/.test(complaint)),
    'the checker is blind',
  );
});
