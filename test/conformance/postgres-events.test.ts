/** Events on PostgreSQL, where a transaction that began first can commit last. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { generateSigningSecret } from '../../src/features/webhooks/delivery/signature.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { listPublishedEvents } from '../../src/features/webhooks/service/event.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { addWebhook, listWebhookDeliveries } from '../../src/features/webhooks/service/webhook.ts';
import { listEventsAfter } from '../../src/core/events/storage/event.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { postgresDialect } from '../../src/database/postgres/dialect.ts';
import type { Statement } from '../../src/database/sql/sql.ts';
import { until } from '../support/delivering.ts';
import { issueCommand, newStore, testContext } from '../support/fixtures.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';
import { openPostgresEngine } from '../support/postgres.ts';

async function open() {
  const database = await createPostgresDatabase(await sharedPostgres());
  const storage = openPostgresEngine(database.url);
  await storage.migrate(loadMigrations('postgres'));
  const ctx = testContext();
  const store = await storage.write(() => createStore(ctx, newStore()));
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return {
    storage,
    ctx,
    store,
    client,
    /** Begins a transaction that writes an event, and leaves it open. */
    async beginEvent(id: number): Promise<void> {
      await client.query('begin');
      await client.query(
        `insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
         values ($1, $2, 'gift_card.updated', 1, 2, 0, '{}')`,
        [store.id, id],
      );
    },
    commit: () => client.query('commit'),
    readIds: async (after: number | null = null): Promise<number[]> =>
      (await storage.read(() => listPublishedEvents(store.id, { after, limit: 100 }))).map(({ id }) => id),
    async [Symbol.asyncDispose]() {
      await client.end();
      await storage[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}

test('events after an open transaction are not listed before it ends, and readers miss none', async () => {
  await using opened = await open();
  const { storage, ctx, store } = opened;
  await storage.write(() => issue(ctx, issueCommand(store)));
  // Transactions of other databases on this server delay the list of events.
  await until(async () => (await opened.readIds()).length === 1);
  const [first = 0] = await opened.readIds();
  // Its id is the largest, and its transaction is the oldest.
  const late = Number.MAX_SAFE_INTEGER;
  await opened.beginEvent(late);
  for (let count = 0; count < 5; count += 1) await storage.write(() => issue(ctx, issueCommand(store)));
  assert.deepEqual(await opened.readIds(), [first]);
  assert.deepEqual(await opened.readIds(first), []);
  await opened.commit();
  await until(async () => (await opened.readIds(first)).length === 6);
  const rest = await opened.readIds(first);
  assert.equal(rest[0], late);
  assert.deepEqual(
    rest.slice(1),
    rest.slice(1).toSorted((left, right) => left - right),
  );
  assert.deepEqual(await opened.readIds(late), rest.slice(1));
});

test('an event whose transaction was open when a webhook was created is queued, or was committed before', async () => {
  await using opened = await open();
  const { storage, ctx, store } = opened;
  await opened.beginEvent(7);
  let isMade = false;
  const secret = generateSigningSecret(ctx.random);
  const making = storage
    .write(() =>
      addWebhook(ctx, { storeId: store.id, url: 'https://shop.example.com/', patterns: ['*'], secret }),
    )
    .finally(() => {
      isMade = true;
    });
  await wait(100);
  // The issue waits for the webhook. The transaction before it does not.
  const issuing = storage.write(() => issue(ctx, issueCommand(store)));
  await wait(100);
  assert.equal(isMade, false);
  await opened.commit();
  const { webhook } = await making;
  await issuing;
  const { items } = await storage.read(() =>
    listWebhookDeliveries(store.id, webhook.id, { limit: 9, before: null, after: null }),
  );
  assert.deepEqual(
    items.map(({ eventType }) => eventType),
    ['gift_card.created'],
  );
});

test('events after a given event are found by an index, in order, in a large table', async () => {
  await using opened = await open();
  const { store, client } = opened;
  await client.query(
    `insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
     select $1, id, 'gift_card.updated', 1, 2, 0, '{}' from generate_series(1, 20000) id`,
    [store.id],
  );
  await client.query('analyze events');
  const { value } = listEventsAfter(store.id, { after: 100, limit: 50 }).next([]);
  const [statement] = (value as { readonly statements: readonly Statement[] }).statements;
  assert.ok(statement);
  const text = statement.text(postgresDialect);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [...statement.values]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  assert.match(plan, /Index Scan using events_by_transaction/);
  assert.match(plan, /Index Cond: .*ROW\(transaction_id, id\) > ROW/);
  assert.doesNotMatch(plan, /Sort|Seq Scan/);
});

test('events restored into a cluster with lower transaction ids are listed after the next start, before new ones', async () => {
  await using opened = await open();
  const { storage, ctx, store, client } = opened;
  for (let count = 0; count < 3; count += 1) await storage.write(() => issue(ctx, issueCommand(store)));
  await until(async () => (await opened.readIds()).length === 3);
  const before = await opened.readIds();
  await client.query('update events set transaction_id = transaction_id + 1000000000');
  assert.deepEqual(await opened.readIds(), []);
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => issue(ctx, issueCommand(store)));
  await until(async () => (await opened.readIds()).length === 4);
  assert.deepEqual((await opened.readIds()).slice(0, 3), before);
  const numbers = 'select transaction_id from events order by id';
  const { rows } = await client.query(numbers);
  await storage.migrate(loadMigrations('postgres'));
  assert.deepEqual(
    (await client.query(numbers)).rows,
    rows,
    'a database that was not restored is not changed',
  );
});
