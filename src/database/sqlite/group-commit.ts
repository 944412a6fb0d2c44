/**
 * Group commit of the embedded engine (docs/decisions/embedded-engine.md).
 *
 * Scripts that arrive in the same turn of the event loop run one after another in one transaction, without
 * locks. An error of one script does not affect the others (`group.ts`).
 *
 * Every response waits for the sync that makes the data it depends on durable (`durability.ts`). There is no
 * timer: writes that arrive during a sync form the next group.
 */

import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../core/domain/fault.ts';
import type { Caches } from './cache.ts';
import { checkpointsOf, type Checkpoints } from './checkpoints.ts';
import { startCheckpointThread } from './checkpoint-thread.ts';
import { isFatal, isNotWritable, isSharedMemoryFull, NotWritable, type Connection } from './connection.ts';
import { durabilityBy, type Callbacks, type Durability, type Sync } from './durability.ts';
import { foreignChanges, type ForeignChanges } from './foreign-changes.ts';
import { attempt, GroupAborted, type GroupedScript, rejectUnknown, unavailable } from './group.ts';
import { canBeWritten, writeNothing, type OpenFile } from './open-file.ts';
import type { SqliteOptions } from './options.ts';
import { WriteLock } from './write-lock.ts';
import { withPath } from '../../platform/system-error.ts';

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

/** The parts of an open file that groups use. */
type GroupTools = OpenFile & {
  readonly caches: Caches;
  readonly sync: Sync;
};

/** The queues of scripts, and the transactions that run them. */
export class GroupCommit {
  /** Commits of other processes. */
  readonly foreign: ForeignChanges;
  readonly #options: SqliteOptions;
  readonly #file: OpenFile;
  readonly #durability: Durability;
  readonly #checkpoints: Checkpoints;
  readonly #lock: WriteLock;
  readonly #reads: GroupedScript[] = [];
  readonly #writes: GroupedScript[] = [];
  #isScheduled = false;
  /** Whether writes wait while pages are cleared. */
  #isPaused = false;
  /** Time of transactions (ms) since the last check of the log's length. */
  #unconsideredMs = 0;
  /** Time of the last check that the file is still unwritable. */
  #triedAt = performance.now();
  /** Number of further scripts that get savepoints. */
  #savepointsLeft = 0;
  /** Once set, all scripts are rejected. */
  #ended: Fault | undefined;

  constructor(options: SqliteOptions, { caches, sync, ...file }: GroupTools) {
    this.#options = options;
    this.#file = file;
    this.foreign = foreignChanges(file.writer, caches);
    const resume = (): void => this.#schedule();
    const failed = (cause: unknown): void => this.#fail(cause);
    this.#durability = durabilityBy(sync, { synced: resume, failed });
    this.#lock = new WriteLock(file.writer, {
      turns: options.turns ?? null,
      waitMaxMs: options.lockWaitMaxMs,
      retry: resume,
    });
    this.#checkpoints = checkpointsOf(file.writer.database, {
      startCheckpointer: options.startCheckpointer ?? (() => startCheckpointThread(options.file)),
      resume,
      failed,
    });
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Number of scripts that wait to be run. */
  get queueDepth(): number {
    return this.#reads.length + this.#writes.length;
  }

  /** Runs a script in a group of reads. @throws as `Storage.read` does. */
  read<T>(run: (connection: Connection) => T): Promise<T> {
    return this.#enqueue(this.#reads, run);
  }

  /** Runs a script in a group of writes. @throws as `Storage.write` does. */
  write<T>(run: (connection: Connection) => T): Promise<T> {
    return this.#enqueue(this.#writes, run);
  }

  /** Runs a script in a group of writes, and rolls it back. @throws as `Storage.write` does. */
  dryRun<T>(run: (connection: Connection) => T): Promise<T> {
    const rolledBack = (connection: Connection): T => {
      const result = run(connection);
      connection.undoToSavepoint();
      return result;
    };
    return this.#enqueue(this.#writes, rolledBack, { isDryRun: true });
  }

  /** Resolves after a sync that starts from now on. @throws Fault `unavailable`. */
  synced(): Promise<void> {
    return new Promise((resolve, reject) => {
      const rejectOne = (cause: unknown): void => reject(unavailable(cause));
      this.#durability.afterNextSync({ count: 1, give: resolve, reject: rejectOne });
    });
  }

  /** Lets writes wait until `resume`, also those of the other processes of the service. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#lock.takeTurn();
  }

  resume(): void {
    this.#isPaused = false;
    this.#schedule();
  }

  /**
   * Waits until nothing runs, and rejects what comes later.
   * @returns whether the state of the file is known.
   */
  async end(): Promise<boolean> {
    while (!this.#ended && this.#waiting > 0) await wait(1);
    const isKnown = this.#ended === undefined;
    this.#ended ??= new Fault('closing', { retryAfterSeconds: 1 });
    await this.#checkpoints[Symbol.asyncDispose]();
    return isKnown;
  }

  /** Number of scripts that wait to be run or to be durable. */
  get #waiting(): number {
    return this.queueDepth + this.#durability.waiting;
  }

  #enqueue<T>(
    queue: GroupedScript[],
    run: (connection: Connection) => T,
    { isDryRun = false } = {},
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#ended) throw this.#ended;
      if (this.#waiting >= this.#options.queueMax) throw new Fault('overloaded', { retryAfterSeconds: 1 });
      queue.push({
        attempt(connection) {
          const result = run(connection);
          return () => resolve(result);
        },
        reject,
        isDryRun,
      });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    if (this.#ended) return;
    if (this.#reads.length > 0) this.#runReads();
    if (!this.#mayWrite) this.#endTurn();
    else if (this.#lockWrites()) this.#runWrites();
    if (this.#reads.length > 0 || (this.#mayWrite && !this.#lock.isWaiting)) this.#schedule();
  };

  /** Another process can write, because this one has nothing to write now. */
  #endTurn(): void {
    if (this.#lock.hasTurn && !this.#isPaused) this.#lock.release();
  }

  /** Whether the next group runs now, or after the current sync or checkpoint. */
  get #mayWrite(): boolean {
    return (
      this.#writes.length > 0 &&
      !this.#checkpoints.isHolding &&
      !this.#isPaused &&
      (!this.#durability.isSyncing || this.#lock.hasTurn || this.#writes.length >= gatheredMax)
    );
  }

  #runReads(): void {
    const { reader, hasChanged } = this.#file;
    const group = this.#reads.splice(0);
    let isForeign = false;
    const responses = this.#inTransaction(reader, group, () => {
      // Checked after all reads of the group have been queued, because they can use the cache.
      isForeign = this.foreign.found();
      reader.begin();
      const settles = group.map((job) => attempt(job, reader, { withSavepoint: false }));
      isForeign = this.foreign.found() || isForeign;
      return settles;
    });
    if (!responses) return;
    if (hasChanged()) {
      const cause = new Error(
        `another process has changed ${this.#options.file}, which was opened for reading only`,
      );
      responses.reject(cause);
      return this.#fail(cause);
    }
    // A commit of another process might not be durable. The next sync covers it.
    if (isForeign) this.#durability.afterNextSync(responses);
    else this.#durability.afterOutstanding(responses);
  }

  #runWrites(): void {
    const { writer } = this.#file;
    const group = this.#writes.splice(0, this.#options.groupMax);
    const startedAt = performance.now();
    const withSavepoints = this.#savepointsLeft > 0;
    this.#savepointsLeft -= Math.min(this.#savepointsLeft, group.length);
    const responses = this.#inTransaction(writer, group, () =>
      group.map((job) => attempt(job, writer, { withSavepoint: withSavepoints || job.isDryRun })),
    );
    this.#lock.release();
    this.#unconsideredMs += performance.now() - startedAt;
    if (!responses) return;
    this.#durability.afterNextSync({
      ...responses,
      give: () => {
        responses.give();
        this.#considerLog();
        const seconds = (performance.now() - startedAt) / 1_000;
        this.#options.observer.committed({ size: group.length, seconds });
      },
    });
  }

  #considerLog(): void {
    if (this.#unconsideredMs < consideredMs) return;
    this.#unconsideredMs = 0;
    this.#checkpoints.consider();
  }

  /** Runs a group and commits it. Returns undefined if the group was rejected or will run again. */
  #inTransaction(
    connection: Connection,
    group: readonly GroupedScript[],
    body: () => (() => void)[],
  ): Callbacks | undefined {
    let settles: (() => void)[];
    try {
      settles = body();
      connection.commit();
    } catch (error) {
      connection.abandon();
      if (error instanceof GroupAborted) this.#runWithSavepoints(group);
      else if (isSharedMemoryFull(error)) this.#rejectOverwritten(group, error);
      else this.#rejectGroup(group, error);
      return undefined;
    }
    return {
      count: group.length,
      give() {
        for (const settle of settles) settle();
      },
      reject: (cause) => rejectUnknown(group, cause),
    };
  }

  /** Runs a group again before all others, with savepoints for its scripts and those that follow. */
  #runWithSavepoints(group: readonly GroupedScript[]): void {
    this.#writes.unshift(...group);
    this.#savepointsLeft = savepointsAfterSpoiling;
  }

  /**
   * Rejects a group whose frames are in the log although SQLite has rolled it back: recovery after a crash
   * would commit it. An empty transaction overwrites the frames, which needs no space, and the rejection waits
   * until it is durable.
   */
  #rejectOverwritten(group: readonly GroupedScript[], cause: unknown): void {
    try {
      writeNothing(this.#file.writer.database);
    } catch (error) {
      if (!isNotWritable(error)) return this.#rejectGroup(group, error);
    }
    this.#durability.afterNextSync({
      count: group.length,
      give: () => this.#rejectGroup(group, cause),
      reject: (failure) => rejectUnknown(group, failure),
    });
  }

  /**
   * Acquires the file's write lock. While another process has the lock, the engine retries without blocking,
   * and rejects waiting writes after `lockWaitMaxMs`.
   */
  #lockWrites(): boolean {
    const { unwritable } = this.#file;
    if (unwritable) {
      this.#rejectGroup(this.#writes.splice(0), unwritable);
      this.#endIfWritable(unwritable);
      return false;
    }
    try {
      return this.#lock.tryLock();
    } catch (error) {
      this.#rejectGroup(this.#writes.splice(0), error);
      return false;
    }
  }

  /**
   * Stops the engine when its file can be written again, because a read-only connection cannot become a writing
   * one.
   */
  #endIfWritable(why: NotWritable): void {
    if (performance.now() - this.#triedAt < writabilityTriedApartMs) return;
    const { file } = this.#options;
    if (canBeWritten(file, why))
      this.#fail(new Error(`${file} can be written again: the next start opens it for writing`));
    this.#triedAt = performance.now();
  }

  /** Rejects a group that was rolled back or whose outcome is unknown. */
  #rejectGroup(group: readonly GroupedScript[], error: unknown): void {
    const cause = withPath(error, this.#options.file);
    const fault = isNotWritable(cause) ? this.#notWritable(cause) : unavailable(cause);
    for (const job of group) job.reject(fault);
    if (isFatal(cause)) this.#fail(cause);
  }

  #notWritable(cause: unknown): Fault {
    return new Fault('not-writable', {
      retryAfterSeconds: 5,
      cause: cause instanceof NotWritable ? cause : new NotWritable(this.#options.file, cause),
    });
  }

  /** Stops the engine, because the state of the file is unknown. */
  #fail(cause: unknown): void {
    if (this.#ended) return;
    this.#ended = unavailable(cause);
    rejectUnknown([...this.#reads.splice(0), ...this.#writes.splice(0)], cause);
    this.#durability.stop(cause);
    this.#options.observer.failed(cause);
  }
}
