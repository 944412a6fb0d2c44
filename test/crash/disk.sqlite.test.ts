/**
 * The disk of a running service fails: the service stops, and the next start finds everything acknowledged.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { seeded } from '../support/seeded.ts';
import { command, databaseToServe, openShop, serve } from '../support/served.ts';
import { assertHolds } from '../support/stored.ts';
import { countAcknowledged, openLoadClients } from '../support/load-client.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test('the service exits with code 1 after an I/O error, and the next one has everything acknowledged', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const { environment } = database;
  const token = await openShop(environment, 'flowers.example');
  const clients = openLoadClients(32, token, seeded(seed));
  {
    // No file of the process can grow past this limit: a larger write fails with EFBIG, an I/O error to
    // SQLite.
    await using service = await serve(environment, ['sh', '-c', 'ulimit -f 6000 && exec "$0" "$@"']);
    const outcomes = await Promise.all(clients.map((client) => client.work(service.url, () => false)));
    assert.deepEqual(await service.ended(), { code: 1, signal: null }, service.errors());
    assert.match(service.output(), /"level":"fatal".*can no longer be trusted/);
    const statuses = outcomes.map((outcome) => outcome?.status);
    assert.ok(statuses.includes(503), `waiting clients got 503: ${statuses.join(', ')}`);
  }
  const acknowledged = countAcknowledged(clients);
  assert.ok(acknowledged > 0);
  await using service = await serve(environment);
  const done = await assertHolds(database, clients);
  await Promise.all(
    clients.map(async (client) => {
      const { open } = client;
      if (!open) return;
      const { replayed } = await client.decide(service.url);
      assert.equal(replayed, done.has(open));
    }),
  );
  assert.equal((await assertHolds(database, clients)).size, 0);
  const { code, output } = await command(environment, 'verify', '--json');
  assert.equal(code, 0, output);
  for (const client of clients) client.close();
  t.diagnostic(`${acknowledged} requests acknowledged; ${done.size} of the open ones had been executed`);
});
