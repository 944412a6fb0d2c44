/** The steps of `largesse copy --store`: closes a store, copies its rows page by page, compares and opens them. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../../core/storage/context.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { assertSameTables, CopyError, differencesOf, identify } from '../service/copy.ts';
import { appendEntries } from '../../proofs/service/log.ts';
import {
  addStoreRows,
  assertSameKeys,
  beginArrival,
  closeStore,
  beginDeletion,
  closedInOrder,
  closeTable,
  completeArrival,
  concludeClosing,
  concludeDeletion,
  deleteRows,
  failArrival,
  findArrival,
  findMovable,
  isLogComplete,
  isSending,
  recordMoved,
  takeOver,
  takeStoreInventory,
  type ArrivalCommand,
  type MovedStore,
  type StoreInventory,
} from '../service/store-copy.ts';
import { verify } from '../../proofs/service/verify.ts';
import { listKeyChecks } from '../../proofs/storage/key-check.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import {
  countInversions,
  countStoreRows,
  lastStoreKey,
  learnContent,
  readStorePage,
  storeTablesOf,
  type StoreTables,
} from '../../../core/stores/storage/table.ts';
import { findRowById, listTables, type Table, type TableRow } from '../../../database/sql/table.ts';
import { copyEventsInOrder, copyPages } from './copy-pages.ts';
import { assertSameSchema, type CopyOutcome } from './copying.ts';
import { atTarget, fromSource, nameSide } from './copy-sides.ts';
import { CommandError } from '../../../cli/failure.ts';
import type { Progress } from '../../../cli/progress.ts';

const pollMs = 100;
/** The longest wait of a table for transactions that write to it, before the command fails. */
const tableWaitMaxMs = 5 * 60_000;
/** The longest wait of the log for transactions of other stores that are older than its last entries. */
const logWaitMaxMs = 60_000;

/** One side of a move. */
export type MoveSide = {
  readonly ctx: Context;
  readonly storage: Storage;
  /** Its location, without a password. */
  readonly shown: string;
  readonly isFile: boolean;
};

type Move = {
  readonly domain: string;
  readonly source: MoveSide;
  readonly target: MoveSide;
  readonly run: string;
  readonly progress: Progress;
};

export type MoveOutcome = CopyOutcome<StoreInventory> & {
  /** For how long the store was closed, in seconds. */
  readonly closedSeconds: number;
};

/**
 * Moves a store into a database that has other stores, or continues an interrupted move.
 * @throws CopyError if the store cannot be moved there; CommandError if a database is temporarily unavailable.
 */
export async function moveStore(move: Move): Promise<MoveOutcome> {
  const { source, target, domain } = move;
  const tables = await assertMovable(move);
  const state = await fromSource(source.storage, () => findMovable(domain));
  // A wrong ledger is found before the store is closed, and before the target has any of its rows.
  if (state.status === 'open') await assertSound(move, state.id);
  const store = await nameSide(
    'source',
    source.storage.write(() => closeStore(source.ctx, domain)),
  );
  try {
    if (store.status !== 'moved') await closeFully(move, { store, tables });
    const command: ArrivalCommand = {
      store,
      source: await fromSource(source.storage, identify),
      sourceShown: source.shown,
      run: move.run,
    };
    const resumed = await prepareTarget(move, { command, tables });
    const copied = await copyRows(move, { command, tables });
    // Before the store is open in the target, so that the command can be repeated if this fails.
    const reordered = target.isFile ? await fromSource(source.storage, () => countInversions(store.id)) : 0;
    const { inventory, differences } = await compare(move, { command, tables });
    if (differences.length > 0) await atTarget(target.storage.write(() => failArrival(target.ctx, command)));
    else {
      await nameSide(
        'source',
        source.storage.write(() => recordMoved(store, target.shown)),
      );
      await openInTarget(move, command);
    }
    const closedSeconds = (source.ctx.clock.now() - store.closedAt) / 1_000;
    return { resumed, copied, closedSeconds, source: inventory, differences, reordered };
  } catch (error) {
    if (!(error instanceof CopyError || error instanceof CommandError)) throw error;
    const note = `${error.message}\n${domain} is closed: run the same command again to continue, or open it in the source with "largesse store reopen"`;
    throw new CommandError(note, { cause: error });
  }
}

/** Checks everything that can prevent the move, before anything changes. */
async function assertMovable({ domain, source, target }: Move): Promise<StoreTables> {
  if (source.storage.isDistributed || target.storage.isDistributed)
    throw new CopyError(
      'a store cannot be moved into or out of a Citus cluster: "largesse copy" copies all stores',
    );
  await assertSameSchema({ source: source.storage, target: target.storage });
  const tables = await fromSource(source.storage, listTables);
  assertSameTables(tables, await atTarget(target.storage.read(listTables)));
  assertSameKeys(
    await fromSource(source.storage, listKeyChecks),
    await atTarget(target.storage.read(listKeyChecks)),
  );
  const state = await fromSource(source.storage, () => findMovable(domain));
  const from = await fromSource(source.storage, identify);
  await atTarget(target.storage.read(() => findArrival(state, from)));
  return storeTablesOf(tables);
}

async function assertSound({ domain, source }: Move, storeId: number): Promise<void> {
  const { mismatches } = await fromSource(source.storage, () =>
    verify(1, { keys: source.ctx.keys, onlyStore: storeId }),
  );
  const [mismatch] = mismatches;
  if (mismatch)
    throw new CopyError(`the ledger of ${domain} is wrong (${mismatch.problem}): see "largesse verify"`);
}

/** Closes the store, so that nothing can change its rows. */
async function closeFully(
  { domain, source: { ctx, storage } }: Move,
  { store, tables }: { readonly store: MovedStore; readonly tables: StoreTables },
): Promise<void> {
  // A claim ends with its result, or by its time.
  while (await fromSource(storage, () => isSending(ctx, store.id))) await wait(pollMs);
  const order = closedInOrder(tables);
  for (const table of order.first) await nameSide('source', closeOne(storage, { store, table }));
  const startedAt = performance.now();
  for (;;) {
    await nameSide('source', appendEntries({ ctx, storage }));
    if (await fromSource(storage, () => isLogComplete(store.id))) break;
    if (performance.now() - startedAt > logWaitMaxMs)
      throw new CommandError(
        `the log of ${domain} is not complete: an older transaction is open on the server of the source, or the log is wrong (see "largesse verify")`,
      );
    await wait(pollMs);
  }
  for (const table of order.last) await nameSide('source', closeOne(storage, { store, table }));
  await nameSide(
    'source',
    storage.write(() => concludeClosing(store)),
  );
}

/** Closes one table. Other stores' writes wait behind it for at most a second at a time. */
async function closeOne(
  storage: Storage,
  { store, table }: { readonly store: MovedStore; readonly table: string },
): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    try {
      return await storage.write(() => closeTable(store.id, table));
    } catch (error) {
      const isBusy = error instanceof Fault && error.code === 'overloaded';
      if (!isBusy || performance.now() - startedAt > tableWaitMaxMs) throw error;
      await wait(pollMs);
    }
  }
}

/**
 * Inserts the store into the target, after it has deleted what an outdated copy left.
 * @returns whether it continues a copy.
 */
async function prepareTarget(
  { source, target: { ctx, storage } }: Move,
  { command, tables }: { readonly command: ArrivalCommand; readonly tables: StoreTables },
): Promise<boolean> {
  const { store } = command;
  const found = await atTarget(storage.read(() => findArrival(store, command.source)));
  if (found !== 'none') await atTarget(storage.write(() => takeOver(command)));
  if (found === 'continued') return true;
  if (found === 'outdated') {
    await atTarget(storage.write(() => beginDeletion(ctx, command)));
    for (const table of tables.ofStore.toReversed())
      while (await atTarget(storage.write(() => deleteRows(command, table))));
    await atTarget(storage.write(() => concludeDeletion(command)));
  }
  const row = await fromSource(source.storage, () => findRowById(tables.stores, store.id));
  if (!row) throw new CopyError(`the source has no store ${store.domain}`);
  await atTarget(storage.write(() => beginArrival(ctx, command, { stores: tables.stores, row })));
  return false;
}

function* countAll({ ofStore }: StoreTables, storeId: number): Script<number> {
  const counts = yield* parallel(...ofStore.map((table) => countStoreRows(table, storeId)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function copyRows(
  move: Move,
  { command, tables }: { readonly command: ArrivalCommand; readonly tables: StoreTables },
): Promise<MoveOutcome['copied']> {
  const { source, target, progress } = move;
  const { id } = command.store;
  const startedAt = performance.now();
  const total = await fromSource(source.storage, () => countAll(tables, id));
  const done = await atTarget(target.storage.read(() => countAll(tables, id)));
  progress.begin('copied', { total, done });
  let rows = 0;
  for (const table of tables.ofStore) {
    const before = rows;
    for await (const added of copyTable(move, { command, table })) {
      rows += added;
      progress.reach(done + rows);
    }
    if (rows > before) await atTarget(learn(target.storage, table));
  }
  progress.end();
  return { rows, seconds: (performance.now() - startedAt) / 1_000 };
}

async function learn(storage: Storage, table: Table): Promise<void> {
  try {
    await storage.write(() => learnContent(table));
  } catch (error) {
    // The server is doing it.
    if (!(error instanceof Fault && error.code === 'overloaded')) throw error;
  }
}

/** Copies the missing rows of a table, and yields the number of rows of each page. */
async function* copyTable(
  { source, target }: Move,
  { command, table }: { readonly command: ArrivalCommand; readonly table: Table },
): AsyncGenerator<number> {
  const { id } = command.store;
  const write = (rows: readonly TableRow[]): Promise<void> =>
    atTarget(target.storage.write(() => addStoreRows(command, { table, rows })));
  const sides = { source: source.storage, target: target.storage };
  if (table.name === 'events' && !target.isFile) {
    yield* copyEventsInOrder(sides, { events: table, storeId: id, write });
    return;
  }
  yield* copyPages({
    read: (after) => fromSource(source.storage, () => readStorePage(table, id, after)),
    write,
    after: await atTarget(target.storage.read(() => lastStoreKey(table, id))),
  });
}

/** Compares the store on both sides, each in one transaction. */
async function compare(
  { source, target, progress }: Move,
  { command, tables }: { readonly command: ArrivalCommand; readonly tables: StoreTables },
): Promise<{ readonly inventory: StoreInventory; readonly differences: readonly string[] }> {
  const storeId = command.store.id;
  const inventoryOf = async (
    what: string,
    ctx: Context,
    read: <T>(script: () => Script<T>) => Promise<T>,
  ): Promise<StoreInventory> => {
    const total = await read(() => countAll(tables, storeId));
    progress.begin(`${what} read`, { total, done: 0 });
    const inventory = await read(() =>
      takeStoreInventory(ctx, { storeId, tables }, (rows) => progress.reach(rows)),
    );
    progress.end();
    return inventory;
  };
  const inventory = await inventoryOf('source', source.ctx, (script) => fromSource(source.storage, script));
  const copy = await inventoryOf('target', target.ctx, (script) => atTarget(target.storage.read(script)));
  return { inventory, differences: differencesOf(inventory, copy) };
}

/** Opens the store in the target, once the log's background job has passed the copied entries. */
async function openInTarget({ target: { ctx, storage } }: Move, command: ArrivalCommand): Promise<void> {
  while (!(await atTarget(storage.write(() => completeArrival(ctx, command))))) {
    await atTarget(appendEntries({ ctx, storage }));
    await wait(pollMs);
  }
}
