/**
 * The coordinator is killed while the service uses the workers: `npx node test/citus/kill-coordinator.ts`
 *
 * Every request succeeds while it is down, readiness included, and no change is lost or made twice.
 * `CITUS_ROUNDS` and `CITUS_SEED` set the number of kills and the seed.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { assertVerifies, readinessOf, untilReadiness } from '../support/postgres-service.ts';
import { assertAppliedOnce, countSuccesses, errorsOf, startWork } from '../support/retrying-client.ts';
import { seeded } from '../support/seeded.ts';
import { serve } from '../support/served.ts';
import { startCluster, urlOf } from './cluster.ts';
import { clientsOf, openShops, report, seed } from './shops.ts';

const rounds = Number(process.env['CITUS_ROUNDS'] ?? 4);
/** Longer than the period of the service's heartbeat would be too slow; readiness is checked instead. */
const downMs = 6_000;
const random = seeded(seed);
report(`seed ${seed} (CITUS_SEED), ${rounds} kills`);

await using cluster = await startCluster();
using open = await openShops(cluster, 24);
const { shops, environment, keysFile, query } = open;
await using services = new AsyncDisposableStack();
const urls: string[] = [];
for (const worker of cluster.workers) {
  const own = { ...environment, DATABASE_URL: urlOf(worker, 'largesse') };
  urls.push(services.use(await serve(own)).url);
}
const clients = [...clientsOf(shops, random).values()];
const work = startWork(clients, urls);

let successesWhileDown = 0;
for (let round = 1; round <= rounds; round += 1) {
  await work.untilEachSucceeds(3);
  const errorsBefore = errorsOf(clients);
  const before = countSuccesses(clients);
  await cluster.coordinator.killHard();
  await wait(downMs);
  await work.untilEachSucceeds(1);
  const readiness = await Promise.all(urls.map(readinessOf));
  const during = countSuccesses(clients) - before;
  successesWhileDown += during;
  report(
    `round ${round}: ${during} requests, of every store, while the coordinator was down for at least ${downMs} ms; ` +
      `/readyz ${readiness.map(({ status }) => status).join(' and ')}`,
  );
  assert.deepEqual(errorsOf(clients), errorsBefore, 'a request failed');
  // On a busy machine a check can exceed its limit of two seconds, and a balancer asks again.
  await Promise.all(urls.map((url) => untilReadiness(url, 200)));
  if (round === rounds) {
    const [worker] = cluster.workers;
    assert.ok(worker);
    await using late = await serve({ ...environment, DATABASE_URL: urlOf(worker, 'largesse') });
    report(
      `a process started while the coordinator was down: /readyz ${(await readinessOf(late.url)).status}`,
    );
  }
  await cluster.coordinator.start();
}
await work.end();
await assertAppliedOnce(clients, query, keysFile);
await assertVerifies(environment);
report(
  `${countSuccesses(clients)} acknowledged, 0 lost, 0 made twice; ${successesWhileDown} while the coordinator was down, none failed`,
);
