/**
 * Workers are killed under load and started again: `npx node test/citus/kill-workers.ts`
 *
 * No acknowledged change is lost or made twice. While a worker is down, every request to the stores of the
 * others succeeds. `CITUS_ROUNDS` and `CITUS_SEED` set the number of kills and the seed.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { assertVerifies, readinessOf } from '../support/postgres-service.ts';
import { assertAppliedOnce, countSuccesses, errorsOf, startWork } from '../support/retrying-client.ts';
import { seeded } from '../support/seeded.ts';
import { command, serve } from '../support/served.ts';
import { startCluster } from './cluster.ts';
import { clientsOf, openShops, report, seed } from './shops.ts';

const rounds = Number(process.env['CITUS_ROUNDS'] ?? 6);
const downMs = 4_000;
const random = seeded(seed);
report(`seed ${seed} (CITUS_SEED), ${rounds} kills`);

await using cluster = await startCluster();
using open = await openShops(cluster, 24);
const { shops, environment, keysFile, query } = open;
await using first = await serve(environment);
await using second = await serve(environment);
const urls = [first.url, second.url];
const byShop = clientsOf(shops, random);
const clients = [...byShop.values()];
const work = startWork(clients, urls);

let successesWhileDown = 0;
for (let round = 1; round <= rounds; round += 1) {
  await work.untilEachSucceeds(3);
  const worker = cluster.workers[round % cluster.workers.length];
  assert.ok(worker);
  const places = await open.places();
  const others = [...byShop].flatMap(([shop, client]) =>
    places.get(shop.storeId) === worker.port ? [] : [client],
  );
  assert.ok(others.length > 0 && others.length < clients.length, 'every store is on one worker');
  const errorsBefore = errorsOf(others);
  const countIn = async (ms: number): Promise<number> => {
    const before = countSuccesses(others);
    await wait(ms);
    return countSuccesses(others) - before;
  };
  const before = await countIn(downMs + random.between(0, 300));
  await worker.killHard();
  const during = await countIn(downMs);
  successesWhileDown += during;
  await work.untilEachSucceeds(1, others);
  assert.deepEqual(errorsOf(others), errorsBefore, 'a store of another worker had an error');
  if (round === rounds) {
    await using late = await serve(environment);
    const { status } = await readinessOf(late.url);
    const { code } = await command(environment, 'store', 'create', 'new.example', '--currency', 'EUR');
    report(
      `while it was down: a process started (/readyz ${status}), and a new store was rejected (exit code ${code})`,
    );
    assert.deepEqual([status, code], [200, 1]);
  }
  const startedAt = performance.now();
  await worker.start();
  await work.untilEachSucceeds(2);
  report(
    `round ${round}: ${others.length} stores made ${before} requests in ${downMs} ms before and ${during} while the other worker was down; ` +
      `every store worked ${Math.round(performance.now() - startedAt)} ms after its start`,
  );
}
await work.end();
await assertAppliedOnce(clients, query, keysFile);
await assertVerifies(environment);
const prepared = await Promise.all(
  cluster.workers.map((worker) => worker.query(`select count(*)::int as count from pg_prepared_xacts`)),
);
assert.deepEqual(
  prepared.map(([row]) => row?.['count']),
  cluster.workers.map(() => 0),
  'a prepared transaction is left',
);
const replays = clients.reduce((sum, client) => sum + client.replays, 0);
report(
  `${countSuccesses(clients)} acknowledged, 0 lost, 0 made twice; ${replays} by a repeated request; ` +
    `${successesWhileDown} at other stores while a worker was down, none failed; ${JSON.stringify(errorsOf(clients))}`,
);
