/**
 * The scheduler detects the planted bugs, and no violation in the real debit.
 *
 * Load cannot make the debit that reads and then writes fail on the embedded engine, which runs every script
 * to its end before the next one. The scheduler can.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readThenWriteDebit, unguardedDebit } from '../support/planted-debit.ts';
import { seeded } from '../support/seeded.ts';
import { planted, real, type Debit } from '../money/debits.ts';
import { openArena, withContest, type Contender, type Violation } from './contest.ts';

/** Counts the violations, by kind, of concurrent debits of a card that can afford only some of them. */
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
  withContest(arena, { preparation, contenders }, (run) => {
    for (let seed = 1; seed <= orders; seed += 1) {
      const { violation } = run(seeded(seed));
      if (violation) found.set(violation.kind, (found.get(violation.kind) ?? 0) + 1);
    }
  });
  return found;
}

test('the real debit is fair when interleaved', () => {
  assert.deepEqual(contendWith(real), new Map());
});

test('an interleaved debit that reads and then writes is detected, because the ledger disagrees', () => {
  assert.ok((contendWith(planted(readThenWriteDebit)).get('books') ?? 0) > 100);
});

test('an interleaved debit without the guard is detected, because callers get errors', () => {
  assert.ok((contendWith(planted(unguardedDebit)).get('error') ?? 0) > 100);
});
