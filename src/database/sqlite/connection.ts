/** One connection to an SQLite file: pragmas, prepared statements, transactions and error classification. */

import { constants, DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Tables } from './cache.ts';
import { exactOf, Lock, Scan, type Script, type SqlValue, type Statement } from '../sql/sql.ts';
import type { Dialect } from '../sql/fragments.ts';
import { errorText, withPath } from '../../platform/system-error.ts';
import { sqliteEntryOrder } from './entry-order.ts';
import { storeClosedMessage } from '../store-closing.ts';
import { namesItsColumns, rowMaker } from '../sql/rows.ts';

/** The longest wait for another process that is creating the file. */
const openingWaitMs = 10_000;

/**
 * The file is memory-mapped, so the cache only holds pages of the log. It is small, because a commit that moves
 * pages of a tree scans the whole cache.
 */
const writingCacheKiB = 8_192;

/** After opening: how long a call can block this thread while another process has the lock. */
export const lockAttemptMs = 5;

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const results = { busy: 5, readOnly: 8, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 } as const;

/** READONLY_DBMOVED: the file has another name than when it was opened. */
const moved = 1032;

/** IOERR_SHMSIZE: there is no space for the shared memory (the file -shm) to grow. */
const sharedMemoryFull = 4874;

/** Errors of the system on a full disk. */
const fullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Errors of the system on a read-only disk, or if this account cannot write the file. */
const deniedCodes: ReadonlySet<unknown> = new Set(['EROFS', 'EACCES', 'EPERM']);

/** INTERNAL, NOMEM, IOERR, CORRUPT and NOTADB: the state of the file, or of this process, is unknown. */
const fatalResults: ReadonlySet<number> = new Set([2, 7, 10, 11, 26]);

/** Returns the extended result code of an SQLite error; undefined for other errors. */
function extendedResultOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined;
  return error.errcode;
}

/** Returns the primary result code of an SQLite error; undefined for other errors. */
function resultOf(error: unknown): number | undefined {
  const result = extendedResultOf(error);
  return result === undefined ? undefined : result & 0xff;
}

/** Another connection has the lock: a retry can succeed. */
export function isBusy(error: unknown): boolean {
  return resultOf(error) === results.busy;
}

/** The shared memory could not grow. SQLite reports this after it has written the transaction to the log. */
export function isSharedMemoryFull(error: unknown): boolean {
  return extendedResultOf(error) === sharedMemoryFull;
}

/** The file cannot be written, because its disk is full or read-only. Nothing was changed. */
export class NotWritable extends Error {
  override readonly name = 'NotWritable';

  /** @param details what follows from it, and what to do. Default: the sentence about the cause. */
  constructor(file: string, cause: unknown, details = `because ${errorText(withPath(cause, file))}`) {
    super(`${file} cannot be written, ${details}`, { cause });
  }
}

/** The disk is full or read-only. The file is intact and the transaction was rolled back. */
export function isNotWritable(error: unknown): boolean {
  if (error instanceof NotWritable || resultOf(error) === results.full || isSharedMemoryFull(error))
    return true;
  return isDenied(error) || (error instanceof Error && 'code' in error && fullCodes.has(error.code));
}

/** The disk is read-only, or this account cannot write the file, its log, its shared memory or its folder. */
export function isDenied(error: unknown): boolean {
  if (resultOf(error) === results.readOnly) return extendedResultOf(error) !== moved;
  return error instanceof Error && 'code' in error && deniedCodes.has(error.code);
}

/** SQLite could not open the file, its log or its shared memory. */
export function isCannotOpen(error: unknown): boolean {
  return resultOf(error) === results.cannotOpen;
}

/** The file is not a database, or is damaged. */
export function isDamaged(error: unknown): boolean {
  const result = resultOf(error);
  return result === results.corrupt || result === results.notADatabase;
}

/** The state of the file is unknown. */
export function isFatal(error: unknown): boolean {
  const result = resultOf(error);
  return result !== undefined && fatalResults.has(result) && !isSharedMemoryFull(error);
}

/** CONSTRAINT_PRIMARYKEY, CONSTRAINT_UNIQUE and CONSTRAINT_ROWID: unique violations. */
const takenResults: ReadonlySet<number> = new Set([1555, 2067, 2579]);

/** A row with the same unique key exists. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && takenResults.has(Number(error.errcode));
}

/** A trigger of a closed store has raised the error: the statement was undone. */
export function isOfClosedStore(error: unknown): boolean {
  return error instanceof Error && error.message === storeClosedMessage;
}

/** The database failed independently of the statement. */
export function isStorageFailure(error: unknown): boolean {
  return isBusy(error) || isFatal(error) || isNotWritable(error);
}

export type Connection = {
  readonly database: DatabaseSync;
  readonly begin: () => void;
  /** Begins a transaction with the file's write lock. @throws an error that `isBusy` recognizes. */
  readonly beginImmediate: () => void;
  readonly commit: () => void;
  readonly savepoint: () => void;
  readonly release: () => void;
  readonly undoToSavepoint: () => void;
  /** `data_version`, which changes if another connection has committed. */
  readonly foreignVersion: () => unknown;
  /** `user_version`, which changes if a connection has committed to one of `countedTables`. */
  readonly countedVersion: () => unknown;
  /** Rolls back the open transaction, if any. */
  readonly abandon: () => void;
  /** Whether the last script has changed any rows. */
  readonly hasWritten: boolean;
  /** Runs a script to its end. */
  readonly drive: <T>(script: Script<T>) => T;
  /** Drives a script, and also returns the tables that it read. */
  readonly driveWatched: <T>(script: Script<T>) => { readonly result: T; readonly tablesRead: Tables };
  readonly close: () => void;
};

/**
 * Tables that are read with most requests and rarely written, so other processes keep what they have cached of them until a
 * commit to one of them.
 */
export const countedTables: Tables = new Set([
  'access_tokens',
  'email_servers',
  'schema_migrations',
  'stores',
  'wallets',
  'webhooks',
]);

/** `user_version` is a signed integer of 32 bits. */
const countMax = 2 ** 31 - 1;

/** Tables that a statement reads and writes according to SQLite, including those of triggers. */
type Touched = { readonly reads: Set<string>; readonly writes: Set<string> };

type Prepared = Touched & {
  /** Whether it returns the rows that it writes, so an empty result means that it has not written. */
  readonly returnsRows: boolean;
  readonly query: (values: readonly SqlValue[]) => readonly unknown[];
};

/**
 * One connection writes at a time, so rows are not locked. During the write a trigger increases an event's id
 * if needed, so ids follow the commit order.
 */
export const sqliteDialect: Dialect = {
  placeholder: () => '?',
  fragments: {
    'for update': '',
    'for update skip locked': '',
    'for key share': '',
    'commit order': 'id',
    'last committed first': 'id desc',
    'final order': 'true',
    'newest transaction': '0',
    'oldest transaction': '0',
    'quiet place': 'null',
    'catalog columns': `(
      select t.name as table_name, c.name as column_name, c.pk as key_place
      from sqlite_schema t, pragma_table_info(t.name) c
      where t.type = 'table' and t.name not like 'sqlite!_%' escape '!')`,
    'catalog references': `(
      select t.name as table_name, f."table" as referenced_name
      from sqlite_schema t, pragma_foreign_key_list(t.name) f where t.type = 'table')`,
    'catalog triggers': `(
      select name as trigger_name, tbl_name as table_name from sqlite_schema where type = 'trigger') g`,
    position: 'instr',
    'one of': 'in (',
    'end of one of': ')',
    'json array': 'json_array(',
    'end of json array': ')',
    'json comma': ',',
    'json value': '',
    'end of json value': '',
    hex: 'lower(hex(',
    'end of hex': '))',
    ...sqliteEntryOrder,
  },
  hasIndexHints: true,
  hasTriggerFunctions: false,
  isDistributed: false,
};

/** Authorizer actions that write (https://www.sqlite.org/c3ref/c_alter_table.html). */
const writingActions: ReadonlySet<number> = new Set([
  constants.SQLITE_INSERT,
  constants.SQLITE_UPDATE,
  constants.SQLITE_DELETE,
]);

/** @param written receives the tables that a commit, or a failed commit, has written to. */
export function connect(
  file: string | URL,
  { readOnly, written }: { readonly readOnly: boolean; readonly written?: (tables: Tables) => void },
): Connection {
  const database = new DatabaseSync(file, { readOnly, readBigInts: true, timeout: openingWaitMs });
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = normal;
    pragma wal_autocheckpoint = 0;
    pragma mmap_size = 2147418112;
    pragma cache_size = ${readOnly ? -16_384 : -writingCacheKiB};
    pragma temp_store = memory;
    pragma trusted_schema = off;
    pragma secure_delete = on;
    pragma busy_timeout = ${lockAttemptMs};`);

  const preparedStatements = new WeakMap<readonly string[], Prepared>();
  /** The statement that SQLite is preparing, for which it calls the authorizer. */
  let preparing: Touched = { reads: new Set(), writes: new Set() };
  database.setAuthorizer((action, table) => {
    if (table !== null && action === constants.SQLITE_READ) preparing.reads.add(table);
    if (table !== null && writingActions.has(action)) preparing.writes.add(table);
    return constants.SQLITE_OK;
  });
  const preparedOf = (statement: Statement): Prepared => {
    let prepared = preparedStatements.get(statement.strings);
    if (!prepared) {
      preparing = { reads: new Set(), writes: new Set() };
      prepared = { ...preparing, ...queryOf(database, statement) };
      preparedStatements.set(statement.strings, prepared);
    }
    return prepared;
  };

  const writtenTo = new Set<string>();
  let tablesRead: Set<string> | undefined;
  let hasWritten = false;
  const query = (statement: Statement): readonly unknown[] => {
    if (statement instanceof Lock) return [];
    const prepared = preparedOf(statement);
    // SQLite's error would look like that of a file that cannot be written, and reject the reads of the whole group.
    if (readOnly && prepared.writes.size > 0) throw new Error('a script that reads must not write');
    // After a schema change, SQLite prepares the statement again.
    preparing = prepared;
    const rows = prepared.query(statement.values);
    if (prepared.writes.size > 0 && (rows.length > 0 || !prepared.returnsRows)) hasWritten = true;
    for (const table of prepared.writes) writtenTo.add(table);
    if (tablesRead) for (const table of prepared.reads) tablesRead.add(table);
    return rows;
  };
  const drive = <T>(script: Script<T>): T => {
    hasWritten = false;
    let step = script.next([]);
    while (!step.done) step = script.next(step.value.statements.map(query));
    return step.value;
  };

  const foreignVersion = database.prepare('pragma data_version');
  // Each request reads it, and an array is faster to create than the driver's dictionary.
  foreignVersion.setReturnArrays(true);

  const userVersion = database.prepare('pragma user_version');
  userVersion.setReturnArrays(true);
  const countedVersion = (): unknown => userVersion.get()?.[0];

  const command = (text: string): (() => void) => {
    const statement = database.prepare(text);
    return () => void statement.run();
  };

  const commit = command('commit');

  return {
    database,
    foreignVersion: () => foreignVersion.get()?.[0],
    begin: command('begin deferred'),
    beginImmediate: command('begin immediate'),
    countedVersion,
    commit() {
      try {
        if (!countedTables.isDisjointFrom(writtenTo))
          database.exec(`pragma user_version = ${(Number(countedVersion()) + 1) % countMax}`);
        commit();
      } finally {
        written?.(writtenTo);
        writtenTo.clear();
      }
    },
    savepoint: command('savepoint script'),
    release: command('release script'),
    undoToSavepoint: command('rollback to script'),
    abandon() {
      try {
        if (database.isTransaction) database.exec('rollback');
      } catch {
        // The original error is reported instead.
      }
    },
    get hasWritten() {
      return hasWritten;
    },
    drive,
    driveWatched(script) {
      tablesRead = new Set();
      try {
        return { result: drive(script), tablesRead };
      } finally {
        tablesRead = undefined;
      }
    },
    close() {
      // The driver never frees a database whose authorizer uses its statements.
      database.setAuthorizer(null);
      database.close();
    },
  };
}

/** Prepares a statement. The returned function runs it and returns all rows. */
function queryOf(database: DatabaseSync, written: Statement): Pick<Prepared, 'returnsRows' | 'query'> {
  const text = written.text(sqliteDialect);
  const statement = database.prepare(text);
  const columns = statement.columns().map(({ name }) => name);
  const returnsRows = columns.length > 0;
  if (!returnsRows || !namesItsColumns(text))
    return { returnsRows, query: (values) => statement.all(...values) };
  const rowOf = rowMaker(columns);
  statement.setReturnArrays(true);
  // The rows are arrays, contrary to their declared type.
  const query: Prepared['query'] = (values) =>
    (statement.all(...values) as unknown as (readonly unknown[])[]).map(rowOf);
  return { returnsRows, query: written instanceof Scan ? scanOf(statement, query) : query };
}

/** Runs a query with numbers, and again with bigints if an integer exceeds 2^53. */
function scanOf(statement: StatementSync, query: Prepared['query']): Prepared['query'] {
  statement.setReadBigInts(false);
  return (values) => {
    try {
      return query(values);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_OUT_OF_RANGE')) throw error;
    }
    statement.setReadBigInts(true);
    try {
      return query(values).map((row) => withNumbers(row as Readonly<Record<string, unknown>>));
    } finally {
      statement.setReadBigInts(false);
    }
  };
}

function withNumbers(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? exactOf(value) : value]),
  );
}
