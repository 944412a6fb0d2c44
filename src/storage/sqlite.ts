/**
 * The embedded engine: SQLite in this process, with group commit.
 *
 * Scripts that arrive in the same turn of the event loop run one after another, each to its end
 * and in its own savepoint, inside one transaction with one fsync; every caller is answered after
 * that commit. Nothing can interleave with a script, so there are no locks. There is no timer:
 * while one group is being committed, the next one gathers.
 *
 * After an I/O error the state of the file is unknown (a commit that reported one may be there
 * after a restart): the engine then stops for good and tells its observer, so that the process
 * ends and recovers at the next start.
 */

import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { backup } from 'node:sqlite';
import type { Clock } from '../clock-and-chance.ts';
import { Fault } from '../domain/fault.ts';
import { memories, type Remembered } from './memory.ts';
import { createMigrationsTable, insertApplied, pending, selectApplied } from './migrate.ts';
import type { Migration } from './migrate.ts';
import { Rerun, rerunsMax, type Script } from './sql.ts';
import {
  connect,
  isBusy,
  isFatal,
  isKeyTaken,
  isStorageFailure,
  type Connection,
} from './sqlite-connection.ts';
import type { Memory, Storage, StorageObserver } from './storage.ts';

export type SqliteOptions = {
  readonly file: string;
  /** Whether a file that is not there may be made. */
  readonly create: boolean;
  readonly clock: Clock;
  readonly observer: StorageObserver;
  /** Scripts that may wait; one more is refused. */
  readonly queueMax: number;
  /** Scripts in one transaction. */
  readonly groupMax: number;
  /** How long writes may wait for another process that writes to the same file. */
  readonly lockWaitMaxMs: number;
};

const lockRetryMs = 10;

/** A queued script. `attempt` runs it and returns what answers its caller once the group is durable. */
type Job = {
  readonly attempt: (connection: Connection) => () => void;
  readonly refuse: (cause: unknown) => void;
};

/** @throws Error if the file is not there and may not be made, or is no database. */
export function openSqlite(options: SqliteOptions): Storage {
  const { file, clock, observer } = options;
  if (options.create) mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  else if (!existsSync(file)) throw new Error(`there is no database at ${file}`);
  const remembered = memories();
  const writer = connect(file, { readOnly: false, written: (tables) => remembered.forget(tables) });
  // Reads have a connection of their own, which cannot write whatever a script yields.
  const reader = connect(file, { readOnly: true });

  const reads: Job[] = [];
  const writes: Job[] = [];
  let scheduled = false;
  /** Whether a read that waits may be answered from memory. */
  let recalls = false;
  let foreignVersion = writer.foreignVersion();
  let lockWaitSince: number | undefined;
  /** Once set, nothing is accepted or run any more. */
  let ended: Fault | undefined;

  const enqueue = <T>(queue: Job[], run: (connection: Connection) => T): Promise<T> =>
    new Promise((resolve, reject) => {
      if (ended) throw ended;
      if (reads.length + writes.length >= options.queueMax)
        throw new Fault('overloaded', { retryAfterSeconds: 1 });
      queue.push({
        attempt(connection) {
          const result = run(connection);
          return () => resolve(result);
        },
        refuse: reject,
      });
      schedule();
    });

  const schedule = (delayMs = 0): void => {
    if (scheduled) return;
    scheduled = true;
    if (delayMs === 0) setImmediate(flush);
    else setTimeout(flush, delayMs);
  };

  const flush = (): void => {
    scheduled = false;
    if (reads.length > 0) runReads();
    if (writes.length > 0 && lockWrites()) runWrites();
    if (reads.length + writes.length > 0) schedule(lockWaitSince === undefined ? 0 : lockRetryMs);
  };

  const runReads = (): void => {
    const group = reads.splice(0);
    inTransaction(reader, group, () => {
      if (recalls) forgetIfOverwritten();
      recalls = false;
      reader.begin();
      return group.map((job) => attempt(job, reader));
    });
  };

  /**
   * Empties the memories if another process has written since this was last done. The connection that writes is
   * asked, because to that one its own commits are no news, and it is asked once everybody has arrived who is
   * answered from memory: so whoever asks after a write of another process has ended is answered what that has
   * written.
   */
  const forgetIfOverwritten = (): void => {
    const before = foreignVersion;
    foreignVersion = writer.foreignVersion();
    if (foreignVersion !== before) remembered.forgetAll();
  };

  const runWrites = (): void => {
    const group = writes.splice(0, options.groupMax);
    const startedAt = performance.now();
    const done = inTransaction(writer, group, () =>
      group.map((job) => {
        writer.savepoint();
        const settle = attempt(job, writer);
        writer.release();
        return settle;
      }),
    );
    if (done) observer.committed({ size: group.length, seconds: (performance.now() - startedAt) / 1_000 });
  };

  /** Runs a group and commits it, then answers everyone in it; false if the group came to nothing. */
  const inTransaction = (
    connection: Connection,
    group: readonly Job[],
    body: () => (() => void)[],
  ): boolean => {
    let settles: (() => void)[];
    try {
      settles = body();
      connection.commit();
    } catch (error) {
      connection.abandon();
      refuse(group, error);
      return false;
    }
    for (const settle of settles) settle();
    return true;
  };

  /** Runs one job. What its script throws is the job's own answer and leaves the rest of the group alone. */
  const attempt = (job: Job, connection: Connection, reruns = 0): (() => void) => {
    try {
      return job.attempt(connection);
    } catch (error) {
      // SQLite gives up the whole transaction on some errors: then there is no group left to save.
      if (isStorageFailure(error) || !connection.database.isTransaction) throw error;
      if (connection === writer) writer.undoToSavepoint();
      const isRerun = error instanceof Rerun || isKeyTaken(error);
      if (isRerun && reruns < rerunsMax) return attempt(job, connection, reruns + 1);
      // The script was undone every time, so nothing of it was kept.
      const refusal = isRerun ? new Fault('overloaded', { retryAfterSeconds: 1, cause: error }) : error;
      return () => job.refuse(refusal);
    }
  };

  /**
   * Takes the file's write lock. While another process has it (the command line, say), asks again
   * a little later instead of standing still; after `lockWaitMaxMs`, refuses what waits.
   */
  const lockWrites = (): boolean => {
    try {
      writer.beginImmediate();
      lockWaitSince = undefined;
      return true;
    } catch (error) {
      lockWaitSince ??= performance.now();
      if (!isBusy(error) || performance.now() - lockWaitSince >= options.lockWaitMaxMs) {
        lockWaitSince = undefined;
        refuse(writes.splice(0), error);
      }
      return false;
    }
  };

  /** The group did not happen, or nobody can tell whether it did. */
  const refuse = (group: readonly Job[], cause: unknown): void => {
    const fault = new Fault('unavailable', { retryAfterSeconds: 1, cause });
    const fatal = isFatal(cause);
    if (fatal) ended = fault;
    for (const job of fatal ? [...group, ...reads.splice(0), ...writes.splice(0)] : group) job.refuse(fault);
    if (fatal) observer.failed(cause);
  };

  return {
    read: (script) => enqueue(reads, ({ drive }) => drive(script())),
    write: (script) => enqueue(writes, ({ drive }) => drive(script())),
    rehearse: (script) =>
      enqueue(writes, (connection) => {
        const result = connection.drive(script());
        connection.undoToSavepoint();
        return result;
      }),
    memory<T>(limits: { readonly entriesMax: number }): Memory<T> {
      const found = remembered.open<T>(limits);
      return {
        read(key, script) {
          recalls = true;
          return enqueue(
            reads,
            (connection) => found.find(key) ?? readAnew(connection, { found, key, script }),
          );
        },
      };
    },
    get queueDepth() {
      return reads.length + writes.length;
    },
    async migrate(migrations) {
      const applied = migrateDatabase(writer, migrations, clock);
      // Nobody has told which tables that wrote to.
      remembered.forgetAll();
      return applied;
    },
    async applied() {
      return appliedTo(reader);
    },
    backup: async (target) => {
      if (existsSync(target)) throw new Error(`${target} is there already`);
      // All pages in one step: step by step, every write in between would start it anew.
      await backup(reader.database, target, { rate: 2 ** 31 - 1 });
    },
    async [Symbol.asyncDispose]() {
      while (!ended && reads.length + writes.length > 0) await wait(1);
      const failed = ended !== undefined;
      ended ??= new Fault('closing', { retryAfterSeconds: 1 });
      reader.database.close();
      // Closing the last connection moves the log into the file; a file that failed is left as it is.
      if (!failed) writer.database.close();
    },
  };
}

/** Runs a read, and keeps what it found. */
function readAnew<T>(
  { driveWatched }: Connection,
  {
    found,
    key,
    script,
  }: { readonly found: Remembered<T>; readonly key: string; readonly script: () => Script<T | undefined> },
): T | undefined {
  const { result, lookedAt } = driveWatched(script());
  if (result !== undefined) found.keep(key, result, lookedAt);
  return result;
}

function appliedTo(connection: Connection) {
  const exists = connection.database
    .prepare("select 1 from sqlite_schema where name = 'schema_migrations'")
    .get();
  return exists ? connection.drive(selectApplied()) : [];
}

/** Applies what is pending in one transaction; whoever comes second waits for the lock and finds it done. */
function migrateDatabase(connection: Connection, migrations: readonly Migration[], clock: Clock) {
  const { database } = connection;
  database.exec('pragma busy_timeout = 30000');
  connection.beginImmediate();
  try {
    database.exec(createMigrationsTable);
    const missing = pending(migrations, connection.drive(selectApplied()));
    for (const migration of missing) {
      database.exec(migration.text);
      connection.drive(insertApplied(migration, clock.now()));
    }
    connection.commit();
    return missing;
  } catch (error) {
    connection.abandon();
    throw error;
  } finally {
    database.exec('pragma busy_timeout = 5');
  }
}
