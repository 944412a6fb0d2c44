/** Updates of cards: an update is atomic, and the ledger records each movement of a balance. */

import { exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import test from 'node:test';
import type { CardChanges } from '../../src/core/cards/domain/card.ts';
import { Fault, FieldErrors } from '../../src/core/domain/fault.ts';
import { retrieve, update, type UpdateCommand } from '../../src/core/cards/service/card.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { replaceCard } from '../../src/core/cards/storage/card.ts';
import { listTransfers } from '../../src/core/money/storage/transfer.ts';
import { longTest } from '../support/long-test.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, email, money, updateCommand } from '../support/fixtures.ts';
import { numberedVersions } from '../support/numbered-versions.ts';
import { countRows, listEvents, openStore, type OpenStore } from '../support/open-store.ts';

type Given = Partial<Omit<UpdateCommand, 'store' | 'cardId' | 'changes'>>;

function change({ storage, ctx, store }: OpenStore, cardId: number, changes: CardChanges, given: Given = {}) {
  return storage.write(() => update(ctx, updateCommand(store, cardId, changes, given)));
}

/** The transfers of the store's cards as `kind debit→credit amount =balance after`. */
async function ledger({ storage, store }: OpenStore): Promise<readonly string[]> {
  const transfers = await storage.read(() =>
    listTransfers(store.id, { after: 0, upTo: Number.MAX_SAFE_INTEGER }),
  );
  return transfers.map(
    ({ transfer: { kind, debit, credit, amount, balanceAfter } }) =>
      `${kind} ${debit}→${credit} ${amount.minor} =${balanceAfter.minor}`,
  );
}

/** The number of random series. `test/money/model.test.ts` has many more, of all operations. */
const seriesRuns = Number(process.env['SERIES_RUNS'] ?? 15);

export function testUpdates(factory: StorageFactory): void {
  test('an update that is started again repeats its rejection, and reports it once', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue();
    const errors = new FieldErrors();
    errors.add('note', 'is too long');
    const command = updateCommand(
      store,
      card.id,
      { disable: true },
      { errors, echoedCode: exactly(code('another0code')) },
    );
    const expected = { errors: { note: ['is too long'], code: ['cannot be changed'] } };
    for (let start = 0; start < 3; start += 1)
      await assert.rejects(
        storage.write(() => update(ctx, command)),
        expected,
      );
  });

  test('an update changes only the fields that it names, and increments the version by one', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const issued = await opened.issue({ customer: email('ann@example.com'), note: 'a', message: 'b' });
    const first = await change(opened, issued.card.id, { note: 'c' });
    assert.deepEqual(first, { ...issued.card, note: 'c', version: 2 });
    ctx.clock.advance(5_000);
    const second = await change(opened, issued.card.id, {
      note: null,
      expiresOn: '2027-01-01',
      balance: money('7.25'),
      disable: true,
    });
    assert.deepEqual(second, {
      ...issued.card,
      version: 3,
      note: null,
      expiresOn: '2027-01-01',
      balance: money('7.25'),
      disabledAt: ctx.clock.now(),
    });
    assert.deepEqual(await storage.read(() => retrieve(store.id, issued.card.id)), second);
    const events = (await storage.read(listEvents)).slice(2);
    assert.deepEqual(
      events.map(({ type, version, data }) => [type, version, data['changed']]),
      [
        ['gift_card.updated', 2, ['note']],
        ['gift_card.updated', 3, ['balance', 'expires_on', 'note']],
        ['gift_card.disabled', 3, ['disabled_at']],
      ],
    );
  });

  test('an update without a change leaves the version, the ledger and the outbox unchanged', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    const { card } = await opened.issue({ note: 'a', expiresOn: '2027-01-01' });
    const before = await storage.read(countRows);
    const same = { balance: money('15'), note: 'a', expiresOn: '2027-01-01', disable: false };
    for (const changes of [{}, same]) assert.deepEqual(await change(opened, card.id, changes), card);
    assert.deepEqual(await storage.read(countRows), before);
  });

  test('every movement of a balance is one transfer between the card and the adjustments', async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue();
    for (const balance of ['10', '10.01', '0', '250'])
      await change(opened, card.id, { balance: money(balance) });
    await change(opened, card.id, { note: 'no movement' });
    assert.deepEqual(await ledger(opened), [
      'issue sales→card 1500 =1500',
      'adjustment card→adjustments 500 =1000',
      'adjustment adjustments→card 1 =1001',
      'adjustment card→adjustments 1001 =0',
      'adjustment adjustments→card 25000 =25000',
    ]);
    const { stores, mismatches } = await opened.storage.read(() => verify(10));
    assert.deepEqual(mismatches, []);
    assert.deepEqual(
      stores.map(({ outstanding, accounts }) => [outstanding, accounts]),
      [[25_000n, { sales: -1_500n, adjustments: -23_500n }]],
    );
  });

  test('disabling is final: its first time stays, and the balance and date can no longer change', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ expiresOn: '2027-01-01' });
    const disabled = await change(opened, card.id, { disable: true });
    ctx.clock.advance(60_000);
    assert.deepEqual(await change(opened, card.id, { disable: true }), disabled);
    const rejected: [CardChanges, readonly string[]][] = [
      [{ disable: false }, ['disable']],
      [{ balance: money('1') }, ['balance']],
      [{ expiresOn: null }, ['expires_on']],
      [{ disable: false, balance: money('1'), expiresOn: null }, ['disable', 'balance', 'expires_on']],
      [{ balance: money('1'), note: 'not even this' }, ['balance']],
    ];
    for (const [changes, fields] of rejected) {
      await assert.rejects(change(opened, card.id, changes), (error) => {
        assert.ok(error instanceof Fault && error.code === 'invalid-parameter');
        assert.deepEqual(Object.keys(error.errors ?? {}), fields);
        return true;
      });
    }
    assert.deepEqual(await storage.read(() => retrieve(store.id, card.id)), disabled);
    const same = { balance: money('15'), expiresOn: '2027-01-01', note: 'allowed' };
    assert.deepEqual(await change(opened, card.id, same), { ...disabled, note: 'allowed', version: 3 });
  });

  test('only the given version is updated, and a rejected update changes nothing', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    const { card } = await opened.issue();
    const before = await storage.read(countRows);
    for (const versions of [[], [2], [0, 7]]) {
      await assert.rejects(
        change(opened, card.id, { balance: money('1') }, { versions: numberedVersions(versions) }),
        {
          code: 'precondition-failed',
        },
      );
    }
    await assert.rejects(change(opened, card.id + 1, { note: 'x' }), { code: 'not-found' });
    const errors = new FieldErrors();
    errors.add('email', 'is wrong');
    await assert.rejects(change(opened, card.id, { note: 'x' }, { errors }), { code: 'invalid-parameter' });
    assert.deepEqual(await storage.read(countRows), before);
    assert.equal(
      (await change(opened, card.id, { note: 'x' }, { versions: numberedVersions([5, 1]) })).version,
      2,
    );
  });

  test("read-only fields can be sent with their current values, including the card's own code", async () => {
    await using opened = await openStore(factory);
    const { card } = await opened.issue({ code: code('aaaaaaaa0001') });
    const other = await opened.issue({ code: code('bbbbbbbb0001') });
    const echoed = new Map([['initial_value', '15.00']] as const);
    const echoedCode = exactly(code('AAAA-AAAA-0001'));
    await change(opened, card.id, { note: 'x' }, { echoed, echoedCode });
    const wrong: Given[] = [
      { echoed: new Map([['initial_value', '16.00']] as const) },
      { echoedCode: exactly(code('bbbbbbbb0001')) },
      { echoedCode: exactly(code('cccccccc0001')) },
    ];
    for (const given of wrong)
      await assert.rejects(change(opened, card.id, { note: 'y' }, given), { code: 'invalid-parameter' });
    await change(opened, other.card.id, { note: 'x' }, { echoedCode: exactly(code('bbbbbbbb0001')) });
  });

  test('an outdated value of a card does not replace the current one', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const { card } = await opened.issue();
    const newer = await change(opened, card.id, { balance: money('1') });
    const stale = { ...card, balance: money('99'), version: card.version + 1 };
    await assert.rejects(
      storage.write(() => replaceCard(card, stale)),
      { code: 'overloaded' },
    );
    assert.deepEqual(await storage.read(() => retrieve(store.id, card.id)), newer);
  });

  test('many concurrent updates of one card run one after another', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store, database } = opened;
    const other = database.open();
    const { card } = await opened.issue();
    const balances = Array.from({ length: 60 }, (_, index) => money(String(index + 100)));
    await Promise.all(
      balances.map((balance, index) =>
        (index % 2 === 0 ? storage : other).write(() =>
          update(ctx, updateCommand(store, card.id, { balance })),
        ),
      ),
    );
    const { version } = await storage.read(() => retrieve(store.id, card.id));
    assert.equal(version, 61);
    assert.equal((await ledger(opened)).length, 61);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  longTest(factory, 'after any series of changes the ledger matches the series', async (t) => {
    const balance = fc.integer({ min: 0, max: 1_000 });
    const step = fc.record(
      {
        card: fc.nat({ max: 3 }),
        balance,
        disable: fc.boolean(),
        note: fc.option(fc.string({ unit: 'binary' })),
      },
      { requiredKeys: ['card'] },
    );
    const seed = Date.now() % 2 ** 31;
    t.diagnostic(`seed ${seed}`);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        await using opened = await openStore(factory);
        const { storage, store } = opened;
        const model = await Promise.all(
          Array.from({ length: 4 }, async () => ({ card: (await opened.issue()).card, movements: 0 })),
        );
        for (const { card: index, balance: minor, disable, note } of steps) {
          const entry = model[index];
          assert.ok(entry);
          const changes: CardChanges = {
            ...(minor !== undefined && { balance: { ...entry.card.balance, minor: BigInt(minor) } }),
            ...(disable !== undefined && { disable }),
            ...(note !== undefined && { note: note?.replaceAll('\0', '') ?? null }),
          };
          const moves = changes.balance !== undefined && changes.balance.minor !== entry.card.balance.minor;
          const isRejected = entry.card.disabledAt !== null && (moves || disable === false);
          const outcome = change(opened, entry.card.id, changes);
          if (isRejected) await assert.rejects(outcome, { code: 'invalid-parameter' });
          else {
            const changed = await outcome;
            assert.equal(changed.balance.minor, changes.balance?.minor ?? entry.card.balance.minor);
            entry.card = changed;
            if (moves) entry.movements += 1;
          }
        }
        for (const { card } of model)
          assert.deepEqual(await storage.read(() => retrieve(store.id, card.id)), card);
        const { mismatches, stores } = await storage.read(() => verify(10));
        assert.deepEqual(mismatches, []);
        assert.equal(
          stores[0]?.outstanding,
          model.reduce((sum, { card }) => sum + card.balance.minor, 0n),
        );
        const movements = model.reduce((sum, entry) => sum + entry.movements, 0);
        assert.equal(stores[0]?.transfers, 4 + movements);
      }),
      { seed, numRuns: seriesRuns },
    );
  });
}
