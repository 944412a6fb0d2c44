/**
 * A worker with a synchronous standby: `npx node test/citus/standbys.ts`
 *
 * While the standby is stopped, no change of the worker's stores is acknowledged, also if the wait is canceled, and
 * other stores work. Then the worker is killed under load, its standby is promoted and replaces it in the cluster:
 * no acknowledged change is lost or made twice. `CITUS_SEED` sets the seed.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { queryOnce } from '../support/postgres-client.ts';
import { assertUnavailable, assertVerifies, clientOf } from '../support/postgres-service.ts';
import { startStandby } from '../support/postgres-standby.ts';
import { assertAppliedOnce, countSuccesses, errorsOf, startWork } from '../support/retrying-client.ts';
import { seeded } from '../support/seeded.ts';
import { serve } from '../support/served.ts';
import { startCluster } from './cluster.ts';
import { clientsOf, openShops, report, seed } from './shops.ts';

const random = seeded(seed);
report(`seed ${seed} (CITUS_SEED)`);

await using cluster = await startCluster();
using open = await openShops(cluster, 8);
const { shops, environment, keysFile, query } = open;
const [worker] = cluster.workers;
assert.ok(worker);
await using standby = await startStandby(worker, { name: 'second', synchronous: true });
await using service = await serve(environment);
const places = await open.places();
const own = shops.find(({ storeId }) => places.get(storeId) === worker.port);
const elsewhere = shops.filter(({ storeId }) => places.get(storeId) !== worker.port);
const [other] = elsewhere;
assert.ok(own && other, 'every store is on one worker');

{
  const ask = clientOf(service.url, own.token);
  const askOther = clientOf(service.url, other.token);
  const issue = async (client: typeof ask, key: string): Promise<number> => {
    const { card } = await client('POST /gift_card', { initial_value: '10.00' }, `issue-${key}`);
    assert.ok(card);
    return card.id;
  };
  const keys = ['late', 'canceled', 'terminated'] as const;
  const cards = new Map<string, number>();
  for (const key of keys) cards.set(key, await issue(ask, key));
  const elsewhereCard = await issue(askOther, 'other');
  const debit = (key: string) =>
    ask(`POST /gift_card/${cards.get(key)}/debit`, { amount: '1.00' }, `debit-${key}`);
  /** The processes of the worker whose commits wait for the standby. */
  const waiting = async (): Promise<readonly number[]> => {
    const rows = await worker.query(`select pid from pg_stat_activity where wait_event = 'SyncRep'`);
    return rows.map(({ pid }) => Number(pid));
  };
  const interrupted = async (how: 'pg_cancel_backend' | 'pg_terminate_backend', key: string) => {
    const before = new Set(await waiting());
    const response = debit(key);
    const deadline = performance.now() + 20_000;
    for (;;) {
      const pid = (await waiting()).find((each) => !before.has(each));
      if (pid !== undefined) {
        await worker.query(`select ${how}($1)`, [pid]);
        return response;
      }
      assert.ok(performance.now() < deadline, 'no commit waits');
      await wait(10);
    }
  };

  await standby.server.stop();
  const late = await debit('late');
  assertUnavailable(late, 'unavailable');
  assertUnavailable(await interrupted('pg_cancel_backend', 'canceled'), 'unavailable');
  assertUnavailable(await interrupted('pg_terminate_backend', 'terminated'), 'unavailable');
  const elsewhereResponse = await askOther(
    `POST /gift_card/${elsewhereCard}/debit`,
    { amount: '1.00' },
    'other',
  );
  assert.equal(elsewhereResponse.status, 201, JSON.stringify(elsewhereResponse));
  await standby.server.start();
  await standby.streams();
  for (const key of keys) {
    let response = await debit(key);
    for (let attempt = 1; response.status === 503 && attempt < 20; attempt += 1) {
      await wait(500);
      response = await debit(key);
    }
    assert.equal(response.status, 201, `${key}: ${JSON.stringify(response)}`);
    const { card } = await ask(`GET /gift_card/${cards.get(key)}`);
    assert.equal(card?.balance, '9.00', key);
  }
  report(
    `without its standby, a worker acknowledged none of 3 debits (the first got 503 after ${Math.round(late.tookMs)} ms), ` +
      `and a store elsewhere was debited in ${Math.round(elsewhereResponse.tookMs)} ms; with it, each was made once`,
  );
}

const byShop = clientsOf(shops, random);
// Cards of the first part are not theirs.
const known = new Set((await query('select id::text as id from gift_cards')).map(({ id }) => String(id)));
const clients = [...byShop.values()];
const work = startWork(clients, [service.url]);
await work.untilEachSucceeds(10);
const others = elsewhere.flatMap((shop) => byShop.get(shop) ?? []);
const errorsBefore = errorsOf(others);
const before = countSuccesses(clients);
await worker.killHard();
await wait(random.between(0, 800));
await standby.promote();
const [node] = await query('select nodeid::int as id from pg_dist_node where nodeport = $1', [worker.port]);
await queryOnce(
  cluster.coordinator.url('largesse'),
  `select citus_update_node($1, '127.0.0.1', $2, force => true)`,
  [node?.['id'], standby.server.port],
);
const updatedAt = performance.now();
await work.untilEachSucceeds(4);
const backMs = Math.round(performance.now() - updatedAt);
await work.end();
assert.deepEqual(errorsOf(others), errorsBefore, 'a store of another worker had an error');
const ofClients = async (text: string): ReturnType<typeof query> =>
  (await query(text)).filter(({ id, card }) => !known.has(String(card ?? id)));
await assertAppliedOnce(clients, ofClients, keysFile);
await assertVerifies(environment);
report(
  `a killed worker was replaced by its standby: ${before} acknowledged before, ${countSuccesses(clients) - before} after, ` +
    `0 lost, 0 made twice; every store worked ${backMs} ms after citus_update_node; ${JSON.stringify(errorsOf(clients))}`,
);
