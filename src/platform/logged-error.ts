/**
 * Formats errors for the log without values of rows. PostgreSQL quotes values in the detail, the context and, for some
 * codes, the message ("Key (email_key)=(ada@example.com) already exists"). SQLite does so for errors without a specific
 * code. Only the fields listed here are logged.
 */

export type LoggedError = {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly cause?: LoggedError;
  readonly errors?: readonly LoggedError[];
  readonly [field: string]: unknown;
};

/** Names of errors, system calls, tables and the like. None contains a value of a row. */
const fields = [
  'code', 'errno', 'syscall', 'errcode', 'errstr', 'severity', 'schema', 'table', 'column', 'dataType', 'constraint', 'routine',
] as const; // prettier-ignore

/** Maximum depth of nested causes, because they can be circular. */
const causesMax = 5;

export function loggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error))
    return { type: typeof error, message: 'a thrown value that is not an Error', stack: '' };
  const values = new Map<string, unknown>(Object.entries(error));
  const known = fields.flatMap((field) => {
    const value = values.get(field);
    return typeof value === 'string' || typeof value === 'number' ? [[field, value] as const] : [];
  });
  const nested = depth < causesMax;
  const isOfDatabase = isPostgres(error) || isSqlite(error);
  return {
    type: error.name,
    message: mayQuoteValues(error) ? withheld : error.message,
    // A stack starts with the message.
    stack: isOfDatabase ? framesOf(error) : (error.stack ?? ''),
    ...Object.fromEntries(known),
    ...(nested && error.cause !== undefined && { cause: loggedError(error.cause, depth + 1) }),
    ...(nested &&
      error instanceof AggregateError && {
        errors: error.errors.map((each) => loggedError(each, depth + 1)),
      }),
  };
}

const withheld = 'withheld: the database may quote values in such a message';

/** Whether the PostgreSQL server sent the error. */
function isPostgres(error: Error): error is Error & { readonly code: string } {
  return 'severity' in error && 'code' in error && typeof error.code === 'string';
}

function isSqlite(error: Error): error is Error & { readonly errcode: number } {
  return 'errcode' in error && typeof error.errcode === 'number';
}

/**
 * The classes of codes whose messages name only tables, constraints, roles and limits
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html). The triggers of the migrations raise P0001.
 */
const withoutValues = /^(?:08|0A|23|25|28|3D|40|42|53|55|57|58)|^P0001$/;

/** SQLITE_ERROR: the generic code (https://sqlite.org/rescode.html#error). */
const sqliteError = 1;

function mayQuoteValues(error: Error): boolean {
  if (isPostgres(error)) return !withoutValues.test(error.code);
  return isSqlite(error) && error.errcode === sqliteError && !/^no such (?:table|column)/.test(error.message);
}

function framesOf({ stack = '', message }: Error): string {
  const at = stack.indexOf(message);
  return at < 0 ? '' : stack.slice(at + message.length).trimStart();
}
