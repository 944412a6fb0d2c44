/** Closes a store that moves, and opens it again. */

import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../../core/domain/fault.ts';
import {
  closedInOrder,
  closeTable,
  concludeClosing,
  findMovable,
  isLogComplete,
  isSending,
  listClosedTables,
  openTable,
  reopen,
  type MovedStore,
} from '../service/store-copy.ts';
import { appendEntries } from '../../proofs/service/log.ts';
import type { Storage } from '../../../database/storage.ts';
import type { StoreTables } from '../../../core/stores/storage/table.ts';
import { fromSource, nameSide } from './copy-sides.ts';
import { CommandError } from '../../../cli/failure.ts';
import type { Move, MoveSide } from './moving.ts';

/** The delay between two attempts. */
export const pollMs = 100;
/** The longest wait of a table for transactions that write to it, before the command fails. */
const tableWaitMaxMs = 5 * 60_000;
/** The longest wait of the log for transactions of other stores that are older than its last entries. */
const logWaitMaxMs = 60_000;

/** Closes the store, so that nothing can change its rows. */
export async function closeFully(
  { domain, source }: Move,
  { store, tables }: { readonly store: MovedStore; readonly tables: StoreTables },
): Promise<void> {
  const { ctx, storage } = source;
  // A claim ends with its result, or by its time.
  while (await fromSource(storage, () => isSending(ctx, store.id))) await wait(pollMs);
  const order = closedInOrder(tables);
  await closeTables(source, store, order.first);
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
  await closeTables(source, store, order.last);
  await nameSide(
    'source',
    storage.write(() => concludeClosing(store)),
  );
}

/** Closes tables: those of a file in one transaction, because no table waits for another. */
async function closeTables(
  { storage, isFile }: MoveSide,
  store: MovedStore,
  tables: readonly string[],
): Promise<void> {
  const groups = isFile ? [tables] : tables.map((table) => [table]);
  for (const group of groups) await nameSide('source', closeGroup(storage, { store, tables: group }));
}

/** Closes some tables. Other stores' writes wait behind it for at most a second at a time. */
async function closeGroup(
  storage: Storage,
  { store, tables }: { readonly store: MovedStore; readonly tables: readonly string[] },
): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    try {
      return await storage.write(function* close() {
        for (const table of tables) yield* closeTable(store.id, table);
      });
    } catch (error) {
      const isBusy = error instanceof Fault && error.code === 'overloaded';
      if (!isBusy || performance.now() - startedAt > tableWaitMaxMs) throw error;
      await wait(pollMs);
    }
  }
}

/** Opens a store again that a move has closed and not moved. @returns whether it is open. */
export async function openAgain(storage: Storage, domain: string): Promise<boolean> {
  const find = () => fromSource(storage, () => findMovable(domain));
  const state = await find();
  if (state.status === 'moved') return false;
  for (const table of await fromSource(storage, () => listClosedTables(state.id)))
    await nameSide(
      'source',
      storage.write(() => openTable(state.id, table)),
    );
  await nameSide(
    'source',
    storage.write(() => reopen(state)),
  );
  return (await find()).status === 'open';
}
