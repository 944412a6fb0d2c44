/**
 * The service on a PostgreSQL server.
 *
 * The database server has core 1, as a server on a machine of its own would. The service and the baseline have core 0
 * in turn, each together with the load generator.
 */

import { queryOnce } from '../test/support/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../test/support/postgres-server.ts';
import { limitCpu } from './cpu-quota.ts';
import { embeddedAt, measureFixture, type Template } from './fixture.ts';
import { LoadClient, type Request } from './load.ts';
import { largesse, otherCore, pinTo, serverCore, type Environment, type Server } from './processes.ts';
import type { FixtureResults, Scaling } from './results.ts';
import type { Bench } from './rounds.ts';

/** The part of a core that each process may use while one process is compared with two. */
const coreShare = 0.25;

/** A durable server with enough memory for a database of this size. */
export async function startDatabase(): Promise<PostgresServer> {
  const postgres = await startPostgres({
    durable: true,
    settings: { shared_buffers: '512MB', max_wal_size: '4GB', min_wal_size: '1GB', autovacuum: 'on' },
  });
  // The processes that it starts later inherit the core.
  for (const pid of postgres.processes) pinTo(otherCore, pid);
  return postgres;
}

export async function measurePostgres(
  bench: Bench,
  { postgres, template }: { readonly postgres: PostgresServer; readonly template: Template },
): Promise<FixtureResults> {
  pinTo(serverCore);
  const name = `cards_${template.cards}`;
  await postgres.query(`create database ${name}`);
  const url = postgres.url(name);
  const environment: Environment = { DATABASE_URL: url, KEYS_FILE: template.keysFile };
  const fillSeconds = copyInto(environment, template);
  await queryOnce(url, 'vacuum analyze');
  await queryOnce(url, 'checkpoint');
  const [{ bytes } = {}] = await postgres.query(
    `select pg_database_size('${name}') - pg_database_size('template1') as bytes`,
  );
  const results = await measureFixture(bench, {
    engine: 'postgres',
    template,
    fillSeconds,
    bytes: Number(bytes),
    environment,
    databasePids: () => postgres.processes,
    measureScaling: (servers, next) => measureScaling(bench, servers, next),
  });
  await postgres.query(`drop database ${name}`);
  return results;
}

/** Copies the cards with `largesse copy`. Returns the seconds without the comparison at its end. */
function copyInto(target: Environment, template: Template): number {
  const source = embeddedAt(template);
  const environment = { ...source, BENCH_TARGET: target['DATABASE_URL'] ?? '' };
  const from = source['DATABASE_URL'] ?? '';
  const { seconds } = largesse(environment, 'copy', '--from', from, '--to', 'env:BENCH_TARGET') as {
    readonly seconds: { readonly copying: number };
  };
  return seconds.copying;
}

/** Null if this user cannot limit processes. */
async function measureScaling(
  { plan }: Bench,
  servers: readonly Server[],
  next: () => Request,
): Promise<Scaling | null> {
  using limited = limitCpu(servers.map(({ pid }) => pid), coreShare); // prettier-ignore
  if (!limited) return null;
  const ports = servers.map(({ port }) => port);
  using one = await LoadClient.connect(ports.slice(0, 1), plan.connections);
  using two = await LoadClient.connect(ports, plan.connections);
  const rate = async (client: LoadClient): Promise<number> => {
    const { seconds, latenciesMs } = await client.run({ next, seconds: plan.secondsPerRound });
    return latenciesMs.length / seconds;
  };
  await two.run({ next, requests: Math.round(plan.warmUpRequests / 10) });
  const [onePerSecond, twoPerSecond]: [number[], number[]] = [[], []];
  for (let count = 0; count < plan.rounds; count += 1) {
    onePerSecond.push(await rate(one));
    twoPerSecond.push(await rate(two));
  }
  return { coreShare, onePerSecond, twoPerSecond };
}
