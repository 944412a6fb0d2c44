/**
 * The service is killed many times under load: its acknowledged requests are found, repeated requests get the
 * same responses, and `verify` finds no errors.
 *
 * `KILLS` sets the number of kills, `KILLS_SEED` the seed.
 */

import test from 'node:test';
import { killUnderLoad } from '../support/kills.ts';
import { seeded } from '../support/seeded.ts';

const kills = Number(process.env['KILLS'] ?? 100);
const seed = Number(process.env['KILLS_SEED'] ?? Date.now() % 2 ** 31);

test(`the service loses no acknowledged request when killed ${kills} times under load`, async (t) => {
  t.diagnostic(`seed ${seed} (KILLS_SEED)`);
  await killUnderLoad(t, { rounds: kills, random: seeded(seed), verifiedEvery: 10 });
});
