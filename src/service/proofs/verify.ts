/** Verifies the database with a list of checks, each in its own file. A new check is one line of a list. */

import type { Keys } from '../../platform/keys.ts';
import type { Script } from '../../storage/sql/sql.ts';
import { listStores } from '../../storage/stores/store.ts';
import { countRows, listTables } from '../../storage/sql/table.ts';
import type { DatabaseCheck, Finding, StoreCheck, StoreVerifying, Verifying } from './row-check.ts';
import { verifyLedger, type StoreTotals } from './ledger-check.ts';
import { checkBooks } from './books-check.ts';
import { checkKeyedRecords, checkReferences, checkStores } from './reference-checks.ts';
import { checkChanges } from './verify-changes.ts';
import { checkDays } from './verify-days.ts';
import { checkLog } from './verify-log.ts';

/** Checks of each store, after its ledger. */
const storeChecks: readonly StoreCheck[] = [checkChanges, checkLog, checkDays, checkBooks];

/** Checks of all stores at once, after those of each store. */
const databaseChecks: readonly DatabaseCheck[] = [checkReferences, checkStores, checkKeyedRecords];

/** The tables whose rows the checks count as read. */
const countedTables: ReadonlySet<string> = new Set([
  'gift_cards',
  'transfers',
  'holds',
  'events',
  'gift_card_codes',
  'stock_codes',
  'card_changes',
  'log_pages',
]);

/** A problem. `cardId` is null if it does not concern one card, `store` if it does not concern one store. */
export type Mismatch = Finding & { readonly store: string | null };

export type Verification = {
  readonly stores: readonly StoreTotals[];
  readonly mismatches: readonly Mismatch[];
};

/** The checks that one thread runs. Each check compares rows of one state, so two parts can read different states. */
type Part = 'all' | 'ledgers' | 'stores';

/** The mismatches of a part, each with its place among those of all parts. */
export type VerifiedPart = {
  readonly stores: readonly StoreTotals[];
  readonly found: readonly { readonly place: string; readonly mismatch: Mismatch }[];
};

/** After the places of all stores, which begin with their domains. */
const placeOfDatabase = '\uffff';

/** Cards whose rows are compared in one pass. */
const cardsInPassMax = 500_000;

export type VerifyOptions = {
  /** Default: what needs keys, such as the encrypted ids in events, is not compared. */
  readonly keys?: Keys;
  readonly cardsInPass?: number;
  /** Default: all checks. `stores` has also those of all stores at once, and needs no keys. */
  readonly part?: Part;
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
export function* verify(mismatchesMax: number, options: VerifyOptions = {}): Script<Verification> {
  return joinParts(mismatchesMax, [yield* verifyPart(mismatchesMax, options)]);
}

/** Joins the parts of a verification to the result of one that ran all checks. */
export function joinParts(mismatchesMax: number, parts: readonly VerifiedPart[]): Verification {
  const found = parts.flatMap((part) => part.found);
  const sorted =
    parts.length > 1
      ? found.toSorted((left, right) => (left.place < right.place ? -1 : Number(left.place > right.place)))
      : found;
  return {
    stores: parts.flatMap(({ stores }) => stores),
    mismatches: sorted.slice(0, mismatchesMax).map(({ mismatch }) => mismatch),
  };
}

/** Runs the checks of a part. Returns at most `mismatchesMax` mismatches. */
export function* verifyPart(
  mismatchesMax: number,
  { keys, cardsInPass = cardsInPassMax, part = 'all', onlyStore, reached }: VerifyOptions = {},
): Script<VerifiedPart> {
  const mismatches: { place: string; mismatch: Mismatch }[] = [];
  const found = (place: string, mismatch: Mismatch): void => {
    if (mismatches.length < mismatchesMax) mismatches.push({ place, mismatch });
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
    const { id, domain } = store;
    domains.set(id, domain);
    if (onlyStore === undefined ? status === 'arriving' : id !== onlyStore) {
      omitted.add(id);
      continue;
    }
    const ofStore = (place: string): StoreVerifying => ({
      ...verifying,
      found: (finding) => found(`${domain}\n${place}`, { store: domain, ...finding }),
    });
    if (part !== 'stores') stores.push(yield* verifyLedger(store, ofStore('ledger')));
    if (part !== 'ledgers') for (const check of storeChecks) yield* check(store, ofStore('store'));
  }
  const ofDatabase = {
    ...verifying,
    found(storeId: number | null, finding: Finding): void {
      if (storeId === null ? onlyStore !== undefined : omitted.has(storeId)) return;
      const store = storeId === null ? null : (domains.get(storeId) ?? String(storeId));
      found(placeOfDatabase, { store, ...finding });
    },
  };
  if (part !== 'ledgers') for (const check of databaseChecks) yield* check(ofDatabase);
  return { stores, found: mismatches };
}
