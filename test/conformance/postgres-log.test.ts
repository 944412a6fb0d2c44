/** Logs on PostgreSQL, where a transaction that began first can commit last. */

import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { issue } from '../../src/core/cards/service/issue.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { readLogPage } from '../../src/core/log/storage/log.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { until } from '../support/delivering.ts';
import { issueCommand, newStore, testContext } from '../support/fixtures.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { appendNewEntries } from '../support/upkeep.ts';

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
    client,
    issue: () => storage.write(() => issue(ctx, issueCommand(store))),
    async readIds(): Promise<readonly number[]> {
      while (await storage.write(() => appendNewEntries(ctx)));
      return (await storage.read(() => readLogPage(store.id, 0)))?.entries.map(({ id }) => id) ?? [];
    },
    verify: async () => (await storage.read(() => verify(100))).mismatches,
    async [Symbol.asyncDispose]() {
      await client.end();
      await storage[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}

test('entries after an open transaction are appended when it has ended, and none is missed', async () => {
  await using opened = await open();
  const { client } = opened;
  await opened.issue();
  await until(async () => (await opened.readIds()).length === 1);
  await client.query('begin');
  await client.query('select pg_current_xact_id()');
  for (let count = 0; count < 5; count += 1) await opened.issue();
  assert.equal((await opened.readIds()).length, 1, 'an older transaction is open');
  const late = 9_007_199_254_740_000n;
  await client.query(
    `insert into card_changes (store_id, id, card_id, sequence, created_at, actor, fields, salt, hash)
     select store_id, ${late}, id, 1, 0, 'test', '[]', decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex')
     from gift_cards order by id limit 1`,
  );
  assert.equal((await opened.readIds()).length, 1);
  await client.query('commit');
  await until(async () => (await opened.readIds()).length === 7);
  const ids = await opened.readIds();
  assert.ok(ids.includes(Number(late)));
  assert.equal(new Set(ids).size, 7);
});

test('the log of a database that was restored into a cluster with lower transaction ids misses nothing', async () => {
  await using opened = await open();
  const { storage, client } = opened;
  for (let count = 0; count < 3; count += 1) await opened.issue();
  await until(async () => (await opened.readIds()).length === 3);
  const before = await opened.readIds();
  // Two entries are not in the log when the dump is made.
  for (let count = 0; count < 2; count += 1) await opened.issue();
  await client.query(`
    begin; set local session_replication_role = replica;
    update transfers set transaction_id = transaction_id + 1000000000;
    update log_cursors set place = place + 1000000000;
    commit`);
  await storage.migrate(loadMigrations('postgres'));
  await opened.issue();
  await until(async () => (await opened.readIds()).length === 6);
  assert.deepEqual((await opened.readIds()).slice(0, 3), before);
  assert.deepEqual(await opened.verify(), []);
  const numbers = 'select transaction_id from transfers order by id';
  const { rows } = await client.query(numbers);
  await storage.migrate(loadMigrations('postgres'));
  assert.deepEqual(
    (await client.query(numbers)).rows,
    rows,
    'a database that was not restored is not changed',
  );
});

test('new entries of a store are found by an index in a large table', async () => {
  await using opened = await open();
  const { client } = opened;
  await opened.issue();
  await until(async () => (await opened.readIds()).length === 1);
  await client.query(`
    begin; set local session_replication_role = replica;
    insert into transfers (store_id, id, card_id, sequence, previous_id, kind, amount, currency, debit_account,
      credit_account, balance_after, actor, created_at, hash, transaction_id)
    select store_id, n, card_id, 2, id, 'debit', 1, 'USD', 'card', 'redemptions', 1, 'test', 0, hash, 0
    from transfers, generate_series(1, 20000) n;
    commit; analyze transfers`);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain
    select n.id from log_cursors c cross join lateral (
      select t.id from transfers t
      where t.store_id = c.store_id and (t.transaction_id, t.id) > (c.place, c.last_id)
        and t.transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      order by t.transaction_id, t.id limit 500) n
    where c.source = 'transfers' limit 500`);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  assert.match(plan, /Index.* using transfers_by_transaction/);
  assert.doesNotMatch(plan, /Seq Scan on transfers|Sort/);
});
