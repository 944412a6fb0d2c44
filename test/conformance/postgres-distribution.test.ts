/** The schema of a database that can be distributed by store, without a cluster. */

import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { issue } from '../../src/core/cards/service/issue.ts';
import {
  endedPlace,
  hasEndedOf,
  numberByServer,
  tableKinds,
} from '../../src/database/postgres/distribution.ts';
import { until } from '../support/delivering.ts';
import { email, issueCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { postgresFactory } from '../support/postgres.ts';

/** The longest wait of a test for transactions of other tests on the same server. */
const patienceMs = 120_000;

async function withClient<T>(opened: OpenStore, body: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: opened.database.place[1] });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

/** Numbers transactions as in a cluster, on a server of this group. */
async function distribute(client: pg.Client, group: number): Promise<void> {
  await client.query(`set check_function_bodies = off; begin; ${numberByServer}; commit`);
  await moveTo(client, group);
}

/** Makes the changes of a move of all shards to another server, except the transaction ids. */
async function moveTo(client: pg.Client, group: number): Promise<void> {
  await client.query(
    `create or replace function own_group() returns bigint language sql stable as 'select ${group}::bigint'`,
  );
}

test('every table has an entry in the list of how tables are distributed', async () => {
  await using opened = await openStore(postgresFactory(null));
  const { rows } = await withClient(opened, (client) =>
    client.query<{ name: string }>(`
      select relname as name from pg_class
      where relkind = 'r' and relnamespace = current_schema()::regnamespace order by relname`),
  );
  const names = rows.map(({ name }) => name);
  const advice =
    'add each new table to tableKinds in src/database/postgres/distribution.ts: "by store" if it has a store_id';
  assert.deepEqual(Object.keys(tableKinds).toSorted(), names.toSorted(), advice);
});

test('tables by store refer to tables that the server of the store has', async () => {
  await using opened = await openStore(postgresFactory(null));
  const { rows } = await withClient(opened, (client) =>
    client.query<{ name: string; referenced: string; columns: string[] }>(`
      select conrelid::regclass::text as name, confrelid::regclass::text as referenced,
        array(select attname::text from unnest(conkey) k join pg_attribute on attrelid = conrelid and attnum = k) as columns
      from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`),
  );
  assert.ok(rows.length > 30, `only ${rows.length} foreign keys`);
  const wrong = rows.filter(({ name, referenced, columns }) => {
    if (tableKinds[name] !== 'by store') return true;
    return tableKinds[referenced] === 'everywhere' ? false : !columns.includes('store_id');
  });
  assert.deepEqual(wrong, [], 'a foreign key contains store_id, or refers to a table that is everywhere');
});

/** Indexes that find rows of all stores. None of them is unique. */
const indexesOfAllStores = [
  'accountant_emails_due',
  'batches_running',
  'batches_with_codes',
  'customer_erasures_unfinished',
  'email_deliveries_due',
  'holds_open_by_expiry',
  'idempotency_records_by_age',
  'lookup_throttle_by_refill',
  'online_sales_due',
  'online_sales_notices',
  'online_sales_unpaid',
  'online_sales_with_traces',
  'owner_notices_due',
  'stocks_running',
  'stocks_with_codes',
  'store_work_due',
];

test('every key and index of a table by store begins with the store, except those that find rows of all stores', async () => {
  await using opened = await openStore(postgresFactory(null));
  const { rows } = await withClient(opened, (client) =>
    client.query<{ name: string; table_name: string; first: string; is_unique: boolean }>(`
      select i.relname as name, t.relname as table_name, a.attname as first, x.indisunique as is_unique
      from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
      join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
      where t.relnamespace = current_schema()::regnamespace`),
  );
  const others = rows.filter((row) => tableKinds[row.table_name] === 'by store' && row.first !== 'store_id');
  assert.deepEqual(others.map(({ name }) => name).toSorted(), indexesOfAllStores);
  assert.deepEqual(
    others.filter((row) => row.is_unique),
    [],
  );
});

test('no default of a distributed table is computed by a server', async () => {
  await using opened = await openStore(postgresFactory(null));
  await withClient(opened, async (client) => {
    const find = async (): Promise<readonly string[]> => {
      const { rows } = await client.query<{ place: string }>(`
        select format('%s.%s: %s', d.adrelid::regclass, a.attname, pg_get_expr(d.adbin, d.adrelid)) as place
        from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
        join pg_class t on t.oid = d.adrelid
        where t.relnamespace = current_schema()::regnamespace
          and pg_get_expr(d.adbin, d.adrelid) ~ '\\w\\s*\\(|current_|nextval'`);
      return rows.map(({ place }) => place);
    };
    // A cluster evaluates a default on the coordinator. The distribution replaces this one by a trigger.
    assert.deepEqual(await find(), ['events.transaction_id: ((pg_current_xact_id())::text)::bigint']);
    await distribute(client, 1);
    assert.deepEqual(await find(), []);
  });
});

test('numbers of transactions rise with a move to another server, and rows from before are final', async () => {
  await using opened = await openStore(postgresFactory(null));
  const { ctx, storage, store } = opened;
  let people = 0;
  // Two events in one transaction.
  const write = () => {
    people += 1;
    const customer = email(`ann.${people}@example.com`);
    return storage.write(() => issue(ctx, issueCommand(store, { customer })));
  };
  await withClient(opened, async (client) => {
    type Row = { id: string; number: string; ended: boolean };
    const read = async (table: string): Promise<readonly Row[]> => {
      const { rows } = await client.query<Row>(`
        select id::text, transaction_id::text as number, ${hasEndedOf('transaction_id')} as ended
        from ${table} where store_id = ${store.id} order by transaction_id, id`);
      return rows;
    };
    await write();
    const { rows: before } = await client.query<{ id: string }>(
      'select id::text from events order by transaction_id, id',
    );
    await distribute(client, 1);
    await write();
    await write();
    // The shard moves to a server whose transaction ids are lower: here those of the moved rows are raised.
    for (const table of ['events', 'transfers'])
      await client.query(`
        set session_replication_role = replica;
        update ${table} set transaction_id = transaction_id + (1000000::bigint << 10) where transaction_id & 1023 = 1;
        set session_replication_role = origin`);
    await moveTo(client, 2);
    const moved = await read('events');
    assert.ok(
      moved.every(({ ended }) => ended),
      'the move has waited for all transactions of the earlier server',
    );
    await write();
    await moveTo(client, 3);
    await write();
    for (const table of ['events', 'transfers']) {
      // Other tests use the server as well: a row is final when all transactions that are older have ended.
      await until(async () => (await read(table)).every(({ ended }) => ended), patienceMs);
      const rows = await read(table);
      assert.deepEqual(
        rows.map(({ id }) => BigInt(id)).toSorted(byValue),
        rows.map(({ id }) => BigInt(id)),
      );
      const servers = rows.map(({ number }) => `${BigInt(number) >> 52n} ${BigInt(number) & 1023n}`);
      assert.deepEqual([...new Set(servers)], ['0 1023', '1 1', '2 2', '3 3']);
      assert.equal(new Set(rows.map(({ number }) => number)).size, 5);
    }
    const after = await read('events');
    assert.deepEqual(
      after.slice(0, before.length).map(({ id }) => id),
      before.map(({ id }) => id),
    );
  });
});

test('an event of an open transaction is not final, and a cursor does not begin after it', async () => {
  await using opened = await openStore(postgresFactory(null));
  const { ctx, storage, store } = opened;
  await withClient(opened, async (client) => {
    await distribute(client, 1);
    await storage.write(() => issue(ctx, issueCommand(store)));
    await withClient(opened, async (other) => {
      await other.query('begin');
      await other.query(
        `insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
         values (${store.id}, 7, 'gift_card.updated', 1, 1, 1, '{}')`,
      );
      await storage.write(() => issue(ctx, issueCommand(store)));
      const read = async () => {
        const { rows } = await client.query<{ ended: boolean; appended: boolean }>(`
          select ${hasEndedOf('transaction_id')} as ended,
            transaction_id <= (select ${endedPlace('max(t.transaction_id)')} from events t) as appended
          from events order by transaction_id`);
        return rows;
      };
      // Other tests use the server as well: the first event is final when all transactions that are older have ended.
      await until(async () => (await read())[0]?.ended === true, patienceMs);
      assert.deepEqual(await read(), [
        { ended: true, appended: true },
        { ended: false, appended: false },
      ]);
      await other.query('rollback');
    });
  });
});

function byValue(left: bigint, right: bigint): number {
  return left < right ? -1 : 1;
}
