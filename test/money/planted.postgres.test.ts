/** What only an engine that runs scripts side by side makes go wrong is found out there by load alone. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readThenWriteDebit } from '../support/planted-debit.ts';
import { planted } from './debits.ts';
import { raceDebits } from './race-debits.ts';

test('racing, a debit that reads and then writes is found out: the ledger disagrees', async () => {
  const complaints = await raceDebits(planted(readThenWriteDebit));
  assert.ok(
    complaints.some((complaint) => /the sum/.test(complaint)),
    complaints.join('\n'),
  );
});
