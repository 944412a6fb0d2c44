/** One connection to a PostgreSQL primary: what is said to it, and what its errors mean. */

import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import type { Secret } from '../domain/secret.ts';
import {
  Exchange,
  type Outcome,
  type PreparedStatements,
  type Query,
  type Result,
} from './postgres-exchange.ts';
import { ConnectionLost, failureOf, mayNotAsk } from './postgres-errors.ts';
import {
  assertPrimary,
  selectServer,
  selectStandby,
  toServer,
  type PrimaryServer,
  type ServerRow,
  type StandbyRow,
} from './postgres-primary.ts';
import { keepsSessions, SessionNotKept, type ServerProcess } from './postgres-pooler.ts';
import type { Dialect, Statement } from './sql.ts';

export type SessionOptions = {
  /** Of one host. */
  readonly url: Secret;
  /** How long it may take until the connection can be used. */
  readonly connectTimeoutMs: number;
  /** How long a statement may wait for a row that another transaction has locked. */
  readonly lockWaitMaxMs: number;
  /** How long the server lets a transaction stand open while nobody says anything. */
  readonly idleTransactionMaxMs: number;
  /** The hosts that are known to keep a server connection for each session; a host is added once it is. */
  readonly sessionsKeptBy: Set<Secret>;
};

/** A command without values, such as `begin`. */
export type Command = string;

export type Session = {
  /**
   * Sends all at once and answers what each came to, in order. If one fails, those behind it are not run.
   * @throws that one's error; ConnectionLost.
   */
  send(queries: readonly (Statement | Command)[]): Promise<readonly Result[]>;
  /** Sends a command that nobody waits for; what is sent after it is done after it. */
  post(command: Command): void;
  /** Runs a text of any number of statements without values. @throws as `send` does. */
  runText(text: string): Promise<void>;
  /** Whether the server has warned since this was last asked: at a commit, that it may not be replicated. */
  hasWarned(): boolean;
  /** Whether it can no longer be used. */
  readonly isBroken: boolean;
  /** Called once, when the connection ends, whoever ended it. */
  onEnd(listener: () => void): void;
  /** Whether it ended, or failed, without having been destroyed or closed here. */
  readonly isLost: boolean;
  /** Ends the connection at once; whatever was sent and not answered fails with ConnectionLost. */
  destroy(): void;
  /** Says goodbye, after all that was sent was answered; to a server that stays silent, without waiting for long. */
  close(): Promise<void>;
};

/** A connection to a primary, and what that is; null: the role may not see it. */
export type Opened = { readonly session: Session; readonly server: PrimaryServer | null };

export const postgresDialect: Dialect = {
  placeholder: (position) => `$${position}`,
  fragments: {
    'for update': 'for update',
    'for update skip locked': 'for update skip locked',
    'commit order': 'transaction_id, id',
    'last committed first': 'transaction_id desc, id desc',
    // A transaction that is still open may commit an event with a lower number than those that are there.
    'committed for good': 'transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint',
  },
};

/** After so long without a word the system asks whether the other machine is still there. */
const keepAliveDelayMs = 10_000;
/** How long a server may take to say goodbye. */
const closeTimeoutMs = 1_000;

type Named = Pick<Query, 'name' | 'text'>;

/** By call site. */
const named = new WeakMap<readonly string[], Named>();

function namedOf(statement: Statement): Named {
  let found = named.get(statement.strings);
  if (!found) {
    const text = statement.text(postgresDialect);
    found = { name: nameOf(text), text };
    named.set(statement.strings, found);
  }
  return found;
}

/** One name for a text, in every process: a server connection that changes hands never runs another statement. */
function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, nameLength);
}

/** 132 bits of the hash. */
const nameLength = 22;
/** The server cuts off longer names. */
const nameLengthMax = 63;

function toQuery(query: Statement | Command): Query {
  if (typeof query !== 'string') return { ...namedOf(query), values: query.values };
  return { name: query.length <= nameLengthMax ? query : '', text: query, values: [] };
}

/**
 * Connects to one host.
 * @throws NotPrimary, or whatever keeps it from connecting.
 */
export async function openSession(options: SessionOptions): Promise<Opened> {
  const { url, connectTimeoutMs } = options;
  const sockets: Socket[] = [];
  const open = async (): Promise<Connected> => {
    const socket = new Socket();
    sockets.push(socket);
    return connectClient(url, socket);
  };
  let isLate = false;
  // A server that takes connections and then says nothing is as good as none.
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
    const session = sessionOn(connected);
    return { session, server: await prepareSession(session, options) };
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
  // The query that was sent reports that a connection has ended. Without a listener the process would end, too.
  client.on('error', () => undefined);
  await client.connect();
  return { client, socket };
}

/**
 * Looks before anything is set, because a setting would stay on a server connection that other programs get next.
 * Without a pooler the server process is the one that the server named when the connection was made, and that is all.
 * @throws SessionNotKept, or what keeps a second connection from being made.
 */
async function assertKeepsSessions(client: pg.Client, open: () => Promise<Connected>): Promise<void> {
  // From the protocol's BackendKeyData, which the types lack. PgBouncer sends one of its own.
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
 * Outside of a transaction that asks for more, nothing can be written here, and what is sent at once sees one state.
 * A commit is answered after it is durable, and on the synchronous standby where there is one, whatever the server's
 * own settings say.
 */
async function prepareSession(session: Session, options: SessionOptions): Promise<PrimaryServer | null> {
  const settings = [
    'set default_transaction_read_only = on',
    "set default_transaction_isolation = 'repeatable read'",
    `set lock_timeout = ${options.lockWaitMaxMs}`,
    `set idle_in_transaction_session_timeout = ${options.idleTransactionMaxMs}`,
    // A prepared statement keeps its plan. One that was made while a table was new and empty would read all of it
    // where it looks for a row, until the server has analyzed the table.
    'set enable_seqscan = off',
    'set bytea_output = hex',
    `select set_config('synchronous_commit', 'on', false)
     where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`,
  ];
  try {
    const rows = lastRows(await session.send([...settings, selectServer]));
    return toServer(rows[0] as ServerRow);
  } catch (error) {
    if (!mayNotAsk(error)) throw error;
    // What was sent together is undone together.
    const rows = lastRows(await session.send([...settings, selectStandby]));
    assertPrimary(rows[0] as StandbyRow);
    return null;
  }
}

function lastRows(results: readonly Result[]): readonly unknown[] {
  return results.at(-1)?.rows ?? [];
}

function sessionOn({ client, socket }: Connected): Session {
  let isBroken = false;
  /** Whether this process has ended it. */
  let isLeft = false;
  let warned = false;
  let ended = false;
  const prepared: PreparedStatements = new Map();
  const listeners: (() => void)[] = [];
  const end = (): void => {
    isBroken = true;
    if (ended) return;
    ended = true;
    for (const listener of listeners) listener();
  };
  // What was sent and not answered is told to its sender; here only that nothing more can be sent.
  client.on('error', end);
  client.on('end', end);
  // The server has closed its side. The client learns this only when the socket is closed on both sides.
  socket.on('end', end);
  client.on('notice', ({ code }) => {
    // 57P01 comes as a warning, too, where an administrator ends the wait for a standby. The severity is in the
    // server's language, so the code alone counts.
    if (code === '01000' || code === '57P01') warned = true;
  });

  /** From now on no script gets this connection, even before its socket is closed. */
  const breakOff = (): void => {
    isBroken = true;
    socket.destroy();
  };

  const submit = (queries: readonly Query[], settle: (outcome: Outcome) => void): void => {
    const settleOrBreakOff = (outcome: Outcome): void => {
      const failure = outcome instanceof Error ? failureOf(outcome) : outcome;
      if (failure instanceof ConnectionLost) breakOff();
      settle(failure);
    };
    client.query(new Exchange(queries, prepared, settleOrBreakOff));
  };

  return {
    send: (queries) =>
      new Promise((resolve, reject) => {
        submit(queries.map(toQuery), (outcome) => {
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        });
      }),
    post: (command) => submit([toQuery(command)], () => undefined),
    async runText(text) {
      await client.query(text).catch((error: unknown) => {
        throw error instanceof Error ? failureOf(error) : error;
      });
    },
    hasWarned() {
      const answer = warned;
      warned = false;
      return answer;
    },
    get isBroken() {
      return isBroken;
    },
    onEnd: (listener) => void listeners.push(listener),
    get isLost() {
      return isBroken && !isLeft;
    },
    destroy() {
      isLeft ||= !isBroken;
      breakOff();
    },
    async close() {
      isLeft ||= !isBroken;
      isBroken = true;
      const timer = setTimeout(() => socket.destroy(), closeTimeoutMs);
      await client.end();
      clearTimeout(timer);
    },
  };
}
