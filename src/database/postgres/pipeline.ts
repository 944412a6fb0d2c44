/**
 * Pipelines statements with one Sync.
 *
 * node-postgres sends a Sync after every statement, so a transaction costs as many packets, system calls and
 * event loop turns as it has statements. Here any number of statements share one Sync. If one fails, the server
 * skips the rest, including a commit. Columns of a prepared statement are described only once per connection.
 *
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */

import pg, { type Connection, type FieldDef } from 'pg';
import { rowMaker } from '../sql/rows.ts';
import type { SqlValue } from '../sql/sql.ts';

export type Query = {
  /** Name of the prepared statement, which identifies the same text on every connection; empty: not prepared. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** Whether its integers are numbers, as those of a `Scan`. */
  readonly isScan: boolean;
  /** Whether it controls the session or a transaction. */
  readonly isCommand: boolean;
};

/** Rows and command tag of a statement, such as `COMMIT` or `INSERT 0 1`. */
export type StatementResult = { readonly rows: readonly unknown[]; readonly command: string };

/** Converts the text fields of a row to an object. */
type RowReader = (fields: readonly (string | null)[]) => unknown;

/** Prepared statements of a connection, by name, with the readers of their rows. */
export type PreparedStatements = Map<string, RowReader>;

/** Queries select only integers, text and bytes. */
const readers: Readonly<Record<number, (text: string) => unknown>> = {
  20: BigInt,
  21: BigInt,
  23: BigInt,
  17: (text) => Buffer.from(text.slice(2), 'hex'),
};
const toScanned = (text: string): unknown => {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
};
const scanReaders: typeof readers = { ...readers, 20: toScanned, 21: Number, 23: Number };
const asText = (text: string): unknown => text;
const noRow: RowReader = () => ({});

/** The first error, or the results of the statements in order. */
export type PipelineOutcome = Error | readonly StatementResult[];

/**
 * A query whose methods `client.query` calls as messages arrive.
 *
 * It extends `pg.Query` because node-postgres pipelines nothing else, to avoid open portals. Here every portal
 * is run to completion.
 */
export class Exchange extends pg.Query {
  readonly #queries: readonly Query[];
  readonly #prepared: PreparedStatements;
  readonly #settle: (outcome: PipelineOutcome, wasNew: boolean) => void;
  readonly #results: StatementResult[] = [];
  /** Reader for the rows of the current statement. */
  #readRow: RowReader | undefined;
  #rows: unknown[] = [];

  /**
   * @param prepared statements of the connection; the exchange adds those that it prepares.
   * @param settle receives the outcome, and whether the connection had never run the statement that failed. Later calls
   * must be ignored.
   */
  constructor(
    queries: readonly Query[],
    prepared: PreparedStatements,
    settle: (outcome: PipelineOutcome, wasNew: boolean) => void,
  ) {
    super('');
    this.#queries = queries;
    this.#prepared = prepared;
    this.#settle = settle;
  }

  override readonly submit = (connection: Connection): void => {
    // One packet if the statements fit. With TLS this stream is not the socket.
    connection.stream.cork();
    for (const query of this.#queries) send(connection, query, this.#prepared.has(query.name));
    connection.sync();
    connection.stream.uncork();
  };

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#readRow = rowReader(fields, this.#queries[this.#results.length]?.isScan ? scanReaders : readers);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#readRow ??= this.#prepared.get(this.#name) ?? noRow;
    this.#rows.push(this.#readRow(fields));
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const name = this.#name;
    if (name !== '' && !this.#prepared.has(name)) this.#prepared.set(name, this.#readRow ?? noRow);
    this.#results.push({ rows: this.#rows, command: text });
    this.#readRow = undefined;
    this.#rows = [];
  }

  handleError(error: Error): void {
    const failed = this.#queries[this.#results.length];
    this.#settle(error, failed !== undefined && !failed.isCommand && !this.#prepared.has(failed.name));
  }

  handleReadyForQuery(): void {
    this.#settle(this.#results, false);
  }

  /** Name of the current statement. */
  get #name(): string {
    return this.#queries[this.#results.length]?.name ?? '';
  }
}

function send(connection: Connection, { name, text, values }: Query, isPrepared: boolean): void {
  if (!isPrepared) {
    // An earlier attempt can have prepared it and failed afterwards. Closing a statement that does not exist is
    // allowed.
    if (name !== '') connection.close({ type: 'S', name }, true);
    connection.parse({ name, text, types: [] }, true);
  }
  connection.bind({ statement: name, values: values.map(toWire) }, true);
  if (!isPrepared) connection.describe({ type: 'P' }, true);
  connection.execute(null, true);
}

function toWire(value: SqlValue): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object') return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value.toString();
}

function rowReader(columns: readonly FieldDef[], readersOfTypes: typeof readers): RowReader {
  const reads = columns.map(({ dataTypeID }) => readersOfTypes[dataTypeID] ?? asText);
  const toRow = rowMaker(columns.map(({ name }) => name));
  return (fields) =>
    toRow(
      reads.map((read, place) => {
        const field = fields[place] ?? null;
        return field === null ? null : read(field);
      }),
    );
}
