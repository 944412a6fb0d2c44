/** One connection to an SQLite file: pragmas, prepared statements, transactions, and what its errors mean. */

import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Dialect, Script, Statement } from './sql.ts';

/** How long opening may wait for another process that is just making the file. */
const openingWaitMs = 10_000;

/** From then on: how long one call may hold up this thread while another process has the file's lock. */
const lockAttemptMs = 5;

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const results = { busy: 5, full: 13 } as const;

/** INTERNAL, NOMEM, IOERR, CORRUPT and NOTADB: the file, or what this process thinks of it, can no longer be trusted. */
const fatalResults: ReadonlySet<number> = new Set([2, 7, 10, 11, 26]);

/** The primary result code of an error that SQLite raised; undefined of any other. */
function resultOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined;
  return error.errcode & 0xff;
}

/** Another connection holds the lock: the same call may succeed later. */
export function isBusy(error: unknown): boolean {
  return resultOf(error) === results.busy;
}

/** The state of the file is unknown from here on. */
export function isFatal(error: unknown): boolean {
  const result = resultOf(error);
  return result !== undefined && fatalResults.has(result);
}

/** CONSTRAINT_PRIMARYKEY, CONSTRAINT_UNIQUE and CONSTRAINT_ROWID: a key is taken. */
const takenResults: ReadonlySet<number> = new Set([1555, 2067, 2579]);

/** A row with the same unique key is there already. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && takenResults.has(Number(error.errcode));
}

/** The database could not do its work, whatever the statement was: nobody's fault but its own. */
export function isStorageFailure(error: unknown): boolean {
  return isBusy(error) || isFatal(error) || resultOf(error) === results.full;
}

export type Connection = {
  readonly database: DatabaseSync;
  readonly begin: () => void;
  /** Takes the file's write lock with it. @throws an error that `isBusy` knows. */
  readonly beginImmediate: () => void;
  readonly commit: () => void;
  readonly savepoint: () => void;
  readonly release: () => void;
  readonly undoToSavepoint: () => void;
  /** Another number than before if another connection has committed meanwhile. */
  readonly foreignVersion: () => unknown;
  /** Gives the open transaction up, if there still is one. */
  readonly abandon: () => void;
  /** Drives a script to its end. */
  readonly drive: <T>(script: Script<T>) => T;
};

/**
 * One connection writes at a time, so that no row needs a lock of its own; ids of events are given out while it
 * does (a trigger sees to it), so that nothing comes before what is committed.
 */
export const sqliteDialect: Dialect = {
  placeholder: () => '?',
  fragments: {
    'for update': '',
    'for update skip locked': '',
    'commit order': 'id',
    'last committed first': 'id desc',
    'committed for good': 'true',
  },
};

export function connect(file: string, { readOnly }: { readonly readOnly: boolean }): Connection {
  const database = new DatabaseSync(file, { readOnly, readBigInts: true, timeout: openingWaitMs });
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = normal;
    pragma wal_autocheckpoint = 0;
    pragma mmap_size = 2147418112;
    pragma cache_size = ${readOnly ? -16_384 : -32_768};
    pragma temp_store = memory;
    pragma trusted_schema = off;
    pragma busy_timeout = ${lockAttemptMs};`);

  const prepared = new WeakMap<readonly string[], StatementSync>();
  const statementOf = (written: Statement): StatementSync => {
    let statement = prepared.get(written.strings);
    if (!statement) {
      statement = database.prepare(written.text(sqliteDialect));
      prepared.set(written.strings, statement);
    }
    return statement;
  };
  const query = (statement: Statement): readonly unknown[] => statementOf(statement).all(...statement.values);

  const foreignVersion = database.prepare('pragma data_version');

  const command = (text: string): (() => void) => {
    const statement = database.prepare(text);
    return () => void statement.run();
  };

  return {
    database,
    foreignVersion: () => foreignVersion.get()?.['data_version'],
    begin: command('begin deferred'),
    beginImmediate: command('begin immediate'),
    commit: command('commit'),
    savepoint: command('savepoint script'),
    release: command('release script'),
    undoToSavepoint: command('rollback to script'),
    abandon() {
      try {
        if (database.isTransaction) database.exec('rollback');
      } catch {
        // The error that led here is the one that is told.
      }
    },
    drive(script) {
      let step = script.next([]);
      while (!step.done) step = script.next(step.value.statements.map(query));
      return step.value;
    },
  };
}
