/**
 * Databases from before the first release, whose schema was migrations that no longer exist. `largesse copy` converts one
 * into a new database: columns that it lacks get their defaults, and sums of days are computed again.
 */

import { rebuiltTables } from '../../books/storage/stored-sums.ts';
import type { AppliedMigration } from '../../../database/schema/migrate.ts';
import { schemaDifferences, type Table, type TableRow } from '../../../database/sql/table.ts';
import { CopyError } from './copy.ts';

/** The newest migrations of databases that can be converted. */
const versions = { from: 22, upTo: 27 } as const;

/** Without the time of its last use, a session cannot be converted: staff sign in again. */
const omittedTables: ReadonlySet<string> = new Set(['staff_sessions']);

/** @throws CopyError if the database has other migrations. */
export function assertConvertible(applied: readonly AppliedMigration[]): void {
  const newest = applied.at(-1)?.version ?? 0;
  if (newest < versions.from || newest > versions.upTo)
    throw new CopyError(
      `the source is at migration ${newest} of a version from before the first release: only ${versions.from} to ${versions.upTo} can be converted`,
    );
}

/**
 * Returns the tables of the source that are copied, with the columns of the source.
 * @throws CopyError if the target lacks one of its tables or columns.
 */
export function convertedTables(source: readonly Table[], target: readonly Table[]): readonly Table[] {
  const lost = schemaDifferences(source, target).filter((line) => !line.startsWith('only the target'));
  if (lost.length > 0) throw new CopyError(`the source cannot be converted: ${lost.join('; ')}`);
  return source.filter(({ name }) => !omittedTables.has(name));
}

/** Whether the rows of both databases are compared. Rebuilt sums are compared with the ledger instead. */
export function isCompared({ name }: Table): boolean {
  return !rebuiltTables.has(name);
}

/** Converts the rows of a table. */
export function convertRows({ name }: Table, rows: readonly TableRow[]): readonly TableRow[] {
  const convert = conversions[name];
  return convert ? rows.map(convert) : rows;
}

const conversions: Readonly<Record<string, (row: TableRow) => TableRow>> = {
  // The audit log cannot be erased, so it contains no addresses of strangers.
  staff_actions: (row) =>
    row['action'] === 'sign-in-failed' && startsWith(row['details'], '{"method":"password","email":')
      ? { ...row, details: '{"method":"password"}' }
      : row,
  // Emails that were written to a folder were recorded as sent.
  email_deliveries: (row) =>
    row['state'] === 'sent' && startsWith(row['response'], 'kept as ') ? { ...row, state: 'kept' } : row,
};

function startsWith(value: TableRow[string] | undefined, start: string): boolean {
  return typeof value === 'string' && value.startsWith(start);
}
