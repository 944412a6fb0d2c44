/**
 * A service that is killed at any moment under a mixed load of all operations on money loses nothing that
 * it acknowledged, and what was not answered is done once when it is sent again with its key.
 *
 * `CRASH_ROUNDS` sets the number of rounds, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { engine } from '../support/engine.ts';
import { seeded } from '../support/seeded.ts';
import { crash } from './crash.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? engine.rounds(6));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test(`killed ${rounds} times while money moves, the service loses nothing and does nothing twice`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  const { complaints, acknowledged, left, done } = await crash({ rounds, random: seeded(seed) });
  t.diagnostic(`${acknowledged} requests acknowledged; ${left} left open, of which ${done} had been done`);
  assert.deepEqual(complaints, []);
  assert.ok(acknowledged > rounds * 10, 'hardly anything was done');
  assert.ok(left > rounds, 'hardly anything was left open');
});
