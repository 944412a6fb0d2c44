/**
 * A service is killed at random moments while shops use all of it. `CRASH_KILLS` sets the number of kills, `CRASH_SEED` the
 * seed.
 */

import test from 'node:test';
import { killRepeatedly } from './killing.ts';
import { openCards } from './loads/cards.ts';
import { openMoney } from './loads/money.ts';
import { openPrintedCards } from './loads/printed-cards.ts';

const kills = Number(process.env['CRASH_KILLS'] ?? 40);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test(`a service that is killed ${kills} times keeps its promises to shops`, async (t) => {
  await killRepeatedly(t, { kills, seed, loads: [openCards, openMoney, openPrintedCards] });
});
