/**
 * Repeated failovers under load, on servers that take turns: the primary is killed at any moment, or between its commits and
 * their responses, or it hangs, and its synchronous standby is promoted. Every second old primary starts again and accepts
 * writes, while the new one stalls: the service never uses it, and reports it. The service continues without a restart, and
 * every acknowledged change exists once at the end.
 *
 * `FAILOVERS` sets the number of failovers, `FAILOVER_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn, isWithin } from '../support/deadline.ts';
import { comeBack, contentOf, stalled, untilPrimaries } from '../support/old-primary.ts';
import { signal } from '../support/postgres-process.ts';
import { startProxy } from '../support/postgres-proxy.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import {
  assertVerifies,
  emptyFolder,
  environmentOn,
  keysFileIn,
  untilReadiness,
} from '../support/postgres-service.ts';
import { startStandby, type Standby } from '../support/postgres-standby.ts';
import { seeded } from '../support/seeded.ts';
import { openShop, serve, startServing } from '../support/served.ts';
import {
  assertAppliedOnce,
  countSuccesses,
  newRetryingClients,
  errorsOf,
  startWork,
} from '../support/retrying-client.ts';

const failovers = Number(process.env['FAILOVERS'] ?? 12);
const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const stallMs = 5_000;
const backWithinMs = 10_000;

/** A fixed URL for servers that take turns. */
type Place = { server: PostgresServer };

function startPlace(place: Place): ReturnType<typeof startProxy> {
  return startProxy({
    get port() {
      return place.server.port;
    },
    url: (database) => place.server.url(database),
  });
}

/** Failures of a primary. With `hangs`, its connections stay open without responses, as if its machine had lost power. */
const ways = ['is killed', 'is killed before responses', 'hangs'] as const;

/**
 * Kills the primary after its standby has the commits of the running requests, and before any client has a
 * response: their transactions are executed, and are sent again.
 */
async function killBeforeResponses({ primary, server }: Standby): Promise<void> {
  const [receiver] = await server.query('select pid from pg_stat_wal_receiver');
  signal(Number(receiver?.['pid']), 'SIGSTOP');
  const deadline = deadlineIn(10_000);
  const waiting = `select pid from pg_stat_activity where wait_event = 'SyncRep'`;
  while ((await primary.query(waiting)).length < 2) assert.ok(!deadline.isOver(), 'no commit waits');
  const clients = `select pid from pg_stat_activity where application_name = 'largesse'`;
  for (const { pid } of await primary.query(clients)) signal(Number(pid), 'SIGSTOP');
  const [end] = await primary.query('select pg_current_wal_flush_lsn()::text as lsn');
  signal(Number(receiver?.['pid']), 'SIGCONT');
  const received = `select pg_last_wal_receive_lsn() >= $1::pg_lsn as is`;
  while ((await server.query(received, [end?.['lsn']]))[0]?.['is'] !== true)
    assert.ok(!deadline.isOver(), 'the standby does not receive the commits');
  await primary.killHard();
}

/** Lets the primary fail and promotes its standby. */
async function failOver(standby: Standby, way: (typeof ways)[number]): Promise<void> {
  const { primary, server } = standby;
  if (way === 'hangs') {
    for (const pid of primary.processes) signal(pid, 'SIGSTOP');
    const [row] = await server.query('select pg_promote(true, 30) as done');
    assert.equal(row?.['done'], true);
    return;
  }
  await (way === 'is killed' ? primary.killHard() : killBeforeResponses(standby));
  await wait(random.between(0, 800));
  await standby.promote();
}

test(`${failovers} failovers lose and repeat no acknowledged change, even if old primaries start again`, async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  await using servers = new AsyncDisposableStack();
  let primary = servers.use(await startPostgres({ durable: true }));
  let standby: Standby = servers.use(await startStandby(primary, { name: 'node_0', synchronous: true }));
  /** The place of the primary, and that of its standby. */
  let [place, other]: [Place, Place] = [{ server: primary }, { server: standby.server }];
  await using one = await startPlace(place);
  await using two = await startPlace(other);
  using folder = emptyFolder();
  const environment = environmentOn(folder, [one, two]);
  const token = await openShop(environment, 'flowers.example');
  await using first = await serve(environment);
  await using second = await serve(environment);
  const urls = [first.url, second.url];
  const clients = newRetryingClients(12, { token, random });
  const work = startWork(clients, urls);

  for (let round = 1; round <= failovers; round += 1) {
    await work.untilEachSucceeds(3);
    await wait(random.between(0, 500));
    const before = countSuccesses(clients);
    const way = ways[round % ways.length] ?? assert.fail();
    await failOver(standby, way);
    const promotedAt = performance.now();
    const next = standby.server;
    await work.untilEachSucceeds(2);
    const tookMs = performance.now() - promotedAt;
    assert.ok(
      isWithin(tookMs, backWithinMs),
      `writes succeeded ${Math.round(tookMs)} ms after the promotion`,
    );
    await primary.fence();

    const comesBack = round % 2 === 1;
    if (comesBack) {
      await comeBack(primary);
      const content = await contentOf(primary);
      for (const service of [first, second]) {
        await untilPrimaries(service.url, 2);
        await untilReadiness(service.url, 503);
        // The log is written a little later than the metric.
        await service.written(
          new RegExp(
            `"level":"error".*\\(timeline ${round + 1}\\)","[^"]*\\(timeline ${round}\\)".*` +
              '2 servers of DATABASE_URL accept writes: stop the old primary',
          ),
        );
      }
      await using third = startServing(environment);
      assert.equal((await third.ended()).code, 1, third.output());
      assert.match(
        third.errors(),
        new RegExp(`2 servers .*\\(timeline ${round + 1}\\) and .*\\(timeline ${round}\\)`),
      );
      await stalled(next, () => wait(stallMs));
      await work.untilEachSucceeds(2);
      assert.equal(await contentOf(primary), content, 'the old primary was written to');
      await primary.fence();
      for (const url of urls) {
        await untilPrimaries(url, 1);
        await untilReadiness(url, 200);
      }
    }
    t.diagnostic(
      `round ${round}: ${before} acknowledged so far; the primary ${way}, and each client had two more within ` +
        `${Math.round(tookMs)} ms of the promotion${comesBack ? '; the old primary came back' : ''}`,
    );

    // The old primary is replaced by a new copy of the current one, which is stopped briefly.
    await primary[Symbol.asyncDispose]();
    standby = servers.use(await startStandby(next, { name: `node_${round}`, synchronous: true }));
    place.server = standby.server;
    [place, other] = [other, place];
    primary = next;
  }
  for (const url of urls) await untilReadiness(url, 200);
  await work.untilEachSucceeds(2);
  await work.end();
  await assertAppliedOnce(clients, (text) => primary.query(text), keysFileIn(folder));
  await assertVerifies(environment);
  for (const service of [first, second]) {
    assert.doesNotMatch(service.output(), /"level":"fatal"|can no longer be trusted/);
    assert.equal(service.errors(), '');
  }
  const replays = clients.reduce((sum, client) => sum + client.replays, 0);
  t.diagnostic(
    `${countSuccesses(clients)} acknowledged, ${replays} of them by a repeated request; ${JSON.stringify(errorsOf(clients))}`,
  );
});
