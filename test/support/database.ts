/** What a test needs of a database, whichever engine serves it: the suites in `test/conformance` see no more. */

import type { Migration } from '../../src/storage/migrate.ts';
import type { Statement } from '../../src/storage/sql.ts';
import type { Storage, StorageObserver } from '../../src/storage/storage.ts';

export type EngineSettings = {
  readonly observer?: StorageObserver;
  readonly queueMax?: number;
};

/** A database of a test's own. Disposing it disposes the engines that are still open on it. */
export type TestDatabase = AsyncDisposable & {
  /** One more engine on this database. */
  open(settings?: EngineSettings): Storage;
  /**
   * Runs statements as whoever has the database but not the program would: in one transaction, with no trigger,
   * check or foreign key in the way.
   */
  tamper(...statements: readonly Statement[]): Promise<void>;
};

export type StorageFactory = {
  /** The engine's own. */
  readonly migrations: readonly Migration[];
  /** A new database with nothing in it, not even a schema. */
  readonly createDatabase: () => Promise<TestDatabase>;
  /** A new database with its schema, made faster than by its migrations. */
  readonly createMigrated?: () => Promise<TestDatabase>;
};

/** A new database with its schema, and one engine on it. */
export async function openMigrated(
  factory: StorageFactory,
  settings?: EngineSettings,
): Promise<AsyncDisposable & { readonly database: TestDatabase; readonly storage: Storage }> {
  const database = await (factory.createMigrated ?? factory.createDatabase)();
  const storage = database.open(settings);
  if (!factory.createMigrated) await storage.migrate(factory.migrations);
  return { database, storage, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}
