import { writeByStore } from '../database/sql/by-store.ts';
import type { Script } from '../database/sql/sql.ts';
import type { Storage } from '../database/storage.ts';

/**
 * Finds rows of all stores and works on them, until there are no more or other processes work on the rest.
 * @param run returns how many of the rows it has worked on.
 * @returns how many there were.
 */
export async function workThrough<Row extends { readonly storeId: number }>(
  storage: Storage,
  find: () => Script<readonly Row[]>,
  { limit, run }: { readonly limit: number; readonly run: (rows: readonly Row[]) => Script<number> },
): Promise<number> {
  let all = 0;
  for (;;) {
    const found = await storage.read(find);
    let done = 0;
    await writeByStore({ storage, committed: (count: number) => void (done += count) }, found, run);
    all += done;
    if (done === 0 || found.length < limit) return all;
  }
}
