/** Stocks: each code is added, sold and voided at most once, also by several processes and after an interruption. */

import { chosenOf, exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { resultOf } from '../../src/core/domain/paused.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { stockCodesMs, type Stock, type StockTerms } from '../../src/core/stocks/domain/stock.ts';
import type { Secret } from '../../src/platform/secret.ts';
import { continueBatch, startBatch, batchKeyOf } from '../../src/features/batches/service/batch.ts';
import { showBatch } from '../../src/features/batches/service/batch-lists.ts';
import { parseBatch } from '../../src/features/batches/domain/batch.ts';
import { issue, type IssueCommand } from '../../src/core/cards/service/issue.ts';
import { lookUp } from '../../src/core/cards/service/lookup.ts';
import { rotateCode } from '../../src/core/emails/service/email.ts';
import { assertNotInStock } from '../../src/core/stocks/service/activation.ts';
import { recordTries } from '../../src/features/stock/service/tries.ts';
import { listLeftCodes, recordStockCodesRead } from '../../src/features/stock/service/codes.ts';
import {
  continueStock,
  listFailedCodes,
  listStoreStocks,
  showStock,
  startStock,
  stockKeyOf,
  stockPartCodes,
  voidCodesOf,
} from '../../src/features/stock/service/stock.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { findChosenCodes } from '../../src/core/stocks/storage/code.ts';
import { all, execute, sql } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { dying } from '../support/dying-storage.ts';
import { code, issueCommand, money, newStore } from '../support/fixtures.ts';
import { countRows, listEvents, openStore, type OpenStore } from '../support/open-store.ts';
import { eraseCodesOfStocks } from '../support/upkeep.ts';

const open: StockTerms = {
  fixedValue: null,
  minimumValue: money('10'),
  maximumValue: money('150'),
  validMonths: null,
};
const fixed: StockTerms = {
  fixedValue: money('25'),
  minimumValue: null,
  maximumValue: null,
  validMonths: 36,
};

async function start(
  { ctx, storage, store }: OpenStore,
  codes: number | readonly string[],
  terms: StockTerms = open,
): Promise<Stock> {
  const chosen = typeof codes === 'number' ? codes : codes.map(code);
  const named = { store, name: 'Counter', actor: 'test', apiClientId: null };
  return storage.write(() => startStock(ctx, { ...named, terms, codes: chosen }));
}

/** Adds a stock, and returns it with its codes. */
async function print(opened: OpenStore, codes: number | readonly string[], terms: StockTerms = open) {
  const started = await start(opened, codes, terms);
  await continueStock(opened, stockKeyOf(started));
  const stock = await show(opened, started);
  return { stock, codes: await leftIn(opened, stock) };
}

async function show({ storage }: OpenStore, stock: Stock): Promise<Stock> {
  return (await storage.read(() => showStock(stockKeyOf(stock)))).stock;
}

async function leftIn({ ctx, storage }: OpenStore, stock: Stock): Promise<readonly Secret[]> {
  const { codes, next } = await storage.read(() => listLeftCodes(ctx, stock, { from: 0, limit: 1_000 }));
  assert.equal(next, null);
  return codes.map(({ code: each }) => each);
}

/** printed, sold, left, voided */
async function countsOf({ storage }: OpenStore, stock: Stock): Promise<readonly number[]> {
  const { stock: now, counts } = await storage.read(() => showStock(stockKeyOf(stock)));
  return [now.printed, counts.sold, now.printed - counts.sold - counts.voided, counts.voided];
}

function at<T>(values: readonly T[], index: number): T {
  const value = values[index];
  assert.ok(value !== undefined);
  return value;
}

/** The command that activates a code. */
function activating(opened: OpenStore, chosen: Secret, given: Partial<IssueCommand> = {}): IssueCommand {
  return { ...issueCommand(opened.store, { value: money('25'), stock: 'optional', code: chosen }), ...given };
}

async function activate(opened: OpenStore, chosen: Secret, given: Partial<IssueCommand> = {}) {
  return opened.storage.write(() => issue(opened.ctx, activating(opened, chosen, given)));
}

async function rejected(outcome: Promise<unknown>): Promise<Fault> {
  const fault = await outcome.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(fault instanceof Fault, String(fault));
  return fault;
}

async function assertSound({ storage, ctx }: OpenStore): Promise<void> {
  assert.deepEqual((await storage.read(() => verify(10, { keys: ctx.keys }))).mismatches, []);
}

export function testStocks(factory: StorageFactory): void {
  test('a stock is neither a card, an entry nor a liability, and each of its codes is added once', async () => {
    await using opened = await openStore(factory);
    const count = 2 * stockPartCodes + 3;
    const { stock, codes } = await print(opened, count);
    assert.deepEqual([stock.state, stock.codes, stock.printed, stock.failed], ['complete', count, count, 0]);
    assert.equal(new Set(codes.map((each) => each.reveal())).size, count);
    assert.deepEqual(await countsOf(opened, stock), [count, 0, count, 0]);
    const rows = await opened.storage.read(countRows);
    assert.deepEqual([rows.cards, rows.codes, rows.transfers, rows.events], [0, count, 0, 1]);
    await continueStock(opened, stockKeyOf(stock));
    assert.deepEqual(await countsOf(opened, stock), [count, 0, count, 0]);
    await assertSound(opened);
  });

  test('an activation issues one card with the code, and the stock has one less', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const { stock, codes } = await print(opened, 3);
    const sold = at(codes, 1);
    const { card, activation } = await activate(opened, sold, { stock: 'required' });
    assert.deepEqual([card.balance, card.expiresOn, activation?.triedAt], [money('25'), null, null]);
    const found = await storage.read(() => lookUp(ctx, { store, readings: exactly(sold), usableOnly: true }));
    assert.equal(found.kind === 'found' && found.card.id, card.id);
    assert.equal(found.kind === 'found' && found.isGenerated, true);
    assert.deepEqual(await countsOf(opened, stock), [3, 1, 2, 0]);
    assert.deepEqual(
      (await leftIn(opened, stock)).map((each) => each.reveal()),
      [at(codes, 0), at(codes, 2)].map((each) => each.reveal()),
    );
    const { code: fault, extensions } = await rejected(activate(opened, sold));
    assert.deepEqual([fault, extensions], ['already-activated', { activated_at: '2026-03-15T12:00:00Z' }]);
    const rows = await storage.read(countRows);
    assert.deepEqual([rows.cards, rows.codes, rows.transfers], [1, 3, 1]);
    await assertSound(opened);
  });

  test('an activation follows the value and the validity of the stock', async () => {
    await using opened = await openStore(factory);
    const { codes } = await print(opened, 2, fixed);
    const [first, second] = [at(codes, 0), at(codes, 1)];
    const wrong = await rejected(activate(opened, first, { value: money('24.99') }));
    assert.deepEqual(
      [wrong.code, Object.keys(wrong.errors ?? {}), wrong.extensions, wrong.failedLookups],
      ['invalid-parameter', ['initial_value'], { fixed_value: '25.00' }, 1],
    );
    const details = { ...issueCommand(opened.store).details, expiresOn: '2031-01-01' };
    const own = await rejected(activate(opened, first, { details }));
    assert.deepEqual(Object.keys(own.errors ?? {}), ['expires_on']);
    assert.equal((await activate(opened, first)).card.expiresOn, '2029-03-15');
    const limited = await print(opened, 1);
    for (const value of ['9.99', '150.01']) {
      const error = await rejected(activate(opened, at(limited.codes, 0), { value: money(value) }));
      assert.deepEqual(error.extensions, { minimum_value: '10.00', maximum_value: '150.00' });
    }
    const card = await activate(opened, at(limited.codes, 0), { value: money('150'), details });
    assert.equal(card.card.expiresOn, '2031-01-01');
    assert.equal((await activate(opened, second)).card.expiresOn, '2029-03-15');
    await assertSound(opened);
  });

  test('a code in stock is used by no card, batch, stock or rotation', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const { stock, codes } = await print(opened, ['PRINTED-0001', 'PRINTED-0002', 'PRINTED-0003']);
    const [first, second] = [at(codes, 0), at(codes, 1)];
    const command = issueCommand(store, { code: first });
    assert.deepEqual((await rejected(storage.write(() => issue(ctx, command)))).errors, {
      code: ['is taken'],
    });
    const parsed = resultOf(
      parseBatch([{ initial_value: '5', code: 'PRINTED-0001' }, { initial_value: '6' }], {
        store,
        now: ctx.clock.now(),
        canSend: false,
      }),
    );
    assert.ok(parsed.ok);
    const named = { store, name: null, actor: 'test', apiClientId: null };
    const batch = await storage.write(() => startBatch(ctx, { ...named, ...parsed }));
    await continueBatch(opened, batchKeyOf(batch));
    const issued = await storage.read(() => showBatch(batchKeyOf(batch)));
    assert.deepEqual([issued.issued, issued.failed], [1, 1]);
    const again = await start(opened, ['PRINTED-0009', 'PRINTED-0002']);
    await continueStock(opened, stockKeyOf(again));
    const other = await show(opened, again);
    assert.deepEqual([other.printed, other.failed], [1, 1]);
    assert.deepEqual(await storage.read(() => listFailedCodes(stockKeyOf(again))), [
      { index: 1, message: 'is taken' },
    ]);
    // A replaced code of an activated card does not return to the stock either.
    const { card } = await activate(opened, second);
    await storage.write(() => rotateCode(ctx, { store, cardId: card.id, actor: 'test', versions: null }));
    const { code: fault } = await rejected(activate(opened, second));
    assert.equal(fault, 'already-activated');
    assert.deepEqual(await countsOf(opened, stock), [3, 1, 2, 0]);
    await assertSound(opened);
  });

  test('`required` rejects a code that is in no stock, and `optional` issues a card with it', async () => {
    await using opened = await openStore(factory);
    const free = code('FREE-CODE-0001');
    const error = await rejected(activate(opened, free, { stock: 'required' }));
    assert.deepEqual([error.errors, error.failedLookups], [{ code: ['is not in stock'] }, 0]);
    await activate(opened, free);
    const used = await rejected(activate(opened, free, { stock: 'required' }));
    assert.deepEqual([used.errors, used.failedLookups], [{ code: ['is not in stock'] }, 1]);
  });

  test('voided codes are never sold, and a code is either sold or voided', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const { stock, codes } = await print(opened, 5);
    const key = stockKeyOf(stock);
    await activate(opened, at(codes, 0));
    const chosen = [at(codes, 1), at(codes, 2)];
    const rejectedCodes = [at(codes, 1), at(codes, 0), code('UNKNOWN-CODE-1')];
    const error = await rejected(
      storage.write(() => voidCodesOf(ctx, { key, codes: rejectedCodes.map(chosenOf), actor: 'test' })),
    );
    assert.deepEqual(error.errors, {
      'codes[1]': ['was activated'],
      'codes[2]': ['is not in this stock'],
    });
    assert.deepEqual(await countsOf(opened, stock), [5, 1, 4, 0]);
    for (const voidedNow of [2, 0]) {
      const done = await storage.write(() =>
        voidCodesOf(ctx, { key, codes: chosen.map(chosenOf), actor: 'test' }),
      );
      assert.equal(done.voidedNow, voidedNow);
    }
    assert.deepEqual((await rejected(activate(opened, at(codes, 1)))).errors, { code: ['was voided'] });
    assert.deepEqual(
      await storage.read(() => lookUp(ctx, { store, readings: exactly(at(codes, 1)), usableOnly: false })),
      {
        kind: 'missed',
        use: {
          kind: 'stocked',
          isGenerated: true,
          lookup: await lookupOf(opened, at(codes, 1)),
          reading: { code: at(codes, 1), way: 'exact' },
        },
      },
    );
    const rest = await storage.write(() => voidCodesOf(ctx, { key, codes: null, actor: 'test' }));
    assert.equal(rest.voidedNow, 2);
    assert.deepEqual(await countsOf(opened, stock), [5, 1, 0, 4]);
    assert.deepEqual(await leftIn(opened, stock), []);
    const voided = (await storage.read(listEvents)).filter(({ type }) => type === 'stock.voided');
    assert.deepEqual(
      voided.map(({ data }) => [data['codes'], data['actor']]),
      [
        [2, 'test'],
        [2, 'test'],
      ],
    );
    await assertSound(opened);
  });

  test('codes that are added after all were voided are voided', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const count = stockPartCodes + 1;
    const started = await start(opened, count);
    const key = stockKeyOf(started);
    await assert.rejects(
      continueStock({ ctx, storage: dying(storage, { at: 2, when: 'before' }) }, key),
      /killed/,
    );
    await storage.write(() => voidCodesOf(ctx, { key, codes: null, actor: 'test' }));
    await continueStock(opened, key);
    assert.deepEqual(await countsOf(opened, started), [count, 0, 0, count]);
    await assertSound(opened);
  });

  for (const when of ['before', 'inside', 'after'] as const)
    test(`a process that is killed ${when} a transaction adds no code twice, and loses none`, async () => {
      await using opened = await openStore(factory);
      const { ctx, storage } = opened;
      const count = 3 * stockPartCodes;
      const started = await start(opened, count);
      const key = stockKeyOf(started);
      for (const place of [2, 1, 1])
        await continueStock({ ctx, storage: dying(storage, { at: place, when }) }, key).catch(
          (error: unknown) => assert.match(String(error), /killed/),
        );
      await continueStock(opened, key);
      const stock = await show(opened, started);
      assert.deepEqual([stock.state, stock.printed, stock.failed], ['complete', count, 0]);
      assert.equal((await leftIn(opened, stock)).length, count);
      await assertSound(opened);
    });

  test('several processes add each code once', async () => {
    await using opened = await openStore(factory);
    const count = 5 * stockPartCodes;
    const started = await start(opened, count);
    const key = stockKeyOf(started);
    while ((await show(opened, started)).state === 'running')
      await Promise.all(Array.from({ length: 3 }, () => continueStock(opened, key)));
    assert.deepEqual(await countsOf(opened, started), [count, 0, count, 0]);
    await assertSound(opened);
  });

  test('one code is activated once, however many activations and voids race', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const { stock, codes } = await print(opened, 6);
    const key = stockKeyOf(stock);
    for (const raced of codes) {
      const attempts = Array.from({ length: 6 }, (_, place) =>
        place === 3
          ? storage
              .write(() => voidCodesOf(ctx, { key, codes: [chosenOf(raced)], actor: 'test' }))
              .then(() => 'voided')
          : activate(opened, raced).then(() => 'sold'),
      );
      const outcomes = await Promise.all(attempts.map((attempt) => attempt.catch(() => 'rejected')));
      assert.equal(outcomes.filter((each) => each !== 'rejected').length, 1, outcomes.join(' '));
    }
    const [printed = 0, sold = 0, left, voided = 0] = await countsOf(opened, stock);
    assert.deepEqual([printed, left, sold + voided], [6, 0, 6]);
    const rows = await storage.read(countRows);
    assert.deepEqual([rows.cards, rows.transfers], [sold, sold]);
    await assertSound(opened);
  });

  test('a try is recorded for the next activation, without the code', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const { codes } = await print(opened, 2);
    const tried = at(codes, 0);
    const key = { storeId: store.id, lookup: await lookupOf(opened, tried) };
    await storage.write(() => recordTries(ctx, [key]));
    const event = (await storage.read(listEvents)).at(-1);
    assert.equal(event?.type, 'stock.code_tried');
    assert.ok(!JSON.stringify(event.data).includes(tried.reveal()));
    const fault = await rejected(storage.read(() => assertNotInStock(key)));
    assert.deepEqual(
      [fault.code, fault.extensions],
      [
        'not-activated',
        { minimum_value: '10.00', maximum_value: '150.00', tried_at: '2026-03-15T12:00:00Z' },
      ],
    );
    ctx.clock.advance(60_000);
    const { activation } = await activate(opened, tried);
    assert.equal(activation?.triedAt, ctx.clock.now() - 60_000);
    // After its activation, it is a card's.
    const before = await storage.read(listEvents);
    await storage.write(() => recordTries(ctx, [key, key]));
    assert.deepEqual(await storage.read(listEvents), before);
    await storage.read(() => assertNotInStock(key));
  });

  test('codes are read until they are erased, each time with an event', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const { stock } = await print(opened, stockPartCodes + 2);
    const key = stockKeyOf(stock);
    const pages: number[] = [];
    for (let from: number | null = 0; from !== null;) {
      const page: { from: number; limit: number } = { from, limit: 20 };
      const found: Awaited<ReturnType<typeof readPage>> = await readPage(opened, stock, page);
      pages.push(...found.codes.map(({ index }) => index));
      from = found.next;
    }
    assert.deepEqual(pages, [...Array(stockPartCodes + 2).keys()]);
    await storage.write(() => recordStockCodesRead(ctx, key, { actor: 'staff:7' }));
    const event = (await storage.read(listEvents)).at(-1);
    assert.deepEqual([event?.type, event?.data['actor']], ['stock.codes_read', 'staff:7']);
    ctx.clock.advance(stockCodesMs);
    assert.deepEqual(await leftIn(opened, stock), []);
    const { code: fault } = await rejected(
      storage.write(() => recordStockCodesRead(ctx, key, { actor: 'staff:7' })),
    );
    assert.equal(fault, 'not-found');
    assert.equal(await storage.write(() => eraseCodesOfStocks(ctx, 1)), false);
    ctx.clock.advance(1);
    assert.equal(await storage.write(() => eraseCodesOfStocks(ctx, 1)), true);
    const parts = await storage.read(() => all(sql`select part from stock_parts where codes is not null`));
    assert.deepEqual(parts, []);
    assert.equal((await show(opened, stock)).codesUntil, null);
    await assertSound(opened);
  });

  test('stocks of two stores are apart, and a list has them in pages', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    const own = await print(opened, ['SHARED-CODE-1']);
    const theirs = await print({ ...opened, store: other }, ['SHARED-CODE-1']);
    await activate(opened, at(own.codes, 0));
    assert.deepEqual(await countsOf(opened, theirs.stock), [1, 0, 1, 0]);
    const second = await print(opened, 1);
    const page = await storage.read(() => listStoreStocks(store.id, { limit: 1, before: null, after: null }));
    assert.deepEqual(
      [page.items.map(({ stock }) => stock.id), page.hasOlder, page.hasNewer],
      [[second.stock.id], true, false],
    );
    const older = await storage.read(() =>
      listStoreStocks(store.id, { limit: 5, before: second.stock.id, after: null }),
    );
    assert.deepEqual(
      older.items.map(({ stock, counts }) => [stock.id, counts]),
      [[own.stock.id, { sold: 1, voided: 0 }]],
    );
    const { code: fault } = await rejected(
      storage.read(() => listStoreStocks(store.id, { limit: 5, before: theirs.stock.id, after: null })),
    );
    assert.equal(fault, 'invalid-query');
  });

  test('the database keeps sold and voided codes', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const { stock, codes } = await print(opened, 2);
    await activate(opened, at(codes, 0));
    await storage.write(() => voidCodesOf(ctx, { key: stockKeyOf(stock), codes: null, actor: 'test' }));
    const wrongs = [
      [
        sql`update stock_codes set sold_at = null where sold_at is not null`,
        /a code never returns to its stock/,
      ],
      [sql`update stock_codes set voided_at = null where voided_at is not null`, /a code never returns/],
      [sql`delete from stock_codes`, /codes of a stock are never deleted/],
    ] as const;
    for (const [statement, message] of wrongs)
      await assert.rejects(
        storage.write(() => execute(statement)),
        message,
      );
  });

  test('verification reports codes that do not match their stock', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    const { codes } = await print(opened, 3);
    await activate(opened, at(codes, 0));
    await storage.write(() => execute(sql`update stock_codes set sold_at = 1 where place = 1`));
    await storage.write(() => execute(sql`update stocks set codes = 4, printed = 4`));
    const { mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(
      mismatches.map(({ problem }) => problem),
      [
        'stock_codes: a code was sold and has no card, or has one and was not sold',
        'stocks: another number of codes was added',
      ],
    );
  });

  test('only sold codes are money', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    const { codes } = await print(opened, 4);
    await activate(opened, at(codes, 0), { value: money('40') });
    await activate(opened, at(codes, 1), { value: money('60') });
    const [row] = await storage.read(() =>
      all(sql<{ balance: bigint }>`select cast(sum(balance) as bigint) as balance from gift_cards`),
    );
    assert.equal(row?.balance, 10_000n);
  });
}

async function readPage(
  { ctx, storage }: OpenStore,
  stock: Stock,
  page: { readonly from: number; readonly limit: number },
) {
  return storage.read(() => listLeftCodes(ctx, stock, page));
}

async function lookupOf({ ctx, storage, store }: OpenStore, chosen: Secret): Promise<bigint> {
  const stocked = (await storage.read(() => findChosenCodes(ctx, store.id, [chosen])))[0]?.stocked;
  assert.ok(stocked);
  return stocked.lookup;
}
