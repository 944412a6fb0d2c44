/** Cards in wallets: sealed credentials, tokens of passes, devices, and the queue of updates. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import {
  walletQueue,
  type UpdateResult,
  type UpdateSender,
} from '../../src/features/wallets/delivery/queue.ts';
import { startWorker, workerLimits, type Worker } from '../../src/delivery/worker.ts';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { roles } from '../../src/core/staff/domain/staff.ts';
import { devicesMax } from '../../src/features/wallets/domain/wallet.ts';
import { Secret } from '../../src/platform/secret.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { endWallet, setUpWallet } from '../../src/features/wallets/service/staff-wallets.ts';
import { confirmRestored, markRestored } from '../../src/features/backups/service/restored.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import {
  findPass,
  listChanged,
  passToken,
  registerDevice,
  unregisterDevice,
} from '../../src/features/wallets/service/apple.ts';
import { findGoogleCard, findPlacement, placeObject } from '../../src/features/wallets/storage/google.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import { findWallet, openCredential } from '../../src/features/wallets/storage/wallet.ts';
import { personOf } from '../support/acting.ts';
import type { StorageFactory } from '../support/database.ts';
import { until } from '../support/delivering.ts';
import { money, newStore } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const wallet = {
  kind: 'apple',
  name: 'pass.example.flowers',
  holder: 'TEAM012345',
  expiresAt: null,
  credential: new Secret('hush-hush-hush'),
} as const;

const silent = pino({ level: 'silent' });
const sent: UpdateResult = { kind: 'sent', gone: [] };
const failed: UpdateResult = { kind: 'failed', detail: 'responded with 503', gone: [], retryAfterMs: null };

async function setUp(opened: OpenStore, change: Partial<typeof wallet> = {}): Promise<void> {
  const owner = await personOf(opened, 'owner');
  await opened.storage.write(() => setUpWallet(opened.ctx, owner, { ...wallet, ...change }));
}

function updates({ ctx, storage }: OpenStore, send: UpdateSender): Worker {
  const queue = walletQueue({ ctx, storage, send, failed: () => undefined });
  return startWorker(queue, silent, { ...workerLimits, pollMs: 20, restMs: 1 });
}

async function spend({ ctx, storage, store }: OpenStore, { id: cardId }: Card): Promise<void> {
  const details = { actor: 'test', reference: null, note: null, orderId: null, versions: null };
  await storage.write(() => debit(ctx, { ...details, store, cardId, amount: money('1'), partial: false }));
}

/** Registers a device for a new card. */
async function cardOnPhone(opened: OpenStore, device = 'phone') {
  const { ctx, storage, store } = opened;
  const { card, code } = await opened.issue();
  const pass = {
    storeId: store.id,
    cardId: card.id,
    token: passToken(ctx, { storeId: store.id, cardId: card.id }, code),
  };
  const phone = { device, pushToken: 'f00d' };
  assert.equal(await storage.write(() => registerDevice(ctx, pass, phone)), 'registered');
  return { card, code, pass };
}

async function rows({ storage, store }: OpenStore): Promise<readonly (number | null)[]> {
  const found = await storage.read(() =>
    all(
      sql<{
        next_at: bigint | null;
      }>`select next_at from wallet_cards where store_id = ${store.id} order by card_id`,
    ),
  );
  return found.map(({ next_at: at }) => (at === null ? null : Number(at)));
}

export function testWallets(factory: StorageFactory): void {
  test('only owners set a wallet up, and its credential opens only for that wallet', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    for (const role of roles.filter((each) => each !== 'owner')) {
      const person = await personOf(opened, role);
      const forbidden = { code: 'insufficient-scope' };
      await assert.rejects(
        storage.write(() => setUpWallet(ctx, person, wallet)),
        forbidden,
      );
      await assert.rejects(
        storage.write(() => endWallet(ctx, person, 'apple')),
        forbidden,
      );
    }
    await setUp(opened);
    const stored = await storage.read(() => findWallet(store.id, 'apple'));
    assert.ok(stored);
    assert.ok(!Buffer.from(stored.sealed).includes(wallet.credential.reveal()));
    assert.equal(openCredential(ctx, stored), wallet.credential.reveal());
    for (const changes of [{ storeId: store.id + 1 }, { name: 'pass.other' }, { holder: 'OTHER' }])
      assert.throws(() => openCredential(ctx, { ...stored, ...changes }));
  });

  test('a token belongs to one card of one store, and a card keeps the newest devices', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    await setUp(opened);
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    const { code, pass } = await cardOnPhone(opened);
    const second = await cardOnPhone(opened);
    const found = await storage.read(() => findPass(ctx, pass));
    assert.equal(found?.code?.reveal(), code.reveal());
    const wrong = [
      { ...pass, cardId: second.pass.cardId },
      { ...pass, storeId: other.id },
      { ...pass, token: new Secret('A'.repeat(80)) },
      { ...pass, token: new Secret('not a token!') },
    ];
    const phone = { device: 'phone', pushToken: 'f00d' };
    for (const each of wrong) {
      assert.equal(await storage.read(() => findPass(ctx, each)), undefined);
      assert.equal(await storage.write(() => registerDevice(ctx, each, phone)), 'unauthorized');
      assert.equal(await storage.write(() => unregisterDevice(ctx, each, 'phone')), false);
    }
    assert.equal(
      await storage.write(() => registerDevice(ctx, pass, { device: 'a/b', pushToken: 'f' })),
      'invalid',
    );
    for (let place = 0; place < devicesMax; place += 1) {
      ctx.clock.advance(1);
      await storage.write(() => registerDevice(ctx, pass, { device: `device-${place}`, pushToken: 'f00d' }));
    }
    const changedOn = async (device: string): Promise<readonly number[]> =>
      (await storage.read(() => listChanged(store.id, { device, since: 0 }))).map(({ cardId }) => cardId);
    assert.deepEqual(await changedOn('phone'), [second.pass.cardId]);
    assert.deepEqual(await changedOn('device-0'), [pass.cardId]);
    assert.equal(await storage.write(() => unregisterDevice(ctx, second.pass, 'phone')), true);
    assert.equal((await rows(opened)).length, 1);
  });

  test('all changes of a card that wait are one update, and those during an update are another', async () => {
    await using opened = await openStore(factory);
    await setUp(opened);
    const { card } = await cardOnPhone(opened);
    const quiet = await opened.issue();
    for (let place = 0; place < 5; place += 1) await spend(opened, card);
    await spend(opened, quiet.card);
    const arrived = Promise.withResolvers<void>();
    const hold = Promise.withResolvers<void>();
    const cards: number[] = [];
    // Two processes.
    const send: UpdateSender = async (_wallet, { cardId }) => {
      cards.push(cardId);
      arrived.resolve();
      await hold.promise;
      return sent;
    };
    const workers = [updates(opened, send), updates(opened, send)];
    await arrived.promise;
    for (let place = 0; place < 3; place += 1) await spend(opened, card);
    hold.resolve();
    await until(async () => cards.length === 2 && (await rows(opened)).every((at) => at === null));
    for (const worker of workers) await worker.stop();
    assert.deepEqual(cards, [card.id, card.id]);
  });

  test('two processes that share the queue send each update once', async () => {
    await using opened = await openStore(factory);
    await setUp(opened);
    const cards: Card[] = [];
    for (let place = 0; place < 20; place += 1)
      cards.push((await cardOnPhone(opened, `phone-${place}`)).card);
    const counts = new Map<number, number>();
    const send: UpdateSender = async (_wallet, { cardId }) => {
      counts.set(cardId, (counts.get(cardId) ?? 0) + 1);
      return sent;
    };
    const workers = [updates(opened, send), updates(opened, send)];
    await until(async () => (await rows(opened)).every((at) => at === null));
    for (const worker of workers) await worker.stop();
    assert.deepEqual([counts.size, ...new Set(counts.values())], [cards.length, 1]);
  });

  test('another process sends an update whose claim has expired, and a late result changes nothing', async () => {
    await using opened = await openStore(factory);
    const { ctx } = opened;
    await setUp(opened);
    const { card } = await cardOnPhone(opened);
    const arrived = Promise.withResolvers<void>();
    const hold = Promise.withResolvers<UpdateResult>();
    let tried = 0;
    const send: UpdateSender = async () => {
      tried += 1;
      if (tried > 1) return sent;
      arrived.resolve();
      return await hold.promise;
    };
    const slow = updates(opened, send);
    await arrived.promise;
    const other = updates(opened, send);
    await other.drain();
    assert.equal(tried, 1, 'the claim is valid');
    ctx.clock.advance(61_000);
    await until(async () => tried === 2 && (await rows(opened))[0] === null);
    hold.resolve(failed);
    await slow.stop();
    assert.deepEqual(await rows(opened), [null]);
    await spend(opened, card);
    await until(() => tried === 3);
    await other.stop();
  });

  test('a failed update is tried again for three days, and a later change is sent after that', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    await setUp(opened);
    const { card } = await cardOnPhone(opened);
    let result = failed;
    let tried = 0;
    const worker = updates(opened, async () => {
      tried += 1;
      return result;
    });
    const health = async () => (await storage.read(() => findWallet(store.id, 'apple')))?.failure;
    while ((await rows(opened))[0] !== null) {
      ctx.clock.advance(4 * 3_600_000);
      await worker.drain();
    }
    assert.ok(tried > 9 && tried < 40, String(tried));
    assert.equal(await health(), 'responded with 503');
    result = sent;
    await spend(opened, card);
    await until(async () => (await health()) === null);
    await worker.stop();
  });

  test('a restored copy sends nothing until an owner has confirmed it', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    await setUp(opened);
    await cardOnPhone(opened);
    await storage.write(() => markRestored(ctx, ctx.clock.now()));
    let tried = 0;
    const worker = updates(opened, async () => {
      tried += 1;
      return sent;
    });
    await worker.drain();
    assert.equal(tried, 0);
    const owner = await personOf(opened, 'owner');
    await storage.write(() => confirmRestored(ctx, owner, { isSent: true }));
    await until(() => tried === 1);
    await worker.stop();
  });

  test('the kinds of wallets of a card do not affect each other', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const google = { ...wallet, kind: 'google', name: '3388', holder: 'wallet@example' } as const;
    const owner = await personOf(opened, 'owner');
    await setUp(opened);
    await storage.write(() => setUpWallet(ctx, owner, google));
    const { card, code, pass } = await cardOnPhone(opened);
    const key = { storeId: store.id, cardId: card.id };
    const placing = { issuerId: '3388', code };
    const placement = await storage.read(() => findPlacement(ctx, key, placing));
    assert.ok(placement);
    const { object } = placement;
    assert.deepEqual([placement.isPlaced, placement.earlier], [false, null]);
    assert.equal(await storage.write(() => placeObject(ctx, key, { issuerId: '99', object, code })), false);
    assert.equal(await storage.write(() => placeObject(ctx, key, { ...placing, object })), true);
    assert.equal((await storage.read(() => findPlacement(ctx, key, placing)))?.isPlaced, true);
    const found = await storage.read(() => findGoogleCard(ctx, key));
    assert.deepEqual([found?.object, found?.code?.reveal()], [object, code.reveal()]);
    // Both kinds have the same result, and only one has lost the card.
    const kinds: string[] = [];
    const worker = updates(opened, async ({ kind }) => {
      kinds.push(kind);
      return kind === 'google' && kinds.length > 2 ? { kind: 'removed' } : sent;
    });
    await until(async () => kinds.length === 2 && (await rows(opened)).every((at) => at === null));
    await spend(opened, card);
    await until(async () => (await rows(opened)).length === 1);
    assert.deepEqual(kinds.toSorted(), ['apple', 'apple', 'google', 'google']);
    await worker.stop();
    await storage.write(() => placeObject(ctx, key, { ...placing, object }));
    assert.equal(await storage.write(() => unregisterDevice(ctx, pass, 'phone')), true);
    assert.equal((await rows(opened)).length, 1, 'without a device, the card is still at Google');
    await storage.write(() => endWallet(ctx, owner, 'apple'));
    assert.equal((await rows(opened)).length, 1);
    await storage.write(() => endWallet(ctx, owner, 'google'));
    assert.equal((await rows(opened)).length, 0);
  });

  test('a card that changes while Google says that it is gone is tried again', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const owner = await personOf(opened, 'owner');
    const google = { ...wallet, kind: 'google', name: '3388', holder: 'wallet@example' } as const;
    await storage.write(() => setUpWallet(ctx, owner, google));
    const { card, code } = await opened.issue();
    const key = { storeId: store.id, cardId: card.id };
    await storage.write(() => placeObject(ctx, key, { issuerId: '3388', object: '3388.a', code }));
    let tried = 0;
    const worker = updates(opened, async () => {
      tried += 1;
      // The card is added again at the same time.
      if (tried === 1)
        await storage.write(() => placeObject(ctx, key, { issuerId: '3388', object: '3388.a', code }));
      return tried === 1 ? { kind: 'removed' } : sent;
    });
    await until(async () => tried === 2 && (await rows(opened))[0] === null);
    await worker.stop();
  });

  test('another pass type removes the cards of the one before, a new certificate keeps them', async () => {
    await using opened = await openStore(factory);
    await setUp(opened);
    await cardOnPhone(opened);
    await setUp(opened);
    assert.equal((await rows(opened)).length, 1);
    await setUp(opened, { name: 'pass.example.other' as typeof wallet.name });
    assert.equal((await rows(opened)).length, 0);
  });
}
