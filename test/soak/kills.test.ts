/**
 * The service is killed many times under load: what it acknowledged is found, requests that are sent again are
 * answered as before, and `verify` finds nothing.
 *
 * `KILLS` sets the number of kills, `KILLS_SEED` the seed.
 */

import test from 'node:test';
import { killUnderLoad } from '../support/kills.ts';
import { seeded } from '../support/seeded.ts';

const kills = Number(process.env['KILLS'] ?? 100);
const seed = Number(process.env['KILLS_SEED'] ?? Date.now() % 2 ** 31);

test(`killed ${kills} times under load, the service loses nothing that it acknowledged`, async (t) => {
  t.diagnostic(`seed ${seed} (KILLS_SEED)`);
  await killUnderLoad(t, { rounds: kills, random: seeded(seed), verifiedEvery: 10 });
});
