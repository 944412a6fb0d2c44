/**
 * Events for two webhooks, one of which fails. Every event stays queued for both until it is delivered or dead; each arrives in
 * the end at the receiver that works, and none arrives that there is not.
 */

import assert from 'node:assert/strict';
import { until } from '../../support/delivering.ts';
import { send } from '../../support/http-client.ts';
import { publicIdsOf } from '../../support/public-ids.ts';
import { receiveWebhooks } from '../../support/webhook-receiver.ts';
import { isRejected, persist, type OpenLoad } from '../killing.ts';

const clients = 3;

export const openWebhooks: OpenLoad = async ({ database, url, openStore, count }) => {
  const { token, storeId } = await openStore('webhooks.example');
  const [receiver, failing] = [await receiveWebhooks(), await receiveWebhooks()];
  failing.response = { status: 503 };
  const post = (path: string, json: object) => send(`${url}${path}`, { method: 'POST', token, json });
  for (const each of [receiver, failing]) {
    const made = await post('/webhooks', { url: each.url, events: ['*'] });
    assert.equal(made.status, 201, made.text);
  }
  const acknowledged: number[] = [];
  const ids = publicIdsOf(database.keysFile);

  const issue = async (isOver: () => boolean): Promise<void> => {
    const { status, text, json } = await post('/gift_card', { initial_value: 5 });
    if (isRejected({ status }, isOver)) return;
    assert.equal(status, 201, text);
    acknowledged.push((json as { readonly gift_card: { readonly id: number } }).gift_card.id);
  };

  return {
    name: 'webhooks',
    count: () => acknowledged.length,
    async work(isOver) {
      await Promise.all(
        Array.from({ length: clients }, async () => {
          while (!isOver()) await persist(isOver, () => issue(isOver));
        }),
      );
    },
    async checkRestarted() {
      // One statement, because a server can still commit requests of the killed process.
      const rows = await database.query(
        `select d.webhook_id, count(*) as queued, (select count(*) from events where store_id = ? and type = 'gift_card.created') as events
         from webhook_deliveries d join events e on e.store_id = d.store_id and e.id = d.event_id
         where d.store_id = ? and e.type = 'gift_card.created' group by d.webhook_id`,
        storeId,
        storeId,
      );
      for (const row of rows)
        assert.equal(Number(row['queued']), Number(row['events']), 'events of a webhook');
      if (acknowledged.length > 0) assert.equal(rows.length, 2);
      const events = await database.query(
        `select subject_id from events where store_id = ? and type = 'gift_card.created'`,
        storeId,
      );
      const subjects = new Set<number>(events.map((row) => ids.of(Number(row['subject_id']))));
      assert.deepEqual(
        acknowledged.filter((id) => !subjects.has(id)),
        [],
        'cards without an event',
      );
    },
    async checkEnd() {
      // Events that the last process had claimed are sent again when their lease expires, after 30 seconds.
      const open = `select count(*) from webhook_deliveries d join webhooks w on w.store_id = d.store_id and w.id = d.webhook_id
        where d.store_id = ? and w.url = ? and d.status <> 'delivered'`;
      await until(async () => (await count(open, storeId, receiver.url)) === 0, 120_000);
      const events = await database.query('select id from events where store_id = ?', storeId);
      const stored = new Set<number>(events.map((row) => Number(row['id'])));
      const received = new Set(receiver.got.map(({ event }) => event.id));
      assert.deepEqual(
        [...received].filter((id) => !stored.has(id)),
        [],
        'events that there are not',
      );
      const cards = new Set(receiver.got.map(({ event }) => event.data.gift_card?.id));
      assert.deepEqual(
        acknowledged.filter((id) => !cards.has(id)),
        [],
        'cards whose event did not arrive',
      );
      assert.ok(
        failing.got.every(({ event }) => stored.has(event.id)),
        'events that there are not',
      );
    },
    summary() {
      const once = new Set(receiver.got.map(({ event }) => event.id)).size;
      return `${once} events delivered, ${receiver.got.length - once} of them twice`;
    },
    async close() {
      await receiver[Symbol.asyncDispose]();
      await failing[Symbol.asyncDispose]();
    },
  };
};
