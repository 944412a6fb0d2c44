/** Migrations of an SQLite file, on a connection of the engine. */

import type { Clock } from '../../clock.ts';
import {
  createMigrationsTable,
  insertApplied,
  pending,
  selectApplied,
  type AppliedMigration,
  type Migration,
} from '../migrate.ts';
import { lockAttemptMs, type Connection } from './connection.ts';

export function appliedTo(connection: Connection): readonly AppliedMigration[] {
  const exists = connection.database
    .prepare("select 1 from sqlite_schema where name = 'schema_migrations'")
    .get();
  return exists ? connection.drive(selectApplied()) : [];
}

/**
 * Applies the pending migrations in one transaction and returns them. A second process waits for the lock and
 * then finds nothing pending.
 */
export function migrateDatabase(
  connection: Connection,
  migrations: readonly Migration[],
  clock: Clock,
): readonly AppliedMigration[] {
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
    database.exec(`pragma busy_timeout = ${lockAttemptMs}`);
  }
}
