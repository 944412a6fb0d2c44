/**
 * A database whose rows a test corrupts: each corruption is made without triggers, checks and foreign keys, verified in
 * the same transaction, and rolled back.
 */

import { copyFileSync } from 'node:fs';
import { testContext, type TestContext } from './fixtures.ts';
import { openPostgresEngine } from './postgres.ts';
import { createPostgresDatabase, sharedPostgres } from './postgres-database.ts';
import { scratchPlace } from './scratch.ts';
import { createSqliteDatabase, migratedFile, openEngine } from './sqlite.ts';
import { Secret } from '../../src/platform/secret.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { openSession } from '../../src/database/postgres/session.ts';
import type { Script, Statement } from '../../src/database/sql/sql.ts';
import { connect, sqliteDialect } from '../../src/database/sqlite/connection.ts';
import type { Storage } from '../../src/database/storage.ts';

export type Corruptible<T> = AsyncDisposable & {
  /** The result of filling the database. */
  readonly filled: T;
  readonly ctx: TestContext;
  /** Runs a script on the corrupted rows, and restores them. */
  corrupted<R>(statements: readonly Statement[], script: () => Script<R>): Promise<R>;
};

/** Writes the rows that are corrupted later. */
type Fill<T> = (storage: Storage, ctx: TestContext) => Promise<T>;

async function filledBy<T>(opened: Storage, fill: (storage: Storage) => Promise<T>): Promise<T> {
  await using storage = opened;
  return await fill(storage);
}

export async function corruptibleSqlite<T>(fill: Fill<T>): Promise<Corruptible<T>> {
  const ctx = testContext();
  const database = createSqliteDatabase(scratchPlace());
  copyFileSync(await migratedFile(), database.file);
  const filled = await filledBy(openEngine(database.file), (storage) => fill(storage, ctx));
  const connection = connect(database.file, { readOnly: false });
  const { database: raw } = connection;
  raw.exec('pragma foreign_keys = off; pragma ignore_check_constraints = on');
  return {
    ctx,
    filled,
    async corrupted(statements, script) {
      raw.exec('begin immediate');
      try {
        for (const { name } of raw.prepare("select name from sqlite_schema where type = 'trigger'").all())
          raw.exec(`drop trigger ${String(name)}`);
        for (const statement of statements)
          raw.prepare(statement.text(sqliteDialect)).run(...statement.values);
        return connection.drive(script());
      } finally {
        raw.exec('rollback');
      }
    },
    async [Symbol.asyncDispose]() {
      raw.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

export async function corruptiblePostgres<T>(fill: Fill<T>): Promise<Corruptible<T>> {
  const ctx = testContext();
  const database = await createPostgresDatabase(await sharedPostgres());
  const filled = await filledBy(openPostgresEngine(database.url), async (storage) => {
    await storage.migrate(loadMigrations('postgres'));
    return await fill(storage, ctx);
  });
  const checks = await database.query(`
    select conrelid::regclass::text as table_name, conname as name from pg_constraint
    where contype = 'c' and connamespace = current_schema()::regnamespace`);
  for (const { table_name: table, name } of checks)
    await database.query(`alter table ${String(table)} drop constraint "${String(name)}"`);
  const uniques = await database.query(`
    select i.indexrelid::regclass::text as name from pg_index i
    where i.indisunique and i.indrelid in (select oid from pg_class where relnamespace = current_schema()::regnamespace)
      and not exists (select 1 from pg_constraint c where c.conindid = i.indexrelid)`);
  for (const { name } of uniques) await database.query(`drop index ${String(name)}`);
  const { session } = await openSession({
    url: new Secret(database.url),
    connectTimeoutMs: 5_000,
    lockWaitMaxMs: 5_000,
    idleTransactionMaxMs: 60_000,
    sessionsKeptBy: new Set(),
  });
  const drive = async <R>(script: Script<R>): Promise<R> => {
    let step = script.next([]);
    while (!step.done)
      step = script.next((await session.send(step.value.statements)).map(({ rows }) => rows));
    return step.value;
  };
  return {
    ctx,
    filled,
    async corrupted(statements, script) {
      await session.runText('begin read write; set local session_replication_role = replica');
      try {
        await session.send(statements);
        return await drive(script());
      } finally {
        await session.runText('rollback');
      }
    },
    async [Symbol.asyncDispose]() {
      await session.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
