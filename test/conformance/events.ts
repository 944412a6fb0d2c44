/** Events: their order, and events of expiry. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import type { WrittenEvent } from '../../src/core/events/domain/event.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import type { Caller } from '../../src/http/auth.ts';
import { eventStreams } from '../../src/features/webhooks/http/event-stream.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { findEnd, listPublishedEvents, showEvent } from '../../src/features/webhooks/service/event.ts';
import { hasExpiryToRecord, recordExpired, recordExpiringSoon } from '../../src/core/cards/service/expiry.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { createToken, revoke } from '../../src/core/stores/service/token.ts';
import { one, sql } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { until } from '../support/delivering.ts';
import {
  issueCommand,
  manualClock,
  newStore,
  testContext,
  updateCommand,
  type TestContext,
} from '../support/fixtures.ts';

async function open(factory: StorageFactory, given: Parameters<typeof newStore>[0] = {}) {
  const opened = await openMigrated(factory);
  const { storage } = opened;
  const ctx = testContext();
  const store = await storage.write(() => createStore(ctx, newStore(given)));
  return { ...opened, ctx, store, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

/**
 * Waits until every committed event is listed. PostgreSQL lists an event after every older transaction of any
 * database of the server has ended.
 */
async function untilRecorded(storage: Storage, store: Store): Promise<void> {
  const deadline = deadlineIn(20_000);
  for (;;) {
    const { written } = await storage.read(() =>
      one(sql<{ written: bigint }>`select count(*) as written from events where store_id = ${store.id}`),
    );
    const listed = await storage.read(() => listPublishedEvents(store.id, { after: null, limit: 1_000 }));
    if (listed.length === Number(written)) return;
    assert.ok(!deadline.isOver(), `${listed.length} of ${written} events are listed`);
    await wait(10);
  }
}

/** Reads every event, page by page. */
async function readAll(
  storage: Storage,
  store: Store,
  limit = 7,
): Promise<{ id: number; type: string; cardId: number }[]> {
  await untilRecorded(storage, store);
  const events = [];
  let after: number | null = null;
  for (;;) {
    const from: number | null = after;
    const page: readonly WrittenEvent[] = await storage.read(() =>
      listPublishedEvents(store.id, { after: from, limit }),
    );
    for (const { id, type, data } of page) {
      const { gift_card: card } = JSON.parse(data) as { readonly gift_card?: { readonly id: number } };
      const cardId = card && testContext().keys.publicIds.read(card.id);
      events.push({ id, type, cardId: cardId ?? 0 });
    }
    after = page.at(-1)?.id ?? after;
    if (page.length < limit) return events;
  }
}

async function newCaller(
  storage: Storage,
  ctx: TestContext,
  store: Store,
): Promise<{ readonly caller: Caller; readonly tokenId: number }> {
  const { token } = await storage.write(() =>
    createToken(ctx, { store, name: 'reader', scopes: ['read_events'] }),
  );
  const { id: tokenId, apiClientId } = token;
  const caller = {
    store,
    scopes: token.scopes,
    apiClientId,
    tokenId,
    locationId: null,
    actor: 'test',
    onlyStorefrontCustomerId: null,
  };
  return { caller, tokenId };
}

/** Collects the ids that a stream sends, and records when it closes. */
function follow(stream: Readable): { readonly ids: () => number[]; readonly isOver: () => boolean } {
  let text = '';
  let isOver = false;
  stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  stream.once('close', () => (isOver = true));
  return { ids: () => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)), isOver: () => isOver };
}

export function testEvents(factory: StorageFactory): void {
  test('a commit of this process that revokes a token ends its stream, and other streams stay open', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const listeners = new Set<() => void>();
    const streams = eventStreams({
      ctx,
      storage,
      onCommit(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      streamsMax: 16,
      // Only a commit makes a stream poll.
      pollMs: 600_000,
    });
    const [revoked, other] = [await newCaller(storage, ctx, store), await newCaller(storage, ctx, store)];
    const [ended, staying] = [
      follow(streams.open(revoked.caller, null)),
      follow(streams.open(other.caller, null)),
    ];
    await storage.write(() => issue(ctx, issueCommand(store)));
    await untilRecorded(storage, store);
    for (const listener of listeners) listener();
    await until(() => ended.ids().length === 1 && staying.ids().length === 1);

    await storage.write(() => revoke(ctx, store, revoked.tokenId));
    for (const listener of listeners) listener();
    await until(() => ended.isOver());
    await storage.write(() => issue(ctx, issueCommand(store)));
    await untilRecorded(storage, store);
    for (const listener of listeners) listener();
    await until(() => staying.ids().length === 2);
    assert.equal(ended.ids().length, 1);
    assert.equal(staying.isOver(), false);
    streams.close();
    await until(() => staying.isOver());
    assert.equal(listeners.size, 0);
  });

  test('a stream never sends events written after another process revoked its token', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store, database } = opened;
    const elsewhere = database.open();
    const streams = eventStreams({
      ctx,
      storage,
      onCommit: () => () => undefined,
      streamsMax: 64,
      pollMs: 5,
    });
    for (let round = 0; round < 20; round += 1) {
      const { caller, tokenId } = await newCaller(elsewhere, ctx, store);
      const after = await storage.read(() => findEnd(store.id));
      const stream = follow(streams.open(caller, after));
      for (let count = 0; count < round % 4; count += 1)
        await elsewhere.write(() => issue(ctx, issueCommand(store)));
      await wait(round % 7);
      await elsewhere.write(() => revoke(ctx, store, tokenId));
      const first = await elsewhere.write(() => issue(ctx, issueCommand(store)));
      const late = await elsewhere.write(() => issue(ctx, issueCommand(store)));
      await until(() => stream.isOver());
      const cards = await readAll(storage, store);
      const written = new Set([first.card.id, late.card.id]);
      const forbidden = cards.filter(({ cardId }) => written.has(cardId)).map(({ id }) => id);
      assert.equal(forbidden.length, 2);
      for (const id of forbidden) assert.ok(!stream.ids().includes(id), `round ${round}`);
    }
    streams.close();
  });

  test('a stream with a revoked token is cut off if its client does not read the rest', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const given = { ctx, storage, onCommit: () => () => undefined, streamsMax: 16 };
    const streams = eventStreams({ ...given, patienceMs: 100, pollMs: 5 });
    const { caller, tokenId } = await newCaller(storage, ctx, store);
    const idle = streams.open(caller, null);
    await storage.write(() => revoke(ctx, store, tokenId));
    await until(() => idle.destroyed);
  });

  test('a stream is cut off if its client reads nothing, and stays open if its client reads everything', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    // More events than the buffers of a stream and a connection can hold.
    for (let count = 0; count < 200; count += 1) await storage.write(() => issue(ctx, issueCommand(store)));
    await untilRecorded(storage, store);
    const streams = eventStreams({
      ctx,
      storage,
      onCommit: () => () => undefined,
      streamsMax: 16,
      patienceMs: 300,
      pollMs: 20,
    });
    const { caller } = await newCaller(storage, ctx, store);
    const idle = streams.open(caller, null);
    const eager = streams.open(caller, null);
    let taken = '';
    eager.setEncoding('utf8').on('data', (text: string) => (taken += text));
    // Requests the first chunk, and reads nothing more.
    idle.read(0);
    await once(idle, 'close');
    await wait(400);
    assert.equal(eager.destroyed, false);
    assert.equal(taken.match(/^id: /gm)?.length, 200);
    streams.close();
  });

  test('a stream whose client reads nothing is closed when another stream needs its place', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    for (let count = 0; count < 200; count += 1) await storage.write(() => issue(ctx, issueCommand(store)));
    await untilRecorded(storage, store);
    // The limits are four streams of a store and two of a token.
    const streams = eventStreams({ ctx, storage, onCommit: () => () => undefined, streamsMax: 16 });
    const { caller } = await newCaller(storage, ctx, store);
    const { caller: other } = await newCaller(storage, ctx, store);
    const [slow, eager] = [streams.open(caller, null), streams.open(caller, null)];
    eager.resume();
    slow.read(0);
    assert.throws(() => streams.open(caller, null), { code: 'overloaded' });
    const others = [streams.open(other, null), streams.open(other, null)];
    for (const stream of others) stream.resume();
    await wait(1_200);
    streams.open(caller, null).resume();
    assert.deepEqual(
      [slow.destroyed, eager.destroyed, others.some(({ destroyed }) => destroyed)],
      [true, false, false],
    );
    assert.throws(() => streams.open(caller, null), { code: 'overloaded' });
    assert.throws(() => streams.open(other, null), { code: 'overloaded' });
    streams.close();
  });

  test('events are listed page by page in commit order, after any event', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    assert.equal(await storage.read(() => findEnd(store.id)), null);
    assert.deepEqual(await readAll(storage, store), []);
    const ids: number[] = [];
    for (let count = 0; count < 20; count += 1)
      ids.push((await storage.write(() => issue(ctx, issueCommand(store)))).card.id);
    const events = await readAll(storage, store);
    assert.deepEqual(
      events.map(({ cardId }) => cardId),
      ids,
    );
    assert.equal(await storage.read(() => findEnd(store.id)), events.at(-1)?.id);
    const [first] = events;
    assert.equal((await storage.read(() => showEvent(store.id, first?.id ?? 0))).type, 'gift_card.created');
    await assert.rejects(
      storage.read(() => listPublishedEvents(store.id, { after: 5, limit: 1 })),
      { code: 'invalid-query' },
    );
    await assert.rejects(
      storage.read(() => showEvent(store.id, 5)),
      { code: 'not-found' },
    );
  });

  test('an event that is committed later is listed later, even if the clock of its process is slow', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store, database } = opened;
    const slow = testContext({ clock: manualClock(ctx.clock.now() - 3_600_000) });
    const other = database.open();
    const ids: number[] = [];
    const received = new Set<number>();
    let after: number | null = null;
    for (let count = 0; count < 12; count += 1) {
      const [engine, context]: [Storage, TestContext] = count % 3 === 1 ? [other, slow] : [storage, ctx];
      ids.push((await engine.write(() => issue(context, issueCommand(store)))).card.id);
      const from: number | null = after;
      await untilRecorded(storage, store);
      for (const { id } of await storage.read(() =>
        listPublishedEvents(store.id, { after: from, limit: 9 }),
      )) {
        received.add(id);
        after = id;
      }
    }
    assert.equal(received.size, 12, 'a reader that follows the list sees every event');
    assert.deepEqual(
      (await readAll(storage, store)).map(({ cardId }) => cardId),
      ids,
    );
  });

  test('a reader that follows the list sees every event once, while several engines write', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store, database } = opened;
    const engines = [storage, database.open(), database.open()];
    const perEngine = 40;
    let isWriting = true;
    const writing = Promise.all(
      engines.flatMap((engine) =>
        Array.from({ length: 4 }, async () => {
          for (let count = 0; count < perEngine / 4; count += 1)
            await engine.write(() => issue(ctx, issueCommand(store)));
        }),
      ),
    ).finally(() => {
      isWriting = false;
    });
    const seen: number[] = [];
    let after: number | null = null;
    for (let isLast = false; !isLast;) {
      isLast = !isWriting;
      const from: number | null = after;
      const page: readonly WrittenEvent[] = await storage.read(() =>
        listPublishedEvents(store.id, { after: from, limit: 250 }),
      );
      seen.push(...page.map(({ id }) => id));
      after = page.at(-1)?.id ?? after;
    }
    await writing;
    const total = (await readAll(storage, store, 250)).map(({ id }) => id);
    assert.equal(total.length, engines.length * perEngine);
    // The reader can miss only events at the end that were committed after its last read.
    assert.deepEqual(seen, total.slice(0, seen.length));
    assert.equal(new Set(seen).size, seen.length);
  });

  test('the sequence of a card’s event is the version of the card', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const { card } = await storage.write(() => issue(ctx, issueCommand(store)));
    for (const note of ['a', 'b'])
      await storage.write(() => update(ctx, updateCommand(store, card.id, { note })));
    await storage.write(() => update(ctx, updateCommand(store, card.id, { note: null, disable: true })));
    await untilRecorded(storage, store);
    const events = await storage.read(() => listPublishedEvents(store.id, { after: null, limit: 9 }));
    assert.deepEqual(
      events.map(({ type, sequence }) => `${type} ${sequence}`),
      [
        'gift_card.created 1',
        'gift_card.updated 2',
        'gift_card.updated 3',
        'gift_card.updated 4',
        'gift_card.disabled 4',
      ],
    );
  });

  test('an expiry is published once, after the last valid day ended in the store’s time zone', async () => {
    await using opened = await open(factory, { timeZone: 'Pacific/Auckland' });
    const { storage, ctx, store } = opened;
    // 2026-03-15T12:00Z is 2026-03-16 01:00 in Auckland.
    const { card } = await storage.write(() => issue(ctx, issueCommand(store, { expiresOn: '2026-03-16' })));
    await storage.write(() => issue(ctx, issueCommand(store)));
    const record = async (): Promise<string[]> => {
      const before = (await readAll(storage, store)).length;
      assert.equal((await storage.write(() => recordExpired(ctx, store, 10))).hasMore, false);
      return (await readAll(storage, store)).slice(before).map(({ type, cardId }) => `${type} ${cardId}`);
    };
    assert.equal(await storage.read(() => hasExpiryToRecord(ctx, store)), false);
    assert.deepEqual(await record(), []);
    ctx.clock.advance(22 * 3_600_000);
    assert.deepEqual(await record(), [], 'it is 23:00 in Auckland');
    ctx.clock.advance(3_600_000);
    assert.equal(await storage.read(() => hasExpiryToRecord(ctx, store)), true);
    assert.deepEqual(await record(), [`gift_card.expired ${card.id}`]);
    assert.deepEqual(await record(), []);
    // The card is valid again, and then expires by a date in the past.
    await storage.write(() => update(ctx, updateCommand(store, card.id, { expiresOn: '2027-01-01' })));
    assert.deepEqual(await record(), []);
    await storage.write(() => update(ctx, updateCommand(store, card.id, { expiresOn: '2026-01-01' })));
    assert.deepEqual(await record(), [`gift_card.expired ${card.id}`]);
    assert.deepEqual(await record(), []);
  });

  test('two processes publish an expiry once, page by page', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store, database } = opened;
    const other = database.open();
    for (let count = 0; count < 25; count += 1)
      await storage.write(() => issue(ctx, issueCommand(store, { expiresOn: '2026-03-15' })));
    ctx.clock.advance(24 * 3_600_000);
    const record = async (engine: Storage): Promise<void> => {
      while ((await engine.write(() => recordExpired(ctx, store, 4))).hasMore);
    };
    await Promise.all([record(storage), record(other)]);
    await record(storage);
    const expired = (await readAll(storage, store)).filter(({ type }) => type === 'gift_card.expired');
    assert.equal(expired.length, 25);
    assert.equal(new Set(expired.map(({ cardId }) => cardId)).size, 25);
  });

  test('a coming expiry is published in advance if the store enables it, for cards that can be spent', async () => {
    await using opened = await open(factory, { expiringSoonDays: 30 });
    const { storage, ctx, store } = opened;
    const { card: soon } = await storage.write(() =>
      issue(ctx, issueCommand(store, { expiresOn: '2026-04-14' })),
    );
    const { card: later } = await storage.write(() =>
      issue(ctx, issueCommand(store, { expiresOn: '2026-04-15' })),
    );
    const { card: disabled } = await storage.write(() =>
      issue(ctx, issueCommand(store, { expiresOn: '2026-04-01' })),
    );
    await storage.write(() => update(ctx, updateCommand(store, disabled.id, { disable: true })));
    const record = async (): Promise<number[]> => {
      await storage.write(() => recordExpiringSoon(ctx, store, 10));
      const events = await readAll(storage, store);
      return events.filter(({ type }) => type === 'gift_card.expiring_soon').map(({ cardId }) => cardId);
    };
    assert.equal(await storage.read(() => hasExpiryToRecord(ctx, store)), true);
    assert.deepEqual(await record(), [soon.id]);
    assert.deepEqual(await record(), [soon.id]);
    assert.equal(await storage.read(() => hasExpiryToRecord(ctx, store)), false);
    ctx.clock.advance(24 * 3_600_000);
    assert.deepEqual(await record(), [soon.id, later.id]);
    const silent = { ...store, expiringSoonDays: 0 };
    assert.equal((await storage.write(() => recordExpiringSoon(ctx, silent, 10))).hasMore, false);
  });
}
