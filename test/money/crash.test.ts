/**
 * A service that is killed at any moment under a mixed load of all operations on money loses no acknowledged
 * request, and executes other requests once when they are sent again with their key.
 *
 * `CRASH_ROUNDS` sets the number of rounds, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { engine } from '../support/engine.ts';
import { seeded } from '../support/seeded.ts';
import { crash } from './crash.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? engine.rounds(3));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test(`the service loses and repeats no movement of money when killed ${rounds} times`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  const { complaints, acknowledged, left, done } = await crash({ rounds, random: seeded(seed) });
  t.diagnostic(
    `${acknowledged} requests acknowledged; ${left} left open, of which ${done} had been executed`,
  );
  assert.deepEqual(complaints, []);
  assert.ok(acknowledged > rounds * 10, 'hardly any request was executed');
  assert.ok(left > rounds, 'hardly any request was left open');
});
