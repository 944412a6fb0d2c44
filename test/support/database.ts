/** The interface of a test database on any engine. The suites in `test/conformance` use nothing else. */

import type { Migration } from '../../src/database/schema/migrate.ts';
import type { Statement } from '../../src/database/sql/sql.ts';
import type { Storage, StorageObserver } from '../../src/database/storage.ts';

export type EngineSettings = {
  readonly observer?: StorageObserver;
  readonly queueMax?: number;
};

/** A database of one test. Disposing it disposes its open engines. */
export type TestDatabase = AsyncDisposable & {
  /** The arguments with which `killed-migration.ts` opens it. */
  readonly place: readonly [engine: 'sqlite' | 'postgres', location: string, partitions: string];
  /** Opens one more engine on this database. */
  open(settings?: EngineSettings): Storage;
  /**
   * Runs statements as a person with direct access to the database: in one transaction, without triggers,
   * checks and foreign keys.
   */
  tamper(...statements: readonly Statement[]): Promise<void>;
};

export type StorageFactory = {
  readonly isServer: boolean;
  /** The migrations of the engine. */
  readonly migrations: readonly Migration[];
  /** Creates an empty database without a schema. */
  readonly createDatabase: () => Promise<TestDatabase>;
  /** Creates a database with its schema, faster than by running the migrations. */
  readonly createMigrated?: () => Promise<TestDatabase>;
};

/** Creates a database with its schema, and opens one engine on it. */
export async function openMigrated(
  factory: StorageFactory,
  settings?: EngineSettings,
): Promise<AsyncDisposable & { readonly database: TestDatabase; readonly storage: Storage }> {
  const database = await (factory.createMigrated ?? factory.createDatabase)();
  const storage = database.open(settings);
  if (!factory.createMigrated) await storage.migrate(factory.migrations);
  return { database, storage, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}
