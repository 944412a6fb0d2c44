/** What an engine is: the contract that `test/conformance` holds every engine to. */

import type { AppliedMigration, Migration } from './migrate.ts';
import type { Script } from './sql.ts';

export type Storage = AsyncDisposable & {
  /**
   * Runs a script that only reads. It sees one consistent state, and everything that was
   * acknowledged before it started.
   * @throws whatever the script throws; Fault `overloaded` if the queue is full, `unavailable` if
   * the database cannot be reached.
   */
  read<T>(script: () => Script<T>): Promise<T>;

  /**
   * Runs a script in one transaction and answers when its changes are durable. If the script
   * throws, nothing of it is kept. It may be started more than once, so it must be a function of
   * its arguments.
   * @param subject absent: the script may change anything.
   * @throws whatever the script throws; Fault `overloaded` if the queue is full (nothing was done),
   * `not-writable` if its disk is full or read-only (nothing was done), `unavailable` if the database cannot be reached
   * (then whether it was done is unknown).
   */
  write<T>(script: () => Script<T>, subject?: Subject): Promise<T>;

  /**
   * Runs a script as `write` would, answers what it returns, and keeps nothing of it.
   * @throws as `write` does.
   */
  rehearse<T>(script: () => Script<T>): Promise<T>;

  /**
   * A memory of what reads of one kind found, for what is asked with every request and hardly ever changes. Empty
   * for good where a write of another process could go unnoticed.
   */
  memory<T>(limits: { readonly entriesMax: number }): Memory<T>;

  /** Brings the schema up to date, once, however many processes start together. */
  migrate(migrations: readonly Migration[]): Promise<readonly AppliedMigration[]>;

  /** The migrations that the database has. */
  applied(): Promise<readonly AppliedMigration[]>;

  /**
   * Copies a consistent state into a new file while the service goes on. Null where that is the server's own
   * business. @throws if the file exists.
   */
  readonly backup: ((file: string) => Promise<void>) | null;

  /** How many scripts wait to be run. */
  readonly queueDepth: number;
};

/** Reads that may be answered without the database, of which nobody can tell but by the time it takes. */
export type Memory<T> = {
  /**
   * As `Storage.read`, of a script that is told from the others of this memory by its key: what it found is
   * answered again until anybody, in whatever process, writes to a table that it looked at. Undefined is not kept.
   * The key stays in memory, so it must not be a secret.
   * @throws as `Storage.read` does.
   */
  read(key: string, script: () => Script<T | undefined>): Promise<T | undefined>;
};

/**
 * What a script changes at most: one card of a store with all that hangs on it, and rows that it adds of which
 * nobody else can have the keys. So an engine may run it in one transaction with scripts about other cards.
 */
export type Subject = {
  readonly storeId: number;
  /** null: a card that it makes. */
  readonly cardId: number | null;
};

/** What an engine tells of its work. */
export type StorageObserver = {
  /** A transaction became durable: how many scripts it carried, and how long it took. */
  committed(group: { readonly size: number; readonly seconds: number }): void;
  /** The engine was opened for reading only, because its disk is full or read-only. */
  readOnly?(cause: Error): void;
  /** The engine can no longer be trusted and serves nothing more; the process has to end. */
  failed(cause: unknown): void;
  /** The servers among several hosts that accept writes, the newest timeline first, whenever all hosts were asked. */
  primariesFound?(servers: readonly string[]): void;
  /** Something that stops nothing, and that an operator should know. */
  warned?(message: string, cause: unknown): void;
};
