/** Compares the list of copied tables to the schema of both engines, and tests the scripts that copy them. */

import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import {
  addRows,
  beginCopy,
  concludeCopy,
  CopyError,
  findProgress,
  identify,
  assertNotHalfCopied,
  takeInventory,
} from '../../src/service/copy.ts';
import { checkKeys } from '../../src/service/key-check.ts';
import { createStore } from '../../src/service/store.ts';
import { listKeyChecks } from '../../src/storage/key-check.ts';
import { execute, sql } from '../../src/storage/sql.ts';
import type { Storage } from '../../src/storage/storage.ts';
import {
  columnsOf,
  countRows,
  ownTables,
  readPage,
  tables,
  type Row,
  type Table,
} from '../../src/storage/table.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { masterKey, newStore, testContext } from '../support/fixtures.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';
import { openPostgresEngine, postgresFactory } from '../support/postgres.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

type Column = { readonly table: string; readonly column: string; readonly place: number };
type Reference = { readonly from: string; readonly to: string };
/**
 * The schema as an engine reports it: columns with their position in the primary key (0 if not in it), and
 * foreign keys.
 */
type Schema = { readonly columns: readonly Column[]; readonly references: readonly Reference[] };

async function sqliteSchema(): Promise<Schema> {
  await using database = createSqliteDatabase();
  await database.open().migrate(sqliteFactory.migrations);
  const connection = database.connect();
  const rows = (text: string) => connection.prepare(text).all();
  return {
    columns: rows(
      `select t.name as "table", c.name as "column", c.pk as place from sqlite_schema t, pragma_table_info(t.name) c
       where t.type = 'table' and t.name not like 'sqlite_%'`,
    ).map(({ table, column, place }) => ({
      table: String(table),
      column: String(column),
      place: Number(place),
    })),
    references: rows(
      `select t.name as "from", f."table" as "to" from sqlite_schema t, pragma_foreign_key_list(t.name) f
       where t.type = 'table'`,
    ).map(({ from, to }) => ({ from: String(from), to: String(to) })),
  };
}

async function postgresSchema(): Promise<Schema> {
  await using database = await createPostgresDatabase(await sharedPostgres());
  const engine = openPostgresEngine(database.url);
  await engine.migrate(postgresFactory(null).migrations);
  await engine[Symbol.asyncDispose]();
  const columns = await database.query(
    `select c.relname as "table", a.attname as "column", coalesce(array_position(k.conkey, a.attnum), 0) as place
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`,
  );
  const references = await database.query(
    `select conrelid::regclass::text as "from", confrelid::regclass::text as "to" from pg_constraint
     where contype = 'f'`,
  );
  return {
    columns: columns.map(({ table, column, place }) => ({ table: String(table), column: String(column), place: Number(place) })),
    references: references.map(({ from, to }) => ({ from: String(from), to: String(to) })),
  };
} // prettier-ignore

for (const [engine, schemaOf] of [['SQLite', sqliteSchema], ['PostgreSQL', postgresSchema]] as const) {
  test(`the list of tables matches the schema of ${engine}, and a copy omits no table or column`, async () => {
    const { columns, references } = await schemaOf();
    const byTable = Map.groupBy(columns, ({ table }) => table);
    assert.deepEqual(
      new Set([...tables.map(({ name }) => name), ...ownTables]),
      new Set(byTable.keys()),
      'add the table to src/storage/table.ts',
    );
    for (const table of tables) {
      const own = byTable.get(table.name) ?? [];
      const key = own.filter(({ place }) => place > 0).toSorted((one, other) => one.place - other.place);
      assert.deepEqual(key.map(({ column }) => column), table.key, table.name);
      const moved = own.map(({ column }) => column).filter((column) => !table.own?.includes(column));
      assert.deepEqual(moved.toSorted(), columnsOf(table).toSorted(), table.name);
    }
    assert.ok(references.length > 5);
    const order = tables.map(({ name }) => name);
    for (const { from, to } of references)
      assert.ok(order.indexOf(to) < order.indexOf(from), `${from} refers to rows of ${to}, which is copied later`);
  });
} // prettier-ignore

function tableOf(name: string): Table {
  const table = tables.find((other) => other.name === name);
  assert.ok(table);
  return table;
}

/** More rows than a page, with texts, bytes and integers that engines could sort or read differently. */
function extremeRows(storeId: number): readonly Row[] {
  const keys = ['a', 'B', 'Z', 'ä', 'é', 'e\u0301', '0', '10', '9', '-', '_', '🎁', '\uffff', 'ﬀ', 'ß', 'SS'];
  return Array.from({ length: 2_001 }, (_, place) => ({
    store_id: BigInt(storeId),
    api_client_id: place % 3 === 0 ? -(2n ** 63n) : 2n ** 63n - 1n,
    key_digest: Buffer.from(`${keys[place % keys.length]}${place % 7 === 0 ? '\0' : ''}${place}`),
    fingerprint: new Uint8Array(32).fill(place % 256),
    created_at: BigInt(place - 1_000),
    response: new Uint8Array(place % 5).fill(255 - (place % 256)),
  }));
}

const command = { source: 'a'.repeat(64), sourceShown: '/somewhere/largesse.db', keyChecks: [] };

async function copyAll(source: Storage, target: Storage, runId: string): Promise<void> {
  for (const table of tables) {
    let after: Awaited<ReturnType<typeof positionOf>> = await positionOf(target, table);
    for (;;) {
      const from = after;
      const { rows, next } = await source.read(() => readPage(table, from));
      await target.write(() => addRows(runId, { table, rows }));
      if (!next) break;
      after = next;
    }
  }
}

function positionOf(target: Storage, table: Table) {
  return target.read(() => findProgress(table));
}

const factories: readonly (readonly [string, StorageFactory])[] = [
  ['SQLite', sqliteFactory],
  ['PostgreSQL', postgresFactory(null)],
  ['PostgreSQL in 16 partitions', postgresFactory(16)],
];
const ctx = testContext();

for (const [name, factory] of factories) {
  suite(`${name} as the target of a copy`, () => {
    test('stores every value unchanged, in pages, and sorts it as the source does', async () => {
      await using source = await openMigrated(sqliteFactory);
      await using target = await openMigrated(factory);
      await source.storage.write(() => checkKeys(ctx));
      const stores = await Promise.all(
        ['a.example', 'b.example'].map((domain) =>
          source.storage.write(() => createStore(ctx, newStore({ domain }))),
        ),
      );
      const records = tableOf('idempotency_records');
      for (const { id } of stores) await insertRecords(source.storage, extremeRows(id));
      const keyChecks = await source.storage.read(listKeyChecks);
      await target.storage.write(() => beginCopy(ctx, { ...command, keyChecks, run: 'one' }));
      await copyAll(source.storage, target.storage, 'one');
      const seen: number[] = [];
      const [ofSource, ofTarget] = [
        await source.storage.read(() => takeInventory(() => undefined)),
        await target.storage.read(() => takeInventory((rows) => void seen.push(rows))),
      ];
      assert.deepEqual(ofTarget.tables, ofSource.tables);
      assert.deepEqual(ofTarget.verification, ofSource.verification);
      assert.equal(ofSource.tables.find(({ table }) => table === 'idempotency_records')?.rows, 4_002);
      assert.equal(seen.at(-1), 4_002 + 2 + 1);
      assert.equal(await target.storage.read(() => countRows(records)), 4_002);
    });

    test('is marked until the copy is complete, and only the last run can continue', async () => {
      await using target = await openMigrated(factory);
      const { storage } = target;
      const store = { ...storeRow, id: 7n };
      assert.equal(await storage.write(() => beginCopy(ctx, { ...command, run: 'one' })), false);
      await storage.write(() => addRows('one', { table: tableOf('stores'), rows: [store] }));
      await assert.rejects(storage.read(assertNotHalfCopied), /incomplete copy of \/somewhere\/largesse\.db/);
      await assert.rejects(
        storage.write(() => beginCopy(ctx, { ...command, source: 'b'.repeat(64), run: 'two' })),
        /incomplete copy of another database/,
      );
      assert.equal(await storage.write(() => beginCopy(ctx, { ...command, run: 'two' })), true);
      assert.deepEqual(await positionOf(storage, tableOf('stores')), [7n]);
      const late = { table: tableOf('stores'), rows: [{ ...store, id: 8n, domain: 'late.example' }] };
      await assert.rejects(storage.write(() => addRows('one', late)), /has taken over/);
      await assert.rejects(storage.write(() => concludeCopy(ctx, { run: 'one', state: 'complete' })), CopyError);
      assert.equal(await storage.read(() => countRows(tableOf('stores'))), 1);
      await storage.write(() => concludeCopy(ctx, { run: 'two', state: 'complete' }));
      await storage.read(assertNotHalfCopied);
      await assert.rejects(storage.write(() => addRows('two', late)), /has taken over/);
      await assert.rejects(storage.write(() => beginCopy(ctx, { ...command, run: 'three' })), /a complete copy/);
    });

    test('is rejected if it has rows, or was created with another key', async () => {
      await using target = await openMigrated(factory);
      const { storage } = target;
      await storage.write(() => checkKeys(testContext({ masters: [masterKey('other', 3)] })));
      await assert.rejects(storage.write(() => beginCopy(ctx, { ...command, run: 'one' })), /created with the key "other"/);
      const keyChecks = await storage.read(listKeyChecks);
      await storage.write(() => createStore(ctx, newStore()));
      await assert.rejects(storage.write(() => beginCopy(ctx, { ...command, keyChecks, run: 'one' })), /not empty \(stores\)/);
      await storage.read(assertNotHalfCopied);
    });

    test('keeps its identifying name when it is written to and keys are rotated', async () => {
      await using target = await openMigrated(factory);
      await using other = await openMigrated(factory);
      const { storage } = target;
      const [first, second] = [masterKey('first', 1), masterKey('second', 2)];
      await storage.write(() => checkKeys(testContext({ masters: [first] })));
      const before = await storage.read(identify);
      ctx.clock.advance(1_000);
      await storage.write(() => checkKeys(testContext({ clock: ctx.clock, masters: [second, first] })));
      await storage.write(() => createStore(ctx, newStore()));
      assert.equal(await storage.read(identify), before);
      assert.notEqual(await other.storage.read(identify), before);
    });
  });
} // prettier-ignore

const storeRow: Row = {
  domain: 'a.example', name: 'A', currency: 'EUR', time_zone: 'UTC', issue_limit: null, proxy_secret: null,
  require_signature: 0n, customer_search: 0n, undo_window_minutes: 0n, expiring_soon_days: 0n,
  lookup_failures_per_hour: null, demonstration: 0n, created_at: 1n, updated_at: 1n,
}; // prettier-ignore

async function insertRecords(storage: Storage, rows: readonly Row[]): Promise<void> {
  await storage.write(function* () {
    for (const row of rows) {
      const { store_id: store = null, api_client_id: client = null, key_digest: key = null } = row;
      const { fingerprint = null, created_at: at = null, response = null } = row;
      yield* execute(sql`
        insert into idempotency_records (store_id, api_client_id, key_digest, fingerprint, created_at, answer)
        values (${store}, ${client}, ${key}, ${fingerprint}, ${at}, ${response})`);
    }
  });
}
