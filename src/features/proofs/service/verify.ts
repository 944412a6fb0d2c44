/**
 * Verifies the database with a list of checks, each in its own file. A new check is one line of a list. A verification is
 * a list of *tasks*, which several threads can share.
 */

import assert from 'node:assert/strict';
import { keyedDigest, type Keys } from '../../../platform/keys.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { CardIdRange } from '../storage/ledger-scan.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { listStores } from '../../../core/stores/storage/store.ts';
import { countRows, listTables } from '../../../database/sql/table.ts';
import type { DatabaseCheck, Finding, StoreCheck, Verifying } from './row-check.ts';
import {
  concludeLedger,
  listPasses,
  verifyPass,
  type LedgerCounts,
  type StoreTotals,
} from './ledger-check.ts';
import { checkBooks } from './books-check.ts';
import { checkKeyedRecords, checkReferences, checkStores } from './reference-checks.ts';
import { checkChanges } from './verify-changes.ts';
import { checkDays } from './verify-days.ts';
import { checkLog } from './verify-log.ts';
import { checkBatches, checkUsedIds } from './verify-used-ids.ts';

/** Checks of each store, after its ledger. */
const storeChecks = {
  changes: checkChanges,
  log: checkLog,
  days: checkDays,
  books: checkBooks,
  usedIds: checkUsedIds,
  batches: checkBatches,
} satisfies Readonly<Record<string, StoreCheck>>;

/** Checks of all stores at once, after those of each store. */
const databaseChecks = {
  references: checkReferences,
  stores: checkStores,
  keyedRecords: checkKeyedRecords,
} satisfies Readonly<Record<string, DatabaseCheck>>;

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

/** A part of a verification. It compares rows of one state, so two tasks can read different states. */
type Task =
  | { readonly check: 'ledger'; readonly store: Store; readonly range: CardIdRange }
  | { readonly check: keyof typeof storeChecks; readonly store: Store }
  | { readonly check: keyof typeof databaseChecks };

/** The tasks of a verification, in the order in which mismatches are reported. It can be sent to another thread. */
export type Plan = {
  readonly tasks: readonly Task[];
  /** The domains of all stores, by their ids. */
  readonly domains: ReadonlyMap<number, string>;
  /** Stores that are not verified. */
  readonly omitted: ReadonlySet<number>;
  readonly isOfOneStore: boolean;
};

/** The result of the task at a place in the plan. */
export type Verified = {
  readonly place: number;
  readonly found: readonly Mismatch[];
  /** Undefined unless the task verifies a ledger. */
  readonly counts?: LedgerCounts;
};

/** Cards whose rows are compared in one pass. */
const cardsInPassMax = 500_000;

/** A pass reads all rows of the tables without an index by card, so a small one would be slow. */
const cardsInPassMin = 10_000;

type PlanOptions = {
  /** The id of the only store that is verified, even if it is being copied into the database. Default: all others. */
  readonly onlyStore?: number;
  readonly cardsInPass?: number;
};

/** The part of the keys that a verification needs, which another thread can have. */
type VerifyingKeys = Pick<Keys, 'publicIds' | 'digestKeys'>;

export type RunOptions = {
  /** Default: what needs keys, such as the encrypted ids in events, is not compared. */
  readonly keys?: VerifyingKeys;
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
export function* verify(mismatchesMax: number, options: PlanOptions & RunOptions = {}): Script<Verification> {
  const plan = yield* planVerification(options);
  const places = plan.tasks.keys();
  const verified = yield* runTasks(plan, { ...options, mismatchesMax, next: () => places.next().value });
  return yield* concludeVerification(plan, verified, mismatchesMax);
}

/** Returns how many cards are compared in one pass, for a number of threads. */
export function* cardsInPassOf(threads: number): Script<number> {
  const table = (yield* listTables()).find(({ name }) => name === 'gift_cards');
  assert(table);
  const cards = Math.ceil((yield* countRows(table)) / threads);
  return Math.min(Math.max(cards, cardsInPassMin), cardsInPassMax);
}

export function* planVerification({
  onlyStore,
  cardsInPass = cardsInPassMax,
}: PlanOptions = {}): Script<Plan> {
  const tasks: Task[] = [];
  const domains = new Map<number, string>();
  const omitted = new Set<number>();
  for (const { store, status } of yield* listStores()) {
    domains.set(store.id, store.domain);
    if (onlyStore === undefined ? status === 'arriving' : store.id !== onlyStore) {
      omitted.add(store.id);
      continue;
    }
    for (const range of yield* listPasses(store.id, cardsInPass))
      tasks.push({ check: 'ledger', store, range });
    for (const check of namesOf(storeChecks)) tasks.push({ check, store });
  }
  for (const check of namesOf(databaseChecks)) tasks.push({ check });
  return { tasks, domains, omitted, isOfOneStore: onlyStore !== undefined };
}

/**
 * Runs tasks of a plan, in its order.
 * @param options.next returns the place of a task, which is higher than the one before; undefined: there is none.
 */
export function* runTasks(
  plan: Plan,
  {
    mismatchesMax,
    keys,
    reached,
    next,
  }: RunOptions & { readonly mismatchesMax: number; readonly next: () => number | undefined },
): Script<readonly Verified[]> {
  const verified: Verified[] = [];
  let rowsRead = 0;
  let left = mismatchesMax;
  const externalKeys = keys?.digestKeys('external-id');
  for (let place = next(); place !== undefined; place = next()) {
    const task = plan.tasks[place];
    if (!task) break;
    const found: Mismatch[] = [];
    const verifying = {
      publicIds: keys?.publicIds,
      externalDigests: externalKeys && ((text: string) => externalKeys.map((key) => keyedDigest(key, text))),
      left: () => left,
      read: (rows: number) => reached?.((rowsRead += rows)),
    };
    const report = (mismatch: Mismatch): void => {
      if (left > 0) found.push(mismatch);
      left = Math.max(0, left - 1);
    };
    const counts = yield* runTask(plan, task, { verifying, report });
    verified.push({ place, found, ...(counts && { counts }) });
  }
  return verified;
}

/** Returns the counts of a task that verifies a ledger. */
function* runTask(
  { domains, omitted, isOfOneStore }: Plan,
  task: Task,
  { verifying, report }: { readonly verifying: Verifying; readonly report: (mismatch: Mismatch) => void },
): Script<LedgerCounts | undefined> {
  if ('store' in task) {
    const { store } = task;
    const ofStore = {
      ...verifying,
      found: (finding: Finding) => report({ store: store.domain, ...finding }),
    };
    if (task.check === 'ledger') return yield* verifyPass(store, task.range, ofStore);
    yield* storeChecks[task.check](store, ofStore);
  } else
    yield* databaseChecks[task.check]({
      ...verifying,
      found(storeId, finding) {
        if (storeId === null ? isOfOneStore : omitted.has(storeId)) return;
        report({ store: storeId === null ? null : (domains.get(storeId) ?? String(storeId)), ...finding });
      },
    });
  return undefined;
}

/** Joins the results of all tasks of a plan. Returns at most `mismatchesMax` mismatches. */
export function* concludeVerification(
  { tasks }: Plan,
  verified: readonly Verified[],
  mismatchesMax: number,
): Script<Verification> {
  const results = new Map(verified.map((result) => [result.place, result]));
  const mismatches: Mismatch[] = [];
  const stores: StoreTotals[] = [];
  let passes: LedgerCounts[] = [];
  for (const [place, task] of tasks.entries()) {
    const result = results.get(place);
    assert(result, 'a task of the verification was not run');
    mismatches.push(...result.found);
    if (!result.counts || task.check !== 'ledger') continue;
    passes.push(result.counts);
    // The passes over the cards of a store follow each other, and its other checks follow them.
    if (tasks[place + 1]?.check === 'ledger') continue;
    const { store } = task;
    const left = (): number => Math.max(0, mismatchesMax - mismatches.length);
    const found = (finding: Finding): void => void mismatches.push({ store: store.domain, ...finding });
    stores.push(yield* concludeLedger(store, passes, { left, found }));
    passes = [];
  }
  return { stores, mismatches: mismatches.slice(0, mismatchesMax) };
}

function namesOf<Name extends string>(checks: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(checks) as Name[];
}
