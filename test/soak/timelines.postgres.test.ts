/** The timelines that the service records, and the servers that it rejects because of them. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { Secret } from '../../src/platform/secret.ts';
import { timelineFile } from '../../src/platform/timeline-file.ts';
import { comeBack, errorOf, startCluster, timelinesFileIn, untilPrimaries } from '../support/old-primary.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { queryOnce } from '../support/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { emptyFolder, environmentOn, startOn, untilReadiness } from '../support/postgres-service.ts';
import { startStandby } from '../support/postgres-standby.ts';
import { openShop } from '../support/served.ts';
import { addTo, insertRow } from '../support/row-counts.ts';

test('a process uses no older timeline than another process of the machine has recorded', async () => {
  await using cluster = await startCluster();
  const { old, next, standby } = cluster;
  using folder = emptyFolder();
  const open = (servers: readonly PostgresServer[]) =>
    openPostgresEngine('', {
      urls: servers.map((server) => new Secret(server.url())),
      waitMaxMs: 2_500,
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

test('two servers on one timeline are both rejected at start, and the one in use stays', async () => {
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
  // Removing the standby's mark makes it a primary without a new timeline, unlike a promotion.
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
  const error = await errorOf(environmentOn(folder, [other, one]));
  for (const { port } of [one, other]) {
    assert.match(
      error,
      new RegExp(
        `127\\.0\\.0\\.1:${port}: accepts writes on timeline 1 of the cluster \\d+, as another host does`,
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
  await untilPrimaries(service.url, 1);
  await untilReadiness(service.url, 200);
});

test('another cluster than before is rejected until the timeline file is removed', async () => {
  await using first = await startPostgres({ durable: true });
  using folder = emptyFolder();
  const environment = environmentOn(folder, [first]);
  await openShop(environment, 'flowers.example');
  const file = timelinesFileIn(folder);
  const system = /"system": "(\d+)"/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  writeFileSync(file, readFileSync(file, 'utf8').replace(system, '4711'));
  assert.equal(
    await errorOf(environment),
    `no server accepts writes: 127.0.0.1:${first.port}: the server belongs to another cluster than before ` +
      `(system identifier ${system}, not 4711); if this is intended, stop every process and remove ${file}`,
  );
  writeFileSync(file, '{');
  assert.match(await errorOf(environment), /^the timeline file \S+ is damaged: .* then remove the file$/);
  rmSync(file);
  await using service = await startOn(environment);
  await untilReadiness(service.url, 200);
});

test('a timeline file that cannot be written is logged as a warning, and the service starts', async () => {
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

test('a role that cannot read the timeline can use one host, and several only with that right', async () => {
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
    await errorOf(environmentOn(folder, hosts)),
    /the role may not see the timeline of the server: grant it execute on the functions pg_control_system\(\)/,
  );
  // An ordinary role has the right unless an administrator has revoked it.
  await queryOnce(shop, 'grant execute on function pg_control_system() to public');
  await using service = await startOn(environmentOn(folder, hosts));
  await untilReadiness(service.url, 200);
});
