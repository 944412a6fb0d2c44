/** The trigger functions of a distributed database, without a cluster: a table is its own shard. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import pg from 'pg';
import { generateSigningSecret } from '../../src/features/webhooks/delivery/signature.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { addWebhook } from '../../src/features/webhooks/service/webhook.ts';
import { shardTriggers } from '../../src/database/postgres/shard-triggers.ts';
import { issueCommand, money, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { postgresFactory } from '../support/postgres.ts';

/** Digests of the functions of the migrations that those of a distributed database replace. */
const replaced: Readonly<Record<string, string>> = {
  enqueue_deliveries: '1af12aefeb0fd065',
  extend_chain: '28499828df35a75d',
  extend_change_chain: 'cf0b2c7097568f9b',
  record_late_entry: '4275dd7713bb39a9',
};

async function connect(opened: OpenStore): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: opened.database.place[1] });
  await client.connect();
  return client;
}

test('a distributed database replaces functions that the migrations have not changed since', async () => {
  await using opened = await openStore(postgresFactory(null));
  const client = await connect(opened);
  const { rows } = await client.query<{ name: string; body: string }>(
    `select proname as name, prosrc as body from pg_proc where pronamespace = current_schema()::regnamespace`,
  );
  await client.end();
  const names = new Set(
    [...shardTriggers.matchAll(/function (\w+)\(\) returns trigger/g)].map(([, name]) => name),
  );
  const digests = rows
    .filter(({ name }) => names.has(name))
    .map(({ name, body }) => [name, createHash('sha256').update(body).digest('hex').slice(0, 16)]);
  assert.deepEqual(
    Object.fromEntries(digests),
    replaced,
    'change src/database/postgres/shard-triggers.ts as well, then these digests',
  );
});

/** Uses every trigger, and returns what they have written. */
async function exercise(isDistributed: boolean): Promise<Readonly<Record<string, unknown>>> {
  await using opened = await openStore(postgresFactory(null));
  const { storage, ctx, store } = opened;
  const client = await connect(opened);
  try {
    if (isDistributed)
      await client.query(`
        set check_function_bodies = off;
        ${shardTriggers}
        create or replace function shard_of(name regclass, store_id bigint) returns text language sql as 'select name::text'`);
    const secret = generateSigningSecret(ctx.random);
    const url = 'https://shop.example.com/hook';
    const { card: early } = await storage.write(() => issue(ctx, issueCommand(store)));
    for (const patterns of [
      ['*'],
      ['gift_card.*'],
      ['gift_card.redeemed'],
      ['customer.*'],
      ['gift_card.created'],
    ])
      await storage.write(() => addWebhook(ctx, { storeId: store.id, url, patterns, secret }));
    await client.query(`
      update webhooks set status = 'paused', paused_at = 1, pause_reason = 'requested'
      where patterns = ' gift_card.created '`);
    const { card } = await storage.write(() => issue(ctx, issueCommand(store)));
    const movement = {
      store,
      cardId: card.id,
      versions: null,
      actor: 'test',
      orderId: null,
      reference: null,
      note: null,
    };
    await storage.write(() => debit(ctx, { ...movement, amount: money('1'), partial: false }));
    await storage.write(() => update(ctx, updateCommand(store, early.id, { note: 'new' })));
    await client.query(`
      insert into store_closings (store_id, day, from_at, until_at, part, done_id)
      values (${store.id}, '2026-03-15', 0, ${ctx.clock.now() + 1}, 'late', 0)`);
    await storage.write(() => debit(ctx, { ...movement, amount: money('2'), partial: false }));
    await storage.write(() => update(ctx, updateCommand(store, card.id, { note: 'late' })));
    ctx.clock.advance(10);
    await storage.write(() => debit(ctx, { ...movement, amount: money('3'), partial: false }));
    await client.query(`
      insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
      select store_id, 7, 'webhook.test', id, 1, 1, '{}' from webhooks where patterns = ' customer.* '`);
    const read = async (text: string): Promise<unknown> => (await client.query(text)).rows;
    const rejection = async (text: string): Promise<string> => {
      const error: unknown = await client.query(text).catch((reason: unknown) => reason);
      assert.ok(error instanceof pg.DatabaseError);
      return error.message;
    };
    const again = (table: string, columns: string): string => `
      create temp table again as select * from ${table} order by id desc limit 1;
      update again set id = id + 1, ${columns};
      insert into ${table} select * from again; `;
    return {
      deliveries: await read(`
        select w.patterns, e.type, d.status, d.created_at = e.created_at and d.next_at = e.created_at as is_due
        from webhook_deliveries d join webhooks w on w.store_id = d.store_id and w.id = d.webhook_id
        join events e on e.store_id = d.store_id and e.id = d.event_id order by w.id, e.id`),
      late: await read(`
        select t.amount::text, c.sequence::text, l.created_at = coalesce(t.created_at, c.created_at) as is_own
        from late_entries l left join transfers t on t.store_id = l.store_id and t.id = l.id
        left join card_changes c on c.store_id = l.store_id and c.id = l.id order by l.id`),
      chains: await read(`
        select chain_length::text, change_count::text,
          chain_hash = (select hash from transfers t where t.store_id = g.store_id and t.id = g.last_transfer_id) as is_last,
          change_hash = (select hash from card_changes c where c.store_id = g.store_id and c.id = g.last_change_id) as is_newest
        from gift_cards g order by id`),
      fork: await rejection(again('transfers', 'previous_id = id, sequence = sequence + 5')),
      branch: await rejection(
        again('card_changes', 'salt = null, previous_id = id, sequence = sequence + 5'),
      ),
    };
  } finally {
    await client.end();
  }
}

test('the trigger functions of a distributed database do what those of the migrations do', async () => {
  const expected = await exercise(false);
  assert.deepEqual(await exercise(true), expected);
  assert.equal((expected['late'] as readonly unknown[]).length, 2);
  assert.ok((expected['deliveries'] as readonly unknown[]).length > 8);
  assert.match(String(expected['fork']), /must follow/);
  assert.match(String(expected['branch']), /must follow/);
});
