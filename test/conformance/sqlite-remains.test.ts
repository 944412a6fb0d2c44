/** Remains of deleted rows: a file of an earlier version is rewritten once, and a new one contains none. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { execute, sql } from '../../src/database/sql/sql.ts';
import { clearDeleted } from '../../src/database/sqlite/clear-deleted.ts';
import { connect } from '../../src/database/sqlite/connection.ts';
import { vacuum } from '../../src/database/sqlite/vacuum.ts';
import { until } from '../support/delivering.ts';
import { createSqliteDatabase, sqliteFactory } from '../support/sqlite.ts';

const address = 'ada.lovelace@example.com';

test('a new file contains no remains', async () => {
  await using database = createSqliteDatabase();
  const storage = database.open();
  await storage.migrate(sqliteFactory.migrations);
  assert.equal(await storage.hasRemains(), false);
});

test('a file in which deleted rows were not overwritten contains remains until it is rewritten', async () => {
  await using database = createSqliteDatabase();
  {
    await using storage = database.open();
    await storage.migrate(sqliteFactory.migrations);
  }
  {
    using earlier = new DatabaseSync(database.file);
    earlier.exec(`
      pragma secure_delete = off;
      insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
        created_at, updated_at)
      values (1, 'flowers.example', 'Flowers', 'USD', 'UTC', 0, 0, 0, 0, 0);
      insert into customers (store_id, id, email, email_key, created_at)
      values (1, 1, '${address}', '${address}', 0), (1, 2, 'grace@example.com', 'grace@example.com', 0);
      delete from customers where id = 1;
      update file_remains set absent_since = null;`);
  }
  {
    await using storage = database.open();
    assert.equal(await storage.hasRemains(), true);
    assert.equal(await storage.clearDeleted(), true);
  }
  vacuum(database.file, 5);
  await using storage = database.open();
  assert.equal(await storage.hasRemains(), false);
  const content = readFileSync(database.file).toString('latin1');
  assert.equal(content.includes(address), false);
  assert.ok(content.includes('grace@example.com'));
});

test('clearing deleted rows keeps every row, while a process writes', async () => {
  await using database = createSqliteDatabase();
  const storage = database.open();
  await storage.migrate(sqliteFactory.migrations);
  const connection = database.connect();
  connection.exec(`
    insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
      created_at, updated_at)
    values (1, 'flowers.example', 'Flowers', 'USD', 'UTC', 0, 0, 0, 0, 0);`);
  const insert = connection.prepare(
    'insert into customers (store_id, id, email, email_key, created_at) values (1, ?, ?, ?, 0)',
  );
  const update = connection.prepare('update customers set email = ? where id = ?');
  connection.exec('begin');
  for (let id = 1; id <= 2_000; id += 1) insert.run((id * 7_919) % 2_003, `p${id}@example.com`, `p${id}`);
  connection.exec('commit');
  let isDone = false;
  const clearing = (async () => {
    for (let round = 0; round < 5; round += 1) await storage.clearDeleted();
    isDone = true;
  })();
  let changes = 0;
  while (!isDone) {
    changes += 1;
    update.run(`changed-${changes}${'x'.repeat(changes % 90)}@example.com`, 1 + (changes % 2_000));
    await new Promise(setImmediate);
  }
  await clearing;
  assert.ok(changes > 0);
  assert.equal(await storage.clearDeleted(), true);
  assert.deepEqual({ ...connection.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
  assert.equal(connection.prepare('select count(*) as n from customers').get()?.['n'], 2_000n);
});

test('a change after the clearing does not bring deleted rows back', async () => {
  await using database = createSqliteDatabase();
  const storage = database.open();
  await storage.migrate(sqliteFactory.migrations);
  await storage.write(() =>
    execute(sql`
      insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
        created_at, updated_at)
      values (1, 'flowers.example', 'Flowers', 'USD', 'UTC', 0, 0, 0, 0, 0)`),
  );
  const insert = (id: number) => sql`
    insert into customers (store_id, id, email, email_key, created_at)
    values (1, ${id}, ${`secret-${id}@example.com`}, ${`secret-${id}`}, 0)`;
  const rename = (id: number, name: string) => sql`
    update customers set email = ${name}, email_key = ${`${name}-${id}`} where store_id = 1 and id = ${id}`;
  // In random order, so that SQLite moves cells between pages.
  const ids = Array.from({ length: 1_500 }, (_, place) => 1 + ((place * 7_919) % 1_500));
  for (const id of ids) await storage.write(() => execute(insert(id)));
  for (const id of ids) await storage.write(() => execute(rename(id, 'none')));
  await until(() => storage.clearDeleted());
  assert.equal(readFileSync(database.file).includes('secret-'), false);
  for (const id of ids) await storage.write(() => execute(rename(id, 'other')));
  await storage[Symbol.asyncDispose]();
  assert.equal(readFileSync(database.file).includes('secret-'), false);
});

test('a process that had read a page before it was cleared does not bring deleted rows back', async () => {
  await using database = createSqliteDatabase();
  const writer = connect(database.file, { readOnly: false });
  const other = connect(database.file, { readOnly: false });
  writer.database.exec('create table words (id integer primary key, word text)');
  const insert = writer.database.prepare('insert into words values (?, ?)');
  writer.database.exec('begin');
  // In random order, so that SQLite moves cells between pages.
  for (let place = 0; place < 1_500; place += 1)
    insert.run(1 + ((place * 7_919) % 1_500), `secret-${'x'.repeat(place % 90)}`);
  writer.database.exec("update words set word = 'none'; commit; pragma wal_checkpoint(truncate)");
  assert.ok(readFileSync(database.file).includes('secret-'));
  let reads = 0;
  const clearing = {
    ...writer,
    beginImmediate() {
      if (reads === 0) {
        // A transaction that changes nothing reads every page as one that it could change.
        other.database.exec(
          'begin immediate; insert into words select id, word from words where true on conflict do nothing; commit',
        );
        reads += 1;
      }
      writer.beginImmediate();
    },
  };
  const writes = { hasEnded: false, pause: async () => {}, resume() {} };
  assert.equal(await clearDeleted(database.file, clearing, writes), true);
  assert.equal(reads, 1);
  assert.equal(readFileSync(database.file).includes('secret-'), false);
  other.database.exec("update words set word = 'other'; pragma wal_checkpoint(truncate)");
  writer.close();
  other.close();
  assert.equal(readFileSync(database.file).includes('secret-'), false);
});

test('pages are cleared in a turn, in which the other processes of the service do not write', async () => {
  await using database = createSqliteDatabase();
  const seen: string[] = [];
  let begun = (): void => undefined;
  const storage = database.open({
    turns: {
      areOrdered: () => false,
      want() {
        seen.push('wanted');
        setImmediate(begun);
      },
      end: () => void seen.push('ended'),
      onTurn: (listener) => void (begun = listener),
    },
  });
  await storage.migrate(sqliteFactory.migrations);
  assert.deepEqual(seen, []);
  assert.equal(await storage.clearDeleted(), true);
  await until(() => seen.length > 1);
  assert.deepEqual(seen, ['wanted', 'ended']);
});
