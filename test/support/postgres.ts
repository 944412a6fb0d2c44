/** PostgreSQL databases for tests, on the server that a run shares. */

import pg from 'pg';
import { liveClock, systemClock } from '../../src/platform/clock.ts';
import { limits } from '../../src/platform/limits.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { Secret } from '../../src/platform/secret.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { openPostgres, type PostgresOptions } from '../../src/database/postgres/engine.ts';
import { postgresDialect } from '../../src/database/postgres/dialect.ts';
import type { Statement } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import type { EngineSettings, StorageFactory, TestDatabase } from './database.ts';
import { createPostgresDatabase, sharedPostgres, templateDatabase } from './postgres-database.ts';

export type PostgresSettings = Partial<PostgresOptions>;

/** Opens an engine as the service does, with the settings of the test. */
export function openPostgresEngine(
  url: string,
  { queueMax = 4_096, ...settings }: EngineSettings & PostgresSettings = {},
): Storage {
  return openPostgres({
    urls: [new Secret(url)],
    clock: liveClock(systemClock),
    random: systemRandom(systemClock),
    observer: { committed() {}, failed() {} },
    connectionsMax: 8,
    partitions: null,
    waitingMax: queueMax,
    waitMaxMs: limits.scriptMaxMs,
    scriptMaxMs: limits.scriptMaxMs,
    migrationWaitMaxMs: limits.migrationWaitMaxMs,
    connectTimeoutMs: limits.connectTimeoutMs,
    lockWaitMaxMs: limits.lockWaitMaxMs,
    idleTransactionMaxMs: limits.idleTransactionMaxMs,
    primaryCheckPeriodMs: limits.primaryCheckPeriodMs,
    ...settings,
  });
}

/** A factory of databases, with the given number of partitions or none. */
export function postgresFactory(partitions: number | null): StorageFactory {
  return {
    isServer: true,
    migrations: loadMigrations('postgres'),
    createDatabase: () => createDatabase(partitions),
    createMigrated: async () => createDatabase(partitions, await migratedTemplate(partitions)),
  };
}

/** Returns the name of a template that has the schema. */
async function migratedTemplate(partitions: number | null): Promise<string> {
  const migrations = loadMigrations('postgres');
  const server = await sharedPostgres();
  const key = JSON.stringify([partitions, ...migrations.map(({ checksum }) => checksum)]);
  return templateDatabase(server, key, async (url) => {
    await using storage = openPostgresEngine(url, { partitions });
    await storage.migrate(migrations);
    if (server.workers && partitions === null) await storage.distribute?.();
  });
}

async function createDatabase(partitions: number | null, template?: string): Promise<TestDatabase> {
  const database = await createPostgresDatabase(
    await sharedPostgres(),
    template === undefined ? {} : { template },
  );
  const engines = new Set<Storage>();
  return {
    place: ['postgres', database.url, String(partitions ?? '')],
    open(settings) {
      const engine = openPostgresEngine(database.url, { partitions, ...settings });
      engines.add(engine);
      return engine;
    },
    tamper: (...statements) => tamper(database.url, statements),
    async [Symbol.asyncDispose]() {
      for (const engine of engines) await engine[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}

/**
 * With the rights of a superuser: triggers and foreign keys do not apply to a replica, and checks are dropped
 * permanently.
 */
async function tamper(url: string, statements: readonly Statement[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // A server without Citus ignores its settings: workers get the settings and changes of tables, in order.
    await client.query(
      `begin; set local citus.multi_shard_modify_mode = 'sequential'; set local citus.propagate_set_commands = 'local';
       set local citus.enable_unsafe_triggers = on;
       set local session_replication_role = replica`,
    );
    const { rows } = await client.query<{ table_name: string; name: string }>(`
      select conrelid::regclass::text as table_name, conname as name from pg_constraint
      where contype = 'c' and coninhcount = 0 and connamespace = current_schema()::regnamespace`);
    for (const { table_name: table, name } of rows)
      await client.query(`alter table ${table} drop constraint if exists "${name}"`);
    for (const statement of statements)
      await client.query(statement.text(postgresDialect), [...statement.values]);
    await client.query('commit');
  } finally {
    await client.end();
  }
}
