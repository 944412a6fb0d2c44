/**
 * The scripts that copy a store out of a file while it is open. The file records the keys of changed rows. A *step* reads,
 * in one state of the source, rows that have changed since the step before, and a page of a table that is not complete.
 */

import { findStore } from '../../../core/stores/storage/store.ts';
import { findRecording, listRecordedChanges, keyOfChange } from '../storage/moving-changes.ts';
import { deleteRow, findRows, updateRow, withoutReactions } from '../storage/changed-rows.ts';
import { isLogComplete } from '../../../core/log/storage/log-cursor.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import {
  insertRows,
  isSameRow,
  type Key,
  type RowPage,
  type Table,
  type TableRow,
} from '../../../database/sql/table.ts';
import {
  countStoreRows,
  readStorePage,
  sumBalances,
  type StoreTables,
} from '../../../core/stores/storage/table.ts';
import { verifyCards } from '../../proofs/service/ledger-check.ts';
import { CopyError } from './copy.ts';
import { assertRun, type ArrivalCommand } from './store-copy.ts';

/** Rows of a table by their keys, as the source has them; undefined: it does not have it. */
export type ChangedRows = {
  readonly table: Table;
  readonly keys: readonly Key[];
  readonly rows: readonly (TableRow | undefined)[];
};

/** Keys of rows as they were recorded, by the names of their tables. */
type RecordedKeys = ReadonlyMap<string, ReadonlySet<string>>;

export type CopyStep = {
  readonly changes: readonly ChangedRows[];
  /** The recorded keys of tables that are not complete. */
  readonly waiting: RecordedKeys;
  /** The number of recorded changes, and the last of them. */
  readonly count: number;
  readonly last: number;
  readonly page: { readonly table: Table; readonly rows: RowPage } | undefined;
};

export type StepWish = {
  /** The tables that are complete in the target. Default: all. */
  readonly complete?: readonly Table[];
  /** The last change of the step before. */
  readonly after: number;
  readonly limit: number;
  /** Keys that are read in addition. */
  readonly also?: RecordedKeys;
  /** The page to read once there are fewer changes than the limit. */
  readonly page?: { readonly table: Table; readonly after: Key | undefined };
};

/** Reads a step. @throws CopyError if the recording of changes has ended. */
export function* readStep(
  { store: { id: storeId, domain, closedAt } }: ArrivalCommand,
  tables: readonly Table[],
  { complete = tables, after, limit, also = new Map(), page }: StepWish,
): Script<CopyStep> {
  if ((yield* findRecording(storeId, tables)) !== closedAt)
    throw new CopyError(
      `the changes of ${domain} are no longer recorded: the source was migrated, or the move was given up`,
    );
  const recorded = yield* listRecordedChanges(storeId, { after, limit });
  const keys = new Map([...also].map(([name, ofTable]) => [name, new Set(ofTable)]));
  for (const { table, rowKey } of recorded) {
    const ofTable = keys.get(table);
    if (ofTable) ofTable.add(rowKey);
    else keys.set(table, new Set([rowKey]));
  }
  const changes: ChangedRows[] = [];
  for (const table of complete) {
    const ofTable = [...(keys.get(table.name) ?? [])].map(keyOfChange);
    keys.delete(table.name);
    if (ofTable.length > 0) changes.push({ table, keys: ofTable, rows: yield* findRows(table, ofTable) });
  }
  const isPageRead = page !== undefined && recorded.length < limit;
  return {
    changes,
    waiting: keys,
    count: recorded.length,
    last: recorded.at(-1)?.id ?? after,
    page: isPageRead
      ? { table: page.table, rows: yield* readStorePage(page.table, storeId, page.after) }
      : undefined,
  };
}

/** Makes rows of the target those of a step, in the transaction that checks the run. It can be repeated. */
export function* applyStep(
  command: ArrivalCommand,
  { changes, page }: Pick<CopyStep, 'changes' | 'page'>,
  wallets: Table,
): Script<void> {
  const { store, run } = command;
  yield* assertRun(store.id, run);
  const present = yield* parallel(...changes.map(({ table, keys }) => findRows(table, keys)));
  for (const [place, { table, keys, rows }] of [...changes.entries()].toReversed())
    for (const [row, key] of keys.entries())
      if (rows[row] === undefined && present[place]?.[row] !== undefined) yield* deleteRow(table, key);
  for (const [place, { table, rows }] of changes.entries()) {
    const missing: TableRow[] = [];
    for (const [at, row] of rows.entries()) {
      const found = present[place]?.[at];
      if (row && !found) missing.push(row);
      else if (row && !isSameRow(table, row, found)) yield* updateRow(table, row);
    }
    yield* addRows(store.id, { table, rows: missing, wallets });
  }
  if (page) yield* addRows(store.id, { table: page.table, rows: page.rows.rows, wallets });
}

function* addRows(
  storeId: number,
  {
    table,
    rows,
    wallets,
  }: { readonly table: Table; readonly rows: readonly TableRow[]; readonly wallets: Table },
): Script<void> {
  if (rows.length === 0) return;
  if (table.name !== 'events') return yield* insertRows(table, rows);
  // Subscribers read them in this order.
  const ascending = rows.toSorted((one, other) => ((one['id'] ?? 0) < (other['id'] ?? 0) ? -1 : 1));
  const cardIds = ascending.map((row) => row['subject_id'] ?? null);
  yield* withoutReactions(storeId, { wallets, cardIds }, insertRows(table, ascending));
}

/** Returns the names of the tables of which the database has other rows than a step has read. */
export function* differingTables(changes: readonly ChangedRows[]): Script<readonly string[]> {
  const present = yield* parallel(...changes.map(({ table, keys }) => findRows(table, keys)));
  return changes
    .filter(({ table, rows }, place) => rows.some((row, at) => !isSameRow(table, row, present[place]?.[at])))
    .map(({ table }) => table.name);
}

/** Values of a store that are equal in both databases, and are read in a moment. */
export type StoreFigures = { readonly rows: readonly number[]; readonly outstanding: string };

/** Counts the rows of each table of a store, and sums the balances of its cards. */
export function* takeFigures(storeId: number, { ofStore }: StoreTables): Script<StoreFigures> {
  const [outstanding, ...rows] = yield* parallel(
    sumBalances(storeId),
    ...ofStore.map((table) => countStoreRows(table, storeId)),
  );
  return { rows, outstanding };
}

/** Verifies the cards that have changed since all were verified, and that the log has an entry for each of the ledger. */
export function* verifyChanged(storeId: number, cardIds: readonly bigint[]): Script<readonly string[]> {
  const arriving = yield* findStore(storeId);
  if (!arriving) return ['the store is missing'];
  const findings = yield* verifyCards(arriving.store, cardIds);
  const problems = findings.map(({ cardId, problem }) => `gift card ${cardId}: ${problem}`);
  return (yield* isLogComplete(storeId)) ? problems : [...problems, 'the log lacks entries of the ledger'];
}
