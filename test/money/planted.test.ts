/** The checkers are checked: each of them finds the bug that was planted for it, and finds nothing in the real thing. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { unguardedDebit } from '../support/planted-debit.ts';
import { seeded } from '../support/seeded.ts';
import { crash } from './crash.ts';
import { planted, real } from './debits.ts';
import { raceDebits } from './race-debits.ts';

test('racing, the real debit is done as often as the card can afford it', async () => {
  assert.deepEqual(await raceDebits(real), []);
});

test('racing, a debit without the guard is found out', async () => {
  const complaints = await raceDebits(planted(unguardedDebit));
  assert.ok(
    complaints.some((complaint) => /check constraint/i.test(complaint)),
    complaints.join('\n'),
  );
});

test('killed, the real engine loses nothing', async () => {
  const { complaints, acknowledged } = await crash({ rounds: 1, random: seeded(1) });
  assert.deepEqual(complaints, []);
  assert.ok(acknowledged > 0);
});

test('killed, an engine that answers before it commits is found out: what was acknowledged is lost', async (t) => {
  const imports = [import.meta.resolve('../support/planted-preload.ts')];
  const { complaints, acknowledged } = await crash({
    rounds: 4,
    random: seeded(1),
    killAfter: { min: 400, max: 900 },
    imports,
  });
  t.diagnostic(`${acknowledged} requests acknowledged; ${complaints.length} complaints`);
  assert.ok(acknowledged > 0);
  assert.ok(
    complaints.some((complaint) => /^lost: |were acknowledged/.test(complaint)),
    'the checker is blind',
  );
});
