/** Migrations of an SQLite file, on a connection of the engine. */

import type { Clock } from '../../platform/clock.ts';
import {
  createMigrationsTable,
  insertApplied,
  pending,
  selectApplied,
  type AppliedMigration,
  type Migration,
} from '../schema/migrate.ts';
import { MigrationError } from '../schema/migration-error.ts';
import { openAllTables } from '../store-closing.ts';
import type { Connection } from './connection.ts';

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
  const timeout = database.prepare('pragma busy_timeout').get()?.['timeout'];
  // A table is rebuilt by dropping it, which references to it would forbid. They are checked before the commit.
  database.exec('pragma busy_timeout = 30000; pragma foreign_keys = off');
  connection.beginImmediate();
  try {
    database.exec(createMigrationsTable);
    const missing = pending(migrations, connection.drive(selectApplied()));
    if (missing.length > 0) connection.drive(openAllTables());
    for (const migration of missing) {
      database.exec(migration.text);
      connection.drive(insertApplied(migration, clock.now()));
    }
    if (missing.length > 0) requireReferences(database);
    connection.commit();
    return missing;
  } catch (error) {
    connection.abandon();
    throw error;
  } finally {
    database.exec(`pragma busy_timeout = ${String(timeout)}; pragma foreign_keys = on`);
  }
}

/** @throws MigrationError if a row refers to a row that does not exist. */
function requireReferences(database: Connection['database']): void {
  const [broken] = database
    .prepare('select "table", parent from pragma_foreign_key_check group by "table", parent limit 1')
    .all();
  if (!broken) return;
  throw new MigrationError(
    `rows of ${String(broken['table'])} refer to rows of ${String(broken['parent'])} that do not exist: the database was not changed; run "largesse verify" of the version that wrote it`,
  );
}
