/** The sales that are due at their providers: which is read when, and that a slow provider delays no other store. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { keyOfSale, type OnlineSale } from '../../src/features/online-sales/domain/sale.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { beginSale } from '../../src/features/online-sales/service/begin.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import type { OnlineSales } from '../../src/features/online-sales/start/online-sales.ts';
import { listProviders, recordProviderHealth } from '../../src/features/online-sales/storage/provider.ts';
import { findStoredSale, type StoredSale } from '../../src/features/online-sales/storage/sale.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import { isStoreClosed } from '../../src/core/stores/storage/store.ts';
import type { StorageFactory } from '../support/database.ts';
import { until } from '../support/delivering.ts';
import { email, newStore } from '../support/fixtures.ts';
import { lossyProvider, type HeldPayment, type LossyProvider } from '../support/lossy-provider.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { amountIn, openBuyPage, processOf } from '../support/sale-world.ts';

const secondMs = 1_000;
const dayMs = 86_400_000;

type Market = OpenStore & {
  readonly provider: LossyProvider;
  readonly run: <T>(task: (sales: OnlineSales) => Promise<T>) => Promise<T>;
  /** Adds a store that sells, and returns what begins sales of it. */
  readonly open: (store: Store) => Promise<() => Promise<OnlineSale>>;
  readonly addStore: (domain: string) => Promise<Store>;
  readonly read: (sale: Pick<OnlineSale, 'storeId' | 'id'>) => Promise<StoredSale>;
  readonly heldOf: (sale: Pick<OnlineSale, 'sessionId'>) => HeldPayment;
  readonly hint: (sale: OnlineSale) => Promise<unknown>;
  /** Lets the provider of a store fail once, so that the next run reads one payment at a time. */
  readonly readInTurn: (store: Store) => Promise<void>;
  /** The sessions of the payments that were read, in order. */
  readonly reads: string[];
};

async function openMarket(factory: StorageFactory): Promise<Market> {
  const opened = await openStore(factory);
  const { ctx, storage } = opened;
  const provider = lossyProvider(() => ctx.clock.now());
  const fate = { crashRate: 0, crashes: 0, random: () => 0.5, errors: [] };
  const process = processOf(opened, provider, fate);
  const { readPayment } = provider;
  const reads: string[] = [];
  Object.assign(provider, {
    readPayment: (...request: Parameters<LossyProvider['readPayment']>) => {
      reads.push(request[1]);
      return readPayment(...request);
    },
  });
  let serial = 0;
  const run: Market['run'] = async (task) => {
    const result = await process(async (sales) => ({ value: await task(sales) }));
    assert(result);
    assert.deepEqual(fate.errors, []);
    return result.value;
  };
  const open: Market['open'] = async (store) => {
    const buy = await openBuyPage({ ctx, storage, store }, { min: amountIn(store, 100), reviewAbove: null });
    return async () => {
      serial += 1;
      const { sale } = await storage.write(() =>
        beginSale(ctx, {
          buy,
          form: {
            amount: amountIn(store, 2_500),
            design: 'birthday',
            buyerName: 'Ada',
            buyer: email(`ada${serial}@example.com`),
            delivery: 'email',
            recipientName: 'Grace',
            recipient: email('grace@example.com'),
            senderName: 'Ada',
            message: null,
            sendOn: null,
          },
          key: Buffer.from(String(serial).padStart(16, '0')).toString('base64url'),
          network: `192.0.2.${serial % 250}`,
          language: 'en',
          isTrial: true,
        }),
      );
      return await run(async (sales) => await sales.openSession(keyOfSale(sale)));
    };
  };
  return {
    ...opened,
    provider,
    run,
    open,
    addStore: async (domain) => await storage.write(() => createStore(ctx, newStore({ domain }))),
    read: async (sale) => (await storage.read(() => findStoredSale(keyOfSale(sale)))) ?? assert.fail(),
    heldOf: ({ sessionId }) => provider.payments.get(sessionId ?? '') ?? assert.fail(),
    hint: async ({ storeId, sessionId }) =>
      await run(async (sales) => {
        const body = Buffer.from(sessionId ?? '');
        await sales.receiveHint({ storeId, kind: 'stripe', headers: {}, body, now: ctx.clock.now() });
      }),
    readInTurn: async ({ id: storeId }) => {
      const place = { storeId, kind: 'stripe', isTest: false } as const;
      const failed = { failure: 'no response', now: ctx.clock.now() };
      await storage.write(() => recordProviderHealth(place, failed));
    },
    reads,
  };
}

async function times<T>(count: number, act: () => Promise<T>): Promise<readonly T[]> {
  const results: T[] = [];
  for (let each = 0; each < count; each += 1) results.push(await act());
  return results;
}

/** Lets the requests of some sessions wait, and counts those in progress. */
function hang(provider: LossyProvider, sessions: ReadonlySet<string>) {
  const { readPayment } = provider;
  const hanging = { now: 0, most: 0 };
  const released = Promise.withResolvers<void>();
  const slow: LossyProvider['readPayment'] = async (...request) => {
    if (!sessions.has(request[1])) return await readPayment(...request);
    hanging.now += 1;
    hanging.most = Math.max(hanging.most, hanging.now);
    await released.promise;
    hanging.now -= 1;
    return { kind: 'unknown', detail: 'no response within 15 s', retryAfterMs: null };
  };
  Object.assign(provider, { readPayment: slow });
  return { hanging, release: () => released.resolve() };
}

export function testDueSales(factory: StorageFactory): void {
  test('one run reads every sale that is due, a few at the same time', async () => {
    await using market = await openMarket(factory);
    const { store, open, run, read, heldOf, hint, provider } = market;
    const sales = await times(50, await open(store));
    for (const sale of sales) {
      heldOf(sale).state = 'paid';
      await hint(sale);
    }
    const { readPayment } = provider;
    const inProgress = { now: 0, most: 0 };
    const counted: LossyProvider['readPayment'] = async (...request) => {
      inProgress.now += 1;
      inProgress.most = Math.max(inProgress.most, inProgress.now);
      // The first response does not come before the second request.
      await until(() => inProgress.most > 1);
      const outcome = await readPayment(...request);
      inProgress.now -= 1;
      return outcome;
    };
    Object.assign(provider, { readPayment: counted });
    assert.equal(await run(async (process) => await process.run()), 50);
    const states = await Promise.all(sales.map(async (sale) => (await read(sale)).state));
    assert.deepEqual(states, Array(50).fill('issued'));
    assert(inProgress.most <= 4, `${inProgress.most} at the same time`);
  });

  test('a finished sale waits after a notification, and several notifications cause one reading', async () => {
    await using market = await openMarket(factory);
    const { store, ctx, open, run, read, heldOf, hint, reads, readInTurn } = market;
    const begin = await open(store);
    const finished = await begin();
    heldOf(finished).state = 'paid';
    await run(async (process) => await process.refresh(keyOfSale(finished)));
    const later = await begin();
    reads.length = 0;
    await readInTurn(store);
    // A finished sale is due for longer than the open one.
    await hint(finished);
    ctx.clock.advance(40 * secondMs);
    await hint(finished);
    heldOf(later).state = 'paid';
    await hint(later);
    await run(async (process) => await process.run());
    assert.deepEqual(reads, [later.sessionId, finished.sessionId]);

    for (let each = 0; each < 5; each += 1) await hint(finished);
    assert.equal(await run(async (process) => await process.run()), 0);
    ctx.clock.advance(29 * secondMs);
    await hint(finished);
    assert.equal(await run(async (process) => await process.run()), 0);
    ctx.clock.advance(secondMs);
    assert.equal(await run(async (process) => await process.run()), 1);
    ctx.clock.advance(60 * secondMs);
    assert.equal(await run(async (process) => await process.run()), 0);
    assert.equal((await read(later)).state, 'issued');
  });

  test('another notification leaves a sale where it is among those that are due', async () => {
    await using market = await openMarket(factory);
    const { store, ctx, open, run, hint, reads, read, readInTurn } = market;
    const begin = await open(store);
    const [first, second] = [await begin(), await begin()];
    await readInTurn(store);
    await hint(first);
    ctx.clock.advance(1);
    await hint(second);
    const dueAt = (await read(first)).nextAt;
    ctx.clock.advance(1);
    await hint(first);
    assert.equal((await read(first)).nextAt, dueAt);
    await run(async (process) => await process.run());
    assert.deepEqual(reads.slice(0, 2), [first.sessionId, second.sessionId]);
  });

  test('a notification of a finished sale is not lost while its payment is being read', async () => {
    await using market = await openMarket(factory);
    const { store, ctx, open, run, read, heldOf, hint, provider } = market;
    const sale = await (await open(store))();
    const held = heldOf(sale);
    held.state = 'paid';
    await run(async (process) => await process.refresh(keyOfSale(sale)));
    await hint(sale);
    ctx.clock.advance(30 * secondMs);
    const { readPayment } = provider;
    let reading = 0;
    const refunding: LossyProvider['readPayment'] = async (...request) => {
      const outcome = await readPayment(...request);
      reading += 1;
      if (reading > 1) return outcome;
      // The payment is refunded after the provider has read it, and before the service has the response.
      provider.refundAtProvider(held, 2_500n);
      await hint(sale);
      return outcome;
    };
    Object.assign(provider, { readPayment: refunding });
    await run(async (process) => await process.run());
    assert.equal((await read(sale)).refunded.minor, 0n);
    ctx.clock.advance(30 * secondMs);
    await run(async (process) => await process.run());
    assert.deepEqual([reading, (await read(sale)).refunded.minor], [2, 2_500n]);
  });

  test('a provider that does not respond delays no sale of another store, also of one that is due later', async () => {
    await using market = await openMarket(factory);
    const { store, ctx, storage, open, run, read, heldOf, hint, provider, addStore } = market;
    const other = await addStore('other.example');
    const beginOther = await open(other);
    const slow = await times(12, await open(store));
    const quick = await times(6, beginOther);
    for (const sale of [...slow, ...quick]) {
      heldOf(sale).state = 'paid';
      await hint(sale);
    }
    const { hanging, release } = hang(provider, new Set(slow.map(({ sessionId }) => sessionId ?? '')));
    const isIssued = async (sale: OnlineSale) => (await read(sale)).state === 'issued';
    const areIssued = async (sales: readonly OnlineSale[]) =>
      (await Promise.all(sales.map(isIssued))).every(Boolean);
    const running = run(async (process) => await process.run());
    await until(() => areIssued(quick));
    const later = await beginOther();
    heldOf(later).state = 'paid';
    await hint(later);
    await until(() => areIssued([later]));
    assert(hanging.now >= 1 && hanging.most <= 4, `${hanging.most} requests wait`);
    release();
    await running;
    const [place] = await storage.read(() => listProviders(store.id));
    assert.equal(place?.failure, 'no response within 15 s');

    // Then one request at a time finds out whether it responds again.
    const again = hang(provider, new Set(slow.map(({ sessionId }) => sessionId ?? '')));
    ctx.clock.advance(3_600 * secondMs);
    const retried = run(async (process) => await process.run());
    await until(() => Promise.resolve(again.hanging.now > 0));
    const last = await beginOther();
    heldOf(last).state = 'paid';
    await hint(last);
    await until(() => areIssued([last]));
    assert.equal(again.hanging.most, 1);
    again.release();
    await retried;
  });

  test('a provider whose movements do not arrive delays no comparison of another store', async () => {
    await using market = await openMarket(factory);
    const { store, storage, open, run, provider, addStore } = market;
    await open(store);
    const other = await addStore('other.example');
    await open(other);
    // The first request is that of one of both stores.
    const { listMovements } = provider;
    const released = Promise.withResolvers<void>();
    let requests = 0;
    const slow: LossyProvider['listMovements'] = async (...request) => {
      requests += 1;
      if (requests === 1) await released.promise;
      return await listMovements(...request);
    };
    Object.assign(provider, { listMovements: slow });
    const compared = async () => {
      const places = [
        ...(await storage.read(() => listProviders(store.id))),
        ...(await storage.read(() => listProviders(other.id))),
      ];
      return places.filter(({ comparedUntil }) => comparedUntil !== null).length;
    };
    const comparing = run(async (process) => await process.compare());
    await until(async () => (await compared()) === 1);
    released.resolve();
    await comparing;
    assert.equal(await compared(), 2);
  });

  test('a store that closes during a run ends nothing but its own turn', async () => {
    await using market = await openMarket(factory);
    const { store, storage, open, run, read, heldOf, hint, provider, addStore, ctx } = market;
    const closing = await (await open(store))();
    const other = await (await open(await addStore('other.example')))();
    for (const sale of [closing, other]) {
      heldOf(sale).state = 'paid';
      await hint(sale);
    }
    const { readPayment } = provider;
    const closed: LossyProvider['readPayment'] = async (...request) => {
      if (request[1] === closing.sessionId)
        await storage.write(() => execute(sql`update stores set status = 'closed' where id = ${store.id}`));
      return await readPayment(...request);
    };
    Object.assign(provider, { readPayment: closed });
    await run(async (process) => await process.run());
    assert.deepEqual([(await read(other)).state, (await read(closing)).state], ['issued', 'open']);
    ctx.clock.advance(dayMs);
    await assert.rejects(
      run(async (process) => await process.refresh(keyOfSale(closing))),
      isStoreClosed,
    );
  });
}
