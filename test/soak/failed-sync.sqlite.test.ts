/**
 * A sync of the running service fails. The system can then keep pages that are not on the disk and that no
 * later sync writes. Requests acknowledged after the next start must still survive a power failure.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openTracedShop, workUntilEnded, workUntilItFails } from '../support/power-cut.ts';
import { seeded } from '../support/seeded.ts';
import { startServing } from '../support/served.ts';
import { countAcknowledged } from '../support/load-client.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);

test('requests acknowledged after a failed sync of the log and a restart survive a power failure', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using shop = await openTracedShop(random, 16);
  // The log of the next process begins without most of the pages that its requests change.
  await workUntilEnded(shop, 600, 'SIGTERM');
  await workUntilItFails(shop, 10, { logSyncFails: 1 });
  const before = countAcknowledged(shop.clients);
  const failedAt = shop.disk.position();
  await workUntilEnded(shop, 100, 'SIGKILL');

  const after = shop.places(({ end }) => end > failedAt);
  // The service makes everything durable at its start, which the power failure can interrupt.
  const places = [
    ...random.chooseSome(after.slice(0, 200), 40),
    ...random.chooseSome(after, 20),
    failedAt,
    shop.disk.position(),
  ];
  const { acknowledged, done, cuts } = await shop.cutPower(places);
  t.diagnostic(
    `${before} requests acknowledged before the failure, ${countAcknowledged(shop.clients) - before} after it; ` +
      `${cuts} power cuts, ${acknowledged} acknowledged requests found, and ${done} others`,
  );
});

test('a service whose disk cannot make an earlier log durable does not start, and the next one loses nothing', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  for (const switches of [{ logSyncFails: 1 }, { databaseSyncFails: 1 }]) {
    await using shop = await openTracedShop(random, 8);
    await workUntilEnded(shop, 100, 'SIGTERM');
    await workUntilEnded(shop, 20, 'SIGKILL');
    shop.disk.set(switches);
    const failedAt = shop.disk.position();
    {
      await using rejected = startServing(shop.environment);
      assert.deepEqual(await rejected.ended(), { code: 1, signal: null });
      assert.match(rejected.errors(), /largesse\.db\S* reports an error \(EIO\): check the disk/);
      assert.doesNotMatch(rejected.output(), /largesse serves/);
    }
    await workUntilEnded(shop, 40, 'SIGKILL');
    const after = shop.places(({ end }) => end > failedAt);
    const { cuts, acknowledged } = await shop.cutPower([
      ...random.chooseSome(after, 20),
      shop.disk.position(),
    ]);
    t.diagnostic(`${cuts} power cuts, ${acknowledged} acknowledged requests found`);
  }
});
