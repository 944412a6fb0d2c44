/**
 * An old primary that comes back, because nobody fenced it: the service never goes back to it, neither while the new one
 * stalls nor at a restart, and says so.
 *
 * `FAILOVER_SEED` sets the seed.
 */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { loadMigrations } from '../../src/storage/migrate.ts';
import { Fault } from '../../src/domain/fault.ts';
import { Secret } from '../../src/domain/secret.ts';
import { timelineFile } from '../../src/timeline-file.ts';
import { openPostgresEngine } from '../harness/postgres.ts';
import { queryOnce } from '../harness/postgres-client.ts';
import { comeBack, contentOf, stalled } from '../harness/old-primary.ts';
import { startPostgres, type PostgresServer } from '../harness/postgres-server.ts';
import {
  assertVerifies,
  clientOf,
  emptyFolder,
  environmentOn,
  keysFileIn,
  startOn,
  untilReadiness,
  type Folder,
} from '../harness/postgres-service.ts';
import { startStandby, type Standby } from '../harness/postgres-standby.ts';
import { seeded } from '../harness/seeded.ts';
import { command, openShop, serve, startServing } from '../harness/served.ts';
import { addTo, insertRow } from '../harness/tally.ts';
import { assertTold, newTellers, refusalsOf, untilEachSucceeds } from '../harness/teller.ts';
import type { Environment } from '../harness/engine-database.ts';

const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);
const stallMs = 5_000;

type Cluster = AsyncDisposable & {
  readonly old: PostgresServer;
  readonly next: PostgresServer;
  readonly standby: Standby;
};

async function startCluster(): Promise<Cluster> {
  await using servers = new AsyncDisposableStack();
  const old = servers.use(await startPostgres({ durable: true }));
  const standby = servers.use(await startStandby(old, { name: 'second', synchronous: true }));
  const moved = servers.move();
  return { old, next: standby.server, standby, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

/** The value of a metric. */
async function metricOf(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Starts the service in this process, which must refuse to; returns why. */
async function refusalOf(environment: Environment): Promise<string> {
  const error = await startOn(environment).then(
    async (service) => {
      await service[Symbol.asyncDispose]();
      throw new assert.AssertionError({ message: 'the service started' });
    },
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error);
  return error instanceof Fault && error.cause instanceof Error ? error.cause.message : error.message;
}

function timelinesFileIn(folder: Folder): string {
  return join(folder.path, 'largesse.timelines.json');
}

test('an old primary that comes back gets no request while the new one stalls, and the service is not ready until it is stopped', async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  await using cluster = await startCluster();
  const { old, next, standby } = cluster;
  using folder = emptyFolder();
  const environment = environmentOn(folder, [old, next]);
  const token = await openShop(environment, 'flowers.example');
  await using one = await serve(environment);
  await using other = await serve(environment);
  const tellers = newTellers(12, { token, random: seeded(seed) });
  let isOver = false;
  const working = Promise.all(tellers.map((teller) => teller.work([one.url, other.url], () => isOver)));
  await untilEachSucceeds(tellers, 5);
  await standby.promote();
  await untilEachSucceeds(tellers, 5);

  await comeBack(old);
  const before = await contentOf(old);
  for (const { url } of [one, other]) {
    await untilReadiness(url, 503);
    assert.equal(await metricOf(url, 'largesse_database_primaries'), 2);
  }
  const named = `127.0.0.1:${next.port} (timeline 2)","127.0.0.1:${old.port} (timeline 1)`;
  for (const service of [one, other]) {
    assert.ok(service.output().includes(named), service.output());
    assert.match(
      service.output(),
      /"level":"error".*2 servers of DATABASE_URL take writes: stop the old primary/,
    );
  }
  await untilEachSucceeds(tellers, 2);
  await stalled(next, () => wait(stallMs));
  await untilEachSucceeds(tellers, 5);
  assert.equal(await contentOf(old), before, 'the old primary was written to');

  await old.stop();
  for (const { url } of [one, other]) {
    await untilReadiness(url, 200);
    assert.equal(await metricOf(url, 'largesse_database_primaries'), 1);
  }
  isOver = true;
  await working;
  t.diagnostic(JSON.stringify(refusalsOf(tellers)));
  await assertTold(tellers, (text) => next.query(text), keysFileIn(folder));
  await assertVerifies(environment);
});

test('at a restart an old primary that is named first is not used: alone it is refused, and with the new one, too', async () => {
  await using cluster = await startCluster();
  const { old, next, standby } = cluster;
  using folder = emptyFolder();
  const environment = environmentOn(folder, [old, next]);
  const token = await openShop(environment, 'flowers.example');
  let id = 0;
  {
    await using service = await startOn(environment);
    await standby.promote();
    await untilReadiness(service.url, 200);
    const issued = await clientOf(service.url, token)('POST /gift_card', { initial_value: '10.00' });
    assert.equal(issued.status, 201);
    id = issued.card?.id ?? 0;
  }
  await comeBack(old);

  const both =
    `2 servers of DATABASE_URL take writes, 127.0.0.1:${next.port} (timeline 2) and 127.0.0.1:${old.port} (timeline 1): ` +
    'stop the old primary, usually that with the lower timeline, and make it a standby from a fresh copy';
  {
    await using program = startServing(environment);
    assert.equal((await program.ended()).code, 1, program.output());
    assert.equal(program.errors(), `largesse: ${both}\n`);
  }
  // Where nothing was recorded, too: another machine, say.
  using elsewhere = emptyFolder();
  writeFileSync(keysFileIn(elsewhere), readFileSync(keysFileIn(folder)));
  assert.equal(await refusalOf(environmentOn(elsewhere, [old, next])), both);
  // A command goes on with the newest timeline.
  const verified = await command(environment, 'verify', '--json');
  assert.equal(verified.code, 0, verified.errors);
  assert.equal((JSON.parse(verified.output) as { stores: { cards: number }[] }).stores[0]?.cards, 1);

  const alone = await stalled(next, () => refusalOf(environment));
  assert.match(
    alone,
    new RegExp(
      `127\\.0\\.0\\.1:${old.port}: the server is an old primary: it is on timeline 1, and timeline 2 was used before; .*remove ${timelinesFileIn(folder)}`,
    ),
  );
  assert.match(alone, new RegExp(`127\\.0\\.0\\.1:${next.port}: no response within`));
  // The old host alone in the address is known, too.
  assert.match(await refusalOf(environmentOn(folder, [old])), /is an old primary/);

  await old.stop();
  {
    await using service = await startOn(environment);
    assert.equal((await clientOf(service.url, token)(`GET /gift_card/${id}`)).card?.balance, '10.00');
  }
  // A restored backup may be on an older timeline: the file is removed as the message says.
  await next.stop();
  await old.start();
  rmSync(timelinesFileIn(folder));
  await using service = await startOn(environment);
  assert.equal((await clientOf(service.url, token)(`GET /gift_card/${id}`)).status, 404);
});

test('a standby that is promoted although its primary takes writes is found without a lost connection', async () => {
  await using cluster = await startCluster();
  const { old, next } = cluster;
  using folder = emptyFolder();
  const environment = environmentOn(folder, [old, next]);
  const token = await openShop(environment, 'flowers.example');
  await using service = await startOn(environment, { primaryCheckPeriodMs: 300 });
  const ask = clientOf(service.url, token);
  assert.equal((await ask('POST /gift_card', { initial_value: '10.00' })).status, 201);
  assert.equal(await metricOf(service.url, 'largesse_database_primaries'), 1);

  const [row] = await next.query('select pg_promote(true, 30) as done');
  assert.equal(row?.['done'], true);
  const deadline = performance.now() + 20_000;
  while (!/"level":50.*2 servers of DATABASE_URL take writes/.test(service.log())) {
    assert.ok(performance.now() < deadline, service.log());
    await wait(50);
  }
  await untilReadiness(service.url, 503);
  const { card } = await ask('POST /gift_card', { initial_value: '20.00' });
  assert.ok(card);
  const count = 'select count(*)::int as cards from gift_cards';
  assert.deepEqual(await next.query(count), [{ cards: 2 }]);
  assert.deepEqual(await old.query(count), [{ cards: 1 }]);
  await old.stop();
  await untilReadiness(service.url, 200);
  assert.match(service.log(), /at most one server of DATABASE_URL takes writes again/);
});

test('a process learns a newer timeline from another one of its machine', async () => {
  await using cluster = await startCluster();
  const { old, next, standby } = cluster;
  using folder = emptyFolder();
  const open = (servers: readonly PostgresServer[]) =>
    openPostgresEngine('', {
      urls: servers.map((server) => new Secret(server.url())),
      waitMaxMs: 5_000,
      timelines: timelineFile({
        path: timelinesFileIn(folder),
        hosts: servers.map(({ port }) => `127.0.0.1:${port}`),
        create: true,
      }),
    });
  await using storage = open([old]);
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => insertRow(1, 'first'));
  await standby.promote();
  {
    await using other = open([old, next]);
    assert.equal(await other.write(() => addTo('first', 1)), 1);
  }
  await comeBack(old);
  await assert.rejects(
    storage.write(() => addTo('first', 1)),
    (error) =>
      error instanceof Fault &&
      error.code === 'unavailable' &&
      /is an old primary: it is on timeline 1, and timeline 2 was used before/.test(String(error.cause)),
  );
});

test('of two servers on one timeline, of which neither is newer, none is chosen at start, and the one in use stays', async () => {
  await using one = await startPostgres({ durable: true });
  await using standby = await startStandby(one, { name: 'second', synchronous: false });
  const other = standby.server;
  const urls = [one, other].map((server) => new Secret(server.url()));
  const found: (readonly string[])[] = [];
  await using storage = openPostgresEngine('', {
    urls,
    observer: { committed() {}, failed() {}, primariesFound: (servers) => void found.push(servers) },
  });
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => insertRow(1, 'first'));
  await standby.streams();
  // Not promoted, but made a primary by taking its mark away, which begins no new timeline.
  await other.stop();
  rmSync(join(other.data, 'standby.signal'));
  await other.start();
  assert.equal((await other.query('select pg_is_in_recovery() as is'))[0]?.['is'], false);
  await one.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'largesse'`,
  );
  assert.equal(await storage.write(() => addTo('first', 1)), 1);
  assert.equal(found.at(-1)?.length, 2);
  assert.deepEqual(await one.query('select updated_at::int as count from stores'), [{ count: 1 }]);
  using folder = emptyFolder();
  const refusal = await refusalOf(environmentOn(folder, [other, one]));
  for (const { port } of [one, other]) {
    assert.match(
      refusal,
      new RegExp(
        `127\\.0\\.0\\.1:${port}: takes writes on timeline 1 of the cluster \\d+, as another host does`,
      ),
    );
  }
});

test('one server under two names is one server', async () => {
  await using server = await startPostgres({ durable: true });
  using folder = emptyFolder();
  const localhost = { url: () => server.url().replace('127.0.0.1', 'localhost') };
  const environment = environmentOn(folder, [server, localhost]);
  await openShop(environment, 'flowers.example');
  await using service = await startOn(environment);
  assert.equal(await metricOf(service.url, 'largesse_database_primaries'), 1);
  await untilReadiness(service.url, 200);
});

test('another cluster than before is refused until the timeline file is removed', async () => {
  await using first = await startPostgres({ durable: true });
  using folder = emptyFolder();
  const environment = environmentOn(folder, [first]);
  await openShop(environment, 'flowers.example');
  const file = timelinesFileIn(folder);
  const system = /"system": "(\d+)"/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  writeFileSync(file, readFileSync(file, 'utf8').replace(system, '4711'));
  assert.equal(
    await refusalOf(environment),
    `no server takes writes: 127.0.0.1:${first.port}: the server belongs to another cluster than before ` +
      `(system identifier ${system}, not 4711); if this is intended, stop every process and remove ${file}`,
  );
  writeFileSync(file, '{');
  assert.match(await refusalOf(environment), /^the timeline file \S+ is damaged: .* then remove the file$/);
  rmSync(file);
  await using service = await startOn(environment);
  await untilReadiness(service.url, 200);
});

test('a timeline file that cannot be written is warned of, and the service goes on', async () => {
  await using server = await startPostgres({ durable: true });
  using folder = emptyFolder();
  const environment = environmentOn(folder, [server]);
  await openShop(environment, 'flowers.example');
  rmSync(timelinesFileIn(folder));
  mkdirSync(`${timelinesFileIn(folder)}.lock`);
  await using service = await startOn(environment);
  await untilReadiness(service.url, 200);
  assert.match(service.log(), /"level":40.*the timeline file cannot be written/);
});

test('a role that may not see the timeline may use a single host, and several only when it may', async () => {
  await using cluster = await startCluster();
  const { old, next } = cluster;
  await old.query(`create role shop login password 'sesame'`);
  await old.query('create database shop owner shop');
  const shop = old.url('shop');
  await queryOnce(shop, 'revoke execute on function pg_control_system() from public');
  const hosts = [old, next].map((server) => ({
    url: () => server.url('shop').replace(/\/\/.*@/, '//shop:sesame@'),
  }));
  using folder = emptyFolder();
  await openShop(environmentOn(folder, hosts.slice(0, 1)), 'flowers.example');
  {
    await using service = await startOn(environmentOn(folder, hosts.slice(0, 1)));
    await untilReadiness(service.url, 200);
  }
  assert.match(
    await refusalOf(environmentOn(folder, hosts)),
    /the role may not see the timeline of the server: grant it execute on the functions pg_control_system\(\)/,
  );
  // An ordinary role may, unless an administrator has said otherwise.
  await queryOnce(shop, 'grant execute on function pg_control_system() to public');
  await using service = await startOn(environmentOn(folder, hosts));
  await untilReadiness(service.url, 200);
});
