/** The tables that a copy reads from the catalog, and the scripts that copy them. */

import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { workKinds } from '../../src/core/stores/storage/work.ts';
import {
  addRows,
  assertSameTables,
  beginCopy,
  concludeCopy,
  CopyError,
  findProgress,
  identify,
  assertNotHalfCopied,
  takeInventory,
} from '../../src/features/moves/service/copy.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { listKeyChecks } from '../../src/features/proofs/storage/key-check.ts';
import { all, execute, sql } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import {
  countRows,
  listTables,
  readPage,
  schemaDifferences,
  type TableRow,
  type Table,
} from '../../src/database/sql/table.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { masterKey, newStore, testContext } from '../support/fixtures.ts';
import { postgresFactory } from '../support/postgres.ts';
import { sqliteFactory } from '../support/sqlite.ts';

const factories: readonly (readonly [string, StorageFactory])[] = [
  ['SQLite', sqliteFactory],
  ['PostgreSQL', postgresFactory(null)],
  ['PostgreSQL in 16 partitions', postgresFactory(16)],
];

async function tablesOf(factory: StorageFactory): Promise<readonly Table[]> {
  await using database = await openMigrated(factory);
  return await database.storage.read(listTables);
}

const tables = await tablesOf(sqliteFactory);

/** The statements of the migrations that create, rename and drop tables. They list the tables independently of a catalog. */
function createdTables(): readonly string[] {
  const names = new Set<string>();
  const statements = /^(create table|drop table|alter table) (\w+)(?: rename to (\w+))?/gm;
  for (const { text } of sqliteFactory.migrations) {
    for (const [, statement, name = '', newName] of text.matchAll(statements)) {
      if (statement === 'create table' || newName !== undefined) names.add(newName ?? name);
      if (statement === 'drop table' || newName !== undefined) names.delete(name);
    }
  }
  return [...names];
}

test('every table of the migrations is copied, except those about the database itself', () => {
  const own = new Set([
    'backup_settings',
    'backups',
    'copies',
    'file_remains',
    'heartbeat',
    'sandbox',
    'sandbox_payments',
    'log_cursors',
    'log_backfills',
    'log_turn',
    'moving_changes',
    'owner_notices',
    'store_work',
    'verifications',
    'version_check',
  ]);
  assert.deepEqual(
    tables.map(({ name }) => name).toSorted(),
    createdTables()
      .filter((name) => !own.has(name))
      .toSorted(),
  );
  assert.ok(tables.length > 10);
});

test('columns and primary keys are read from the catalog', () => {
  assert.deepEqual(tableOf('gift_card_codes'), {
    name: 'gift_card_codes',
    key: ['store_id', 'lookup'],
    columns: ['store_id', 'lookup', 'card_id', 'digest'],
  });
  assert.deepEqual(tableOf('events').columns, [
    'store_id',
    'id',
    'created_at',
    'data',
    'subject_id',
    'subject_version',
    'trace_context',
    'type',
  ]);
  const cards = tableOf('gift_cards').columns;
  for (const column of ['balance', 'code_lookup', 'expires_on', 'note'])
    assert.ok(cards.includes(column), column);
});

test('a table is copied after the tables that it references, and webhooks after events', () => {
  const order = tables.map(({ name }) => name);
  const pairs = [
    ['stores', 'access_tokens'],
    ['customers', 'gift_cards'],
    ['gift_cards', 'transfers'],
    ['gift_cards', 'holds'],
    ['events', 'webhooks'],
    ['webhooks', 'webhook_deliveries'],
    ['webhook_deliveries', 'webhook_attempts'],
  ] as const;
  for (const [earlier, later] of pairs)
    assert.ok(
      order.includes(earlier) && order.indexOf(earlier) < order.indexOf(later),
      `${earlier}, ${later}`,
    );
});

test('the tables that Litestream adds to a file are not copied', async () => {
  await using other = await openMigrated(sqliteFactory);
  await other.database.tamper(
    sql`create table _litestream_lock (id integer)`,
    sql`create table _litestream_seq (id integer primary key, seq integer)`,
  );
  assert.deepEqual(await other.storage.read(listTables), tables);
});

for (const [engine, factory] of factories) {
  test(`${engine} has the same tables, columns and primary keys as SQLite`, async () => {
    assert.deepEqual(schemaDifferences(tables, await tablesOf(factory)), []);
    assert.deepEqual(await tablesOf(factory), tables);
  });

  test(`${engine}: a table or column that only one database has is named, and is not ignored`, async () => {
    await using other = await openMigrated(factory);
    await other.database.tamper(
      sql`alter table gift_cards add column colour text`,
      sql`create table extras (id bigint primary key)`,
    );
    const found = await other.storage.read(listTables);
    assert.deepEqual(schemaDifferences(tables, found).toSorted(), [
      'only the target has the column gift_cards.colour',
      'only the target has the table extras',
    ]);
    assert.deepEqual(schemaDifferences(found, tables).toSorted(), [
      'only the source has the column gift_cards.colour',
      'only the source has the table extras',
    ]);
    assert.throws(() => assertSameTables(found, tables), /different tables: .*extras/);
  });

  test(`${engine}: a table without a primary key is named`, async () => {
    await using other = await openMigrated(factory);
    await other.database.tamper(sql`create table extras (id bigint)`);
    const found = await other.storage.read(listTables);
    assert.deepEqual(schemaDifferences(found, found), ['the table extras has no primary key']);
  });
} // prettier-ignore

function tableOf(name: string): Table {
  const table = tables.find((other) => other.name === name);
  assert.ok(table);
  return table;
}

/** More rows than a page, with texts, bytes and integers that engines could sort or read differently. */
function extremeRows(storeId: number): readonly TableRow[] {
  const keys = ['a', 'B', 'Z', 'ä', 'é', 'e\u0301', '0', '10', '9', '-', '_', '🎁', '\uffff', 'ﬀ', 'ß', 'SS'];
  return Array.from({ length: 2_001 }, (_, place) => ({
    store_id: BigInt(storeId),
    key_digest: Buffer.from(`${keys[place % keys.length]}${place % 7 === 0 ? '\0' : ''}${place}`),
    fingerprint: new Uint8Array(32).fill(place % 256),
    created_at: [-(2n ** 63n), 2n ** 63n - 1n, BigInt(place - 1_000)][place % 3] ?? 0n,
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
      const due = await storage.read(() => all(sql`select kind from store_work where store_id = 7 and at = 0`));
      assert.equal(due.length, workKinds.length, 'all work of a copied store is due');
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

const storeRow: TableRow = {
  domain: 'a.example', name: 'A', currency: 'EUR', time_zone: 'UTC', issue_limit: null, proxy_secret: null,
  require_signature: 0n, customer_search: 0n, stock_required: 0n, stock_asked: 0n, undo_window_minutes: 0n, expiring_soon_days: 0n, hold_limit_days: 7n,
  lookup_failures_per_hour: null, demonstration: 0n, changes_from: null, vat: null, account_names: null, datev: null, created_at: 1n, updated_at: 1n,
  status: 'open', closed_at: null, moved_to: null,
}; // prettier-ignore

async function insertRecords(storage: Storage, rows: readonly TableRow[]): Promise<void> {
  await storage.write(function* () {
    for (const row of rows) {
      const { store_id: store = null, key_digest: key = null } = row;
      const { fingerprint = null, created_at: at = null, response = null } = row;
      yield* execute(sql`
        insert into idempotency_records (store_id, key_digest, fingerprint, created_at, response)
        values (${store}, ${key}, ${fingerprint}, ${at}, ${response})`);
    }
  });
}
