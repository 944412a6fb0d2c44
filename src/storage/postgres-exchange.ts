/**
 * What is sent to the server at once, and how it is answered.
 *
 * node-postgres by itself ends every statement with a Sync, upon which the server sends what it has to say so
 * far: a transaction then costs as many packets, system calls and turns of the event loop as it has statements.
 * An exchange is any number of statements with one Sync at its end. The server answers them together, and if one
 * fails it leaves out those behind it, a commit included.
 *
 * It also has the server describe the columns of a prepared statement only the first time on a connection.
 *
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */

import pg, { type Connection, type FieldDef } from 'pg';
import { rowMaker } from './rows.ts';
import type { SqlValue } from './sql.ts';

/** A statement as it goes over the wire. */
export type Query = {
  /** The same name stands for the same text on every connection; empty: it is not kept prepared. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly SqlValue[];
};

/** What a statement came to: its rows, and the server's word for what it did, such as `COMMIT` or `INSERT 0 1`. */
export type Result = { readonly rows: readonly unknown[]; readonly command: string };

/** Makes a row of its fields, as the server writes them. */
type RowReader = (fields: readonly (string | null)[]) => unknown;

/** The statements that a connection has prepared, by name, and how their rows are read. */
export type PreparedStatements = Map<string, RowReader>;

/** Integers of any width, text, bytes: nothing else is ever selected. */
const readers: Readonly<Record<number, (text: string) => unknown>> = {
  20: BigInt,
  21: BigInt,
  23: BigInt,
  17: (text) => Buffer.from(text.slice(2), 'hex'),
};
const asText = (text: string): unknown => text;
const noRow: RowReader = () => ({});

/** Of an exchange: the error that came first, or what each statement came to, in order. */
export type Outcome = Error | readonly Result[];

/**
 * Statements for `client.query`, which calls these methods when the server answers.
 *
 * It is a `pg.Query` because node-postgres takes nothing else where it pipelines, for fear of portals that stay
 * open: here each is executed to its end.
 */
export class Exchange extends pg.Query {
  readonly #queries: readonly Query[];
  readonly #prepared: PreparedStatements;
  readonly #settle: (outcome: Outcome) => void;
  readonly #results: Result[] = [];
  /** Of the statement that is being answered. */
  #readRow: RowReader | undefined;
  #rows: unknown[] = [];

  /**
   * @param prepared of the connection; it grows as statements are prepared.
   * @param settle is told what the exchange came to. What it is told after the first time is to be ignored.
   */
  constructor(queries: readonly Query[], prepared: PreparedStatements, settle: (outcome: Outcome) => void) {
    super('');
    this.#queries = queries;
    this.#prepared = prepared;
    this.#settle = settle;
  }

  override readonly submit = (connection: Connection): void => {
    // One packet for all of them, as far as they fit. With TLS this is another stream than the socket.
    connection.stream.cork();
    for (const query of this.#queries) send(connection, query, this.#prepared.has(query.name));
    connection.sync();
    connection.stream.uncork();
  };

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#readRow = rowReader(fields);
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
    this.#settle(error);
  }

  handleReadyForQuery(): void {
    this.#settle(this.#results);
  }

  /** The name of the statement that is being answered. */
  get #name(): string {
    return this.#queries[this.#results.length]?.name ?? '';
  }
}

function send(connection: Connection, { name, text, values }: Query, isPrepared: boolean): void {
  if (!isPrepared) {
    // It may have been prepared by an attempt that failed behind that. To close what is not there is no error.
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

function rowReader(columns: readonly FieldDef[]): RowReader {
  const reads = columns.map(({ dataTypeID }) => readers[dataTypeID] ?? asText);
  const toRow = rowMaker(columns.map(({ name }) => name));
  return (fields) =>
    toRow(
      reads.map((read, place) => {
        const field = fields[place] ?? null;
        return field === null ? null : read(field);
      }),
    );
}
