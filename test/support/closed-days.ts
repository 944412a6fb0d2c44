/** Closes days, as the service's job does in several runs. */

import { closeDays } from '../../src/jobs.ts';
import type { Database } from '../../src/database.ts';
import { beginClosing } from '../../src/service/books.ts';
import { listStores } from '../../src/storage/store.ts';
import { until } from './delivering.ts';

/**
 * Closes all days that ended more than ten minutes ago. On PostgreSQL a run closes no day while an older transaction of
 * another test on the same server is open, so there are as many runs as it takes.
 */
export async function closeAllDays(
  database: Pick<Database, 'ctx' | 'storage'>,
  rowsMax: number,
): Promise<void> {
  const { ctx, storage } = database;
  const hasDayToClose = async (): Promise<boolean> => {
    for (const { store } of await storage.read(listStores))
      if (await storage.read(() => beginClosing(ctx, store, { isDryRun: true }))) return true;
    return false;
  };
  await until(async () => {
    await closeDays(database, rowsMax);
    return !(await hasDayToClose());
  }, 60_000);
}
