/**
 * The primary's disk is full: requests are rejected and not partly executed, and succeed once space is free.
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import { fillDisk, freeDisk, type FullDisk } from '../support/postgres-disk.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import {
  assertVerifies,
  environmentOn,
  keysFileIn,
  untilReadiness,
  emptyFolder,
} from '../support/postgres-service.ts';
import { seeded } from '../support/seeded.ts';
import { openShop, serve } from '../support/served.ts';
import {
  assertAppliedOnce,
  countSuccesses,
  newRetryingClients,
  errorsOf,
  startWork,
} from '../support/retrying-client.ts';

const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);

const cases: readonly { readonly full: FullDisk; readonly isOver: (server: PostgresServer) => boolean }[] = [
  { full: 'tables', isOver: (server) => /could not extend file/.test(server.log()) },
  { full: 'log', isOver: (server) => !server.isRunning },
];
for (const { full, isOver: isFull } of cases) {
  test(`requests are rejected when the disk has no space for the ${full}, and none is lost or partly executed`, async (t) => {
    t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
    await using server = await startPostgres({ durable: true, settings: { max_wal_size: '64MB' } });
    using folder = emptyFolder();
    const environment = environmentOn(folder, [server]);
    const token = await openShop(environment, 'flowers.example');
    await using service = await serve(environment);
    // Notes that cannot be compressed make the tables grow fast.
    const note = (): string => randomBytes(3_000).toString('base64');
    const clients = newRetryingClients(8, { token, random: seeded(seed), note });
    const work = startWork(clients, [service.url]);
    await work.untilEachSucceeds(3);

    fillDisk(server, full);
    const deadline = deadlineIn(60_000);
    while (!isFull(server)) {
      assert.ok(!deadline.isOver(), 'the disk does not fill');
      await wait(20);
    }
    // The first error has reached a client, or will soon.
    while (clients.every(({ errors }) => errors.length === 0)) {
      assert.ok(!deadline.isOver(), 'no request was rejected');
      await wait(20);
    }
    if (full === 'tables') {
      // The server rolled these transactions back, so that the response is not "unknown".
      const countRejected = (): number => errorsOf(clients)['503 not-writable'] ?? 0;
      while (countRejected() === 0) {
        assert.ok(!deadline.isOver(), JSON.stringify(errorsOf(clients)));
        await wait(20);
      }
    }
    const before = countSuccesses(clients);
    if (server.isRunning) freeDisk(server);
    else await server.start();
    await untilReadiness(service.url, 200);
    await work.untilEachSucceeds(3);
    await work.end();
    t.diagnostic(`${before} acknowledged before space was free; ${JSON.stringify(errorsOf(clients))}`);
    await assertAppliedOnce(clients, (text) => server.query(text), keysFileIn(folder));
    await assertVerifies(environment);
    assert.equal(service.errors(), '');
  });
}
