/**
 * Migrations of a PostgreSQL database while other processes use its tables. They have no time limit, so each uses a
 * connection outside the pool.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import { openAllTables } from '../store-closing.ts';
import {
  createMigrationsTable,
  insertApplied,
  pending,
  selectApplied,
  type AppliedMigration,
  type Migration,
} from '../schema/migrate.ts';
import { MigrationError } from '../schema/migration-error.ts';
import { sql } from '../sql/sql.ts';
import { distributeTables, schemaSettings } from './distribute.ts';
import { isLockedOut } from './errors.ts';
import { inPartitions } from './partitions.ts';
import { restoredFirst } from './restored.ts';
import type { Session } from './session.ts';
import { drive, openTransaction, reading, undoIfThrown, writing } from './transaction.ts';

export type MigrationOptions = {
  /** Limit of the attempts to lock tables that other processes use. */
  readonly migrationWaitMaxMs: number;
  /** Number of partitions of new tables; null: not partitioned. */
  readonly partitions: number | null;
  readonly clock: Clock;
  readonly random: Random;
};

type Connecting = { connect(): Promise<Session> };

/** Each attempt meets other transactions. */
export async function migrateWhenUnlocked(
  connecting: Connecting,
  migrations: readonly Migration[],
  options: MigrationOptions,
): Promise<readonly AppliedMigration[]> {
  const { migrationWaitMaxMs, random } = options;
  const until = performance.now() + migrationWaitMaxMs;
  for (;;) {
    try {
      return await migrateOnce(connecting, migrations, options);
    } catch (error) {
      if (!isLockedOut(error)) throw error;
      if (performance.now() >= until)
        throw new MigrationError(
          `the migration could not lock the tables for ${migrationWaitMaxMs / 1_000} s, because other transactions use them, and changed nothing: stop the other processes of the service, and backups and verifications, which pg_stat_activity lists; then run "largesse migrate"`,
          { cause: error },
        );
    }
    const [spread = 0] = random.bytes(1);
    await wait(100 + 2 * spread);
  }
}

async function migrateOnce(
  connecting: Connecting,
  migrations: readonly Migration[],
  options: MigrationOptions,
): Promise<readonly AppliedMigration[]> {
  const session = await connecting.connect();
  try {
    const applied = await migrateDatabase(session, migrations, options);
    // New tables.
    if (session.isDistributed && applied.length > 0) await distributeTables(session);
    return applied;
  } finally {
    session.destroy();
  }
}

export async function appliedIn(session: Session): Promise<readonly AppliedMigration[]> {
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
  { clock, partitions }: MigrationOptions,
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
