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
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import { Fault } from '../../domain/fault.ts';
import {
  createMigrationsTable,
  insertApplied,
  pending,
  selectApplied,
  type AppliedMigration,
  type Migration,
} from '../schema/migrate.ts';
import { MigrationError } from '../schema/migration-error.ts';
import { driveBatch, type Ending } from './batch.ts';
import { inPartitions } from './partitions.ts';
import { openPool, type PoolOptions } from './pool.ts';
import { openReads, sharedReadsMax, type ReadJob } from './reads.ts';
import { distributeTables, schemaSettings } from './distribute.ts';
import { restoredFirst } from './restored.ts';
import { openBatches, sharedLockWaitMaxMs, sharedMax, type BatchedScript } from './batches.ts';
import {
  ConnectionLost,
  isConflict,
  isChangeOfClosedStore,
  isDeadlock,
  isDiskFull,
  isLockedOut,
  isPeerLost,
  isServerFailure,
  isWaitedOut,
} from './errors.ts';
import type { Session } from './session.ts';
import { RetryTransaction, rerunsMax, sql, type Script } from '../sql/sql.ts';
import type { Storage, StorageObserver, WriteScope } from '../storage.ts';
import { storeClosed } from '../stores/store.ts';
import { openAllTables } from '../moves/store-closing.ts';
import { openTransaction, drive, runAndAbandon, undoIfThrown } from './transaction.ts';

export type PostgresOptions = Omit<PoolOptions, 'sharedMax'> & {
  /** Limit of a script's duration, including waits and retries. */
  readonly scriptMaxMs: number;
  /** Limit of the attempts of a migration to lock tables that other processes use. */
  readonly migrationWaitMaxMs: number;
  /** Number of partitions of new tables; null: not partitioned. */
  readonly partitions: number | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: StorageObserver;
};

/**
 * A limit in addition to the deadline. Writes to a table that every server of a cluster has can deadlock several times,
 * because they lock it on each server.
 */
const deadlockRerunsMax = 40;
/** The delay before another attempt doubles this often, to at most 0.5 s. */
const doublingsMax = 7;

const writing = 'begin isolation level read committed, read write';
const reading = 'begin isolation level repeatable read, read only';

export function openPostgres(options: PostgresOptions): Storage {
  const { observer } = options;
  const lockWaitMaxMs = Math.min(options.lockWaitMaxMs, sharedLockWaitMaxMs);
  const pool = openPool<ReadJob | BatchedScript>({
    ...options,
    sharedMax: { reads: sharedReadsMax, writes: sharedMax },
  });
  let active = 0;
  let isDisposed = false;

  /** Rejects scripts after the engine was closed, and counts the running ones, for which closing waits. */
  const accept = async <T>(body: (until: number) => Promise<T>): Promise<T> => {
    if (isDisposed) throw new Fault('closing', { retryAfterSeconds: 1 });
    active += 1;
    try {
      return await body(performance.now() + options.scriptMaxMs);
    } finally {
      active -= 1;
    }
  };

  /** Runs a body on a connection. Retries it on another one if that is safe. */
  const retried = async <T>(until: number, body: (session: Session) => Promise<T>): Promise<T> => {
    for (let reruns = 0; ; reruns += 1) {
      const session = await pool.take(until);
      let delayMs = 0;
      try {
        return await body(session);
      } catch (error) {
        const most = isDeadlock(error) ? deadlockRerunsMax : rerunsMax;
        if (!mayRunAgain(error) || reruns >= most) throw publicError(error);
        // Random delays keep conflicting scripts from colliding again.
        const [spread = 0] = options.random.bytes(1);
        delayMs = (spread / 64) * 2 ** Math.min(reruns, doublingsMax);
        // A script that starts at its limit would lose its connection.
        if (performance.now() + delayMs >= until) throw publicError(error);
      } finally {
        pool.giveBack(session);
      }
      await wait(delayMs);
    }
  };

  const onConnection = <T>(body: (session: Session) => Promise<T>): Promise<T> =>
    accept((until) => retried(until, body));

  /**
   * Runs scripts in one transaction and commits it. A shared transaction has a shorter lock timeout, so that
   * one script does not delay the others.
   */
  const commitBatch = async <T>(
    session: Session,
    scripts: readonly Script<T>[],
  ): Promise<readonly Ending<T>[]> => {
    const startedAt = performance.now();
    const begin = scripts.length > 1 ? [`set local lock_timeout = ${lockWaitMaxMs}`] : [];
    const transaction = openTransaction(session, writing, ...session.transactionSettings, ...begin);
    return undoIfThrown(transaction, async () => {
      const endings = await driveBatch(transaction, scripts);
      const size = endings.filter(({ kind }) => kind === 'returned').length;
      if (size === 0) transaction.abandon();
      else if (await transaction.commit())
        observer.committed({ size, seconds: (performance.now() - startedAt) / 1_000 });
      return endings;
    });
  };

  const writeAlone = <T>(script: () => Script<T>, until: number): Promise<T> =>
    retried(until, async (session) => {
      const startedAt = performance.now();
      const transaction = openTransaction(session, writing, ...session.transactionSettings);
      return undoIfThrown(transaction, async () => {
        const result = await drive(transaction, script());
        if (await transaction.commit())
          observer.committed({ size: 1, seconds: (performance.now() - startedAt) / 1_000 });
        return result;
      });
    });

  const batches = openBatches({ pool, alone: writeAlone, commitBatch, mayRunAgain, publicError });

  const write = <T>(script: () => Script<T>, scope?: WriteScope): Promise<T> =>
    accept((until) =>
      scope && !batches.isAloneNext(scope.storeId)
        ? batches.share(script, scope, until)
        : writeAlone(script, until),
    );

  const dryRun = <T>(script: () => Script<T>): Promise<T> =>
    onConnection((session) => runAndAbandon(openTransaction(session, writing), script));

  const readAlone = <T>(script: () => Script<T>, until: number): Promise<T> =>
    retried(until, (session) => runAndAbandon(openTransaction(session, reading), script));

  const readBatched = openReads({ pool, alone: readAlone, mayRunAgain });

  const read = <T>(script: () => Script<T>): Promise<T> => accept((until) => readBatched(script, until));

  const migrateOnce = async (migrations: readonly Migration[]): Promise<readonly AppliedMigration[]> => {
    // A migration has no time limit, so it uses a connection outside the pool.
    const session = await pool.connect();
    try {
      const applied = await migrateDatabase(session, migrations, options);
      // New tables.
      if (session.isDistributed && applied.length > 0) await distributeTables(session);
      return applied;
    } finally {
      session.destroy();
    }
  };

  /** Migrates while other processes use the tables: each attempt meets other transactions. */
  const migrateWhenUnlocked = async (
    migrations: readonly Migration[],
  ): Promise<readonly AppliedMigration[]> => {
    const { migrationWaitMaxMs } = options;
    const until = performance.now() + migrationWaitMaxMs;
    for (;;) {
      try {
        return await migrateOnce(migrations);
      } catch (error) {
        if (!isLockedOut(error)) throw error;
        if (performance.now() >= until)
          throw new MigrationError(
            `the migration could not lock the tables for ${migrationWaitMaxMs / 1_000} s, because other transactions use them, and changed nothing: stop the other processes of the service, and backups and verifications, which pg_stat_activity lists; then run "largesse migrate"`,
            { cause: error },
          );
      }
      const [spread = 0] = options.random.bytes(1);
      await wait(100 + 2 * spread);
    }
  };

  return {
    read,
    write,
    dryRun,
    // Not cached: this process is not notified of writes by other processes.
    cache: () => ({ find: () => undefined, read: (_key, script) => read(script) }),
    get queueDepth() {
      return pool.waiting;
    },
    migrate: (migrations) => migrateWhenUnlocked(migrations),
    applied: () => onConnection(appliedTo),
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
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      while (active > 0) await wait(1);
      await pool.close();
    },
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

async function appliedTo(session: Session): Promise<readonly AppliedMigration[]> {
  const transaction = openTransaction(session, reading);
  return undoIfThrown(transaction, async () => {
    const [found] = await transaction.step([
      sql`select 1 as found where to_regclass('schema_migrations') is not null`,
    ]);
    const applied = found?.rows.length === 1 ? await drive(transaction, selectApplied()) : [];
    transaction.abandon();
    return applied;
  });
}

/** An arbitrary number that identifies this program's schema. */
const migrationLock = 'select pg_advisory_xact_lock(7311837112)';

/**
 * Locks all tables before the first one is changed, those first that a write locks first: a process that writes cannot
 * deadlock with the migration later. Requests queue behind a lock that is waited for, so the wait is short.
 */
const lockAllTables = `
  set local lock_timeout = '2s';
  do $$
  declare
    found regclass;
  begin
    for found in
      select oid from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
        and pg_has_role(relowner, 'usage')
      order by relname <> 'idempotency_records', relname <> 'gift_cards', relname
    loop
      execute format('lock table %s in access exclusive mode', found);
    end loop;
  end $$;
  set local lock_timeout = 0`;

/**
 * Applies the pending migrations in one transaction. A second process waits for the lock and then finds nothing
 * pending.
 */
async function migrateDatabase(
  session: Session,
  migrations: readonly Migration[],
  { clock, partitions }: PostgresOptions,
): Promise<readonly AppliedMigration[]> {
  if (session.isDistributed) {
    const applied = await session
      .send([writing])
      .then(() => drive(openTransaction(session), selectApplied()));
    await session.send(['rollback']);
    // No lock and no statement for all stores: a start must not need every server.
    if (pending(migrations, applied).length === 0) return [];
    for (const setting of schemaSettings) await session.send([setting]);
  }
  await session.send([writing, 'set local lock_timeout = 0', migrationLock, createMigrationsTable]);
  const transaction = openTransaction(session, 'savepoint migrations');
  const missing = pending(migrations, await drive(transaction, selectApplied()));
  if (missing.length > 0) {
    await transaction.settle();
    if (!session.isDistributed) await session.runText(lockAllTables);
    await drive(transaction, openAllTables());
  }
  await transaction.settle();
  for (const migration of missing) {
    await session.runText(inPartitions(migration.text, partitions));
    await drive(transaction, insertApplied(migration, clock.now()));
  }
  if (!session.isDistributed) await session.runText(restoredFirst);
  await transaction.commit();
  return missing;
}
