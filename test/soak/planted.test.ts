/** Tests of the checks: each detects its planted bug, and no error in the real code. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { unguardedDebit } from '../support/planted-debit.ts';
import { seeded } from '../support/seeded.ts';
import { crash } from '../money/crash.ts';
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

test('the real engine loses nothing when killed', async () => {
  const { complaints, acknowledged } = await crash({ rounds: 1, random: seeded(1) });
  assert.deepEqual(complaints, []);
  assert.ok(acknowledged > 0);
});

test('a killed engine that responds before it commits is detected, because acknowledged requests are lost', async (t) => {
  const imports = [import.meta.resolve('../support/planted-preload.ts')];
  const { complaints, acknowledged } = await crash({
    rounds: 4,
    random: seeded(1),
    killAfter: { min: 400, max: 900 },
    imports,
  });
  t.diagnostic(`${acknowledged} requests acknowledged; ${complaints.length} errors`);
  assert.ok(acknowledged > 0);
  assert.ok(
    complaints.some((complaint) => /^lost: |were acknowledged/.test(complaint)),
    'the check detects nothing',
  );
});
