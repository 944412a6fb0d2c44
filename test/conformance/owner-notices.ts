/** Emails to owners about the machine: whose they are, that none is lost or sent by two processes, and when they end. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  claimOwnerNotices,
  endOwnerNotice,
  enqueueOwnerNotices,
  hasOwnerNotices,
  listStoresToNotify,
  retryOwnerNotice,
} from '../../src/features/owner-notices/service/owner-notices.ts';
import { markRestored } from '../../src/features/backups/service/restored.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import { personOf } from '../support/acting.ts';
import type { StorageFactory } from '../support/database.ts';
import { newStore } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const content = { subject: 'A change', paragraphs: ['It was made.'], locale: 'en' };
const minute = 60_000;

async function enqueue({ storage, ctx, store }: OpenStore, occasion: string | null = null): Promise<void> {
  await storage.write(() => enqueueOwnerNotices(ctx, store, { content, occasion }));
}

async function claim({ storage, ctx, store }: OpenStore) {
  const now = ctx.clock.now();
  return await storage.write(() => claimOwnerNotices(store.id, { now, until: now + 3 * minute, limit: 20 }));
}

async function waits({ storage, store }: OpenStore): Promise<boolean> {
  return await storage.read(() => hasOwnerNotices(store.id));
}

export function testOwnerNotices(factory: StorageFactory): void {
  test('each owner who has joined gets one, of the own store, and a claim is exclusive until it ends', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const [one, two] = [await personOf(opened, 'owner'), await personOf(opened, 'owner')];
    await personOf(opened, 'manager');
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    await personOf({ ...opened, store: other }, 'owner');
    await enqueue(opened);
    assert.deepEqual(await storage.read(() => listStoresToNotify(ctx.clock.now(), 9)), [store.id]);
    const claimed = await claim(opened);
    assert.deepEqual(
      claimed.map(({ address }) => address).toSorted(),
      [one, two].map(({ member }) => member.email).toSorted(),
    );
    assert.deepEqual(claimed[0]?.content, content);
    assert.deepEqual(await claim(opened), []);
    ctx.clock.advance(4 * minute);
    const again = await claim(opened);
    assert.deepEqual([again.length, again[0]?.attempts], [2, 2]);
    for (const notice of again) await storage.write(() => endOwnerNotice(notice));
    assert.equal(await waits(opened), false);
    const rows = await storage.read(() => all(sql<{ id: bigint }>`select id from owner_notices`));
    assert.deepEqual(rows, [], 'the text of a sent email is not kept');
  });

  test('an attempt that failed is repeated at its time', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    await personOf(opened, 'owner');
    await enqueue(opened);
    const [notice] = await claim(opened);
    assert.ok(notice);
    await storage.write(() => retryOwnerNotice(notice, ctx.clock.now() + minute));
    assert.deepEqual(await claim(opened), []);
    assert.equal(await waits(opened), true);
    ctx.clock.advance(minute);
    assert.equal((await claim(opened)).length, 1);
  });

  test('an occasion is enqueued once for each owner, and its text is not kept', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    await personOf(opened, 'owner');
    await enqueue(opened, 'certificate until 1');
    await enqueue(opened, 'certificate until 1');
    const [notice, ...others] = await claim(opened);
    assert.ok(notice && others.length === 0);
    await storage.write(() => endOwnerNotice(notice));
    await enqueue(opened, 'certificate until 1');
    assert.equal(await waits(opened), false);
    const rows = await storage.read(() => all(sql<{ content: string }>`select content from owner_notices`));
    assert.deepEqual(rows, [{ content: '' }]);
    await personOf(opened, 'owner');
    await enqueue(opened, 'certificate until 1');
    assert.equal((await claim(opened)).length, 1, 'a new owner');
    opened.ctx.clock.advance(401 * 24 * 60 * minute);
    await enqueue(opened, 'certificate until 2');
    assert.equal((await claim(opened)).length, 3, 'two, and one whose claim has expired');
  });

  test('a restored copy sends none of the other machine', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    await personOf(opened, 'owner');
    await enqueue(opened);
    await storage.write(() => markRestored(ctx, ctx.clock.now()));
    assert.equal(await waits(opened), false);
  });
}
