/** Verifies the ledger of a running service. */

import assert from 'node:assert/strict';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import type { StoreTotals } from '../../src/features/proofs/service/ledger-check.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';

/** Asserts that the ledger agrees with every balance. Returns the totals of the store. */
export async function assertBooksAgree(
  environment: Readonly<Record<string, string>>,
  domain: string,
): Promise<StoreTotals> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { stores, mismatches } = await database.storage.read(() => verify(100));
  assert.deepEqual(mismatches, []);
  const totals = stores.find(({ store }) => store === domain);
  assert.ok(totals, `there is no store ${domain}`);
  return totals;
}
