/**
 * The engine for PostgreSQL and compatible servers (docs/decisions/postgresql.md). Each script runs in one
 * transaction. Writes of different cards can share one (`postgres/batches.ts`), and short reads are sent
 * together (`postgres/reads.ts`).
 *
 * A write with n awaited steps takes n + 1 round trips: `begin` is sent with the first step, and the last
 * statements that are not awaited with the commit. A read of one step takes one round trip.
 *
 * Writes are READ COMMITTED, because each changing statement has its own guard. Reads are REPEATABLE READ.
 * After a conflict, or if the connection is lost before the commit was sent, the engine retries the script. If
 * it is lost later, the outcome is unknown, and the caller gets `unavailable`.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../core/domain/fault.ts';
import { RetryTransaction, rerunsMax, type Script } from '../sql/sql.ts';
import type { Storage, StorageObserver, WriteScope } from '../storage.ts';
import { storeClosed } from '../../core/stores/storage/store.ts';
import { driveBatch, type Ending } from './batch.ts';
import { openBatches, sharedLockWaitMaxMs, sharedMax, type BatchedScript, type Batches } from './batches.ts';
import { distributeTables } from './distribute.ts';
import {
  ConnectionLost,
  isConflict,
  isChangeOfClosedStore,
  isDeadlock,
  isDiskFull,
  isPeerLost,
  isServerFailure,
  isWaitedOut,
} from './errors.ts';
import { appliedIn, migrateWhenUnlocked, type MigrationOptions } from './migrations.ts';
import { openPool, type Pool, type PoolOptions } from './pool.ts';
import { openReads, sharedReadsMax, type BatchedRead, type ReadJob } from './reads.ts';
import type { Session } from './session.ts';
import { drive, openTransaction, reading, runAndAbandon, undoIfThrown, writing } from './transaction.ts';

export type PostgresOptions = Omit<PoolOptions, 'sharedMax'> &
  MigrationOptions & {
    /** Limit of a script's duration, including waits and retries. */
    readonly scriptMaxMs: number;
    readonly observer: StorageObserver;
  };

/**
 * A limit in addition to the deadline. Writes to a table that every server of a cluster has can deadlock several times,
 * because they lock it on each server.
 */
const deadlockRerunsMax = 40;
/** The delay before another attempt doubles this often, to at most 0.5 s. */
const doublingsMax = 7;

/** Runs scripts in transactions. */
class Scripts {
  readonly pool: Pool<ReadJob | BatchedScript>;
  readonly #options: PostgresOptions;
  readonly #lockWaitMaxMs: number;
  readonly #batches: Batches;
  readonly #readBatched: BatchedRead;
  #running = 0;
  #isClosed = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.#lockWaitMaxMs = Math.min(options.lockWaitMaxMs, sharedLockWaitMaxMs);
    const pool = openPool<ReadJob | BatchedScript>({
      ...options,
      sharedMax: { reads: sharedReadsMax, writes: sharedMax },
    });
    this.pool = pool;
    this.#batches = openBatches({
      pool,
      alone: (script, until) => this.#writeAlone(script, until),
      commitBatch: (session, scripts) => this.#commitBatch(session, scripts),
      mayRunAgain,
      publicError,
    });
    this.#readBatched = openReads({
      pool,
      alone: (script, until) =>
        this.#retried(until, (session) => runAndAbandon(openTransaction(session, reading), script)),
      mayRunAgain,
    });
  }

  read<T>(script: () => Script<T>): Promise<T> {
    return this.#accept((until) => this.#readBatched(script, until));
  }

  write<T>(script: () => Script<T>, scope?: WriteScope): Promise<T> {
    return this.#accept((until) =>
      scope && !this.#batches.isAloneNext(scope.storeId)
        ? this.#batches.share(script, scope, until)
        : this.#writeAlone(script, until),
    );
  }

  dryRun<T>(script: () => Script<T>): Promise<T> {
    return this.onConnection((session) => runAndAbandon(openTransaction(session, writing), script));
  }

  onConnection<T>(body: (session: Session) => Promise<T>): Promise<T> {
    return this.#accept((until) => this.#retried(until, body));
  }

  /** Waits for the running scripts. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#running > 0) await wait(1);
    await this.pool.close();
  }

  /** Rejects scripts after the engine was closed, and counts the running ones, for which closing waits. */
  async #accept<T>(body: (until: number) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Fault('closing', { retryAfterSeconds: 1 });
    this.#running += 1;
    try {
      return await body(performance.now() + this.#options.scriptMaxMs);
    } finally {
      this.#running -= 1;
    }
  }

  /** Runs a body on a connection. Retries it on another one if that is safe. */
  async #retried<T>(until: number, body: (session: Session) => Promise<T>): Promise<T> {
    for (let reruns = 0; ; reruns += 1) {
      const session = await this.pool.take(until);
      let delayMs = 0;
      try {
        return await body(session);
      } catch (error) {
        const most = isDeadlock(error) ? deadlockRerunsMax : rerunsMax;
        if (!mayRunAgain(error) || reruns >= most) throw publicError(error);
        // Random delays keep conflicting scripts from colliding again.
        const [spread = 0] = this.#options.random.bytes(1);
        delayMs = (spread / 64) * 2 ** Math.min(reruns, doublingsMax);
        // A script that starts at its limit would lose its connection.
        if (performance.now() + delayMs >= until) throw publicError(error);
      } finally {
        this.pool.giveBack(session);
      }
      await wait(delayMs);
    }
  }

  /**
   * Runs scripts in one transaction and commits it. A shared transaction has a shorter lock timeout, so that
   * one script does not delay the others.
   */
  #commitBatch<T>(session: Session, scripts: readonly Script<T>[]): Promise<readonly Ending<T>[]> {
    const startedAt = performance.now();
    const begin = scripts.length > 1 ? [`set local lock_timeout = ${this.#lockWaitMaxMs}`] : [];
    const transaction = openTransaction(session, writing, ...session.transactionSettings, ...begin);
    return undoIfThrown(transaction, async () => {
      const endings = await driveBatch(transaction, scripts);
      const size = endings.filter(({ kind }) => kind === 'returned').length;
      if (size === 0) transaction.abandon();
      else if (await transaction.commit()) this.#observeCommit(size, startedAt);
      return endings;
    });
  }

  #writeAlone<T>(script: () => Script<T>, until: number): Promise<T> {
    return this.#retried(until, async (session) => {
      const startedAt = performance.now();
      const transaction = openTransaction(session, writing, ...session.transactionSettings);
      return undoIfThrown(transaction, async () => {
        const result = await drive(transaction, script());
        if (await transaction.commit()) this.#observeCommit(1, startedAt);
        return result;
      });
    });
  }

  #observeCommit(size: number, startedAt: number): void {
    this.#options.observer.committed({ size, seconds: (performance.now() - startedAt) / 1_000 });
  }
}

export function openPostgres(options: PostgresOptions): Storage {
  const scripts = new Scripts(options);
  const { pool } = scripts;
  const read: Storage['read'] = (script) => scripts.read(script);
  return {
    read,
    write: (script, scope) => scripts.write(script, scope),
    dryRun: (script) => scripts.dryRun(script),
    // Not cached: this process is not notified of writes by other processes.
    cache: () => ({ find: () => undefined, findOwn: () => undefined, read: (_key, script) => read(script) }),
    get queueDepth() {
      return pool.waiting;
    },
    migrate: (migrations) => migrateWhenUnlocked(pool, migrations, options),
    applied: () => scripts.onConnection(appliedIn),
    // The server's own tools make backups.
    backup: null,
    clearDeleted: async () => true,
    hasRemains: async () => false,
    async distribute() {
      const session = await pool.connect();
      try {
        return await distributeTables(session);
      } finally {
        session.destroy();
      }
    },
    get isDistributed() {
      return pool.isDistributed;
    },
    [Symbol.asyncDispose]: () => scripts.close(),
  };
}

function mayRunAgain(error: unknown): boolean {
  return (
    error instanceof RetryTransaction ||
    error instanceof ConnectionLost ||
    isPeerLost(error) ||
    isConflict(error)
  );
}

/** Converts the final error of a script to the caller's error. */
function publicError(error: unknown): unknown {
  const options = { retryAfterSeconds: 1, cause: error };
  if (error instanceof RetryTransaction || isConflict(error) || isWaitedOut(error))
    return new Fault('overloaded', options);
  if (isChangeOfClosedStore(error)) return storeClosed(error);
  if (isDiskFull(error)) return new Fault('not-writable', { retryAfterSeconds: 5, cause: error });
  if (error instanceof ConnectionLost || isServerFailure(error)) return new Fault('unavailable', options);
  return error;
}
