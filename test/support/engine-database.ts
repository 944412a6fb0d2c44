/** What a test sees of its service's database beside the service, whichever engine it is. */

/** The engines, as the environment and the command line name them, and as people do. */
export const engineNames = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;

export type EngineId = keyof typeof engineNames;

export type Environment = Readonly<Record<string, string>>;

/** What goes into a query: one value for each of its `?`. */
export type QueryValue = string | number | bigint | null;

/** Integers are numbers, bytes Uint8Arrays. */
export type QueryRow = Readonly<Record<string, unknown>>;

/** A database of a test's own, and a folder with its keys. Disposing it removes both, whoever still uses them. */
export type EngineDatabase = AsyncDisposable & {
  readonly folder: string;
  readonly keysFile: string;
  /** Points a service or a command at the database and the keys. */
  readonly environment: Environment;
  /** What a service leaves in the folder once it has stopped. */
  readonly filesLeft: readonly string[];
  /** Runs a query beside the service. */
  query(text: string, ...values: readonly QueryValue[]): Promise<readonly QueryRow[]>;
  /** Keeps the connection of queries open until it is disposed of: they cost less, and the database is in use. */
  keepOpen(): AsyncDisposable;
  /** Every row of every table as text, but for what is no state of a card (the heartbeat, failed lookups, token uses). */
  state(): Promise<string>;
  /** All that is stored, byte for byte. */
  bytes(): Promise<Buffer>;
  /** Runs a statement as somebody would who should not. */
  meddle(statement: string): Promise<void>;
  /** Keeps everybody from writing until it is disposed of: writes wait, reads go on. */
  lock(): Promise<AsyncDisposable>;
  /** Whether somebody has begun to make a database where there was none. */
  isTouched(): Promise<boolean>;
  /** What there is so far of a database that is being made: files, and a server's tables. */
  traces(): Promise<readonly string[]>;
};

export type DatabaseWish = {
  /** Whether even the schema is still to be made. */
  readonly empty?: boolean;
  /** Whether it outlives a failure of its machine, without which no service starts in production. */
  readonly durable?: boolean;
};

export type Engine = {
  readonly id: EngineId;
  /** How many of so many random rounds are tried where no variable asks for a number: on a server each takes longer. */
  rounds(ordinary: number): number;
  createDatabase(wish?: DatabaseWish): Promise<EngineDatabase>;
  /** What the service says of a write that has waited for a lock for too long. */
  readonly waitedTooLong: 'overloaded' | 'unavailable';
  /** What a command says, in a line, where no database was made yet. */
  readonly notMade: RegExp;
};

/** Tables that do not tell of cards, and come and go by themselves. */
const notState: ReadonlySet<string> = new Set([
  'heartbeat',
  'lookup_throttle',
  'schema_migrations',
  'key_checks',
]);

/** Of a mail: what is booked. What becomes of it goes on by itself. */
const bookedOfMail: ReadonlySet<string> = new Set([
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
  return table !== 'mail_deliveries' || bookedOfMail.has(column);
}

/** What `EngineDatabase.state` answers, of tables and their rows as text, a line each. */
export function stateText(tables: readonly QueryRow[]): string {
  return tables.map(({ name, rows }) => [name, rows ?? []].flat().join('\n')).join('\n\n');
}
