/** A migration of a server's database while other processes use its tables. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { loadMigrations, type Migration } from '../../src/database/schema/migrate.ts';
import { openLoadClients, untilMoreAcknowledged } from '../support/load-client.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { openPool } from '../support/postgres-client.ts';
import { seeded } from '../support/seeded.ts';
import { command, databaseToServe, openShop, serve } from '../support/served.ts';

/** Changes tables in the opposite order of a write, which changes the card before its transfer and its event. */
function planted(version: number): Migration {
  const steps = ['events', 'transfers', 'gift_card_codes', 'gift_cards'].map(
    (table) => `alter table ${table} add column planted_${version} bigint; select pg_sleep(0.1);`,
  );
  return { version, name: 'planted', text: steps.join('\n'), checksum: 'x'.repeat(64) };
}

test('a migration succeeds while a process writes, and the process goes on', async () => {
  await using database = await databaseToServe();
  const { environment } = database;
  const token = await openShop(environment, 'flowers.example');
  const clients = openLoadClients(8, token, seeded(7));
  await using service = await serve(environment);
  let isOver = false;
  const working = Promise.all(clients.map((client) => client.work(service.url, () => isOver)));
  try {
    await untilMoreAcknowledged(clients, 50);
    await using storage = openPostgresEngine(environment['DATABASE_URL'] ?? '');
    const migrations = [...loadMigrations('postgres')];
    for (let version = 9_001; version <= 9_003; version += 1) {
      migrations.push(planted(version));
      assert.equal((await storage.migrate(migrations)).length, 1);
      await untilMoreAcknowledged(clients, 20);
    }
  } finally {
    isOver = true;
    await working;
    for (const client of clients) client.close();
  }
  await database.meddle('delete from schema_migrations where version > 9000');
  assert.equal((await command(environment, 'verify')).code, 0);
});

test('a migration that cannot lock the tables says what to do, and changes nothing', async () => {
  await using database = await databaseToServe();
  const url = database.environment['DATABASE_URL'] ?? '';
  const pool = openPool(url);
  const other = await pool.connect();
  try {
    await other.query('begin; lock table holds in access share mode');
    await using storage = openPostgresEngine(url, { migrationWaitMaxMs: 100 });
    const migrations = [...loadMigrations('postgres'), planted(9_001)];
    await assert.rejects(storage.migrate(migrations), {
      name: 'MigrationError',
      message:
        /could not lock the tables .* changed nothing: stop the other processes .* then run "largesse migrate"$/,
    });
    assert.ok((await storage.applied()).every(({ version }) => version < 9_000));
    // The lock of the first attempt ends before the other transaction does.
    const migrating = openPostgresEngine(url);
    try {
      const done = migrating.migrate(migrations);
      await wait(2_500);
      await other.query('commit');
      assert.equal((await done).length, 1);
    } finally {
      await migrating[Symbol.asyncDispose]();
    }
  } finally {
    other.release();
    await pool.end();
  }
});
