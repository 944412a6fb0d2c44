/** SQLite databases for tests: each with its own folder, and access to the file without an engine. */

import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { liveClock, systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { openSqlite } from '../../src/database/sqlite/engine.ts';
import type { SqliteOptions } from '../../src/database/sqlite/options.ts';
import type { Statement } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import type { StorageFactory, TestDatabase } from './database.ts';
import { runFolder, scratchPlace } from './scratch.ts';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';

export type SqliteSettings = Partial<Omit<SqliteOptions, 'file'>>;

export type SqliteTestDatabase = TestDatabase & {
  readonly folder: string;
  readonly file: string;
  open(settings?: SqliteSettings): Storage;
  /** Opens a plain connection to the file, in addition to the engines. */
  connect(): DatabaseSync;
};

/** Opens an engine as the service does, with the settings of the test. */
export function openEngine(file: string, settings: SqliteSettings = {}): Storage {
  return openSqlite({
    file,
    create: true,
    clock: liveClock(systemClock),
    random: systemRandom(systemClock),
    observer: { committed() {}, failed() {} },
    queueMax: 4_096,
    groupMax: 256,
    lockWaitMaxMs: 5_000,
    ...settings,
  });
}

export function createSqliteDatabase(parent: string = tmpdir()): SqliteTestDatabase {
  const folder = mkdtempSync(join(parent, 'largesse-sqlite-'));
  const file = join(folder, 'test.db');
  const engines = new Set<Storage>();
  const connections: DatabaseSync[] = [];
  const database: SqliteTestDatabase = {
    place: ['sqlite', file, ''],
    folder,
    file,
    open(settings) {
      const engine = openEngine(file, settings);
      let isOpen = true;
      const storage: Storage = {
        ...engine,
        get queueDepth() {
          return engine.queueDepth;
        },
        async [Symbol.asyncDispose]() {
          if (!isOpen) return;
          isOpen = false;
          engines.delete(storage);
          await engine[Symbol.asyncDispose]();
        },
      };
      engines.add(storage);
      return storage;
    },
    connect() {
      const connection = new DatabaseSync(file, { readBigInts: true, timeout: 5_000 });
      connections.push(connection);
      return connection;
    },
    async tamper(...statements) {
      const connection = new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: false });
      try {
        tamperWith(connection, statements);
      } finally {
        connection.close();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const connection of connections) if (connection.isOpen) connection.close();
      for (const engine of engines) await engine[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return database;
}

function tamperWith(connection: DatabaseSync, statements: readonly Statement[]): void {
  connection.exec('pragma ignore_check_constraints = on; begin immediate');
  const triggers = connection.prepare("select name, sql from sqlite_schema where type = 'trigger'").all();
  for (const { name } of triggers) connection.exec(`drop trigger ${String(name)}`);
  for (const statement of statements)
    connection.prepare(statement.text(sqliteDialect)).run(...statement.values);
  for (const { sql } of triggers) connection.exec(String(sql));
  connection.exec('commit');
}

/** A file with the schema, created once in a run by the first process that needs it. */
export async function migratedFile(): Promise<string> {
  const template = join(runFolder(), 'template.db');
  if (existsSync(template)) return template;
  const draft = join(runFolder(), `template-${process.pid}.db`);
  {
    await using storage = openEngine(draft);
    await storage.migrate(loadMigrations('sqlite'));
  }
  renameSync(draft, template);
  return template;
}

export const sqliteFactory: StorageFactory = {
  isServer: false,
  migrations: loadMigrations('sqlite'),
  createDatabase: async () => createSqliteDatabase(scratchPlace()),
  async createMigrated() {
    const database = createSqliteDatabase(scratchPlace());
    copyFileSync(await migratedFile(), database.file);
    return database;
  },
};
