/**
 * The server is stopped for a while, or all connections to it are busy: requests end in time, and the service
 * recovers.
 */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { isWithin } from '../support/deadline.ts';
import { signal } from '../support/postgres-process.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import {
  assertUnavailable,
  assertVerifies,
  clientOf,
  environmentOn,
  keysFileIn,
  readinessOf,
  startOn,
  untilReadiness,
  emptyFolder,
} from '../support/postgres-service.ts';
import { seeded } from '../support/seeded.ts';
import { openShop, serve } from '../support/served.ts';
import { assertAppliedOnce, newRetryingClients, errorsOf, startWork } from '../support/retrying-client.ts';

const awayMs = Number(process.env['OUTAGE_MS'] ?? 3_000);
const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);
/**
 * The limit of a request including its wait: more than the service's own limits, and less than a client's
 * timeout.
 */
const respondedWithinMs = 20_000;

let server: PostgresServer;
before(async () => {
  server = await startPostgres({ durable: true });
});
after(() => server[Symbol.asyncDispose]());

test('the service continues after a stop and start of its server, and nothing is lost', async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  await using own = await startPostgres({ durable: true });
  using folder = emptyFolder();
  const environment = environmentOn(folder, [own]);
  const token = await openShop(environment, 'flowers.example');
  await using service = await serve(environment);
  const clients = newRetryingClients(16, { token, random: seeded(seed) });
  const work = startWork(clients, [service.url]);
  await work.untilEachSucceeds(3);
  assert.equal((await readinessOf(service.url)).status, 200);

  await own.stop('fast');
  await untilReadiness(service.url, 503);
  await wait(awayMs);
  assert.equal((await readinessOf(service.url)).status, 503);
  await own.start();
  await untilReadiness(service.url, 200);
  await work.untilEachSucceeds(3);
  await work.end();
  const slowest = Math.max(...clients.map(({ slowestMs }) => slowestMs));
  t.diagnostic(`${JSON.stringify(errorsOf(clients))}, the slowest response took ${Math.round(slowest)} ms`);
  assert.ok(slowest < respondedWithinMs);
  await assertAppliedOnce(clients, (text) => own.query(text), keysFileIn(folder));
  await assertVerifies(environment);
  assert.equal(service.errors(), '');
  assert.match(service.output(), new RegExp(`no server accepts writes: 127\\.0\\.0\\.1:${own.port}: `));
  assert.ok(!service.output().includes(new URL(own.url()).password), 'passwords are not logged');
});

test('requests to a server that hangs fail in time, the queue is limited, and the service recovers', async (t) => {
  const database = 'hanging';
  await server.query(`create database ${database}`);
  using folder = emptyFolder();
  const environment = environmentOn(folder, [{ url: () => server.url(database) }]);
  const token = await openShop(environment, 'flowers.example');
  const scriptsQueuedMax = 40;
  await using service = await startOn(environment, {
    scriptMaxMs: 1_000,
    connectTimeoutMs: 500,
    connectionWaitMaxMs: 700,
    scriptsQueuedMax,
  });
  const ask = clientOf(service.url, token);
  const issue = (key: string) => ask('POST /gift_card', { initial_value: '5.00' }, key);
  assert.equal((await issue('before')).status, 201);

  const stopped = server.processes;
  for (const pid of stopped) signal(pid, 'SIGSTOP');
  try {
    const rejected = await Promise.all(Array.from({ length: 200 }, (_, place) => issue(`during-${place}`)));
    for (const response of rejected) assertUnavailable(response);
    const overloaded = rejected.filter(({ code }) => code === 'overloaded');
    assert.ok(overloaded.length > 0, 'the queue is limited');
    assertUnavailable(await issue('during'));
    const slowest = Math.max(...rejected.map(({ tookMs }) => tookMs));
    t.diagnostic(
      `${overloaded.length} of 200 were rejected as overloaded; the slowest response took ${Math.round(slowest)} ms`,
    );
    assert.ok(slowest < 10_000);
    const { status, tookMs } = await readinessOf(service.url);
    assert.equal(status, 503);
    assert.ok(isWithin(tookMs, 10_000));
  } finally {
    for (const pid of stopped) signal(pid, 'SIGCONT');
  }
  await untilReadiness(service.url, 200);
  for (let place = 0; place < 200; place += 20) assert.equal((await issue(`during-${place}`)).status, 201);
  await assertVerifies(environment);
});

test('requests fail in time if all connections wait for a lock, and the service recovers', async () => {
  const database = 'locked';
  await server.query(`create database ${database}`);
  using folder = emptyFolder();
  const environment = environmentOn(folder, [{ url: () => server.url(database) }], {
    DATABASE_CONNECTIONS: '3',
  });
  const token = await openShop(environment, 'flowers.example');
  await using service = await startOn(environment, { connectionWaitMaxMs: 500, lockWaitMaxMs: 1_500 });
  const ask = clientOf(service.url, token);
  const issue = (key: string) => ask('POST /gift_card', { initial_value: '5.00' }, key);
  assert.equal((await issue('before')).status, 201);

  const locker = new Client({ connectionString: server.url(database) });
  await locker.connect();
  await locker.query('begin; lock table gift_cards in access exclusive mode');
  const responses = await Promise.all(Array.from({ length: 20 }, (_, place) => issue(`during-${place}`)));
  await locker.query('rollback');
  await locker.end();
  for (const response of responses) {
    assertUnavailable(response, 'overloaded');
    assert.ok(isWithin(response.tookMs, 10_000));
  }
  const later = await Promise.all(Array.from({ length: 20 }, (_, place) => issue(`during-${place}`)));
  assert.deepEqual(
    new Set(later.map(({ status, isReplayed }) => `${status} ${isReplayed}`)),
    new Set(['201 false']),
  );
  await assertVerifies(environment);
});
