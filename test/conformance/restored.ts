/** A restored copy: what was on its way waits until an owner of its store decides. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import { Secret } from '../../src/platform/secret.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { addWebhook } from '../../src/features/webhooks/service/webhook.ts';
import {
  confirmRestored,
  countHeld,
  listRestoredCopies,
  markRestored,
} from '../../src/features/backups/service/restored.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { findUpkeep } from '../../src/features/health/service/upkeep.ts';
import { findNextEmailAt, listDueEmails } from '../../src/features/emails/storage/queue.ts';
import { listDueWebhooks } from '../../src/features/webhooks/storage/delivery-queue.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { actionsOf, personOf } from '../support/acting.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, issueCommand, newStore } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const hour = 60 * 60_000;

/** Gives a store an email that is due, one that is scheduled, and two events for a webhook, as a backup has them. */
async function putOnTheWay({ storage, ctx }: OpenStore, store: Store): Promise<void> {
  const { id: storeId } = store;
  const secret = new Secret(`whsec_${'a'.repeat(32)}`);
  const url = 'https://pos.example/hook';
  await storage.write(() => addWebhook(ctx, { storeId, url, patterns: ['gift_card.created'], secret }));
  for (const sendAt of [null, ctx.clock.now() + 2 * hour])
    await storage.write(() =>
      issue(ctx, issueCommand(store, { recipient: email('grace@example.com'), emails: { sendAt } })),
    );
}

async function openCopy(factory: StorageFactory): Promise<{ opened: OpenStore; other: Store }> {
  const opened = await openStore(factory);
  const { storage, ctx } = opened;
  const other = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
  for (const store of [opened.store, other]) await putOnTheWay(opened, store);
  ctx.clock.advance(hour);
  await storage.write(() => markRestored(ctx, ctx.clock.now() - hour));
  return { opened, other };
}

const noPlace = { storeId: 0, id: 0 };

async function dueIn({ storage, ctx }: OpenStore): Promise<readonly number[]> {
  const now = ctx.clock.now();
  const emails = await storage.read(() => listDueEmails(now, 10));
  const webhooks = await storage.read(() => listDueWebhooks(noPlace, { now, limit: 10 }));
  return [emails.length, webhooks.length];
}

export function testRestored(factory: StorageFactory): void {
  test('what was due waits, what is scheduled is sent at its time, and nothing counts as late', async () => {
    const { opened, other } = await openCopy(factory);
    await using _opened = opened;
    const { storage, ctx, store } = opened;
    assert.deepEqual(await dueIn(opened), [0, 0]);
    for (const each of [store, other])
      assert.deepEqual(await storage.read(() => countHeld(each)), { emails: 1, deliveries: 2 });
    assert.equal(await storage.read(findNextEmailAt), ctx.clock.now() + hour);
    ctx.clock.advance(10 * 60_000);
    assert.equal((await storage.read(() => findUpkeep(ctx))).hasLateEmails, false);
    const copies = await storage.read(listRestoredCopies);
    assert.deepEqual(new Set(copies.map(({ storeId }) => storeId)), new Set([store.id, other.id]));
  });

  test('an owner sends or drops what waits in the own store, once', async () => {
    const { opened, other } = await openCopy(factory);
    await using _opened = opened;
    const { storage, ctx } = opened;
    const manager = await personOf(opened, 'manager');
    await assert.rejects(
      storage.write(() => confirmRestored(ctx, manager, { isSent: true })),
      (error) => error instanceof Fault && error.code === 'insufficient-scope',
    );
    const owner = await personOf(opened, 'owner');
    const confirm = (by: typeof owner, isSent: boolean) =>
      storage.write(() => confirmRestored(ctx, by, { isSent }));
    assert.deepEqual(await confirm(owner, true), { emails: 1, deliveries: 2 });
    assert.deepEqual(await dueIn(opened), [1, 1]);
    assert.equal(await confirm(owner, false), null, 'another owner was faster');
    assert.deepEqual(await dueIn(opened), [1, 1]);
    const details = { emails: 1, events: 2, dropped: false };
    assert.deepEqual(await actionsOf(opened, owner), [['restore-confirmed', null, details]]);

    const ofOther = await personOf({ ...opened, store: other }, 'owner');
    assert.deepEqual(await confirm(ofOther, false), { emails: 1, deliveries: 2 });
    assert.deepEqual(await dueIn(opened), [1, 1], 'those of the first store');
    const rows = await storage.read(() =>
      all(
        sql<{ state: string }>`select state from email_deliveries where store_id = ${other.id} order by id`,
      ),
    );
    assert.deepEqual(
      rows.map(({ state }) => state),
      ['cancelled', 'scheduled'],
    );
    const deliveries = await storage.read(() =>
      all(sql<{ status: string }>`select status from webhook_deliveries where store_id = ${other.id}`),
    );
    assert.deepEqual(
      deliveries.map(({ status }) => status),
      ['dead', 'dead'],
    );
    assert.deepEqual(await storage.read(listRestoredCopies), []);
  });
}
