/** Verifies the database with a list of checks, each in its own file. A new check is one line of a list. */

import type { Keys } from '../keys.ts';
import type { Script } from '../storage/sql.ts';
import { listStores } from '../storage/store.ts';
import { countRows, listTables } from '../storage/table.ts';
import type { DatabaseCheck, Finding, StoreCheck, Verifying } from './check.ts';
import { verifyLedger, type StoreTotals } from './ledger-check.ts';
import { checkBooks } from './books-audit.ts';
import { checkKeyedRecords, checkReferences, checkStores } from './reference-checks.ts';
import { checkChanges } from './verify-changes.ts';
import { checkLog } from './verify-log.ts';

/** Checks of each store, after its ledger. */
const storeChecks: readonly StoreCheck[] = [checkChanges, checkLog, checkBooks];

/** Checks of all stores at once, after those of each store. */
const databaseChecks: readonly DatabaseCheck[] = [checkReferences, checkStores, checkKeyedRecords];

/** The tables whose rows the checks count as read. */
const countedTables: ReadonlySet<string> = new Set([
  'gift_cards',
  'transfers',
  'holds',
  'events',
  'gift_card_codes',
  'card_changes',
  'log_pages',
]);

/** A problem. `cardId` is null if it does not concern one card, `store` if it does not concern one store. */
export type Mismatch = Finding & { readonly store: string | null };

export type Verification = {
  readonly stores: readonly StoreTotals[];
  readonly mismatches: readonly Mismatch[];
};

/** Cards whose rows are compared in one pass. */
const cardsInPassMax = 500_000;

export type VerifyOptions = {
  /** Default: what needs keys, such as the encrypted ids in events, is not compared. */
  readonly keys?: Keys;
  readonly cardsInPass?: number;
  /** The id of the only store that is verified, even if it is being copied into the database. Default: all others. */
  readonly onlyStore?: number;
  /** Receives the number of rows that were read so far. */
  readonly reached?: (rows: number) => void;
};

/** Counts the rows that `verify` reads, for its progress. */
export function* countVerifiedRows(): Script<number> {
  let rows = 0;
  for (const table of yield* listTables()) if (countedTables.has(table.name)) rows += yield* countRows(table);
  return rows;
}

/**
 * Verifies all rows in one transaction: the ledger, and whether events, codes and references match it. Stores whose rows
 * are being copied into the database are omitted. Returns at most `mismatchesMax` mismatches.
 */
export function* verify(
  mismatchesMax: number,
  { keys, cardsInPass = cardsInPassMax, onlyStore, reached }: VerifyOptions = {},
): Script<Verification> {
  const mismatches: Mismatch[] = [];
  const found = (mismatch: Mismatch): void => {
    if (mismatches.length < mismatchesMax) mismatches.push(mismatch);
  };
  let rowsRead = 0;
  const verifying: Verifying = {
    keys,
    cardsInPass,
    left: () => mismatchesMax - mismatches.length,
    read: (rows) => reached?.((rowsRead += rows)),
  };
  const stores: StoreTotals[] = [];
  const domains = new Map<number, string>();
  const omitted = new Set<number>();
  for (const { store, status } of yield* listStores()) {
    domains.set(store.id, store.domain);
    if (onlyStore === undefined ? status === 'arriving' : store.id !== onlyStore) {
      omitted.add(store.id);
      continue;
    }
    const ofStore = { ...verifying, found: (finding: Finding) => found({ store: store.domain, ...finding }) };
    stores.push(yield* verifyLedger(store, ofStore));
    for (const check of storeChecks) yield* check(store, ofStore);
  }
  const ofDatabase = {
    ...verifying,
    found(storeId: number | null, finding: Finding): void {
      if (storeId === null ? onlyStore !== undefined : omitted.has(storeId)) return;
      found({ store: storeId === null ? null : (domains.get(storeId) ?? String(storeId)), ...finding });
    },
  };
  for (const check of databaseChecks) yield* check(ofDatabase);
  return { stores, mismatches };
}
