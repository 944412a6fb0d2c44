/**
 * PgBouncer between the service and its server: session pooling works, and every other mode is rejected at
 * start.
 *
 * `FAULT_SEED` sets the seed.
 */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { Client } from 'pg';
import { startPgbouncer, type Pgbouncer, type PgbouncerOptions } from '../support/pgbouncer.ts';
import { queryOnce } from '../support/postgres-client.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { assertVerifies, emptyFolder, environmentOn, keysFileIn } from '../support/postgres-service.ts';
import { seeded } from '../support/seeded.ts';
import { commandProcess, openShop, serve, startServing } from '../support/served.ts';
import {
  assertAppliedOnce,
  countSuccesses,
  newRetryingClients,
  errorsOf,
  startWork,
} from '../support/retrying-client.ts';

const seed = Number(process.env['FAULT_SEED'] ?? Date.now() % 2 ** 31);

let server: PostgresServer;
before(async () => {
  server = await startPostgres({ durable: true });
});
after(() => server[Symbol.asyncDispose]());

const needsSessions =
  /^largesse: the database cannot be used: .*127\.0\.0\.1:\d+: .*session pooling \(PgBouncer: pool_mode = session\) or a direct connection\n$/;

/** Opens server connections of the pooler and leaves them idle. */
async function leaveIdle(pooler: Pgbouncer, count: number): Promise<void> {
  const clients = Array.from({ length: count }, () => new Client({ connectionString: pooler.url() }));
  await Promise.all(clients.map((client) => client.connect()));
  await Promise.all(clients.map((client) => client.query('select 1 from pg_sleep(0.2)')));
  await Promise.all(clients.map((client) => client.end()));
}

test('two processes work through session pooling as they do without a pooler', async (t) => {
  t.diagnostic(`seed ${seed} (FAULT_SEED)`);
  await using pooler = await startPgbouncer(server, { poolMode: 'session' });
  using folder = emptyFolder();
  const environment = environmentOn(folder, [pooler], { DATABASE_CONNECTIONS: '8' });
  const token = await openShop(environment, 'flowers.example');
  await using one = await serve(environment);
  await using other = await serve(environment);
  const clients = newRetryingClients(12, { token, random: seeded(seed) });
  const work = startWork(clients, [one.url, other.url]);
  await work.untilEachSucceeds(25);
  await work.end();
  assert.deepEqual(errorsOf(clients), {});
  await assertAppliedOnce(clients, (text) => server.query(text), keysFileIn(folder));
  await assertVerifies(environment);
  for (const service of [one, other]) {
    service.kill('SIGTERM');
    assert.deepEqual(await service.ended(), { code: 0, signal: null });
    assert.doesNotMatch(service.output(), /"level":"(?:error|fatal)"/);
  }
  t.diagnostic(`${countSuccesses(clients)} requests`);
});

const rejected: readonly (readonly [string, PgbouncerOptions, number])[] = [
  ['transaction pooling', { poolMode: 'transaction' }, 0],
  ['transaction pooling with idle server connections', { poolMode: 'transaction', idleServers: 6 }, 6],
  ['transaction pooling in turn', { poolMode: 'transaction', idleServers: 6, roundRobin: true }, 6],
  ['statement pooling', { poolMode: 'statement' }, 0],
];
for (const [name, options, idle] of rejected) {
  test(`${name} is rejected at start with the required setting, and server connections keep no setting`, async () => {
    await using pooler = await startPgbouncer(server, options);
    await leaveIdle(pooler, idle);
    using folder = emptyFolder();
    const environment = environmentOn(folder, [pooler]);
    await using program = startServing(environment);
    assert.deepEqual(await program.ended(), { code: 1, signal: null }, program.output());
    assert.match(program.errors(), needsSessions);
    const { code, errors } = await commandProcess(environment, 'store', 'list');
    assert.equal(code, 1);
    assert.match(errors, needsSessions);
    // Another program that uses the same pool can still write.
    for (let place = 0; place <= idle; place += 1) {
      assert.deepEqual(await queryOnce(pooler.url(), 'show default_transaction_read_only'), [
        { default_transaction_read_only: 'off' },
      ]);
    }
  });
}

test('transaction pooling is rejected although another program keeps its server connections busy', async () => {
  await using pooler = await startPgbouncer(server, { poolMode: 'transaction' });
  let isOver = false;
  const busy = Promise.all(
    Array.from({ length: 4 }, async () => {
      const client = new Client({ connectionString: pooler.url() });
      await client.connect();
      while (!isOver) await client.query('select 1 from pg_sleep(0.001)');
      await client.end();
    }),
  );
  using folder = emptyFolder();
  for (let start = 0; start < 5; start += 1) {
    const { code, errors } = await commandProcess(environmentOn(folder, [pooler]), 'migrate');
    assert.equal(code, 1);
    assert.match(errors, needsSessions);
  }
  isOver = true;
  await busy;
});
