/**
 * The power is cut under load, hundreds of times: at many moments of several runs of the service. Sectors
 * without a sync survive at random. Acknowledged requests are never lost, and the file is never damaged.
 *
 * `POWER_CUTS` sets the number of power cuts, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { openTracedShop, workUntilEnded, workUntilItFails, type TracedShop } from '../support/power-cut.ts';
import { seeded } from '../support/seeded.ts';
import { countAcknowledged } from '../support/load-client.ts';

const cuts = Number(process.env['POWER_CUTS'] ?? 300);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const connections = 16;

/** Runs of the service, each with its share of the power cuts. */
const runs: readonly {
  readonly name: string;
  readonly share: number;
  readonly run: (shop: TracedShop) => Promise<void>;
}[] = [
  {
    name: 'a service that is killed and started again',
    share: 0.3,
    run: async (shop) => {
      await workUntilEnded(shop, 400, 'SIGKILL');
      await workUntilEnded(shop, 400, 'SIGKILL');
      await workUntilEnded(shop, 200, 'SIGTERM');
    },
  },
  {
    name: 'a service that is stopped and started again',
    share: 0.2,
    run: async (shop) => {
      for (let round = 0; round < 4; round += 1) await workUntilEnded(shop, 100, 'SIGTERM');
    },
  },
  {
    name: 'a service whose log starts over several times',
    share: 0.2,
    run: async (shop) => {
      await workUntilEnded(shop, 4_500, 'SIGKILL');
      await workUntilEnded(shop, 100, 'SIGTERM');
    },
  },
  {
    name: 'a service that ends because a sync of the log fails, twice',
    share: 0.1,
    run: async (shop) => {
      await workUntilEnded(shop, 400, 'SIGTERM');
      await workUntilItFails(shop, 20, { logSyncFails: 1 });
      await workUntilItFails(shop, 20, { logSyncFails: 3 });
      await workUntilEnded(shop, 100, 'SIGKILL');
    },
  },
  {
    name: 'a service that ends because a sync of the database file fails',
    share: 0.1,
    run: async (shop) => {
      await failInCheckpoint(shop);
      await workUntilEnded(shop, 100, 'SIGTERM');
      await workUntilEnded(shop, 100, 'SIGKILL');
    },
  },
  {
    name: 'a service that ends because a sync of the database file fails, while another process has the file open',
    share: 0.1,
    run: async (shop) => {
      await workUntilEnded(shop, 50, 'SIGKILL');
      using other = new DatabaseSync(shop.file, { readOnly: true });
      assert.ok(Number(other.prepare('select count(*) as count from stores').get()?.['count']) > 0);
      await failInCheckpoint(shop);
      await workUntilEnded(shop, 100, 'SIGKILL');
    },
  },
];

/** Long syncs of the log prevent commits, and a checkpoint can move all of it and sync the file. */
async function failInCheckpoint(shop: TracedShop): Promise<void> {
  shop.disk.set({ syncUs: 20_000 });
  await workUntilItFails(shop, 10, { databaseSyncFails: 1 });
  shop.disk.set({ syncUs: 1_000 });
}

for (const { name, share, run } of runs) {
  const count = Math.ceil(cuts * share);
  test(`${name} loses nothing in ${count} power cuts`, async (t) => {
    t.diagnostic(`seed ${seed} (CRASH_SEED)`);
    await using shop = await openTracedShop(random, connections);
    await run(shop);
    // Half of them at any moment, half of them at operations that are rarer than writes.
    const anyTime = random.chooseSome(
      shop.places(() => true),
      Math.ceil(count / 2),
    );
    const rarer = random.chooseSome(
      shop.places(({ kind }) => kind !== 'write'),
      Math.floor(count / 2),
    );
    const startedAt = performance.now();
    const found = await shop.cutPower([...anyTime, ...rarer]);
    assert.equal(found.cuts, count);
    assert.ok(found.acknowledged > 0);
    t.diagnostic(
      `${countAcknowledged(shop.clients)} requests acknowledged; after ${found.cuts} power cuts ${found.acknowledged} ` +
        `acknowledged requests were found and ${found.done} others; ` +
        `${Math.round((performance.now() - startedAt) / count)} ms each`,
    );
  });
}
