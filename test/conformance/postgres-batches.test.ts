/** Writes about different cards share transactions on PostgreSQL, and behave as if they did not. */

import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { isWithin } from '../support/deadline.ts';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { retrieve } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { credit, debit } from '../../src/core/money/service/spend.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { issueCommand, money, newStore, testContext } from '../support/fixtures.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';
import { openPostgresEngine, postgresFactory, type PostgresSettings } from '../support/postgres.ts';

type Shop = AsyncDisposable & {
  readonly storage: Storage;
  readonly store: Store;
  readonly neighbour: Store;
  /** Cards of the store, with 25.00 each. */
  readonly cards: readonly Card[];
  readonly client: pg.Client;
  readonly url: string;
  /** Returns the number of scripts in each transaction committed since the last call. */
  takeSizes(): readonly number[];
  readonly issue: (store?: Store) => Promise<Card>;
  readonly spend: (card: Card, amount: string) => Promise<Card>;
  /** Spends as `spend` does, and throws after its last write. */
  readonly spendAndThrow: (card: Card, error: Error) => Promise<never>;
  readonly balanceOf: (card: Card) => Promise<bigint>;
};

const ctx = testContext();

function debitOf(store: Store, { id: cardId }: Card, amount: string) {
  const details = { actor: 'test', reference: null, note: null, orderId: null, versions: null };
  return debit(ctx, { store, cardId, ...details, amount: money(amount), partial: false });
}

async function openShop(cardCount: number, settings: PostgresSettings = {}): Promise<Shop> {
  const database = await createPostgresDatabase(await sharedPostgres());
  let sizes: number[] = [];
  const storage = openPostgresEngine(database.url, {
    observer: { committed: ({ size }) => void sizes.push(size), failed() {} },
    ...settings,
  });
  await storage.migrate(postgresFactory(null).migrations);
  const store = await storage.write(() => createStore(ctx, newStore()));
  const neighbour = await storage.write(() => createStore(ctx, newStore({ domain: 'neighbour.example' })));
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const issueIn = async (owner: Store): Promise<Card> => {
    const scope = { storeId: owner.id, cardId: null };
    return (await storage.write(() => issue(ctx, issueCommand(owner, { value: money('25.00') })), scope))
      .card;
  };
  const cards = await Promise.all(Array.from({ length: cardCount }, () => issueIn(store)));
  sizes = [];
  return {
    storage,
    store,
    neighbour,
    cards,
    client,
    url: database.url,
    takeSizes() {
      const taken = sizes;
      sizes = [];
      return taken;
    },
    issue: (owner = store) => issueIn(owner),
    async spend(card, amount) {
      const scope = { storeId: store.id, cardId: card.id };
      return (await storage.write(() => debitOf(store, card, amount), scope)).card;
    },
    spendAndThrow(card, error) {
      const throwing = function* (): Script<never> {
        yield* debitOf(store, card, '1.00');
        // The read sends the statements before it, including the event.
        yield* retrieve(store.id, card.id);
        throw error;
      };
      return storage.write(throwing, { storeId: store.id, cardId: card.id });
    },
    balanceOf: async (card) => (await storage.read(() => retrieve(store.id, card.id))).balance.minor,
    async [Symbol.asyncDispose]() {
      const { mismatches } = await storage.read(() => verify(10));
      await client.end();
      await storage[Symbol.asyncDispose]();
      await database.drop();
      assert.deepEqual(mismatches, []);
    },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function codeOf(error: unknown): string {
  return error instanceof Fault ? error.code : String(error);
}

/** Returns how each write ended: `done`, or the code of the fault. */
async function endingsOf(writes: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const settled = await Promise.allSettled(writes);
  return settled.map((ending) => (ending.status === 'fulfilled' ? 'done' : codeOf(ending.reason)));
}

test('writes that wait together share a transaction, and a lone write has its own', async () => {
  await using shop = await openShop(40);
  for (const card of shop.cards.slice(0, 5)) await shop.spend(card, '1.00');
  assert.deepEqual(shop.takeSizes(), [1, 1, 1, 1, 1]);
  const spent = await Promise.all(shop.cards.map((card) => shop.spend(card, '1.00')));
  const sizes = shop.takeSizes();
  assert.equal(sum(sizes), 40);
  assert.ok(sizes.length < 10, sizes.join());
  for (const [place, card] of spent.entries()) {
    assert.equal(card.id, shop.cards[place]?.id);
    assert.equal(card.balance.minor, place < 5 ? 2300n : 2400n);
  }
});

test('a write that can change anything does not share its transaction', async () => {
  await using shop = await openShop(0);
  const { storage, store } = shop;
  await Promise.all(Array.from({ length: 40 }, () => storage.write(() => issue(ctx, issueCommand(store)))));
  assert.deepEqual(
    shop.takeSizes(),
    Array.from({ length: 40 }, () => 1),
  );
});

test('a write rejected before it wrote fails alone, and the others are not run again', async () => {
  await using shop = await openShop(30);
  let starts = 0;
  const writes = shop.cards.map((card, place) => {
    const counted = function* () {
      starts += 1;
      return yield* debitOf(shop.store, card, place % 3 === 0 ? '26.00' : '1.00');
    };
    return shop.storage.write(counted, { storeId: shop.store.id, cardId: card.id });
  });
  const expected = shop.cards.map((_, place) => (place % 3 === 0 ? 'insufficient-balance' : 'done'));
  assert.deepEqual(await endingsOf(writes), expected);
  assert.equal(starts, 30);
  const sizes = shop.takeSizes();
  assert.equal(sum(sizes), 20);
  assert.ok(sizes.length < 10, sizes.join());
});

test('a write that throws after it wrote is rolled back alone, and its store shares nothing for a while', async () => {
  await using shop = await openShop(30);
  const error = new Error('thrown on purpose');
  const [bad, ...good] = shop.cards;
  assert.ok(bad);
  const endings = await endingsOf([
    ...good.slice(0, 10).map((card) => shop.spend(card, '1.00')),
    shop.spendAndThrow(bad, error),
    ...good.slice(10).map((card) => shop.spend(card, '1.00')),
  ]);
  assert.deepEqual(endings, [
    ...good.slice(0, 10).map(() => 'done'),
    String(error),
    ...good.slice(10).map(() => 'done'),
  ]);
  assert.equal(await shop.balanceOf(bad), 2500n);
  for (const card of good) assert.equal(await shop.balanceOf(card), 2400n);
  shop.takeSizes();

  const isShared = async (store: Store): Promise<boolean> => {
    await Promise.all(Array.from({ length: 20 }, () => shop.issue(store)));
    return shop.takeSizes().some((size) => size > 1);
  };
  assert.equal(await isShared(shop.store), false);
  assert.equal(await isShared(shop.neighbour), true);
  // 32 of its scripts have run alone by then.
  await isShared(shop.store);
  assert.equal(await isShared(shop.store), true);
});

test('a lone write that throws is run once, as if sharing were disabled', async () => {
  await using shop = await openShop(1);
  const [card] = shop.cards;
  assert.ok(card);
  let starts = 0;
  const error = new Error('thrown on purpose');
  const throwing = function* (): Script<never> {
    starts += 1;
    yield* debitOf(shop.store, card, '1.00');
    yield* retrieve(shop.store.id, card.id);
    throw error;
  };
  const scope = { storeId: shop.store.id, cardId: card.id };
  await assert.rejects(shop.storage.write(throwing, scope), error);
  assert.equal(starts, 1);
  assert.equal(await shop.balanceOf(card), 2500n);
});

test('writes about one card run in separate transactions', async () => {
  await using shop = await openShop(10);
  const [hot] = shop.cards;
  assert.ok(hot);
  const writes = Array.from({ length: 60 }, (_, place) => {
    const other = shop.cards[place % 10] ?? hot;
    return shop.spend(place % 2 === 0 ? hot : other, '1.00');
  });
  const endings = await endingsOf(writes);
  // 30 of them are about the one card, which has enough for 25, and 6 each are about the cards in odd
  // positions.
  assert.equal(endings.filter((ending) => ending === 'done').length, 25 + 30);
  assert.equal(await shop.balanceOf(hot), 0n);
  for (const [place, card] of shop.cards.slice(1).entries())
    assert.equal(await shop.balanceOf(card), place % 2 === 0 ? 1900n : 2500n);
});

test('a locked row delays the write that needs it, and the other writes only briefly', async () => {
  await using shop = await openShop(20);
  const [locked, ...others] = shop.cards;
  assert.ok(locked);
  await shop.client.query('begin');
  await shop.client.query('select 1 from gift_cards where id = $1 for update', [locked.id]);
  let isDone = false;
  const waiting = shop.spend(locked, '1.00').then(() => (isDone = true));
  const startedAt = performance.now();
  await Promise.all(others.map((card) => shop.spend(card, '1.00')));
  assert.ok(isWithin(performance.now() - startedAt, 2_000), `${performance.now() - startedAt} ms`);
  assert.equal(isDone, false);
  await shop.client.query('commit');
  await waiting;
  assert.equal(await shop.balanceOf(locked), 2400n);
});

test('a statement that the database rejects fails only its own script', async () => {
  await using shop = await openShop(20);
  const [bad, ...good] = shop.cards;
  assert.ok(bad);
  const tooMuch = function* () {
    // The sum does not fit the column, and the script does not check it.
    const details = { actor: 'test', reference: null, note: null, orderId: null, versions: null };
    const amount = { ...money('1.00'), minor: 2n ** 63n - 1n };
    yield* credit(ctx, { store: shop.store, cardId: bad.id, ...details, amount });
  };
  const endings = await endingsOf([
    ...good.map((card) => shop.spend(card, '1.00')),
    shop.storage.write(tooMuch, { storeId: shop.store.id, cardId: bad.id }),
  ]);
  assert.deepEqual(
    endings.slice(0, -1),
    good.map(() => 'done'),
  );
  assert.match(endings.at(-1) ?? '', /out of range/);
  for (const card of good) assert.equal(await shop.balanceOf(card), 2400n);
});

test('two engines that change the same cards concurrently, in any order, execute each write once', async () => {
  await using shop = await openShop(12);
  await using other = openPostgresEngine(shop.url);
  const engines = [shop.storage, other];
  const writes = Array.from({ length: 240 }, (_, place) => {
    const engine = engines[place % 2] ?? other;
    const card = shop.cards[(place * 7) % 12];
    assert.ok(card);
    return engine.write(() => debitOf(shop.store, card, '0.10'), { storeId: shop.store.id, cardId: card.id });
  });
  assert.deepEqual(new Set(await endingsOf(writes)), new Set(['done']));
  for (const card of shop.cards) assert.equal(await shop.balanceOf(card), 2300n);
});
