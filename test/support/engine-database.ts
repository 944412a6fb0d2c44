/** A test's access to the database of a running service, on any engine. */

/** The engines, by their name in the environment and the command line, and their name in text. */
export const engineNames = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;

export type EngineId = keyof typeof engineNames;

export type Environment = Readonly<Record<string, string>>;

/** A parameter of a query: one for each `?`. */
export type QueryValue = string | number | bigint | null;

/** Integers are numbers, and bytes are Uint8Arrays. */
export type QueryRow = Readonly<Record<string, unknown>>;

/**
 * A database of one test, and a folder with its keys. Disposing it removes both, even while they are in use.
 */
export type EngineDatabase = AsyncDisposable & {
  readonly folder: string;
  readonly keysFile: string;
  /** Configures a service or a command to use the database and the keys. */
  readonly environment: Environment;
  /** The files that a stopped service leaves in the folder. */
  readonly filesLeft: readonly string[];
  /** Runs a query while the service runs. */
  query(text: string, ...values: readonly QueryValue[]): Promise<readonly QueryRow[]>;
  /**
   * Keeps the connection of queries open until it is disposed. Queries are faster, and the database is in
   * use.
   */
  keepOpen(): AsyncDisposable;
  /**
   * Every row of every table as text, except for tables without state of cards (heartbeat, failed lookups,
   * token uses).
   */
  state(): Promise<string>;
  /** All stored bytes. */
  bytes(): Promise<Buffer>;
  /** Runs a statement outside of the service. */
  meddle(statement: string): Promise<void>;
  /** Blocks all writers until it is disposed: writes wait, and reads continue. */
  lock(): Promise<AsyncDisposable>;
  /** Whether a process has begun to create the database. */
  isTouched(): Promise<boolean>;
  /** The parts of a database that is being created: files, and the tables of a server. */
  traces(): Promise<readonly string[]>;
};

export type DatabaseWish = {
  /** Whether the database has no schema yet. */
  readonly empty?: boolean;
  /** Whether it survives a failure of its machine. A service in production does not start without this. */
  readonly durable?: boolean;
};

export type Engine = {
  readonly id: EngineId;
  /** The number of random rounds, unless a variable sets it. Rounds on a server take longer. */
  rounds(ordinary: number): number;
  createDatabase(wish?: DatabaseWish): Promise<EngineDatabase>;
  /** The error code of a write that has waited too long for a lock. */
  readonly waitedTooLong: 'overloaded' | 'unavailable';
  /** The line that a command prints if the database does not exist. */
  readonly notMade: RegExp;
};

/** Tables that do not describe cards, and that background work changes. */
const notState: ReadonlySet<string> = new Set([
  'logs',
  'log_pages',
  'log_subtrees',
  'log_cursors',
  'store_work',
  'log_backfills',
  'log_turn',
  'heartbeat',
  'lookup_throttle',
  'request_blocks',
  'schema_migrations',
  'key_checks',
]);

/** The columns of an email that are set when it is queued. Background work changes the others. */
const scheduledColumns: ReadonlySet<string> = new Set([
  'store_id',
  'card_id',
  'id',
  'kind',
  'address',
  'send_at',
]);

/** Whether a table's column belongs to `EngineDatabase.state`. */
export function isState(table: string, column: string): boolean {
  if (notState.has(table) || column === 'last_used_at') return false;
  return table !== 'email_deliveries' || scheduledColumns.has(column);
}

/** The text of `EngineDatabase.state`: tables and their rows, one line each. */
export function stateText(tables: readonly QueryRow[]): string {
  return tables.map(({ name, rows }) => [name, rows ?? []].flat().join('\n')).join('\n\n');
}
