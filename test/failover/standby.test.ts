/** The selection of servers: errors and warnings at start, and the server for writes. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { deadlineIn } from '../support/deadline.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { Secret } from '../../src/platform/secret.ts';
import { findReplication } from '../../src/database/postgres/replication.ts';
import { queryOnce } from '../support/postgres-client.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { environmentOn, emptyFolder } from '../support/postgres-service.ts';
import { startStandby, type Standby } from '../support/postgres-standby.ts';
import { command, openShop, serve, startServing } from '../support/served.ts';
import type { Environment } from '../support/engine-database.ts';
import { counterOf, addTo, insertRow } from '../support/row-counts.ts';

let primary: PostgresServer;
let standby: Standby;

before(async () => {
  primary = await startPostgres({ durable: true, settings: { wal_level: 'logical' } });
  standby = await startStandby(primary, { name: 'second', synchronous: false });
});
after(async () => {
  await standby[Symbol.asyncDispose]();
  await primary[Symbol.asyncDispose]();
});

/** Starts the service, asserts that it fails, and returns its standard error. */
async function errorOf(environment: Environment): Promise<string> {
  await using program = startServing(environment);
  const { code } = await program.ended();
  assert.equal(code, 1, program.output());
  return program.errors();
}

/** Starts the service and stops it. Returns its log. */
async function logOf(environment: Environment): Promise<string> {
  await using service = await serve(environment);
  service.kill('SIGTERM');
  assert.deepEqual(await service.ended(), { code: 0, signal: null });
  return service.output();
}

/** Waits until the primary has a synchronous standby, or no longer has one. */
async function isSynchronous(expected: boolean): Promise<void> {
  const deadline = deadlineIn(10_000);
  for (;;) {
    const [row] = await primary.query(`select sync_state = 'sync' as is from pg_stat_replication`);
    if ((row?.['is'] === true) === expected) return;
    assert.ok(!deadline.isOver(), 'the standby does not change');
    await wait(20);
  }
}

test('an asynchronous standby is rejected with advice unless it is allowed, and a synchronous one is accepted', async () => {
  using folder = emptyFolder();
  const environment = environmentOn(folder, [primary, standby.server]);
  await openShop(environment, 'flowers.example');

  const error = await errorOf(environment);
  assert.match(error, /^largesse: the standby is asynchronous: .*acknowledged changes are lost/);
  assert.match(error, /synchronous_standby_names/);
  assert.match(error, /ASYNCHRONOUS_STANDBY=allow/);
  assert.doesNotMatch(error, /\n\s+at /, 'no stack');
  // The command line can read such a database.
  assert.equal((await command(environment, 'verify')).code, 0);

  assert.match(
    await logOf({ ...environment, ASYNCHRONOUS_STANDBY: 'allow' }),
    /"level":"warn".*the standby is asynchronous/,
  );

  primary.configure({ synchronous_standby_names: 'second' });
  await isSynchronous(true);
  // With a mail server, to avoid the only other warning.
  const email = { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'cards@flowers.example' };
  assert.doesNotMatch(await logOf({ ...environment, ...email }), /"level":"(?:warn|error)"/);
  primary.configure({ synchronous_standby_names: '' });
  await isSynchronous(false);
});

test('a role without access to the state of standbys still gets the error about them', async () => {
  await primary.query(`create role shop login password 'sesame'`);
  await primary.query('create database shop owner shop');
  const url = new URL(primary.url('shop'));
  [url.username, url.password] = ['shop', 'sesame'];
  using folder = emptyFolder();
  const environment = { ...environmentOn(folder, [primary]), DATABASE_URL: url.href };
  await openShop(environment, 'flowers.example');
  const [seen] = await queryOnce(
    url.href,
    'select count(*)::int as standbys, count(sync_state)::int as reported from pg_stat_replication',
  );
  assert.deepEqual(seen, { standbys: 1, reported: 0 });
  assert.match(await errorOf(environment), /the standby is asynchronous/);

  primary.configure({ synchronous_standby_names: 'second' });
  await isSynchronous(true);
  await logOf(environment);
  primary.configure({ synchronous_standby_names: '' });
  await isSynchronous(false);
});

test('a program that copies the log, or a logical subscriber, is not a standby', async () => {
  await primary.query('create publication everything for all tables');
  await primary.query(`select pg_create_logical_replication_slot('subscriber', 'pgoutput')`);
  const [row] = await primary.query('select pg_current_wal_lsn()::text as lsn');
  const follow = async (query: string, replication: string): Promise<Client> => {
    const client = new Client({ connectionString: `${primary.url()}?${query}` });
    client.on('error', () => {});
    await client.connect();
    // The query lasts as long as the connection.
    client.query(replication).catch(() => {});
    return client;
  };
  const followers = [
    await follow(
      'replication=database&application_name=subscriber',
      `START_REPLICATION SLOT subscriber LOGICAL 0/0 (proto_version '1', publication_names 'everything')`,
    ),
    await follow(
      'replication=true&application_name=pg_receivewal',
      `START_REPLICATION ${String(row?.['lsn'])}`,
    ),
  ];
  try {
    const streaming = `select application_name as name from pg_stat_replication where state = 'streaming' order by 1`;
    const deadline = deadlineIn(10_000);
    while ((await primary.query(streaming)).length < 3) {
      assert.ok(!deadline.isOver(), JSON.stringify(await primary.query('table pg_stat_replication')));
      await wait(20);
    }
    await using storage = openPostgresEngine(primary.url());
    assert.equal((await storage.read(findReplication)).standbys, 1);
  } finally {
    for (const client of followers) client.connection.stream.destroy();
  }
});

test('fsync=off is rejected in production, and causes a warning otherwise, as do torn pages and a missing standby', async () => {
  await using hasty = await startPostgres();
  using folder = emptyFolder();
  const environment = environmentOn(folder, [hasty, standby.server]);
  const token = await openShop(environment, 'flowers.example');
  assert.ok(token);
  assert.match(await errorOf({ ...environment, NODE_ENV: 'production' }), /fsync=off.*Set fsync=on/);
  const log = await logOf(environment);
  assert.match(log, /"level":"warn".*fsync=off/);
  assert.match(log, /"level":"warn".*full_page_writes=off/);
  assert.match(log, /"level":"warn".*several hosts, but no standby/);
});

test('the service writes to the primary if the standby is named first', async () => {
  await using database = await freshDatabase();
  const urls = [standby.server.url(database.name), primary.url(database.name)].map((url) => new Secret(url));
  await using storage = openPostgresEngine('', { urls });
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => insertRow(1, 'first'));
  assert.equal(await storage.write(() => addTo('first', 5)), 5);
  assert.equal(await storage.read(() => counterOf('first')), 5);
});

test('a URL with only a standby, or without a running server, is reported at start, without the password', async () => {
  using folder = emptyFolder();
  const only = environmentOn(folder, [standby.server]);
  const error = await errorOf(only);
  assert.match(
    error,
    /^largesse: the database cannot be used: no server accepts writes: 127\.0\.0\.1:\d+: the server is a standby\n$/,
  );
  const gone = only['DATABASE_URL']?.replace(/@.*\//, '@127.0.0.1:1,localhost:2/') ?? '';
  const unreachable = await errorOf({ ...only, DATABASE_URL: gone });
  assert.match(unreachable, /127\.0\.0\.1:1: connect ECONNREFUSED.*; localhost:2: .*ECONNREFUSED/);
  const wrong = primary.url().replace(/:[^:@]*@/, ':wr0ng%21pass@');
  const stranger = await errorOf({ ...only, DATABASE_URL: wrong });
  assert.match(stranger, /password authentication failed/);
  for (const text of [error, unreachable, stranger])
    assert.doesNotMatch(text, new RegExp(`wr0ng|${new URL(primary.url()).password}`));
});

test('a primary that returns as a standby is abandoned for the new one', async () => {
  await using one = await startPostgres({ durable: true });
  await using second = await startStandby(one, { name: 'second', synchronous: true });
  const urls = [one, second.server].map((server) => new Secret(server.url()));
  await using storage = openPostgresEngine('', { urls });
  await storage.migrate(loadMigrations('postgres'));
  await storage.write(() => insertRow(1, 'first'));
  await Promise.all(Array.from({ length: 8 }, () => storage.write(() => addTo('first', 1))));

  // A planned switchover: the standby has all data when the primary has stopped.
  await one.stop();
  const [promoted] = await second.server.query('select pg_promote(true, 30) as done');
  assert.equal(promoted?.['done'], true);
  writeFileSync(join(one.data, 'standby.signal'), '');
  one.configure({
    primary_conninfo:
      second.server.parts.settings['primary_conninfo']?.replace(/port=\d+/, `port=${second.server.port}`) ??
      '',
    synchronous_standby_names: '',
  });
  await one.start();
  assert.equal((await one.query('select pg_is_in_recovery() as is'))[0]?.['is'], true);
  assert.equal(await storage.write(() => addTo('first', 1)), 9);
  await assert.rejects(
    openPostgresEngine(one.url(), { waitMaxMs: 500 }).write(() => addTo('first', 1)),
    (error) =>
      error instanceof Fault && error.code === 'unavailable' && /is a standby/.test(String(error.cause)),
  );
});

let databases = 0;

async function freshDatabase(): Promise<AsyncDisposable & { readonly name: string }> {
  databases += 1;
  const name = `shop_${databases}`;
  await primary.query(`create database ${name}`);
  return {
    name,
    async [Symbol.asyncDispose]() {
      await primary.query(`drop database ${name} with (force)`);
    },
  };
}
