/**
 * The service of a sandbox is killed at random moments while buyers pay and its clock is advanced. `CRASH_KILLS` sets the number
 * of kills, `CRASH_SEED` the seed.
 */

import test from 'node:test';
import { killRepeatedly } from './killing.ts';
import { openSales, openSelling } from './loads/sales.ts';
import { testClockLoad } from './loads/test-clock.ts';

const kills = Number(process.env['CRASH_KILLS'] ?? 20);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test(`a sandbox that is killed ${kills} times does everything that becomes due once`, async (t) => {
  const clock = testClockLoad();
  let token = '';
  await killRepeatedly(t, {
    kills,
    seed,
    async prepare(environment) {
      token = await openSelling(environment);
    },
    // `test/soak/test-clock-processes.test.ts` has two of them.
    isOneProcess: true,
    // The clock is at its end after the sales.
    loads: [openSales(() => token, clock.advance), clock.open],
  });
});
