/**
 * A coordinator with a synchronous standby is killed under load, and the standby is promoted and replaces it in the
 * cluster: `npx node test/citus/replace-coordinator.ts`
 *
 * One process names both hosts of the coordinator in its URL, and one uses a worker. No acknowledged change is lost or
 * made twice, no request of the second process fails, and afterwards a new store can be created. `CITUS_SEED` sets the
 * seed.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { queryOnce } from '../support/postgres-client.ts';
import { assertVerifies } from '../support/postgres-service.ts';
import { startStandby } from '../support/postgres-standby.ts';
import { assertAppliedOnce, countSuccesses, errorsOf, startWork } from '../support/retrying-client.ts';
import { seeded } from '../support/seeded.ts';
import { command, serve } from '../support/served.ts';
import { startCluster, urlOf } from './cluster.ts';
import { clientsOf, openShops, report, seed } from './shops.ts';

const downMs = 4_000;
const random = seeded(seed);
report(`seed ${seed} (CITUS_SEED)`);

await using cluster = await startCluster();
using open = await openShops(cluster, 8);
const { shops, keysFile, query } = open;
const { coordinator } = cluster;
const [worker] = cluster.workers;
assert.ok(worker);
const [node] = await query('select nodeid::int as id from pg_dist_node where groupid = 0');
await using standby = await startStandby(coordinator, { name: 'second', synchronous: true });
const promoted = urlOf(standby.server, 'largesse');
const both = promoted.replace(
  `127.0.0.1:${standby.server.port}`,
  `127.0.0.1:${coordinator.port},127.0.0.1:${standby.server.port}`,
);
const environment = { ...open.environment, DATABASE_URL: both };
await using first = await serve(environment);
await using second = await serve({ ...environment, DATABASE_URL: urlOf(worker, 'largesse') });

const all = [...clientsOf(shops, random).values()];
const half = all.length / 2;
const byCoordinator = startWork(all.slice(0, half), [first.url]);
const clientsOfWorker = all.slice(half);
const byWorker = startWork(clientsOfWorker, [second.url]);
await Promise.all([byCoordinator.untilEachSucceeds(10), byWorker.untilEachSucceeds(10)]);
const before = countSuccesses(all);
const errorsBefore = errorsOf(clientsOfWorker);
const elsewhereBefore = countSuccesses(clientsOfWorker);
await coordinator.killHard();
await wait(downMs);
const elsewhere = countSuccesses(clientsOfWorker) - elsewhereBefore;
await standby.promote();
await queryOnce(
  promoted.replace('//largesse:', '//postgres:'),
  `select citus_update_node($1, '127.0.0.1', $2, force => true)`,
  [node?.['id'], standby.server.port],
);
const updatedAt = performance.now();
await byCoordinator.untilEachSucceeds(4);
const backMs = Math.round(performance.now() - updatedAt);
await Promise.all([byCoordinator.end(), byWorker.end()]);
assert.deepEqual(errorsOf(clientsOfWorker), errorsBefore, 'a request by a worker failed');
assert.ok(elsewhere > clientsOfWorker.length, 'the process on the worker hardly worked');
await assertAppliedOnce(all, (text) => queryOnce(promoted, text), keysFile);
const created = await command(environment, 'store', 'create', 'new.example', '--currency', 'EUR');
assert.equal(created.code, 0, created.errors);
await assertVerifies(environment);
report(
  `a killed coordinator was replaced by its standby: ${before} acknowledged before, ${countSuccesses(all) - before} after, ` +
    `${elsewhere} of them by the worker in the ${downMs} ms without a coordinator; 0 lost, 0 made twice; its process worked ` +
    `${backMs} ms after citus_update_node; ${JSON.stringify(errorsOf(all))}; a new store was created`,
);
