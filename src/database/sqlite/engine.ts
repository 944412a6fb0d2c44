/**
 * The embedded engine: SQLite in this process, with group commit (`group-commit.ts`).
 *
 * After an I/O error the state of the file is unknown. The engine stops and notifies its observer, so the
 * process exits and recovers at the next start.
 */

import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup } from 'node:sqlite';
import { makeFolder } from '../../platform/folders.ts';
import { namingFile, withPath } from '../../platform/system-error.ts';
import { openCaches, type Cache, type CacheEntry, type Caches } from './cache.ts';
import type { Connection } from './connection.ts';
import { pending, type AppliedMigration, type Migration } from '../schema/migrate.ts';
import { syncOfLog } from './durability.ts';
import { GroupCommit } from './group-commit.ts';
import { appliedTo, migrateDatabase } from './migrate.ts';
import { openFile, type OpenFile } from './open-file.ts';
import { clearDeleted } from './clear-deleted.ts';
import { hasRemains } from './vacuum.ts';
import { requireSoundSqlite } from './version.ts';
import type { Script } from '../sql/sql.ts';
import type { ReadCache, Storage } from '../storage.ts';
import type { SqliteOptions } from './options.ts';

/** @throws Error if SQLite is too old, the file does not exist and must not be created, or it is not a database. */
export function openSqlite(options: SqliteOptions): Storage {
  const { file } = options;
  requireSoundSqlite(process.versions['sqlite']);
  if (options.create) makeFolder(dirname(file));
  else if (!statSync(file, { throwIfNoEntry: false }))
    throw new Error(
      `there is no database at ${file}: correct the path, or create the database with "largesse migrate"`,
    );
  const caches = openCaches();
  const opened = namingFile(file, () =>
    openFile(file, {
      moveLog: options.moveLog ?? false,
      written: (tables) => caches.invalidate(tables),
    }),
  );
  const { writer, reader, unwritable } = opened;
  if (unwritable) options.observer.readOnly?.(unwritable);
  // With turns, a wait that blocks this process would also delay its reads.
  if (options.turns) writer.database.exec('pragma busy_timeout = 0');

  const log = syncOfLog(file);
  // A file that cannot be written cannot be synced either.
  const sync = unwritable ? async () => {} : (options.sync ?? log);
  const groups = new GroupCommit(options, { ...opened, caches, sync });
  return {
    read: (script) => groups.read(({ drive }) => drive(script())),
    write: (script) => groups.write(({ drive }) => drive(script())),
    dryRun: (script) => groups.dryRun(({ drive }) => drive(script())),
    cache: (limits) => readCache(groups, caches, limits),
    get queueDepth() {
      return groups.queueDepth;
    },
    migrate: (migrations) => migrate(migrations, { options, opened, caches, groups }),
    applied: async () => namingFile(file, () => appliedTo(reader)),
    async backup(target) {
      if (existsSync(target)) throw new Error(`${target} already exists`);
      // All pages in one step: with several steps, a write in between would restart the backup.
      await backup(reader.database, target, { rate: 2 ** 31 - 1 }).catch((error: unknown) => {
        throw withPath(error, target);
      });
    },
    clearDeleted: async () => !unwritable && clearDeleted(file, writer, groups),
    hasRemains: async () => hasRemains(reader.database),
    distribute: null,
    isDistributed: false,
    async [Symbol.asyncDispose]() {
      const isKnown = await groups.end();
      reader.close();
      // Closing the last connection moves the log into the file. A file that failed is not changed.
      if (isKnown) writer.close();
      await log[Symbol.asyncDispose]();
    },
  };
}

function readCache<T>(
  groups: GroupCommit,
  caches: Caches,
  limits: { readonly entriesMax: number },
): ReadCache<T> {
  const found = caches.open<T>(limits);
  return {
    find(key) {
      if (groups.hasEnded || !groups.foreign.refreshed()) return undefined;
      const entry = found.find(key);
      return entry?.isDurable ? entry.result : undefined;
    },
    findOwn: (key) => found.find(key)?.result,
    async read(key, script) {
      const entry = await groups.read(
        (connection) => found.find(key) ?? readAgain(connection, { found, key, script }),
      );
      if (entry) entry.isDurable = true;
      return entry?.result;
    },
  };
}

async function migrate(
  migrations: readonly Migration[],
  engine: {
    readonly options: SqliteOptions;
    readonly opened: OpenFile;
    readonly caches: Caches;
    readonly groups: GroupCommit;
  },
): Promise<readonly AppliedMigration[]> {
  const { writer, reader, unwritable } = engine.opened;
  if (unwritable) {
    if (pending(migrations, appliedTo(reader)).length > 0) throw unwritable;
    return [];
  }
  const { clock, file } = engine.options;
  const applied = namingFile(file, () => migrateDatabase(writer, migrations, clock));
  // It is not known which tables the migrations have changed.
  engine.caches.invalidateAll();
  await engine.groups.synced();
  return applied;
}

/** Runs a read and caches its result. */
function readAgain<T>(
  { driveWatched }: Connection,
  {
    found,
    key,
    script,
  }: { readonly found: Cache<T>; readonly key: string; readonly script: () => Script<T | undefined> },
): CacheEntry<T> | undefined {
  const { result, tablesRead } = driveWatched(script());
  return result === undefined ? undefined : found.add(key, result, tablesRead);
}
