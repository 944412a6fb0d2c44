/** The target of a move: the store is prepared, copied, compared and opened there. */

import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../../core/domain/fault.ts';
import { CopyError, differencesOf } from '../service/copy.ts';
import {
  addStoreRows,
  beginArrival,
  beginDeletion,
  completeArrival,
  concludeDeletion,
  deleteRows,
  findArrival,
  takeOver,
  takeStoreTotals,
  verifyStore,
  type ArrivalCommand,
  type StoreInventory,
} from '../service/store-copy.ts';
import { appendEntries } from '../../proofs/service/log.ts';
import { findRowById, type Table, type TableRow } from '../../../database/sql/table.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import {
  countStoreRows,
  lastStoreKey,
  learnContent,
  readStorePage,
  type StoreTables,
} from '../../../core/stores/storage/table.ts';
import { copyEventsInOrder, copyPages } from './copy-pages.ts';
import { atTarget, fromSource } from './copy-sides.ts';
import { pollMs } from './store-closing.ts';
import type { Move, MoveOutcome } from './moving.ts';

/** A store that arrives, and the tables that it has rows in. */
export type Arrival = { readonly command: ArrivalCommand; readonly tables: StoreTables };

/**
 * Inserts the store into the target, after it has deleted what an outdated copy left.
 * @returns whether it continues a copy.
 */
export async function prepareTarget(
  { source, target: { ctx, storage } }: Move,
  { command, tables }: Arrival,
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

export function* countAll({ ofStore }: StoreTables, storeId: number): Script<number> {
  const counts = yield* parallel(...ofStore.map((table) => countStoreRows(table, storeId)));
  return counts.reduce((sum, count) => sum + count, 0);
}

export async function copyRows(move: Move, { command, tables }: Arrival): Promise<MoveOutcome['copied']> {
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

export async function learn(storage: Storage, table: Table): Promise<void> {
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

/**
 * Compares all rows of the store on both sides, each in one state, and verifies its ledger in the target: with equal rows, that
 * of the source is the same.
 * @param options.first is read in the same state of the source as the rows, and passed to `between` before the target is read.
 */
export async function compareSides<T>(
  { source, target, progress }: Move,
  { command, tables }: Arrival,
  { first, between }: { readonly first: () => Script<T>; readonly between: (result: T) => Promise<void> },
): Promise<{ readonly inventory: StoreInventory; readonly differences: readonly string[] }> {
  const { id } = command.store;
  const reached = (rows: number): void => progress.reach(rows);
  progress.begin('source read', {
    total: await fromSource(source.storage, () => countAll(tables, id)),
    done: 0,
  });
  const ofSource = await fromSource(source.storage, function* () {
    return { result: yield* first(), totals: yield* takeStoreTotals(id, tables, reached) };
  });
  progress.end();
  await between(ofSource.result);
  progress.begin('target read', {
    total: await atTarget(target.storage.read(() => countAll(tables, id))),
    done: 0,
  });
  const copy = await atTarget(
    target.storage.read(function* () {
      const totals = yield* takeStoreTotals(id, tables, reached);
      return { tables: totals, verification: yield* verifyStore(target.ctx, id) };
    }),
  );
  progress.end();
  const inventory = {
    tables: ofSource.totals,
    verification: { ...copy.verification, mismatches: [] },
  };
  return { inventory, differences: differencesOf(inventory, copy) };
}

/** Opens the store in the target, once the log's background job has passed the copied entries. */
export async function openInTarget(
  { target: { ctx, storage } }: Move,
  command: ArrivalCommand,
): Promise<void> {
  while (!(await atTarget(storage.write(() => completeArrival(ctx, command))))) {
    await atTarget(appendEntries({ ctx, storage }));
    await wait(pollMs);
  }
}
