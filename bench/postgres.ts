/**
 * The service on a PostgreSQL server, against `pgbench` on the same server and a bare `node:http` server.
 *
 * The database server has core 1 to itself, as one on a machine of its own would have. Core 0 is the client machine:
 * the service's processes, the bare server and `pgbench` run there in turn, each with whoever asks it. So the bare
 * server and the service pay alike for the load generator beside them, and `pgbench` has for its own what they have.
 */

import { queryOnce } from '../test/harness/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../test/harness/postgres-server.ts';
import { holdToShare } from './core-share.ts';
import { load } from './load.ts';
import type { Operation } from './operations.ts';
import { preparePgbench } from './pgbench.ts';
import { largesse, type Environment, type Server } from './processes.ts';
import type { Loading, Scaling, SiteResults } from './results.ts';
import { moveDatabase, moveGenerator, type Bench } from './rounds.ts';
import { embeddedAt, measureSite, type Master } from './site.ts';

/** How much of a core each process may use while one process is compared with two. */
const coreShare = 0.25;

/** A durable server with memory for a database of this size, as its own documentation advises. */
export async function startDatabase(bench: Bench): Promise<PostgresServer> {
  const postgres = await startPostgres({
    durable: true,
    settings: { shared_buffers: '512MB', max_wal_size: '4GB', min_wal_size: '1GB', autovacuum: 'on' },
  });
  // What it forks from here on stays on its core.
  moveDatabase(bench, postgres.processes);
  return postgres;
}

export async function versionOf(postgres: PostgresServer): Promise<string> {
  const [{ server_version: version } = {}] = await postgres.query('show server_version');
  return String(version);
}

export async function measurePostgres(
  bench: Bench,
  given: { readonly postgres: PostgresServer; readonly master: Master },
): Promise<SiteResults> {
  const { postgres, master } = given;
  moveGenerator(bench, 'beside servers');
  const name = `cards_${master.cards}`;
  await postgres.query(`create database ${name}`);
  const url = postgres.url(name);
  const environment: Environment = { DATABASE_URL: url, KEYS_FILE: master.keysFile };
  const loading = copyInto(environment, master);
  await queryOnce(url, 'vacuum analyze');
  await queryOnce(url, 'checkpoint');
  const bytes = await bytesOf(postgres, name);
  const pgbench = await preparePgbench(bench, { postgres, cards: master.cards });
  const results = await measureSite(bench, {
    engine: 'postgres',
    cards: master.cards,
    loading,
    bytesPerCard: bytes / master.cards,
    master,
    environment,
    processes: 2,
    shared: ['create', 'debit'],
    rivalsOf: (operation) => pgbench.rivalsOf(operation),
    database: () => postgres.processes,
    afterwards: (debit, servers) => measureScaling(bench, { debit, servers }),
  });
  await postgres.query(`drop database ${name}`);
  await pgbench.end();
  return { ...results, pgbench: pgbench.measured };
}

/** What a database takes on disk above an empty one. */
async function bytesOf(postgres: PostgresServer, name: string): Promise<number> {
  const [{ bytes } = {}] = await postgres.query(
    `select pg_database_size('${name}') - pg_database_size('template1') as bytes`,
  );
  return Number(bytes);
}

/** Moves the cards as a store does that outgrows one file. */
function copyInto(target: Environment, master: Master): Loading {
  const environment = { ...embeddedAt(master), BENCH_TARGET: target['DATABASE_URL'] ?? '' };
  const from = embeddedAt(master)['DATABASE_URL'] ?? '';
  const { copied, seconds } = largesse(environment, 'copy', '--from', from, '--to', 'env:BENCH_TARGET') as {
    readonly copied: number;
    readonly seconds: { readonly copying: number };
  };
  const way = '`largesse copy` from the file of the embedded engine, without the comparison at its end';
  return { way, rows: copied, seconds: seconds.copying };
}

/**
 * Debits by one process and by two, each held to a share of a core: what a second process adds as long as neither the
 * database server nor the client's core is the limit. Null where processes cannot be held so.
 */
async function measureScaling(
  { plan }: Bench,
  { debit, servers }: { readonly debit: Operation; readonly servers: readonly Server[] },
): Promise<Scaling | null> {
  using held = holdToShare(servers.map(({ pid }) => pid), coreShare); // prettier-ignore
  if (!held) return null;
  const rate = async (asked: readonly Server[], seconds: number): Promise<number> => {
    const ports = asked.map(({ port }) => port);
    const figures = await load({ ports, connections: plan.connections, seconds, next: debit.next });
    return figures.latenciesMs.length / figures.seconds;
  };
  const [one, two]: [number[], number[]] = [[], []];
  await rate(servers, plan.settleSeconds);
  for (let round = 0; round < plan.rounds; round += 1) {
    one.push(await rate(servers.slice(0, 1), plan.seconds));
    two.push(await rate(servers, plan.seconds));
  }
  return { coreShare, onePerSecond: one, twoPerSecond: two };
}
