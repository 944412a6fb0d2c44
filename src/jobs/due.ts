/** Tasks that do what became due: expiries of cards and holds, and checkpoints of the log. */

import { addDueCheckpoint, needsNoCheckpoint } from '../service/proofs/checkpoint.ts';
import { hasExpiryToRecord, recordExpired, recordExpiringSoon } from '../service/cards/expiry.ts';
import { expireHolds, findExpiredHolds } from '../service/money/hold.ts';
import { listOpenStores } from '../storage/stores/store.ts';
import type { JobTools } from './job.ts';
import { workThrough } from './work.ts';

// Tasks that go from store to store read first, because most stores have nothing due and need no write transaction.

/** Records the expiries of cards, and those that are near. @returns how many of each. */
export async function recordExpiries({
  ctx,
  storage,
  limits,
}: JobTools): Promise<{ readonly expired: number; readonly expiringSoon: number }> {
  const counts = { expired: 0, expiringSoon: 0 };
  for (const { store } of await storage.read(listOpenStores)) {
    if (!(await storage.read(() => hasExpiryToRecord(ctx, store)))) continue;
    for (let hasMore = true; hasMore;) {
      const page = await storage.write(() => recordExpired(ctx, store, limits.upkeepRowsMax));
      counts.expired += page.recorded;
      ({ hasMore } = page);
    }
    for (let hasMore = true; hasMore;) {
      const page = await storage.write(() => recordExpiringSoon(ctx, store, limits.upkeepRowsMax));
      counts.expiringSoon += page.recorded;
      ({ hasMore } = page);
    }
  }
  return counts;
}

/** Closes expired holds. @returns how many. */
export async function closeDueHolds({ ctx, storage, limits }: JobTools): Promise<number> {
  const limit = limits.upkeepRowsMax;
  return await workThrough(storage, () => findExpiredHolds(ctx, limit), {
    limit,
    run: (holds) => expireHolds(ctx, holds),
  });
}

/** Adds a checkpoint to each log that needs one. */
export async function addCheckpoints({ ctx, storage }: JobTools): Promise<void> {
  for (const { store } of await storage.read(listOpenStores)) {
    if (await storage.read(() => needsNoCheckpoint(ctx, store))) continue;
    await storage.write(() => addDueCheckpoint(ctx, store));
  }
}
