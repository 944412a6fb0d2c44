/** Checks of the references between rows, and of records that can be read only with a key. */

import { countUnreadableRecords, listBrokenReferences } from '../storage/references.ts';
import { listKeyChecks } from '../storage/key-check.ts';
import { listMissingStores, listTables } from '../../../database/sql/table.ts';
import type { DatabaseCheck } from './row-check.ts';

/** Rows must not refer to missing rows, and captures must match their holds. */
export const checkReferences: DatabaseCheck = function* ({ found, left }) {
  for (const { storeId, ...finding } of yield* listBrokenReferences(left())) found(storeId, finding);
};

/** Every row must belong to a store. */
export const checkStores: DatabaseCheck = function* ({ found }) {
  for (const table of yield* listTables()) {
    const problem = `${table.name}: has rows of this store, but there is no such store`;
    for (const id of yield* listMissingStores(table)) found(id, { cardId: null, problem });
  }
};

/** Every idempotency record must be in clear, or sealed with a key of this database. */
export const checkKeyedRecords: DatabaseCheck = function* ({ found }) {
  const keyChecks = yield* listKeyChecks();
  const unreadable = yield* countUnreadableRecords(keyChecks.map(({ keyId }) => keyId));
  const problem = `idempotency_records: ${unreadable} cannot be read with a key of this database`;
  if (unreadable > 0) found(null, { cardId: null, problem });
};
