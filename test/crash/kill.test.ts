/**
 * The service is killed at random moments, repeatedly, on one database. Acknowledged requests are not lost or
 * partly executed, and other requests are executed once when they are sent again.
 *
 * `CRASH_ROUNDS` sets the number of rounds, `CRASH_SEED` the seed. `test/soak/kills.test.ts` has more of
 * them.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { engine } from '../support/engine.ts';
import { assertVerified, killUnderLoad } from '../support/kills.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, serve, startServing } from '../support/served.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? engine.rounds(4));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);

test(`the service loses no acknowledged request when killed ${rounds} times under load`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await killUnderLoad(t, { rounds, random, verifiedEvery: 1 });
});

test('the service starts after it was killed at any moment of creating its database', async (t) => {
  const times = Math.min(12, Math.max(2, Math.ceil(rounds / 3)));
  const found = new Map<string, number>();
  for (let round = 0; round < times; round += 1) {
    await using database = await databaseToServe({ empty: true });
    {
      await using starting = startServing(database.environment);
      for (let tries = 0; !(await database.isTouched()) && tries < 20_000; tries += 1) await wait(1);
      await wait(random.between(0, 30));
      starting.kill('SIGKILL');
      await starting.ended();
    }
    const traces = (await database.traces()).join(' ').replaceAll('largesse.', '');
    found.set(traces, (found.get(traces) ?? 0) + 1);
    await using service = await serve(database.environment);
    const response = await fetch(`${service.url}/gift_card`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"initial_value": 5}',
    });
    assert.equal(response.status, 201, await response.text());
    await assertVerified(database.environment);
  }
  t.diagnostic(`${times} first starts were killed; they left ${JSON.stringify(Object.fromEntries(found))}`);
});
