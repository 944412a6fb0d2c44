/**
 * The scripts of `largesse copy --store`, which moves a store into another database that has other stores. The store is
 * closed in the *source* and arrives in the *target*, where it cannot be used until both were compared. A *run* is one
 * start of the command. It continues the copy of an earlier run, whose further writes are rejected.
 */

import type { Context } from '../../../core/storage/context.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { KeyCheck } from '../../proofs/storage/key-check.ts';
import { isLogComplete, passCopiedEntries } from '../../../core/log/storage/log-cursor.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  changeStatus,
  countClaims,
  deleteArrivingStore,
  endStoreCopy,
  findStoreCopy,
  findStoreState,
  findStoreStateById,
  insertStoreCopy,
  keepStoreRun,
  replaceStoreRun,
  type StoreState,
} from '../storage/store-copy.ts';
import { insertWork } from '../../../core/stores/storage/work.ts';
import { closeTable, listClosedTables, openTable } from '../../../database/store-closing.ts';
import {
  deleteStorePage,
  lastStoreKey,
  readStorePage,
  type StoreTables,
} from '../../../core/stores/storage/table.ts';
import {
  digestOf,
  findRowById,
  insertRows,
  type RowPage,
  type Table,
  type TableRow,
} from '../../../database/sql/table.ts';
import { CopyError, type TableTotals } from './copy.ts';
import { verify, type Verification } from '../../proofs/service/verify.ts';

/** Tables whose rows are written after all others of a store have stopped changing: its log. */
const logTables: ReadonlySet<string> = new Set(['logs', 'log_pages', 'log_subtrees']);

/** A store that is moved, as the source has it. */
export type MovedStore = StoreState & { readonly closedAt: number };

/** @throws CopyError if the store does not exist or cannot be moved. */
export function* findMovable(domain: string): Script<StoreState> {
  const state = yield* findStoreState(domain);
  if (!state) throw new CopyError(`the source has no store ${domain}`);
  if (state.isDemonstration) throw new CopyError('the demonstration store cannot be moved');
  if (state.status === 'arriving')
    throw new CopyError(`${domain} is an incomplete copy in the source: finish that copy first`);
  return state;
}

/**
 * Rejects requests of an open store from now on. Requests in progress can still change it.
 * @returns the store, which was closed before if its move continues.
 */
export function* closeStore(ctx: Context, domain: string): Script<MovedStore> {
  const { id } = yield* findMovable(domain);
  // Another run that closes it at the same time sets the same status.
  yield* changeStatus(id, { from: 'open', to: 'closing', closedAt: ctx.clock.now(), movedTo: null });
  const state = yield* findMovable(domain);
  if (state.closedAt === null) throw new CopyError(`${domain} was opened again`);
  return { ...state, closedAt: state.closedAt };
}

/** Whether a process is sending an email or a webhook delivery of a store. Its result still has to be recorded. */
export function* isSending(ctx: Context, storeId: number): Script<boolean> {
  return (yield* countClaims(storeId, ctx.clock.now())) > 0;
}

/** The tables in the order in which they are closed: the log is completed after all entries are final. */
export function closedInOrder({ stores, ofStore }: StoreTables): {
  readonly first: readonly string[];
  readonly last: readonly string[];
} {
  const names = [stores, ...ofStore].map(({ name }) => name);
  return {
    first: names.filter((name) => !logTables.has(name)),
    last: names.filter((name) => logTables.has(name)),
  };
}

export { closeTable, isLogComplete };

/** Records that nothing changes the store from now on. @throws CopyError if it was opened again. */
export function* concludeClosing({ id, domain }: MovedStore): Script<void> {
  const state = yield* findMovable(domain);
  if (state.status === 'closed' || state.status === 'moved') return;
  const { closedAt } = state;
  if (!(yield* changeStatus(id, { from: 'closing', to: 'closed', closedAt, movedTo: null })))
    throw new CopyError(`${domain} was opened again`);
}

/**
 * The state of a store that can be opened again.
 * @throws CopyError if the store does not exist, is open, arrives, or was moved and `isMovedAllowed` is false.
 */
export function* findClosed(
  domain: string,
  { isMovedAllowed }: { readonly isMovedAllowed: boolean },
): Script<StoreState> {
  const state = yield* findStoreState(domain);
  if (!state) throw new CopyError(`there is no store ${domain}`);
  if (state.status === 'open') throw new CopyError(`${domain} is open`);
  if (state.status === 'arriving')
    throw new CopyError(`${domain} is an incomplete copy: to finish it, run the same "largesse copy" again`);
  if (state.status === 'moved' && !isMovedAllowed)
    throw new CopyError(
      `${domain} was moved to ${state.movedTo}: both installations would issue and redeem its gift cards. If that one does not have the store, add --although-moved`,
    );
  return state;
}

/** Opens a closed store again, after its tables. */
export function* reopen({ id, status }: StoreState): Script<void> {
  yield* changeStatus(id, { from: status, to: 'open', closedAt: null, movedTo: null });
}

export { listClosedTables, openTable };

export type ArrivalCommand = {
  readonly store: MovedStore;
  /** The identifier of the source, from `identify`. */
  readonly source: string;
  /** The location of the source, without a password. */
  readonly sourceShown: string;
  readonly run: string;
};

/**
 * Returns the state of a store in a target: absent, a copy that can be continued, or one of an earlier closing or with
 * differences, which has to be deleted first.
 * @throws CopyError if the target has another store of this id or domain, or this store completely.
 */
export function* findArrival(
  { id, domain, status, closedAt, movedTo }: StoreState,
  source: string,
): Script<'none' | 'continued' | 'outdated'> {
  const [byId, byDomain] = [yield* findStoreStateById(id), yield* findStoreState(domain)];
  const copy = byId && (yield* findStoreCopy(id));
  if (byId && copy?.source === source) {
    if (byId.status !== 'arriving') throw new CopyError(`${domain} was moved before, and the target has it`);
    return copy.state === 'copying' && copy.closedAt === closedAt ? 'continued' : 'outdated';
  }
  if (status === 'moved') throw new CopyError(`${domain} was moved to ${movedTo}`);
  if (byId && byId.domain === domain && byId.status !== 'moved')
    throw new CopyError(`the target has ${domain} already: it is the same database, or a copy of it`);
  if (byId)
    throw new CopyError(
      `the target has ${byId.domain} with the id of ${domain}${byId.status === 'moved' ? ', which was moved away' : ''}: a store keeps its id, so it cannot move there`,
    );
  if (byDomain) throw new CopyError(`the target has another store ${domain}`);
  return 'none';
}

function isSameKey(check: KeyCheck | undefined, other: KeyCheck | undefined): boolean {
  return (
    check !== undefined &&
    other !== undefined &&
    check.keyId === other.keyId &&
    sameBytes(check.digest, other.digest)
  );
}

/** @throws CopyError if the target lacks a key of the source, or derives public ids from another one. */
export function assertSameKeys(ofSource: readonly KeyCheck[], ofTarget: readonly KeyCheck[]): void {
  if (!isSameKey(ofSource[0], ofTarget[0]))
    throw new CopyError(
      'the oldest keys of the two databases differ, so every gift card would have another id: a store can only be moved between installations that began with the same key file',
    );
  for (const check of ofSource)
    if (!ofTarget.some((other) => isSameKey(check, other)))
      throw new CopyError(
        `the target lacks the key "${check.keyId}" of the source: add it to the end of its key file, but before the oldest key, and restart its processes`,
      );
}

/** Makes a run the only one that writes. */
export function* takeOver({ store, run }: ArrivalCommand): Script<void> {
  yield* replaceStoreRun(store.id, run);
}

/** @throws CopyError if another run has taken over. */
export function* assertRun(storeId: number, run: string): Script<void> {
  if (!(yield* keepStoreRun(storeId, run)))
    throw new CopyError('another "largesse copy --store" has taken over the copy of this store');
}

/** Marks a copy that is deleted, so that it is not continued. */
export function* beginDeletion(ctx: Context, { store, run }: ArrivalCommand): Script<void> {
  yield* assertRun(store.id, run);
  yield* endStoreCopy(store.id, { state: 'failed', at: ctx.clock.now() });
}

/** Deletes a page of a table of an arriving store. @returns whether there can be more. */
export function* deleteRows({ store, run }: ArrivalCommand, table: Table): Script<boolean> {
  yield* assertRun(store.id, run);
  yield* deleteStorePage(table, store.id);
  return (yield* lastStoreKey(table, store.id)) !== undefined;
}

/** Deletes an arriving store whose rows are deleted. */
export function* concludeDeletion({ store, run }: ArrivalCommand): Script<void> {
  yield* assertRun(store.id, run);
  yield* deleteArrivingStore(store.id);
}

/** Inserts the store into the target. It cannot be used before `completeArrival`. */
export function* beginArrival(
  ctx: Context,
  { store, source, sourceShown, run }: ArrivalCommand,
  { stores, row }: { readonly stores: Table; readonly row: TableRow },
): Script<void> {
  if ((yield* findArrival(store, source)) !== 'none')
    throw new CopyError('another "largesse copy --store" has begun to copy this store');
  yield* insertRows({ ...stores, columns: [...stores.columns, 'status'] }, [{ ...row, status: 'arriving' }]);
  yield* insertStoreCopy({
    storeId: store.id,
    source,
    sourceShown,
    closedAt: store.closedAt,
    run,
    state: 'copying',
    startedAt: ctx.clock.now(),
  });
}

/** Inserts rows, in the transaction that checks the run. @throws CopyError if another run has taken over. */
export function* addStoreRows(
  { store, run }: ArrivalCommand,
  { table, rows }: { readonly table: Table; readonly rows: readonly TableRow[] },
): Script<void> {
  yield* assertRun(store.id, run);
  yield* insertRows(table, rows);
}

/** Records that the copy differs: the store stays closed in the target. */
export function* failArrival(ctx: Context, { store, run }: ArrivalCommand): Script<void> {
  yield* assertRun(store.id, run);
  yield* endStoreCopy(store.id, { state: 'failed', at: ctx.clock.now() });
}

/**
 * Records in the source that the target has the store. From then on it is opened only there.
 * @throws CopyError if the store was opened in the source since it was closed.
 */
export function* recordMoved({ id, domain, closedAt }: MovedStore, movedTo: string): Script<void> {
  const state = yield* findMovable(domain);
  const isSame = state.closedAt === closedAt;
  // An earlier run recorded it, and was interrupted before it opened the store in the target.
  if (isSame && state.status === 'moved') return;
  if (!isSame || !(yield* changeStatus(id, { from: 'closed', to: 'moved', closedAt, movedTo })))
    throw new CopyError(`${domain} was opened again in the source`);
}

/**
 * Opens the store in the target.
 * @returns false if the background job that appends to logs has not passed the copied entries yet.
 */
export function* completeArrival(ctx: Context, { store, run }: ArrivalCommand): Script<boolean> {
  yield* assertRun(store.id, run);
  yield* changeStatus(store.id, { from: 'arriving', to: 'open', closedAt: null, movedTo: null });
  if (!(yield* passCopiedEntries(store.id))) {
    yield* changeStatus(store.id, { from: 'open', to: 'arriving', closedAt: null, movedTo: null });
    return false;
  }
  yield* insertWork(store.id);
  yield* endStoreCopy(store.id, { state: 'complete', at: ctx.clock.now() });
  return true;
}

/** The values that are equal for a store and its copy. */
export type StoreInventory = { readonly tables: readonly TableTotals[]; readonly verification: Verification };

const mismatchesMax = 100;

/** Verifies the ledger of a store, also while it arrives. */
export function* verifyStore(ctx: Context, storeId: number): Script<Verification> {
  return yield* verify(mismatchesMax, { keys: ctx.keys, onlyStore: storeId });
}

/**
 * Reads all rows of a store.
 * @param onRows called with the number of rows that were read so far, to show the progress.
 */
export function* takeStoreTotals(
  storeId: number,
  tables: StoreTables,
  onRows: (rows: number) => void,
): Script<readonly TableTotals[]> {
  const ofStores = digestOf(tables.stores);
  const row = yield* findRowById(tables.stores, storeId);
  ofStores.add(row ? [row] : []);
  const totals: TableTotals[] = [{ table: 'stores', rows: row ? 1 : 0, digest: ofStores.hex() }];
  let readRows = 0;
  for (const table of tables.ofStore) {
    const digest = digestOf(table);
    let rows = 0;
    let page: RowPage = yield* readStorePage(table, storeId, undefined);
    for (;;) {
      digest.add(page.rows);
      rows += page.rows.length;
      readRows += page.rows.length;
      onRows(readRows);
      if (!page.next) break;
      page = yield* readStorePage(table, storeId, page.next);
    }
    totals.push({ table: table.name, rows, digest: digest.hex() });
  }
  return totals;
}
