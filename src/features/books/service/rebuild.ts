/** Computes the sums of closed days again from the ledger, and stores them. */

import type { Store } from '../../../core/stores/domain/store.ts';
import type { Storage } from '../../../database/storage.ts';
import { replaceAges, replaceDay } from './replace.ts';
import { listAllClosedDays } from './books.ts';
import { recompute } from './recompute.ts';

/** A service can close a day while the sums are computed. */
const attemptsMax = 3;

/**
 * Stores the sums of a store's closed days, one day per transaction. Services can run.
 * @returns the number of days; undefined if days were closed during each of three attempts.
 */
export async function rebuildSums(storage: Storage, store: Store): Promise<number | undefined> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const { days, sums } = await storage.read(function* () {
      return { days: yield* listAllClosedDays(store.id), sums: yield* recompute(store) };
    });
    const byDay = Map.groupBy(sums.days, ({ day }) => day);
    for (const { day } of days) await storage.write(() => replaceDay(store, day, byDay.get(day) ?? []));
    const lastDay = days.at(-1)?.day;
    const isStored =
      lastDay === undefined || (await storage.write(() => replaceAges(store, { lastDay, ages: sums.ages })));
    if (isStored) return days.length;
  }
  return undefined;
}
