/**
 * Compares the cost of operations on plain PostgreSQL and on a Citus cluster, both on this machine:
 * `npx node test/citus/cost.ts`. `CITUS_SECONDS` sets the duration of a measurement.
 *
 * Both have the same settings, and their files in memory if enough is free, so times contain no disk. Each
 * measurement is the median of rounds that alternate between both. Processor time does not include what the servers
 * use without requests. If other programs use the processors, rates mean little; processor time is comparable.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { LoadClient } from '../../bench/load.ts';
import { ExpectedLedger, operationsOf, type OperationName } from '../../bench/operations.ts';
import { populate } from '../../bench/population.ts';
import { cpuMicros } from '../../bench/processes.ts';
import type { Environment } from '../support/engine-database.ts';
import { queryOnce } from '../support/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { assertVerifies } from '../support/postgres-service.ts';
import { openShop, serve } from '../support/served.ts';
import { createDatabase, migrate, settingsOfCluster, startCluster } from './cluster.ts';
import { report } from './shops.ts';

const seconds = Number(process.env['CITUS_SECONDS'] ?? 3);
const rounds = 5;
const idleSeconds = 10;
const repetitions = 1_000;
const stores = 8;
const cardsPerStore = 200;
const measured: readonly OperationName[] = [
  'retrieve',
  'search',
  'create',
  'create with a key',
  'debit',
  'update',
];
const concurrencies = [1, 16] as const;

type Side = {
  readonly port: number;
  readonly servers: readonly PostgresServer[];
  readonly next: (
    operation: OperationName,
  ) => () => ReturnType<ReturnType<typeof operationsOf>[OperationName]>;
};

type Figures = { readonly rate: number; readonly ms: number; readonly micros: number };

await using ending = new AsyncDisposableStack();

type Shops = { readonly environment: Environment; readonly tokens: readonly string[] };

async function openShops(url: string, isDistributed: boolean): Promise<Shops> {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-citus-'));
  ending.defer(() => rmSync(folder, { recursive: true, force: true }));
  const environment = {
    DATABASE_URL: url,
    KEYS_FILE: join(folder, 'largesse.keys.json'),
    PORT: '0',
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'info',
  };
  if (isDistributed) await migrate(environment);
  const tokens: string[] = [];
  for (let place = 1; place <= stores; place += 1)
    tokens.push(await openShop(environment, `shop-${place}.example`));
  ending.defer(() => assertVerifies(environment));
  return { environment, tokens };
}

/** Starts a service, which is measured with the stores of these tokens. */
async function start({ environment, tokens }: Shops, servers: readonly PostgresServer[]): Promise<Side> {
  const service = await serve(environment);
  ending.use(service);
  const port = Number(new URL(service.url).port);
  const operations: ReturnType<typeof operationsOf>[] = [];
  for (const token of tokens) {
    const population = await populate({ port }, { token, cards: cardsPerStore, connections: 4 });
    const expected = new ExpectedLedger();
    const keyPrefix = `${port}-${Date.now().toString(36)}`;
    operations.push(operationsOf({ token, population, expected, isChecking: true, keyPrefix }));
  }
  let count = 0;
  const next: Side['next'] = (operation) => () => {
    count += 1;
    const own = operations[count % operations.length];
    assert.ok(own);
    return own[operation]();
  };
  return { port, servers, next };
}

/** The processor time of servers in a second without requests, in µs: that of the background jobs. */
const idleTimes = new Map<readonly PostgresServer[], number>();

async function measureIdle(servers: readonly PostgresServer[]): Promise<number> {
  const before = usedBy(servers);
  await wait(idleSeconds * 1_000);
  const idle = (usedBy(servers) - before) / idleSeconds;
  idleTimes.set(servers, idle);
  return idle;
}

function idleOf(servers: readonly PostgresServer[]): number {
  return idleTimes.get(servers) ?? 0;
}

function usedBy(servers: readonly PostgresServer[]): number {
  return servers.reduce((sum, { processes }) => sum + cpuMicros(processes), 0);
}

async function measure(
  { port, servers, next }: Side,
  operation: OperationName,
  connections: number,
): Promise<Figures> {
  using client = await LoadClient.connect([port], connections);
  const before = usedBy(servers);
  const { latenciesMs, seconds: took } = await client.run({
    next: next(operation),
    seconds: seconds / rounds,
  });
  const requests = latenciesMs.length;
  return {
    rate: requests / took,
    ms: median([...latenciesMs]),
    micros: (usedBy(servers) - before - idleOf(servers) * took) / requests,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function medians(all: readonly Figures[]): Figures {
  const of = (name: keyof Figures): number => median(all.map((figures) => figures[name]));
  return { rate: of('rate'), ms: of('ms'), micros: of('micros') };
}

const cluster = ending.use(await startCluster());
const plainServer = ending.use(await startPostgres({ durable: true, settings: settingsOfCluster }));
await plainServer.query('create database largesse');
const plainUrl = plainServer.url('largesse');
const citusUrl = await createDatabase(cluster, 'largesse');
const plainShops = await openShops(plainUrl, false);
const citusShops = await openShops(citusUrl, true);
const nodes = [cluster.coordinator, ...cluster.workers];
const plain = await start(plainShops, [plainServer]);
const citus = await start(citusShops, nodes);

// Stores in the order of their creation, each with the port of its worker.
const places = await queryOnce(
  citusUrl,
  `select s.id::text as id, nodeport::text as port from stores s
   join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('gift_cards', s.id)
   join pg_dist_node n on n.groupid = p.groupid order by s.id`,
);
const [first] = places;
const owner = cluster.workers.find(({ port }) => String(port) === first?.['port']);
assert.ok(first && owner);
const ofOwner = citusShops.tokens.filter((_, place) => places[place]?.['port'] === first['port']);
const atOwnerUrl = owner.url('largesse');
const atOwner = await start(
  { environment: { ...citusShops.environment, DATABASE_URL: atOwnerUrl }, tokens: ofOwner },
  nodes,
);

for (const [name, { servers }] of [
  ['plain PostgreSQL', plain],
  ['Citus, with two processes', citus],
] as const)
  report(
    `${name} without requests: ${Math.round((await measureIdle(servers)) / 1_000)} ms of processor time a second`,
  );

/** Statements that Citus sends to a shard without planning them. An operation consists of these and greater ones. */
const simplest = {
  'select by key': ['select * from gift_cards where store_id = $1 and id = $2'],
  'transaction with an update by key': [
    'begin',
    'update gift_cards set note = note where store_id = $1 and id = $2',
    'commit',
  ],
} as const;

/** The processor time of prepared statements without the service, in µs. */
async function measureStatements(
  texts: readonly string[],
  { url, side, storeId }: { readonly url: string; readonly side: Side; readonly storeId: unknown },
): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const run = async (): Promise<void> => {
      for (const text of texts)
        await client.query(
          text.includes('$') ? { name: text.slice(0, 6), text, values: [storeId, 1] } : text,
        );
    };
    for (let count = 0; count < 20; count += 1) await run();
    const [before, startedAt] = [usedBy(side.servers), performance.now()];
    for (let count = 0; count < repetitions; count += 1) await run();
    const idle = (idleOf(side.servers) * (performance.now() - startedAt)) / 1_000;
    return Math.round((usedBy(side.servers) - before - idle) / repetitions);
  } finally {
    await client.end();
  }
}

report('plain PostgreSQL → Citus, by the coordinator → Citus, by the worker of the store');
for (const [name, texts] of Object.entries(simplest)) {
  const micros = [
    await measureStatements(texts, { url: plainUrl, side: plain, storeId: 1 }),
    await measureStatements(texts, { url: citusUrl, side: atOwner, storeId: first['id'] }),
    await measureStatements(texts, { url: atOwnerUrl, side: atOwner, storeId: first['id'] }),
  ];
  report(`${name}: ${micros.join(' → ')} µs of the servers' processors`);
}
for (const connections of concurrencies)
  for (const operation of measured) {
    const sides = [plain, citus, atOwner].map((side) => ({ side, figures: new Array<Figures>() }));
    for (const { side } of sides) await measure(side, operation, connections);
    for (let round = 1; round <= rounds; round += 1)
      for (const { side, figures } of sides) figures.push(await measure(side, operation, connections));
    const found = sides.map(({ figures }) => medians(figures));
    const all = (show: (figures: Figures) => string): string => found.map(show).join(' → ');
    report(
      `${operation}, ${connections}: ${all(({ ms }) => ms.toFixed(2))} ms; ` +
        `${all(({ rate }) => rate.toFixed(0))}/s; ` +
        `${all(({ micros }) => micros.toFixed(0))} µs of the servers' processors`,
    );
  }
