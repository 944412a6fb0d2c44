/** Closes days, as the service's job does in several runs. */

import { closeDays, beginClosing } from '../../src/features/books/service/closing.ts';
import { appendEntries } from '../../src/features/proofs/service/log.ts';
import type { Database } from '../../src/start/database.ts';
import { listStores } from '../../src/core/stores/storage/store.ts';
import { until } from './delivering.ts';

/**
 * Closes all days that ended more than ten minutes ago. A run gives up if older transactions of other
 * tests on the same PostgreSQL server do not end in time, so there are as many runs as it takes.
 */
export async function closeAllDays(
  database: Pick<Database, 'ctx' | 'storage'>,
  rowsMax: number,
): Promise<void> {
  const { ctx, storage } = database;
  const trustedUntil = Number.POSITIVE_INFINITY;
  const hasDayToClose = async (): Promise<boolean> => {
    for (const { store } of await storage.read(listStores))
      if (await storage.read(() => beginClosing(ctx, store, { isDryRun: true, trustedUntil }))) return true;
    return false;
  };
  await until(async () => {
    await closeDays(database, rowsMax);
    if (!(await hasDayToClose())) return true;
    // The first entry of a store makes its closing due when the log appends it.
    await appendEntries(database);
    return false;
  }, 240_000);
}
