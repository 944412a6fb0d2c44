/**
 * The embedded engine: SQLite in this process, with group commit (docs/decisions/embedded-engine.md).
 *
 * Scripts that arrive in the same turn of the event loop run one after another in one transaction, without
 * locks. An error of one script does not affect the others (`sqlite/group.ts`).
 *
 * Every response waits for the sync that makes the data it depends on durable (`sqlite/durability.ts`). There
 * is no timer: writes that arrive during a sync form the next group.
 *
 * After an I/O error the state of the file is unknown. The engine stops and notifies its observer, so the
 * process exits and recovers at the next start.
 */

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { backup } from 'node:sqlite';
import { makeFolder } from '../../platform/folders.ts';
import { Fault } from '../../domain/fault.ts';
import { openCaches } from './cache.ts';
import { readAgain } from './cached-read.ts';
import { pending } from '../schema/migrate.ts';
import { attempt, GroupAborted, type GroupedScript, rejectUnknown, unavailable } from './group.ts';
import {
  isBusy,
  isFatal,
  isNotWritable,
  isSharedMemoryFull,
  NotWritable,
  type Connection,
} from './connection.ts';
import { startCheckpointThread } from './checkpoint-thread.ts';
import { checkpointsOf } from './checkpoints.ts';
import { durabilityBy, syncOfLog, type Callbacks } from './durability.ts';
import { appliedTo, migrateDatabase } from './migrate.ts';
import { canBeWritten, openFile, writeNothing } from './open-file.ts';
import { clearDeleted } from './clear-deleted.ts';
import { foreignChanges } from './foreign-changes.ts';
import { hasRemains } from './vacuum.ts';
import { requireSoundSqlite } from './version.ts';
import type { ReadCache, Storage } from '../storage.ts';
import type { SqliteOptions } from './options.ts';

const lockRetryMs = 10;

/**
 * From this number of writes on, a group runs during a sync. A smaller group is not durable earlier if it runs
 * then, because the next sync starts after the current one, and one large group costs less than two.
 */
const gatheredMax = 32;

/** Time of transactions (ms) between two checks of the log's length. A check costs 30 µs, as much as a small script. */
const consideredMs = 5;

/** The period of checks whether a file that could not be written can be written again. */
const writabilityTriedApartMs = 1_000;

/**
 * Number of scripts with savepoints after a group was aborted. It limits the cost of clients that abort groups
 * on purpose: at most one group in this many scripts runs twice.
 */
const savepointsAfterSpoiling = 1_024;

/** @throws Error if SQLite is too old, the file does not exist and must not be created, or it is not a database. */
export function openSqlite(options: SqliteOptions): Storage {
  const { file, observer } = options;
  requireSoundSqlite(process.versions['sqlite']);
  if (options.create) makeFolder(dirname(file));
  else if (!existsSync(file)) throw new Error(`there is no database at ${file}`);
  const caches = openCaches();
  const { writer, reader, unwritable, hasChanged } = openFile(file, {
    moveLog: options.moveLog ?? false,
    written: (tables) => caches.invalidate(tables),
  });
  if (unwritable) observer.readOnly?.(unwritable);

  const log = syncOfLog(file);
  // A file that cannot be written cannot be synced either.
  const sync = unwritable ? async () => {} : (options.sync ?? log);
  const durability = durabilityBy(sync, { synced: () => schedule(), failed: (cause) => fail(cause) });
  const checkpoints = checkpointsOf(writer.database, {
    startCheckpointer: options.startCheckpointer ?? (() => startCheckpointThread(file)),
    resume: () => schedule(),
    failed: (cause) => fail(cause),
  });
  const foreign = foreignChanges(writer, caches);

  const reads: GroupedScript[] = [];
  const writes: GroupedScript[] = [];
  let scheduled = false;
  /** Whether writes wait while pages are cleared. */
  let isPaused = false;
  let lockWaitSince: number | undefined;
  /** Time of transactions (ms) since the last check of the log's length. */
  let unconsideredMs = 0;
  /** Time of the last check that the file is still unwritable. */
  let triedAt = performance.now();
  /** Number of further scripts that get savepoints. */
  let savepointsLeft = 0;
  /** Once set, all scripts are rejected. */
  let ended: Fault | undefined;

  const enqueue = <T>(
    queue: GroupedScript[],
    run: (connection: Connection) => T,
    { isDryRun = false } = {},
  ): Promise<T> =>
    new Promise((resolve, reject) => {
      if (ended) throw ended;
      if (reads.length + writes.length + durability.waiting >= options.queueMax)
        throw new Fault('overloaded', { retryAfterSeconds: 1 });
      queue.push({
        attempt(connection) {
          const result = run(connection);
          return () => resolve(result);
        },
        reject,
        isDryRun,
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
    if (ended) return;
    if (reads.length > 0) runReads();
    if (mayWrite() && lockWrites()) runWrites();
    if (reads.length > 0 || mayWrite()) schedule(lockWaitSince === undefined ? 0 : lockRetryMs);
  };

  /** Whether the next group runs now, or after the current sync or checkpoint. */
  const mayWrite = (): boolean =>
    writes.length > 0 &&
    !checkpoints.isHolding &&
    !isPaused &&
    (!durability.isSyncing || writes.length >= gatheredMax);

  const runReads = (): void => {
    const group = reads.splice(0);
    let isForeign = false;
    const responses = inTransaction(reader, group, () => {
      // Checked after all reads of the group have been queued, because they can use the cache.
      isForeign = foreign.found();
      reader.begin();
      const settles = group.map((job) => attempt(job, reader, { withSavepoint: false }));
      isForeign = foreign.found() || isForeign;
      return settles;
    });
    if (!responses) return;
    if (hasChanged()) {
      const cause = new Error(`another process has changed ${file}, which was opened for reading only`);
      responses.reject(cause);
      return fail(cause);
    }
    // A commit of another process might not be durable. The next sync covers it.
    if (isForeign) durability.afterNextSync(responses);
    else durability.afterOutstanding(responses);
  };

  const runWrites = (): void => {
    const group = writes.splice(0, options.groupMax);
    const startedAt = performance.now();
    const withSavepoints = savepointsLeft > 0;
    savepointsLeft -= Math.min(savepointsLeft, group.length);
    const responses = inTransaction(writer, group, () =>
      group.map((job) => attempt(job, writer, { withSavepoint: withSavepoints || job.isDryRun })),
    );
    unconsideredMs += performance.now() - startedAt;
    if (!responses) return;
    durability.afterNextSync({
      ...responses,
      give() {
        responses.give();
        if (unconsideredMs >= consideredMs) {
          unconsideredMs = 0;
          checkpoints.consider();
        }
        observer.committed({ size: group.length, seconds: (performance.now() - startedAt) / 1_000 });
      },
    });
  };

  /** Runs a group again before all others, with savepoints for its scripts and those that follow. */
  const runWithSavepoints = (group: readonly GroupedScript[]): void => {
    writes.unshift(...group);
    savepointsLeft = savepointsAfterSpoiling;
  };

  /** Runs a group and commits it. Returns undefined if the group was rejected or will run again. */
  const inTransaction = (
    connection: Connection,
    group: readonly GroupedScript[],
    body: () => (() => void)[],
  ): Callbacks | undefined => {
    let settles: (() => void)[];
    try {
      settles = body();
      connection.commit();
    } catch (error) {
      connection.abandon();
      if (error instanceof GroupAborted) runWithSavepoints(group);
      else if (isSharedMemoryFull(error)) rejectOverwritten(group, error);
      else rejectGroup(group, error);
      return undefined;
    }
    return {
      count: group.length,
      give() {
        for (const settle of settles) settle();
      },
      reject: (cause) => rejectUnknown(group, cause),
    };
  };

  /**
   * Rejects a group whose frames are in the log although SQLite has rolled it back: recovery after a crash
   * would commit it. An empty transaction overwrites the frames, which needs no space, and the rejection waits
   * until it is durable.
   */
  const rejectOverwritten = (group: readonly GroupedScript[], cause: unknown): void => {
    try {
      writeNothing(writer.database);
    } catch (error) {
      if (!isNotWritable(error)) return rejectGroup(group, error);
    }
    durability.afterNextSync({
      count: group.length,
      give: () => rejectGroup(group, cause),
      reject: (failure) => rejectUnknown(group, failure),
    });
  };

  /**
   * Stops the engine when its file can be written again, because a read-only connection cannot become a writing
   * one.
   */
  const endIfWritable = (why: NotWritable): void => {
    if (performance.now() - triedAt < writabilityTriedApartMs) return;
    if (canBeWritten(file, why))
      fail(new Error(`${file} can be written again: the next start opens it for writing`));
    triedAt = performance.now();
  };

  /**
   * Acquires the file's write lock. While another process has the lock, the engine retries without blocking,
   * and rejects waiting writes after `lockWaitMaxMs`.
   */
  const lockWrites = (): boolean => {
    if (unwritable) {
      rejectGroup(writes.splice(0), unwritable);
      endIfWritable(unwritable);
      return false;
    }
    try {
      writer.beginImmediate();
      lockWaitSince = undefined;
      return true;
    } catch (error) {
      lockWaitSince ??= performance.now();
      if (!isBusy(error) || performance.now() - lockWaitSince >= options.lockWaitMaxMs) {
        lockWaitSince = undefined;
        rejectGroup(writes.splice(0), error);
      }
      return false;
    }
  };

  /** Rejects a group that was rolled back or whose outcome is unknown. */
  const rejectGroup = (group: readonly GroupedScript[], cause: unknown): void => {
    const fault = isNotWritable(cause) ? notWritable(cause) : unavailable(cause);
    for (const job of group) job.reject(fault);
    if (isFatal(cause)) fail(cause);
  };

  /** Stops the engine, because the state of the file is unknown. */
  const fail = (cause: unknown): void => {
    if (ended) return;
    ended = unavailable(cause);
    rejectUnknown([...reads.splice(0), ...writes.splice(0)], cause);
    durability.stop(cause);
    observer.failed(cause);
  };

  const notWritable = (cause: unknown): Fault =>
    new Fault('not-writable', {
      retryAfterSeconds: 5,
      cause: cause instanceof NotWritable ? cause : new NotWritable(file, cause),
    });

  const synced = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const rejectOne = (cause: unknown): void => reject(unavailable(cause));
      durability.afterNextSync({ count: 1, give: resolve, reject: rejectOne });
    });

  return {
    read: (script) => enqueue(reads, ({ drive }) => drive(script())),
    write: (script) => enqueue(writes, ({ drive }) => drive(script())),
    dryRun: (script) =>
      enqueue(
        writes,
        (connection) => {
          const result = connection.drive(script());
          connection.undoToSavepoint();
          return result;
        },
        { isDryRun: true },
      ),
    cache<T>(limits: { readonly entriesMax: number }): ReadCache<T> {
      const found = caches.open<T>(limits);
      return {
        find(key) {
          const entry = found.find(key);
          return entry?.isDurable && !ended && foreign.noneInTurn() ? entry.result : undefined;
        },
        findOwn: (key) => found.find(key)?.result,
        async read(key, script) {
          const entry = await enqueue(
            reads,
            (connection) => found.find(key) ?? readAgain(connection, { found, key, script }),
          );
          if (entry) entry.isDurable = true;
          return entry?.result;
        },
      };
    },
    get queueDepth() {
      return reads.length + writes.length;
    },
    async migrate(migrations) {
      if (unwritable) {
        if (pending(migrations, appliedTo(reader)).length > 0) throw unwritable;
        return [];
      }
      const applied = migrateDatabase(writer, migrations, options.clock);
      // It is not known which tables the migrations have changed.
      caches.invalidateAll();
      await synced();
      return applied;
    },
    async applied() {
      return appliedTo(reader);
    },
    backup: async (target) => {
      if (existsSync(target)) throw new Error(`${target} already exists`);
      // All pages in one step: with several steps, a write in between would restart the backup.
      await backup(reader.database, target, { rate: 2 ** 31 - 1 });
    },
    clearDeleted: async () =>
      !unwritable &&
      clearDeleted(file, writer, {
        hasEnded: () => ended !== undefined,
        pause() {
          isPaused = true;
        },
        resume() {
          isPaused = false;
          schedule();
        },
      }),
    hasRemains: async () => hasRemains(reader.database),
    distribute: null,
    isDistributed: false,
    async [Symbol.asyncDispose]() {
      while (!ended && reads.length + writes.length + durability.waiting > 0) await wait(1);
      const failed = ended !== undefined;
      ended ??= new Fault('closing', { retryAfterSeconds: 1 });
      await checkpoints[Symbol.asyncDispose]();
      reader.close();
      // Closing the last connection moves the log into the file. A file that failed is not changed.
      if (!failed) writer.close();
      await log[Symbol.asyncDispose]();
    },
  };
}
