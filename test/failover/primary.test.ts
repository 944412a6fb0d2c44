/**
 * The primary is killed under load and its synchronous standby is promoted. Acknowledged requests are not
 * lost, other requests are executed once when they are sent again, and the service continues without a
 * restart.
 *
 * `FAILOVER_ROUNDS` sets the number of rounds, `FAILOVER_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn, isWithin } from '../support/deadline.ts';
import { signal } from '../support/postgres-process.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { assertVerifies, environmentOn, keysFileIn, emptyFolder } from '../support/postgres-service.ts';
import { startStandby, type Standby } from '../support/postgres-standby.ts';
import { seeded } from '../support/seeded.ts';
import { openShop, serve, type Served } from '../support/served.ts';
import {
  assertAppliedOnce,
  countSuccesses,
  newRetryingClients,
  errorsOf,
  startWork,
} from '../support/retrying-client.ts';

const rounds = Number(process.env['FAILOVER_ROUNDS'] ?? 1);
const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const backWithinMs = 10_000;

type Cluster = AsyncDisposable & { readonly primary: PostgresServer; readonly standby: Standby };

async function startCluster(): Promise<Cluster> {
  await using servers = new AsyncDisposableStack();
  const primary = servers.use(await startPostgres({ durable: true }));
  const standby = servers.use(await startStandby(primary, { name: 'second', synchronous: true }));
  const moved = servers.move();
  return { primary, standby, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

function assertServed(services: readonly Served[]): void {
  for (const service of services) {
    assert.doesNotMatch(service.output(), /"level":"fatal"|can no longer be trusted/);
    assert.equal(service.errors(), '');
  }
}

/**
 * Lets clients use two services during a promotion, and checks the database against the acknowledged
 * requests.
 */
async function failOver(
  standby: Standby,
  takeOver: () => Promise<void>,
): Promise<{ readonly before: number; readonly after: number; readonly first: number; readonly back: number; readonly summary: string }> {
  const { primary, server } = standby;
  using folder = emptyFolder();
  const environment = environmentOn(folder, [primary, server]);
  const token = await openShop(environment, 'flowers.example');
  await using one = await serve(environment);
  await using other = await serve(environment);
  const services = [one, other];
  const clients = newRetryingClients(16, { token, random });
  const urls = services.map(({ url }) => url);
  const work = startWork(clients, urls);
  await work.untilEachSucceeds(10);
  await wait(random.between(0, 200));

  await takeOver();
  const promotedAt = performance.now();
  const before = countSuccesses(clients);
  await work.untilEachSucceeds(4);
  await work.end();
  const firsts = clients.map(({ successes }) => successes.find((at) => at > promotedAt) ?? Number.POSITIVE_INFINITY);
  const [first, back] = [Math.min(...firsts) - promotedAt, Math.max(...firsts) - promotedAt];
  assert.ok(isWithin(back, backWithinMs), `writes succeeded ${Math.round(back)} ms after the promotion`);

  await assertAppliedOnce(clients, (text) => server.query(text), keysFileIn(folder));
  await assertVerifies(environment);
  assertServed(services);
  const summary = `${JSON.stringify(errorsOf(clients))}, ${clients.reduce((sum, { replays }) => sum + replays, 0)} replays`;
  return { before, after: countSuccesses(clients) - before, first, back, summary };
} // prettier-ignore

/**
 * Kills the primary after its standby has the commits of the running requests, and before any client has a
 * response: their transactions are executed, and are sent again.
 */
async function killBeforeResponses({ primary, standby }: Cluster): Promise<void> {
  const [receiver] = await standby.server.query('select pid from pg_stat_wal_receiver');
  signal(Number(receiver?.['pid']), 'SIGSTOP');
  const deadline = deadlineIn(10_000);
  const waiting = `select pid from pg_stat_activity where wait_event = 'SyncRep'`;
  while ((await primary.query(waiting)).length < 2) assert.ok(!deadline.isOver(), 'no commit waits');
  const clients = `select pid from pg_stat_activity where application_name = 'largesse'`;
  for (const { pid } of await primary.query(clients)) signal(Number(pid), 'SIGSTOP');
  const [end] = await primary.query('select pg_current_wal_flush_lsn()::text as lsn');
  signal(Number(receiver?.['pid']), 'SIGCONT');
  const received = `select pg_last_wal_receive_lsn() >= $1::pg_lsn as is`;
  while ((await standby.server.query(received, [end?.['lsn']]))[0]?.['is'] !== true)
    assert.ok(!deadline.isOver(), 'the standby does not receive the commits');
  await primary.killHard();
}

test(`acknowledged writes survive ${rounds} primaries killed under load`, async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  let next = startCluster();
  for (let round = 1; round <= rounds; round += 1) {
    await using cluster = await next;
    // The servers of the next round start during this one.
    if (round < rounds) next = startCluster();
    const { primary, standby } = cluster;
    const { before, after, first, back, summary } = await failOver(standby, async () => {
      // In turn: at any moment, and at the one in which a request that is executed twice does harm.
      await (round % 2 === 1 ? primary.killHard() : killBeforeResponses(cluster));
      await wait(random.between(0, 800));
      await standby.promote();
    });
    t.diagnostic(
      `round ${round}: ${before} acknowledged before, ${after} after; after the promotion the first write took ` +
        `${Math.round(first)} ms, the last client's ${Math.round(back)} ms; ${summary}`,
    );
  }
});

test('a primary that hangs without closing its connections is abandoned for the promoted one', async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  await using cluster = await startCluster();
  const { primary, standby } = cluster;
  try {
    const { before, after, first, back, summary } = await failOver(standby, async () => {
      // As if its machine had lost power: connections stay open without responses.
      for (const pid of primary.processes) signal(pid, 'SIGSTOP');
      const [row] = await standby.server.query('select pg_promote(true, 30) as done');
      assert.equal(row?.['done'], true);
    });
    t.diagnostic(
      `${before} acknowledged before, ${after} after; first write ${Math.round(first)} ms, the last client's ${Math.round(back)} ms; ${summary}`,
    );
  } finally {
    await primary.fence();
  }
});
