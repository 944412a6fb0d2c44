/** Classification of errors of a PostgreSQL server and its connections. */

import pg from 'pg';

/**
 * The connection cannot be used. Whether pending statements were run is unknown. A transaction whose commit was
 * not sent has been rolled back.
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  /** Whether the server rejected a statement, which rules out that a commit sent after it was run. */
  get isUndone(): boolean {
    const code = codeOf(this.cause);
    return code === featureNotSupported || code === statementMissing;
  }
}

/**
 * A server in recovery reports this for a write transaction. Every server reports it for a prepared statement
 * whose tables have changed.
 */
const featureNotSupported = '0A000';
/** The prepared statement does not exist: a pooler assigned another server connection to the session. */
const statementMissing = '26000';

function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01', '23505']);

/** A conflict with another transaction, or a unique violation: a retry can succeed. */
export function isConflict(error: unknown): boolean {
  return conflicts.has(codeOf(error) ?? '');
}

/** Transactions wait for each other, or cannot be put into one order. Each attempt meets other transactions. */
export function isDeadlock(error: unknown): boolean {
  const code = codeOf(error);
  return code === '40P01' || code === '40001';
}

/**
 * The server has lost, or cannot open, its connection to another server of its cluster. Its own connection to this
 * process works. A pooler that ends a connection sends protocol_violation.
 */
export function isPeerLost(error: unknown): boolean {
  return /^08(?!P01)/.test(codeOf(error) ?? '');
}

/** lock_not_available, or a deadlock: other transactions have the locks, and nothing was changed. */
export function isLockedOut(error: unknown): boolean {
  return codeOf(error) === '55P03' || isDeadlock(error);
}

/** lock_not_available and query_canceled: the statement timed out, and nothing was changed. */
export function isWaitedOut(error: unknown): boolean {
  const code = codeOf(error);
  return code === '55P03' || code === '57014';
}

/**
 * Codes after which the connection cannot be used: the server stops or starts, the connection was idle for too
 * long, a repeated statement is rejected (0A000) or no longer prepared (26000).
 */
const endings = /^(?:08|57P0[1-5]|25P03|0A000|26000)/;

/**
 * Converts an error of the client to ConnectionLost, or returns it unchanged.
 * @param wasNew whether the connection had never run the statement: then the server does not support it.
 */
export function failureOf(error: Error, { wasNew }: { readonly wasNew: boolean }): Error {
  const code = codeOf(error);
  if (code !== undefined && !endings.test(code)) return error;
  if (code === featureNotSupported && wasNew) return error;
  if (isPeerLost(error)) return error;
  return new ConnectionLost(error.message, { cause: error });
}

/**
 * The server failed independently of the statement: it is out of disk space, memory or connections, is damaged, or
 * cannot reach another one.
 */
export function isServerFailure(error: unknown): boolean {
  return isPeerLost(error) || /^(?:53|58|XX)/.test(codeOf(error) ?? '');
}

/** Raised by the triggers of a closed store: nothing was done. */
export function isChangeOfClosedStore(error: unknown): boolean {
  return codeOf(error) === 'LG001';
}

/** disk_full: the server rolled the transaction back, so nothing was done. A full disk of its log stops the server. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === '53100';
}

/**
 * insufficient_privilege and undefined_function: the role cannot call the function, or the function does not
 * exist.
 */
export function mayNotAsk(error: unknown): boolean {
  const code = codeOf(error);
  return code === '42501' || code === '42883';
}
