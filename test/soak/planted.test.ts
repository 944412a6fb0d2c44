/** Tests of the checks: each detects its planted bug, and no error in the real code. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { unguardedDebit } from '../support/planted-debit.ts';
import { sourceCommandLine } from '../support/program.ts';
import { killRepeatedly } from '../crash/killing.ts';
import { openCards } from '../crash/loads/cards.ts';
import { openMoney } from '../crash/loads/money.ts';
import { planted, real } from '../money/debits.ts';
import { raceDebits } from '../money/race-debits.ts';

test('racing real debits succeed as often as the card can afford it', async () => {
  assert.deepEqual(await raceDebits(real), []);
});

test('a racing debit without the guard is detected', async () => {
  const complaints = await raceDebits(planted(unguardedDebit));
  assert.ok(
    complaints.some((complaint) => /check constraint/i.test(complaint)),
    complaints.join('\n'),
  );
});

test('a killed engine that responds before it commits is detected, because acknowledged requests are lost', async (t) => {
  const preload = import.meta.resolve('../support/planted-preload.ts');
  const killing = killRepeatedly(t, {
    kills: 6,
    seed: 1,
    loads: [openCards(), openMoney],
    environment: { NODE_OPTIONS: `--import=${preload}` },
    // The module replaces a part of the sources.
    runner: { node: process.execPath, commandLine: sourceCommandLine },
    isOneProcess: true,
  });
  await assert.rejects(killing, /^Error: (?:cards|money): /);
});
