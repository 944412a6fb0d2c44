/** An engine migrates a schema, and rejects other databases. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Migration } from '../../src/database/schema/migrate.ts';
import { MigrationError } from '../../src/database/schema/migration-error.ts';
import { all, one, execute, sql, toNumber, type Script } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';

function migration(version: number, name: string, text: string): Migration {
  return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') };
}

/** Each migration needs the ones before it, and only this order works. */
const steps = [
  migration(
    1,
    'first',
    'create table notes (id bigint primary key, n bigint not null); insert into notes (id, n) values (1, 5);',
  ),
  migration(2, 'second', 'insert into notes (id, n) select 2, n * 10 from notes where id = 1;'),
  migration(7, 'third', 'insert into notes (id, n) select 3, n + 1 from notes where id = 2;'),
];

function* notes(): Script<readonly number[]> {
  const rows = yield* all(sql<{ n: bigint }>`select n from notes order by id`);
  return rows.map(({ n }) => toNumber(n));
}

export function testMigrations(factory: StorageFactory): void {
  test('migrations add a column and tables to a database with rows, and keep them', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    const [schema] = factory.migrations;
    assert.ok(schema);
    await storage.migrate([schema]);
    await storage.write(() =>
      execute(
        sql`insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search, demonstration,
          created_at, updated_at) values (17, 'flowers.example', 'Flowers', 'EUR', 'UTC', 0, 0, 0, 0, 0),
          (18, 'books.example', 'Books', 'EUR', 'UTC', 0, 0, 0, 0, 0)`,
        sql`insert into stocks (store_id, id, actor, state, generated, currency, fixed_value, codes, printed, failed,
          next_part, created_at) values (17, 6, 'test', 'running', 1, 'EUR', 500, 1, 0, 0, 0, 0)`,
        sql`insert into batches (store_id, id, actor, state, currency, cards, total, issued, issued_total, failed, next_part,
          created_at) values (17, 5, 'test', 'running', 'EUR', 2, 1000, 1, 500, 0, 1, 0)`,
        sql`insert into batch_parts (store_id, batch_id, part, lines, card_ids) values (17, 5, 0, null, '7'),
          (17, 5, 1, ${Uint8Array.of(1)}, null)`,
      ),
    );
    const applied = await storage.migrate(factory.migrations);
    assert.deepEqual(applied.map(names), [
      '2 file-lines',
      '3 accountants',
      '4 sale-traces',
      '5 payment-notifications',
      '6 backup-mac',
      '7 store-work',
      // Only a file is left by its stores.
      ...(factory.isServer ? [] : ['8 moving-changes']),
      '9 till-paper',
      '10 stock-question',
    ]);
    const asked = sql<{ asked: bigint }>`select stock_asked as asked from stores order by id`;
    const stores = await storage.read(() => all(asked));
    assert.deepEqual(stores, [{ asked: 1n }, { asked: 0n }], 'tills of stores with a stock ask');
    await storage.write(() =>
      execute(sql`
        insert into accountants (store_id, id, address, address_key, language, format, created_at)
        values (17, 1, 'Ledger@example.com', 'ledger@example.com', 'en', 'csv', 0)`),
    );
    await storage.write(() => execute(sql`update batch_parts set file_lines = '4' where part = 1`));
    const parts = await storage.read(() =>
      all(sql<{ ids: string | null; lines: string | null }>`
        select card_ids as ids, file_lines as lines from batch_parts where store_id = 17 order by part`),
    );
    assert.deepEqual(
      parts.map(({ ids, lines }) => [ids, lines]),
      [
        ['7', null],
        [null, '4'],
      ],
    );
  });

  test('a process that is killed while it migrates changes nothing, and the next one succeeds', async () => {
    await using database = await factory.createDatabase();
    for (const number of factory.migrations.keys()) {
      const child = spawn(
        process.execPath,
        [
          fileURLToPath(new URL('../support/killed-migration.ts', import.meta.url)),
          ...database.place,
          String(number + 1),
        ],
        { stdio: ['ignore', 'inherit', 'inherit'] },
      );
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      assert.equal(signal, 'SIGKILL');
      const storage = database.open();
      assert.deepEqual(await storage.applied(), []);
      await storage[Symbol.asyncDispose]();
    }
    assert.equal((await database.open().migrate(factory.migrations)).length, factory.migrations.length);
  });

  test('an empty database has no migration', async () => {
    await using database = await factory.createDatabase();
    assert.deepEqual(await database.open().applied(), []);
  });

  test('migrations are applied and reported in their order', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    assert.deepEqual((await storage.migrate(steps)).map(names), ['1 first', '2 second', '7 third']);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
    assert.deepEqual((await storage.applied()).map(summaryOf), steps.map(summaryOf));
    assert.deepEqual((await database.open().applied()).map(summaryOf), steps.map(summaryOf));
  });

  test('migrating again applies only missing migrations', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 1));
    assert.deepEqual(await storage.read(notes), [5]);
    assert.deepEqual((await storage.migrate(steps)).map(names), ['2 second', '7 third']);
    assert.deepEqual(await storage.migrate(steps), []);
    assert.deepEqual(await database.open().migrate(steps), []);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
  });

  test('a migration that was changed after it was applied is rejected', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 2));
    const [first, second, third] = steps;
    assert.ok(first && second && third);
    const changed = migration(1, 'first', `${first.text} -- a comment`);
    await assert.rejects(storage.migrate([changed, second, third]), MigrationError);
    assert.deepEqual(await storage.read(notes), [5, 50], 'the third was not applied either');
    assert.equal((await storage.applied()).length, 2);
  });

  test('a database that is newer than the program is rejected', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps);
    await assert.rejects(storage.migrate(steps.slice(0, 2)), MigrationError);
    await assert.rejects(database.open().migrate([]), MigrationError);
    assert.equal((await storage.applied()).length, 3);
  });

  test('a migration that fails leaves the database unchanged, and can be fixed', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 1));
    const before = await storage.applied();
    const fails = migration(
      7,
      'third',
      'insert into notes (id, n) values (4, 4); insert into nowhere values (1);',
    );
    await assert.rejects(storage.migrate([...steps.slice(0, 2), fails]));
    assert.deepEqual(await storage.applied(), before);
    assert.deepEqual(await storage.read(notes), [5]);
    await storage.migrate(steps);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
  });

  test('engines that migrate one new database concurrently apply each migration once', async () => {
    await using database = await factory.createDatabase();
    const engines = Array.from({ length: 6 }, () => database.open());
    const applied = await Promise.all(engines.map((engine) => engine.migrate(steps)));
    assert.deepEqual(applied.flat().map(names).toSorted(), ['1 first', '2 second', '7 third']);
    for (const engine of engines) assert.deepEqual(await engine.read(notes), [5, 50, 51]);
  });

  test("the engine's own migrations create a working schema, and can be applied again", async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    assert.deepEqual((await storage.migrate(factory.migrations)).map(names), factory.migrations.map(names));
    assert.ok(factory.migrations.length > 0);
    assert.deepEqual(await storage.migrate(factory.migrations), []);
    await storage.write(() => execute(sql`update heartbeat set beaten_at = 5`));
    const { beaten_at: beatenAt } = await storage.read(() =>
      one(sql<{ beaten_at: bigint }>`select beaten_at from heartbeat`),
    );
    assert.equal(beatenAt, 5n);
  });

  test('scripts run while other engines migrate, before and after', async () => {
    await using database = await factory.createDatabase();
    const storage = database.open();
    await storage.migrate(steps.slice(0, 1));
    const reading = Array.from({ length: 20 }, () => storage.read(notes));
    const [, ...seen] = await Promise.all([database.open().migrate(steps), ...reading]);
    for (const values of seen) assert.ok([1, 3].includes(values.length), `saw ${values.length} rows`);
    assert.deepEqual(await storage.read(notes), [5, 50, 51]);
  });
}

function names({ version, name }: Pick<Migration, 'version' | 'name'>): string {
  return `${version} ${name}`;
}

function summaryOf({ version, name, checksum }: Pick<Migration, 'version' | 'name' | 'checksum'>) {
  return { version, name, checksum };
}
