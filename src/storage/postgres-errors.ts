/** What the errors of a PostgreSQL server and of a connection to it mean. */

import pg from 'pg';

/**
 * The connection, or the server behind it, is of no more use. What was sent and not answered may have been
 * done or not; a transaction whose commit was not sent was not.
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  /** Whether the server itself refused a statement, so that not even a commit behind it did anything. */
  get isUndone(): boolean {
    const code = codeOf(this.cause);
    return code === featureNotSupported || code === statementMissing;
  }
}

/**
 * What a server in recovery says to a transaction that wants to write, and any server to a prepared statement
 * whose tables have changed.
 */
const featureNotSupported = '0A000';
/** A prepared statement is not there: a pooler gave the session another server connection. */
const statementMissing = '26000';

function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01', '23505']);

/** Another transaction was in the way, or a key is taken: the script may succeed when it is run again. */
export function isConflict(error: unknown): boolean {
  return conflicts.has(codeOf(error) ?? '');
}

/** lock_not_available and query_canceled: the statement waited too long, and nothing was done. */
export function isWaitedOut(error: unknown): boolean {
  const code = codeOf(error);
  return code === '55P03' || code === '57014';
}

/**
 * Codes by which the server says that the connection is of no more use: it is going away or starting, it
 * was idle for too long, could not do what it did before (0A000), or lacks what was prepared on it (26000).
 */
const endings = /^(?:08|57P0[1-5]|25P03|0A000|26000)/;

/** What an error of the client means: ConnectionLost, or the error itself. */
export function failureOf(error: Error): Error {
  const code = codeOf(error);
  if (code !== undefined && !endings.test(code)) return error;
  return new ConnectionLost(error.message, { cause: error });
}

/** The server could not do its work, whatever the statement was: out of disk, memory or connections, or damaged. */
export function isServerFailure(error: unknown): boolean {
  return /^(?:53|58|XX)/.test(codeOf(error) ?? '');
}

/** disk_full: the server rolled the transaction back, so nothing was done. A full disk of its log stops the server. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === '53100';
}

/** insufficient_privilege and undefined_function: the role may not run a function, or the server has none of that name. */
export function mayNotAsk(error: unknown): boolean {
  const code = codeOf(error);
  return code === '42501' || code === '42883';
}
