/**
 * Work on rows of several stores that a read has found. In a distributed database the rows of different stores are on
 * different servers, so each store has a transaction of its own: one that spans servers needs a two-phase commit, and
 * one server that is down would stop the work of all stores. A store that is closed does not stop it either.
 */

import type { Script } from './sql.ts';
import type { Storage } from '../storage.ts';
import { isStoreClosed } from '../../core/stores/storage/store.ts';

/**
 * Runs a script on items in one transaction or, in a distributed database, on the items of each store in a transaction
 * of its own. A transaction that fails does not keep the others from running.
 * @param committed receives the result of each transaction.
 * @throws the first error, after all transactions.
 */
export async function writeByStore<Item extends { readonly storeId: number }, T>(
  { storage, committed }: { readonly storage: Storage; readonly committed?: (result: T) => void },
  items: readonly Item[],
  script: (items: readonly Item[]) => Script<T>,
): Promise<void> {
  if (items.length === 0) return;
  const errors: unknown[] = [];
  const run = async (group: readonly Item[]): Promise<void> => {
    try {
      const result = await storage.write(() => script(group));
      committed?.(result);
    } catch (error) {
      if (!isStoreClosed(error)) return void errors.push(error);
      // Nothing was done. The rows of a store that was closed since they were found stay as they are.
      const parts = partsOf(group);
      if (parts.length > 1) for (const part of parts) await run(part);
    }
  };
  for (const group of storage.isDistributed ? partsOf(items) : [items]) await run(group);
  if (errors.length > 0) throw errors[0];
}

function partsOf<Item extends { readonly storeId: number }>(
  items: readonly Item[],
): readonly (readonly Item[])[] {
  return [...Map.groupBy(items, ({ storeId }) => storeId).values()];
}
