/** A Citus cluster on this machine: a coordinator and workers, each a PostgreSQL server that can be killed. */

import assert from 'node:assert/strict';
import { joinNodes } from '../support/citus-nodes.ts';
import type { Environment } from '../support/engine-database.ts';
import { command } from '../support/served.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';

export type Cluster = AsyncDisposable & {
  readonly coordinator: PostgresServer;
  readonly workers: readonly PostgresServer[];
  /** The errors of statements that Citus does not support, each with the statement and its number. */
  readonly unsupported: () => ReadonlyMap<string, number>;
};

type ClusterOptions = {
  readonly workers?: number;
  /** The shards of each distributed table. */
  readonly shards?: number;
  readonly settings?: Readonly<Record<string, string>>;
};

/** Every database of a server has a background process of Citus, and tests have many databases. */
export const settingsOfCluster = {
  // For a shard that moves while it is written to.
  wal_level: 'logical',
  max_replication_slots: '40',
  max_wal_senders: '40',
  max_worker_processes: '100',
  max_connections: '400',
  max_prepared_transactions: '400',
  // With the code of an error.
  log_line_prefix: '%m [%p] %d %e ',
} as const;

const settingsOfCitus = {
  shared_preload_libraries: 'citus',
  'citus.node_conninfo': 'sslmode=prefer',
} as const;

/** Starts the servers. They keep acknowledged commits if their processes are killed. */
export async function startCluster({
  workers: count = 2,
  shards = 32,
  settings = {},
}: ClusterOptions = {}): Promise<Cluster> {
  await using started = new AsyncDisposableStack();
  const servers: PostgresServer[] = [];
  for (let place = 0; place <= count; place += 1) {
    const own = { ...settingsOfCluster, ...settingsOfCitus, 'citus.shard_count': `${shards}`, ...settings };
    servers.push(started.use(await startPostgres({ durable: true, settings: own })));
  }
  const [coordinator, ...workers] = servers;
  if (!coordinator) throw new Error('the cluster has no coordinator');
  const ending = started.move();
  return {
    coordinator,
    workers,
    unsupported: () => unsupportedIn(coordinator.log()),
    [Symbol.asyncDispose]: () => ending[Symbol.asyncDispose](),
  };
}

/** The role of the service, which owns its database and is not a superuser. */
const owner = 'largesse';

/** Creates a database on every node of the cluster, without tables. Returns its URL on the coordinator. */
export async function createDatabase({ coordinator, workers }: Cluster, name: string): Promise<string> {
  for (const node of [...workers, coordinator]) {
    const { password } = new URL(node.url());
    await node.query(`create role ${owner} login password '${password}'`);
    await node.query(`grant pg_read_all_stats to ${owner}`);
    await node.query(`create database ${name} owner ${owner} template template0 encoding 'UTF8'`);
  }
  await joinNodes(coordinator, workers, name, ['postgres', owner]);
  return urlOf(coordinator, name);
}

/** The URL of the service's database on a node. */
export function urlOf(node: PostgresServer, name: string): string {
  const url = new URL(node.url(name));
  url.username = owner;
  return url.href;
}

/** Migrates a database and distributes its tables, with the command of an operator. */
export async function migrate(environment: Environment): Promise<void> {
  const { code, output, errors } = await command(environment, 'migrate', '--citus');
  assert.equal(code, 0, `${output}${errors}`);
}

/** feature_not_supported and internal_error, with the first lines of the statement. */
const unsupportedError =
  /^\S+ \S+ \S+ \[\d+\] \S+ (?:0A000|XX000) ERROR: {2}(.*)\n(?:.* (?:DETAIL|HINT|CONTEXT): .*\n)*.* STATEMENT: {2}((?:.*\n)(?:\t.*\n){0,7})/gm;

function unsupportedIn(log: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [, error = '', statement = ''] of log.matchAll(unsupportedError)) {
    const text = `${error}\n  ${statement.replaceAll(/\s+/g, ' ').trim()}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}
