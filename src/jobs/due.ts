/** Tasks that do what became due: expiries of cards and holds, and checkpoints of the log. */

import {
  addDueCheckpoint,
  findNextCheckpoint,
  listRotatedStores,
  needsNoCheckpoint,
} from '../features/proofs/service/checkpoint.ts';
import {
  findNextExpiry,
  hasExpiryToRecord,
  recordExpired,
  recordExpiringSoon,
} from '../core/cards/service/expiry.ts';
import { expireHolds, findExpiredHolds } from '../core/money/service/hold.ts';
import { forDueStores, presentOf } from '../core/stores/service/work.ts';
import { writeByStore } from '../database/sql/by-store.ts';
import { makeWorkDue } from '../core/stores/storage/work.ts';
import type { JobTools } from './job.ts';
import { workThrough } from './work.ts';

/** Records the expiries of cards, and those that are near. @returns how many of each. */
export async function recordExpiries({
  ctx,
  storage,
  limits,
}: JobTools): Promise<{ readonly expired: number; readonly expiringSoon: number }> {
  const counts = { expired: 0, expiringSoon: 0 };
  await forDueStores(storage, { kind: 'expiry', time: presentOf(ctx) }, async (store) => {
    // Reads first, because most changes of cards make no expiry due.
    if (await storage.read(() => hasExpiryToRecord(ctx, store))) {
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
    return await storage.read(() => findNextExpiry(ctx, store));
  });
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

/**
 * Returns a task that adds a checkpoint to each log that needs one. Its first run looks for logs that were signed with other
 * keys, because the key can have been rotated before the process started.
 */
export function createCheckpoints({ ctx, storage, limits }: JobTools): () => Promise<void> {
  let isFirst = true;
  return async () => {
    for (let after: number | undefined = isFirst ? 0 : undefined; after !== undefined;) {
      const page: { readonly after: number; readonly limit: number } = { after, limit: limits.upkeepRowsMax };
      const rotated = await storage.read(() => listRotatedStores(ctx, page));
      await writeByStore(
        { storage },
        rotated.map((storeId) => ({ storeId })),
        function* makeDue(stores) {
          for (const { storeId } of stores) yield* makeWorkDue(ctx, storeId, ['checkpoint']);
          return stores.length;
        },
      );
      after = rotated.length === page.limit ? rotated.at(-1) : undefined;
    }
    isFirst = false;
    await forDueStores(storage, { kind: 'checkpoint', time: presentOf(ctx) }, async (store) => {
      if (!(await storage.read(() => needsNoCheckpoint(ctx, store))))
        await storage.write(() => addDueCheckpoint(ctx, store));
      return await storage.read(() => findNextCheckpoint(ctx, store));
    });
  };
}
