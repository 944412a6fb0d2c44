/** Databases for tests, created quickly on a server that all tests of a run share. */

import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, DatabaseError, type Pool } from 'pg';
import { joinNodes } from './citus-nodes.ts';
import { openPool, type PostgresAddress, type Row } from './postgres-client.ts';
import { startPostgres, type PostgresServer } from './postgres-server.ts';

const attemptsMax = 20;
const pauseMaxMs = 100;
/** The variable with the URL of the run's server, for the processes of its test files. */
const sharedUrlVariable = 'TEST_POSTGRES_URL';
/** The variable with the URLs of the workers, if that server is the coordinator of a Citus cluster. */
const workerUrlsVariable = 'TEST_CITUS_WORKERS';

/** The number of partitions by store of this process's tests, or null for tables without partitions. */
export const partitions = process.env['TEST_PARTITIONS'] ? Number(process.env['TEST_PARTITIONS']) : null;

let shared: Promise<PostgresAddress> | undefined;

/**
 * Starts a server with unusual settings on purpose: tests that pass do not depend on its time zone, date
 * format or collation. It ends with this process at the latest.
 */
export function startSharedPostgres(): Promise<PostgresServer> {
  return startPostgres({
    collation: 'language',
    authentication: 'md5',
    settings: { timezone: 'Asia/Kathmandu', datestyle: 'SQL, DMY', intervalstyle: 'iso_8601' },
  });
}

/** The server that this run's tests share, or one of this process if `TEST_POSTGRES_URL` is not set. */
export function sharedPostgres(): Promise<PostgresAddress> {
  const url = process.env[sharedUrlVariable];
  shared ??= url ? Promise.resolve(namedServer(url)) : startSharedPostgres();
  return shared;
}

function namedServer(url: string): PostgresAddress {
  const workers = (process.env[workerUrlsVariable] ?? '').split(' ').filter(Boolean);
  return { ...addressOf(url), ...(workers.length > 0 && { workers: workers.map(addressOf) }) };
}

/** The server and its workers. The coordinator is last: it uses the others. */
function nodesOf(server: PostgresAddress): readonly PostgresAddress[] {
  return [...(server.workers ?? []), server];
}

function addressOf(url: string): PostgresAddress {
  return {
    url(database = 'postgres') {
      const named = new URL(url);
      named.pathname = `/${database}`;
      return named.href;
    },
  };
}

export type PostgresDatabase = AsyncDisposable & {
  readonly url: string;
  readonly name: string;
  readonly query: (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;
  /** Drops the database, even if clients are connected. */
  readonly drop: () => Promise<void>;
};

/** Creates an empty database, or a copy of a template, which a Citus cluster has on every node. */
export async function createPostgresDatabase(
  server: PostgresAddress,
  { template = 'template0' }: { readonly template?: string } = {},
): Promise<PostgresDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  // Copying files is several times faster than copying pages through the log, for a large schema.
  for (const node of nodesOf(server))
    await patiently(node.url(), `create database ${name} template ${template} strategy file_copy`);
  const url = server.url(name);
  const pool = openPool(url);
  let isDropped = false;
  const drop = async (): Promise<void> => {
    if (isDropped) return;
    isDropped = true;
    await pool.end();
    for (const node of nodesOf(server).toReversed())
      await patiently(node.url(), `drop database if exists ${name} with (force)`);
  };
  return {
    url,
    name,
    query: async (text, values = []) => (await pool.query<Row>(text, [...values])).rows,
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

/**
 * Returns the name of a template database that is created once on the server, by the first process that needs
 * it.
 *
 * @param key identifies everything that its content depends on.
 * @param fill creates the content of the database at the URL, and leaves no connection to it.
 */
export async function templateDatabase(
  server: PostgresAddress,
  key: string,
  fill: (url: string) => Promise<void>,
): Promise<string> {
  const name = `template_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(hashtext($1))', [name]);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 1) return name;
    const draft = `${name}_draft`;
    for (const node of nodesOf(server)) {
      await patiently(node.url(), `drop database if exists ${draft} with (force)`);
      await patiently(node.url(), `create database ${draft} template template0`);
    }
    if (server.workers) await joinNodes(server, server.workers, draft);
    await fill(server.url(draft));
    for (const node of nodesOf(server)) {
      // A database that accepts no connections can always be copied.
      await patiently(node.url(), `alter database ${draft} with allow_connections false`);
      // Citus has a background process and open connections in each database.
      await patiently(
        node.url(),
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${draft}'`,
      );
    }
    for (const node of nodesOf(server))
      await patiently(node.url(), `alter database ${draft} rename to ${name}`);
    return name;
  } finally {
    await client.end();
  }
}

/** Errors of concurrent creations or drops of databases, and of a server without a free connection. */
const passing = new Set(['55006', '53300', '57P03', '23505', 'XX000']);
/** Errors of a connection that ended since its last use. */
const ended = new Set(['57P01', 'ECONNRESET', 'EPIPE']);

/** Connections for creations and drops, by server. A new connection costs as much as a creation. */
const administrators = new Map<string, Pool>();

function administratorOf(url: string): Pool {
  const pool = administrators.get(url) ?? openPool(url);
  administrators.set(url, pool);
  return pool;
}

async function patiently(url: string, text: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await administratorOf(url).query(text);
      return;
    } catch (error) {
      const { code = '', message } = error as Error & { readonly code?: string };
      const isPassing =
        (error instanceof DatabaseError && passing.has(code)) ||
        ended.has(code) ||
        /terminated/.test(message);
      if (!isPassing || attempt === attemptsMax) throw error;
      await wait(Math.random() * pauseMaxMs);
    }
  }
}
