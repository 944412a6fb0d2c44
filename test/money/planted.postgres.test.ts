/** A bug that needs concurrent scripts, detected by load alone on the engine that has them. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readThenWriteDebit } from '../support/planted-debit.ts';
import { planted } from './debits.ts';
import { raceDebits } from './race-debits.ts';

test('a racing debit that reads and then writes is detected, because the ledger disagrees', async () => {
  const complaints = await raceDebits(planted(readThenWriteDebit));
  assert.ok(
    complaints.some((complaint) => /the sum/.test(complaint)),
    complaints.join('\n'),
  );
});
