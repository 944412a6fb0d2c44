/**
 * The embedded engine: SQLite in this process, with group commit.
 *
 * Scripts that arrive in the same turn of the event loop run one after another, each to its end,
 * inside one transaction. Nothing can interleave with a script, so there are no locks. What a script
 * throws leaves the others alone (`sqlite-attempt.ts`). What is committed becomes durable by a sync
 * beside the event loop (`sqlite-durability.ts`), and every caller is answered after it, those as well
 * who only saw what it makes durable. There is no timer: while one sync runs, the next group gathers.
 *
 * After an I/O error the state of the file is unknown (a commit that reported one may be there
 * after a restart): the engine then stops for good and tells its observer, so that the process
 * ends and recovers at the next start.
 */

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { backup } from 'node:sqlite';
import type { Clock } from '../clock-and-chance.ts';
import { makeFolder } from '../folders.ts';
import { Fault } from '../domain/fault.ts';
import { memories, type Remembered } from './memory.ts';
import { pending } from './migrate.ts';
import type { Script } from './sql.ts';
import { attempt, Spoiled, type Job } from './sqlite-attempt.ts';
import {
  isBusy,
  isFatal,
  isNotWritable,
  isSharedMemoryFull,
  NotWritable,
  type Connection,
} from './sqlite-connection.ts';
import { startCheckpointThread } from './sqlite-checkpoint-thread.ts';
import { checkpointsOf, type Mover } from './sqlite-checkpoints.ts';
import { durabilityBy, syncOfLog, type Answers, type Sync } from './sqlite-durability.ts';
import { appliedTo, migrateDatabase } from './sqlite-migrate.ts';
import { canBeWritten, openFile, writeNothing } from './sqlite-open.ts';
import { requireSoundSqlite } from './sqlite-version.ts';
import type { Memory, Storage, StorageObserver } from './storage.ts';

export type SqliteOptions = {
  readonly file: string;
  /** Whether a file that is not there may be made. */
  readonly create: boolean;
  /** Whether opening it moves the log into the file: for a process that runs for long. */
  readonly moveLog?: boolean;
  readonly clock: Clock;
  readonly observer: StorageObserver;
  /** Scripts that may wait to be run or to be durable; one more is refused. */
  readonly queueMax: number;
  /** Scripts in one transaction. */
  readonly groupMax: number;
  /** How long writes may wait for another process that writes to the same file. */
  readonly lockWaitMaxMs: number;
  /** Makes the log durable; absent: by syncing it. Tests bring one that waits or fails. */
  readonly sync?: Sync;
  /** Who moves pages from the log into the file; absent: a thread. */
  readonly startMover?: () => Mover;
};

const lockRetryMs = 10;

/**
 * So many writes do not gather any longer while a sync runs. Fewer would be answered no earlier if they ran at once,
 * because the sync that covers them begins when this one ends; and one larger group costs less than two.
 */
const gatheredMax = 32;

/** To look how long the log is costs 30 µs, as much as a small script, and in so short a time it does not grow much. */
const considerationsApartMs = 10;

/** How often the engine checks whether a file that could not be written can be written again. */
const writabilityTriedApartMs = 1_000;

/**
 * So many scripts have savepoints of their own once a group has been spoiled. It bounds what anybody can gain by spoiling
 * groups on purpose: in so many scripts, one group is run twice.
 */
const savepointsAfterSpoiling = 1_024;

/** @throws Error if SQLite is too old, or if the file is not there and may not be made, or is no database. */
export function openSqlite(options: SqliteOptions): Storage {
  const { file, clock, observer } = options;
  requireSoundSqlite(process.versions['sqlite']);
  if (options.create) makeFolder(dirname(file));
  else if (!existsSync(file)) throw new Error(`there is no database at ${file}`);
  const remembered = memories();
  const { writer, reader, unwritable, hasChanged } = openFile(file, {
    moveLog: options.moveLog ?? false,
    written: (tables) => remembered.forget(tables),
  });
  if (unwritable) observer.readOnly?.(unwritable);

  const log = syncOfLog(file);
  // What cannot be written cannot be synced either.
  const sync = unwritable ? async () => {} : (options.sync ?? log);
  const durability = durabilityBy(sync, {
    synced: () => schedule(),
    failed: (cause) => fail(cause),
  });
  const checkpoints = checkpointsOf(writer.database, {
    startMover: options.startMover ?? (() => startCheckpointThread(file)),
    resume: () => schedule(),
    failed: (cause) => fail(cause),
  });
  /** When this was last asked; undefined: never, so that the first read waits for what was committed before. */
  let foreignVersion: unknown;

  const reads: Job[] = [];
  const writes: Job[] = [];
  let scheduled = false;
  let lockWaitSince: number | undefined;
  /** When the length of the log was last looked at. */
  let consideredAt = 0;
  /** When the engine last checked whether the file can be written again. */
  let triedAt = performance.now();
  /** How many scripts are still to have savepoints. */
  let savepointsLeft = 0;
  /** Once set, nothing is accepted or run any more. */
  let ended: Fault | undefined;

  const enqueue = <T>(
    queue: Job[],
    run: (connection: Connection) => T,
    { isRehearsal = false } = {},
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
        refuse: reject,
        isRehearsal,
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

  /** Whether the next group is to run now, and not at the end of a sync or of a checkpoint. */
  const mayWrite = (): boolean =>
    writes.length > 0 && !checkpoints.isHolding && (!durability.isSyncing || writes.length >= gatheredMax);

  const runReads = (): void => {
    const group = reads.splice(0);
    let isForeign = false;
    const answers = inTransaction(reader, group, () => {
      // Once everybody has arrived who may be answered from memory.
      isForeign = hasForeignChange();
      reader.begin();
      const settles = group.map((job) => attempt(job, reader, { withSavepoint: false }));
      isForeign = hasForeignChange() || isForeign;
      return settles;
    });
    if (!answers) return;
    if (hasChanged()) {
      const cause = new Error(`another process has changed ${file}, which was opened for reading only`);
      answers.refuse(cause);
      return fail(cause);
    }
    // What another process has committed may not be durable yet: a sync covers that, too.
    if (isForeign) durability.afterNextSync(answers);
    else durability.afterOutstanding(answers);
  };

  /**
   * Whether another process may have committed since this was last asked; then nothing is remembered any more. The
   * connection that writes is asked, because to that one its own commits are no news.
   */
  const hasForeignChange = (): boolean => {
    const before = foreignVersion;
    foreignVersion = writer.foreignVersion();
    if (foreignVersion === before) return false;
    remembered.forgetAll();
    return true;
  };

  const runWrites = (): void => {
    const group = writes.splice(0, options.groupMax);
    const startedAt = performance.now();
    const withSavepoints = savepointsLeft > 0;
    savepointsLeft -= Math.min(savepointsLeft, group.length);
    const answers = inTransaction(writer, group, () =>
      group.map((job) => attempt(job, writer, { withSavepoint: withSavepoints || job.isRehearsal })),
    );
    if (!answers) return;
    durability.afterNextSync({
      ...answers,
      give() {
        answers.give();
        const now = performance.now();
        if (now - consideredAt >= considerationsApartMs) {
          consideredAt = now;
          checkpoints.consider();
        }
        observer.committed({ size: group.length, seconds: (now - startedAt) / 1_000 });
      },
    });
  };

  /** A group is to run again, before all others, and from it on scripts have savepoints for a while. */
  const runWithSavepoints = (group: readonly Job[]): void => {
    writes.unshift(...group);
    savepointsLeft = savepointsAfterSpoiling;
  };

  /** Runs a group and commits it; undefined if it came to nothing: everyone in it is refused, or it is to run again. */
  const inTransaction = (
    connection: Connection,
    group: readonly Job[],
    body: () => (() => void)[],
  ): Answers | undefined => {
    let settles: (() => void)[];
    try {
      settles = body();
      connection.commit();
    } catch (error) {
      connection.abandon();
      if (error instanceof Spoiled) runWithSavepoints(group);
      else if (isSharedMemoryFull(error)) refuseOverwritten(group, error);
      else refuse(group, error);
      return undefined;
    }
    return {
      count: group.length,
      give() {
        for (const settle of settles) settle();
      },
      refuse: (cause) => refuseUnknown(group, cause),
    };
  };

  /**
   * Rejects a group whose frames are in the log although SQLite rolled it back: recovery after a crash would commit it.
   * So this overwrites the frames, which needs no space, and rejects the group when that is durable.
   */
  const refuseOverwritten = (group: readonly Job[], cause: unknown): void => {
    try {
      writeNothing(writer.database);
    } catch (error) {
      if (!isNotWritable(error)) return refuse(group, error);
    }
    durability.afterNextSync({
      count: group.length,
      give: () => refuse(group, cause),
      refuse: (failure) => refuseUnknown(group, failure),
    });
  };

  /** Ends the service when its file can be written again, because a connection cannot change from reading to writing. */
  const endIfWritable = (why: NotWritable): void => {
    if (performance.now() - triedAt < writabilityTriedApartMs) return;
    if (canBeWritten(file, why))
      fail(new Error(`${file} can be written again: the next start opens it for writing`));
    triedAt = performance.now();
  };

  /**
   * Takes the file's write lock. While another process has it (the command line, say), asks again
   * a little later instead of standing still; after `lockWaitMaxMs`, refuses what waits.
   */
  const lockWrites = (): boolean => {
    if (unwritable) {
      refuse(writes.splice(0), unwritable);
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
        refuse(writes.splice(0), error);
      }
      return false;
    }
  };

  /** The group did not happen, or nobody can tell whether it did. */
  const refuse = (group: readonly Job[], cause: unknown): void => {
    const fault = isNotWritable(cause) ? notWritable(cause) : unavailable(cause);
    for (const job of group) job.refuse(fault);
    if (isFatal(cause)) fail(cause);
  };

  /** The state of the file is unknown: nothing is accepted or run any more. */
  const fail = (cause: unknown): void => {
    if (ended) return;
    ended = unavailable(cause);
    refuseUnknown([...reads.splice(0), ...writes.splice(0)], cause);
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
      const refuseOne = (cause: unknown): void => reject(unavailable(cause));
      durability.afterNextSync({ count: 1, give: resolve, refuse: refuseOne });
    });

  return {
    read: (script) => enqueue(reads, ({ drive }) => drive(script())),
    write: (script) => enqueue(writes, ({ drive }) => drive(script())),
    rehearse: (script) =>
      enqueue(
        writes,
        (connection) => {
          const result = connection.drive(script());
          connection.undoToSavepoint();
          return result;
        },
        { isRehearsal: true },
      ),
    memory<T>(limits: { readonly entriesMax: number }): Memory<T> {
      const found = remembered.open<T>(limits);
      return {
        read(key, script) {
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
      if (unwritable) {
        if (pending(migrations, appliedTo(reader)).length > 0) throw unwritable;
        return [];
      }
      const applied = migrateDatabase(writer, migrations, clock);
      // Nobody has told which tables that wrote to.
      remembered.forgetAll();
      await synced();
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
      while (!ended && reads.length + writes.length + durability.waiting > 0) await wait(1);
      const failed = ended !== undefined;
      ended ??= new Fault('closing', { retryAfterSeconds: 1 });
      await checkpoints[Symbol.asyncDispose]();
      reader.database.close();
      // Closing the last connection moves the log into the file; a file that failed is left as it is.
      if (!failed) writer.database.close();
      await log[Symbol.asyncDispose]();
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

/** What was committed may or may not be durable, whatever error the disk reports. */
function refuseUnknown(group: readonly Job[], cause: unknown): void {
  const fault = unavailable(cause);
  for (const job of group) job.refuse(fault);
}

function unavailable(cause: unknown): Fault {
  return new Fault('unavailable', { retryAfterSeconds: 1, cause });
}
