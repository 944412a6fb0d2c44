/** One connection to a PostgreSQL primary. */

import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import type { Secret } from '../../platform/secret.ts';
import {
  Exchange,
  type PipelineOutcome,
  type PreparedStatements,
  type Query,
  type StatementResult,
} from './pipeline.ts';
import { selectDistribution } from './distribution.ts';
import { ConnectionLost, failureOf, mayNotAsk } from './errors.ts';
import {
  assertPrimary,
  selectServer,
  selectStandby,
  toServer,
  type PrimaryServer,
  type ServerRow,
  type StandbyRow,
} from './primary.ts';
import { keepsSessions, SessionNotKept, type ServerProcess } from './pooler.ts';
import { Scan, type Statement } from '../sql/sql.ts';
import type { Dialect } from '../sql/fragments.ts';
import { postgresDialect, citusDialect } from './dialect.ts';

export type SessionOptions = {
  /** URL of one host. */
  readonly url: Secret;
  /** Limit of the time until the connection is ready. */
  readonly connectTimeoutMs: number;
  /** The longest wait of a statement for a row lock. */
  readonly lockWaitMaxMs: number;
  /** The server ends a transaction that is idle for longer. */
  readonly idleTransactionMaxMs: number;
  /** Hosts that are known to keep one server connection per session. `openSession` adds to it. */
  readonly sessionsKeptBy: Set<Secret>;
};

export type Command = string;

export type Session = {
  /**
   * Sends all queries in one exchange and returns their results in order. If one fails, the rest are not run.
   * @throws the first query's error, or ConnectionLost.
   */
  send(queries: readonly (Statement | Command)[]): Promise<readonly StatementResult[]>;
  /** Sends a command without waiting for its result. Later commands run after it. */
  post(command: Command): void;
  /** Runs a text with any number of statements without values. @throws as `send` does. */
  runText(text: string): Promise<void>;
  /**
   * Returns whether the server has sent a warning since the last call. At a commit, a warning means that the
   * standby possibly lacks it.
   */
  hasWarned(): boolean;
  readonly isBroken: boolean;
  /** Settings of a transaction that writes, which the session's settings do not contain for other servers. */
  readonly transactionSettings: readonly Command[];
  /** Whether the stores are on different servers. */
  readonly isDistributed: boolean;
  /** Registers a listener that is called once, when the connection ends for any reason. */
  onEnd(listener: () => void): void;
  /** Whether the connection ended without a call of `destroy` or `close`. */
  readonly isLost: boolean;
  /** Closes the connection immediately. Pending queries fail with ConnectionLost. */
  destroy(): void;
  /** Closes the connection after pending queries, within a limited time. */
  close(): Promise<void>;
};

/** A connection to a primary, and its server; null: the role cannot query it. */
export type Opened = { readonly session: Session; readonly server: PrimaryServer | null };

/** The operating system sends keep-alive probes after this idle time. */
const keepAliveDelayMs = 10_000;
/** The longest wait for the server when a connection is closed. */
const closeTimeoutMs = 1_000;

type Named = Pick<Query, 'name' | 'text'>;

/** Names and texts by call site, for each dialect. */
const namedIn = new Map([postgresDialect, citusDialect].map((dialect) => [dialect, newNames()]));

function newNames(): WeakMap<readonly string[], Named> {
  return new WeakMap();
}

function namedOf(statement: Statement, dialect: Dialect): Named {
  const named = namedIn.get(dialect);
  let found = named?.get(statement.strings);
  if (!found) {
    const text = statement.text(dialect);
    found = { name: nameOf(text), text };
    named?.set(statement.strings, found);
  }
  return found;
}

/**
 * Every process uses the same name for a text, so a server connection that a pooler reassigns never runs
 * another statement.
 */
function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, nameLength);
}

/** 132 bits of the hash. */
const nameLength = 22;
/** The server truncates longer names. */
const nameLengthMax = 63;

function toQuery(query: Statement | Command, dialect: Dialect): Query {
  if (typeof query !== 'string')
    return {
      ...namedOf(query, dialect),
      values: query.values,
      isScan: query instanceof Scan,
      isCommand: false,
    };
  const name = query.length <= nameLengthMax ? query : '';
  return { name, text: query, values: [], isScan: false, isCommand: true };
}

/** Connects to one host. @throws NotPrimary, SessionNotKept, or the error of the connection. */
export async function openSession(options: SessionOptions): Promise<Opened> {
  const { url, connectTimeoutMs } = options;
  const sockets: Socket[] = [];
  const open = async (): Promise<Connected> => {
    const socket = new Socket();
    sockets.push(socket);
    return connectClient(url, socket);
  };
  let isLate = false;
  // A server that accepts a connection and does not respond counts as unreachable.
  const timer = setTimeout(() => {
    isLate = true;
    for (const socket of sockets) socket.destroy();
  }, connectTimeoutMs);
  try {
    const connected = await open();
    if (!options.sessionsKeptBy.has(url)) {
      await assertKeepsSessions(connected.client, open);
      options.sessionsKeptBy.add(url);
    }
    const session = new ServerSession(connected);
    const { server, hasCitus } = await prepareSession(session, options);
    if (hasCitus) await session.findDistribution(options);
    return { session, server };
  } catch (error) {
    for (const socket of sockets) socket.destroy();
    throw isLate ? new Error(`no response within ${connectTimeoutMs} ms`, { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

type Connected = { readonly client: pg.Client; readonly socket: Socket };

async function connectClient(url: Secret, socket: Socket): Promise<Connected> {
  const client = new pg.Client({
    connectionString: url.reveal(),
    application_name: 'largesse',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    pipeline: true,
    stream: () => socket,
  });
  // A pending query reports the end of the connection. Without a listener, the event would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return { client, socket };
}

/**
 * Detects poolers before any `set`, because a setting would stay on a server connection that other programs use
 * next. Without a pooler, the process id matches the one that the server sent at the start.
 * @throws SessionNotKept, or the error of the second connection.
 */
async function assertKeepsSessions(client: pg.Client, open: () => Promise<Connected>): Promise<void> {
  // From BackendKeyData, which the types lack. PgBouncer sends its own value.
  const { processID } = client as pg.Client & { readonly processID: number | null };
  if ((await serverProcessOf(client)()) === processID) return;
  const other = await open();
  try {
    if (!(await keepsSessions(serverProcessOf(client), serverProcessOf(other.client))))
      throw new SessionNotKept();
  } finally {
    other.socket.destroy();
  }
}

function serverProcessOf(client: pg.Client): ServerProcess {
  return async () => {
    const { rows } = await client.query<{ id: number }>('select pg_backend_pid() as id');
    return rows[0]?.id ?? 0;
  };
}

/**
 * Makes the session read-only by default, with one state per exchange. Commits wait until they are durable,
 * also on a synchronous standby, regardless of the server's settings.
 */
async function prepareSession(
  session: Session,
  options: SessionOptions,
): Promise<{ readonly server: PrimaryServer | null; readonly hasCitus: boolean }> {
  const settings = [
    'set default_transaction_read_only = on',
    "set default_transaction_isolation = 'repeatable read'",
    `set lock_timeout = ${options.lockWaitMaxMs}`,
    `set idle_in_transaction_session_timeout = ${options.idleTransactionMaxMs}`,
    // A prepared statement keeps its plan. A plan from when a table was empty would scan the whole table until
    // the server has analyzed it.
    'set enable_seqscan = off',
    'set bytea_output = hex',
    // A commit is not a success if the server warns.
    'set client_min_messages = notice',
    `select set_config('synchronous_commit', 'on', false)
     where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`,
  ];
  try {
    const rows = lastRows(await session.send([...settings, selectServer]));
    const row = rows[0] as ServerRow;
    return { server: toServer(row), hasCitus: row.citus === 1n };
  } catch (error) {
    if (!mayNotAsk(error)) throw error;
    // The failed exchange has undone the settings.
    const rows = lastRows(await session.send([...settings, selectStandby]));
    const row = rows[0] as StandbyRow;
    assertPrimary(row);
    return { server: null, hasCitus: row.citus === 1n };
  }
}

function lastRows(results: readonly StatementResult[]): readonly unknown[] {
  return results.at(-1)?.rows ?? [];
}

class ServerSession implements Session {
  readonly #client: Connected['client'];
  readonly #socket: Connected['socket'];
  readonly #prepared: PreparedStatements = new Map();
  readonly #listeners: (() => void)[] = [];
  #transactionSettings: readonly Command[] = [];
  #isDistributed = false;
  #isBroken = false;
  /** Whether this process has closed the connection. */
  #isLeft = false;
  #hasWarned = false;
  #hasEnded = false;

  constructor({ client, socket }: Connected) {
    this.#client = client;
    this.#socket = socket;
    const end = (): void => this.#end();
    // Pending queries report the error to their callers.
    client.on('error', end);
    client.on('end', end);
    // The server has closed its side. The client reports this only after both sides are closed.
    socket.on('end', end);
    client.on('notice', ({ code }) => {
      // 57P01 is a warning if an administrator ends the wait for a standby. The severity is in the server's
      // language, so only the code is compared.
      if (code === '01000' || code === '57P01') this.#hasWarned = true;
    });
  }

  get isDistributed(): boolean {
    return this.#isDistributed;
  }

  get transactionSettings(): readonly Command[] {
    return this.#transactionSettings;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  get isLost(): boolean {
    return this.#isBroken && !this.#isLeft;
  }

  /** Finds out whether the database is distributed. */
  async findDistribution(options: SessionOptions): Promise<void> {
    const [found] = lastRows(await this.send([selectDistribution])) as readonly {
      readonly tables: bigint;
    }[];
    this.#isDistributed = found !== undefined && found.tables > 0n;
    if (!this.#isDistributed) return;
    await this.send([
      "set citus.propagate_set_commands = 'local'",
      // Without this, a transaction that has read all stores cannot change a table that every server has.
      "set citus.multi_shard_modify_mode = 'sequential'",
      // With this level, the server forwards another server's warning at a commit.
      'set client_min_messages = debug1',
      // A statement for all stores uses one connection to each server. Citus keeps one, and would open more of
      // them, with all that an authentication costs, and close them after the transaction.
      'set citus.max_adaptive_executor_pool_size = 1',
    ]);
    // The settings of a session do not reach the other servers; those of a transaction do.
    this.#transactionSettings = [
      `set local lock_timeout = ${options.lockWaitMaxMs}`,
      'set local synchronous_commit = on',
      'set local enable_seqscan = off',
    ];
  }

  send(queries: readonly (Statement | Command)[]): Promise<readonly StatementResult[]> {
    return new Promise((resolve, reject) => {
      const dialect = this.#dialect();
      this.#submit(
        queries.map((query) => toQuery(query, dialect)),
        (outcome) => {
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      );
    });
  }

  post(command: Command): void {
    this.#submit([toQuery(command, this.#dialect())], () => undefined);
  }

  async runText(text: string): Promise<void> {
    await this.#client.query(text).catch((error: unknown) => {
      throw error instanceof Error ? failureOf(error, { wasNew: true }) : error;
    });
  }

  hasWarned(): boolean {
    const response = this.#hasWarned;
    this.#hasWarned = false;
    return response;
  }

  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }

  destroy(): void {
    this.#isLeft ||= !this.#isBroken;
    this.#breakOff();
  }

  async close(): Promise<void> {
    this.#isLeft ||= !this.#isBroken;
    this.#isBroken = true;
    const timer = setTimeout(() => this.#socket.destroy(), closeTimeoutMs);
    await this.#client.end();
    clearTimeout(timer);
  }

  #end(): void {
    this.#isBroken = true;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const listener of this.#listeners) listener();
  }

  /** The pool must not assign the connection again, even before its socket is closed. */
  #breakOff(): void {
    this.#isBroken = true;
    this.#socket.destroy();
  }

  #submit(queries: readonly Query[], settle: (outcome: PipelineOutcome) => void): void {
    const settleOrBreakOff = (outcome: PipelineOutcome, wasNew: boolean): void => {
      const failure = outcome instanceof Error ? failureOf(outcome, { wasNew }) : outcome;
      if (failure instanceof ConnectionLost) this.#breakOff();
      settle(failure);
    };
    this.#client.query(new Exchange(queries, this.#prepared, settleOrBreakOff));
  }

  #dialect(): Dialect {
    return this.#isDistributed ? citusDialect : postgresDialect;
  }
}
