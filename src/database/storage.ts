/** The contract of a storage engine. `test/conformance` verifies every engine. */

import type { AppliedMigration, Migration } from './schema/migrate.ts';
import type { Script } from './sql/sql.ts';

export type Storage = AsyncDisposable & {
  /**
   * Runs a script that only reads. It sees one consistent state, which includes everything that was
   * acknowledged before it started.
   * @throws the script's error; Fault `overloaded` if the queue is full, `unavailable` if the database cannot
   * be reached.
   */
  read<T>(script: () => Script<T>): Promise<T>;

  /**
   * Runs a script in one transaction and resolves when its changes are durable. If the script throws, the
   * transaction is rolled back. The engine can retry a script, so it must depend only on its arguments.
   * @param subject the rows that the script can change; absent: any rows.
   * @throws the script's error; Fault `overloaded` if the queue is full, `not-writable` if the disk is full or
   * read-only (both without changes), `unavailable` if the database cannot be reached (the outcome is unknown).
   */
  write<T>(script: () => Script<T>, scope?: WriteScope): Promise<T>;

  /** Runs a script as `write` does, returns its result and rolls it back. @throws as `write` does. */
  dryRun<T>(script: () => Script<T>): Promise<T>;

  /**
   * Returns a cache for reads of one kind that are frequent and whose results rarely change. It stays empty if
   * the engine cannot detect writes by other processes.
   */
  cache<T>(limits: { readonly entriesMax: number }): ReadCache<T>;

  /** Applies the pending migrations and returns them. Processes can call it concurrently. */
  migrate(migrations: readonly Migration[]): Promise<readonly AppliedMigration[]>;

  /** Returns the applied migrations. */
  applied(): Promise<readonly AppliedMigration[]>;

  /**
   * Copies a consistent state into a new file while the service runs. Null: the server has its own tools.
   * @throws Error if the file exists.
   */
  readonly backup: ((file: string) => Promise<void>) | null;

  /**
   * Moves the log into the file, empties it, and clears what SQLite does not overwrite, so that neither contains deleted
   * data. A server has its own tools.
   * @returns false if another process uses the log: a retry can succeed.
   */
  clearDeleted(): Promise<boolean>;

  /** Returns whether the file can contain remains of rows that an earlier version deleted. */
  hasRemains(): Promise<boolean>;

  /**
   * Distributes the tables over the servers of a Citus cluster. Null: the database is a file.
   * @returns the tables that were not distributed before.
   * @throws Error that says what is missing.
   */
  readonly distribute: (() => Promise<readonly string[]>) | null;

  /** Whether the stores are on different servers. It is known once the database has been opened. */
  readonly isDistributed: boolean;

  /** Number of scripts that wait to be run. */
  readonly queueDepth: number;
};

/** A cache of reads. Results are the same as without it. */
export type ReadCache<T> = {
  /**
   * Returns the cached result of a read that starts now, without waiting. Undefined: it is not cached, or
   * another process may have changed it, or it is not durable yet.
   */
  find(key: string): T | undefined;

  /** Returns the result that this process has in memory. Another process may have changed it since. */
  findOwn(key: string): T | undefined;

  /**
   * Reads as `Storage.read` does, with a result that is cached by key until any process writes to a table that the script
   * read. Undefined is not cached. Keys stay in memory, so they must not be secret.
   * @throws as `Storage.read` does.
   */
  read(key: string, script: () => Script<T | undefined>): Promise<T | undefined>;
};

/**
 * The rows that a script can change: one card with its dependent rows, and new rows whose keys other scripts
 * cannot use. Scripts of different cards can therefore share a transaction.
 */
export type WriteScope = {
  readonly storeId: number;
  /** null: a new card. */
  readonly cardId: number | null;
};

/** Receives events of an engine. */
export type StorageObserver = {
  /** A transaction became durable. @param group the number of its scripts and its duration. */
  committed(group: { readonly size: number; readonly seconds: number }): void;
  /** The engine is read-only, because its disk is full or read-only. */
  readOnly?(cause: Error): void;
  /** The state of the database is unknown and the engine has stopped. The process must exit. */
  failed(cause: unknown): void;
  /** Servers that accept writes, the newest timeline first. Called after every check of several hosts. */
  primariesFound?(servers: readonly string[]): void;
  /** A problem that does not stop the engine and that an operator should know about. */
  warned?(message: string, cause: unknown): void;
};
