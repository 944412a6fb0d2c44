/** Runs SQLite's own checks of a file: damaged pages, indexes that lack rows, broken references. */

import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { isFatal } from './connection.ts';
import { openToRead } from './open-file.ts';

/** The longest wait for another process that is opening the file. */
const lockWaitMs = 10_000;

type Row = Readonly<Record<string, SQLOutputValue>>;

/**
 * Checks one state of the whole file, in about the time needed to read it, while other processes can read and
 * write.
 * @returns problems, each starting with the name of its table; empty: the file is sound.
 * @throws Error if the file cannot be opened or read for a reason other than damage.
 */
export function inspectFile(file: string): readonly string[] {
  using database = openToRead(file, openDatabase).opened;
  return inTransaction(database, () => {
    if (problemsOf(database, 'pragma integrity_check', 'the file').length === 0)
      return brokenReferences(database);
    // The check of the whole file does not name tables and ends at the first page that it cannot read.
    const inTables = tablesOf(database).flatMap((table) =>
      problemsOf(database, `pragma integrity_check(${table})`, table),
    );
    return inTables.length > 0 ? inTables : problemsOf(database, 'pragma integrity_check', 'the file');
  });
}

/** Opens a file, and reads from it, because SQLite opens a file only when it is first used. */
function openDatabase(name: string | URL): DatabaseSync {
  const database = new DatabaseSync(name, { readOnly: true, timeout: lockWaitMs });
  try {
    untilDamaged(database, 'pragma schema_version', () => undefined);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Runs all checks on one state of the file. */
function inTransaction<T>(database: DatabaseSync, body: () => T): T {
  database.exec('begin');
  try {
    return body();
  } finally {
    if (database.isTransaction) database.exec('rollback');
  }
}

function tablesOf(database: DatabaseSync): readonly string[] {
  const names: string[] = [];
  untilDamaged(database, "select name from sqlite_schema where type = 'table' order by name", (row) =>
    names.push(String(row['name'])),
  );
  return names;
}

function problemsOf(database: DatabaseSync, check: string, where: string): readonly string[] {
  const problems: string[] = [];
  const damage = untilDamaged(database, check, ({ integrity_check: found }) => {
    if (found !== 'ok') problems.push(`${where}: ${String(found)}`);
  });
  return damage === undefined ? problems : [...problems, `${where}: ${damage}`];
}

function brokenReferences(database: DatabaseSync): readonly string[] {
  const problems: string[] = [];
  const counted = `select "table", parent, count(*) as rows from pragma_foreign_key_check group by "table", parent`;
  untilDamaged(database, counted, ({ table, parent, rows }) =>
    problems.push(
      `${String(table)}: ${String(rows)} rows refer to a row of ${String(parent)} that does not exist`,
    ),
  );
  return problems;
}

/** Passes each row of a query to `found`. @returns the error message if SQLite ends the query at damage. */
function untilDamaged(database: DatabaseSync, query: string, found: (row: Row) => void): string | undefined {
  try {
    for (const row of database.prepare(query).iterate()) found(row);
    return undefined;
  } catch (error) {
    if (!isFatal(error) || !(error instanceof Error)) throw error;
    return error.message;
  }
}
