/** Goes through the stores that have work of a kind due. */

import { Fault } from '../../domain/fault.ts';
import type { Store } from '../domain/store.ts';
import type { Context } from '../../storage/context.ts';
import { writeByStore } from '../../../database/sql/by-store.ts';
import type { Storage } from '../../../database/storage.ts';
import { findStore, isStoreClosed } from '../storage/store.ts';
import {
  firstWork,
  listWork,
  settleWork,
  type StoreWork,
  type SettledWork,
  type WorkKind,
  type WorkPlace,
} from '../storage/work.ts';

const dayMs = 24 * 60 * 60 * 1_000;

/**
 * The longest time until a store is read again for work. A time that is further ahead was set while the clock was wrong,
 * so it is due as well.
 */
const aheadMaxMs = 2 * dayMs;
const wrongAheadMs = aheadMaxMs + dayMs;

const pageMax = 500;

/**
 * When work of a store is due next (ms); for kinds that erase, the age of the oldest row. Null: something has to be added
 * first. Undefined: as before, so that the next run reads the store again.
 */
type NextWork = number | null | undefined;

/** The instant up to which work of a kind is due, and the present. Both are read for each page. */
type WorkTime = { readonly dueAt: () => number; readonly now: () => number };

/** The time of work that is due at an instant. */
export function presentOf({ clock }: Pick<Context, 'clock'>): WorkTime {
  return { dueAt: () => clock.earliest(), now: () => clock.now() };
}

/** The time of what is erased after a period. */
export function ageOf(clock: Pick<Context['clock'], 'now' | 'retainFrom'>, periodMs: number): WorkTime {
  return { dueAt: () => clock.retainFrom(periodMs), now: () => clock.now() };
}

/** Stores whose oldest rows cannot be erased yet are read again after this time. */
const stuckMs = 60 * 60 * 1_000;

/** The next work of a kind that erases. @param oldest the age of the oldest row (ms); null: there is none. */
export function nextErasing({ dueAt, now }: WorkTime, oldest: number | null): number {
  return Math.max(Math.min(oldest ?? now(), now()), dueAt() + stuckMs);
}

/**
 * Runs a step for each open store that has work of a kind due. One that fails does not keep the others from it. Several
 * processes can do it at the same time.
 * @throws the first error, after all stores.
 */
export async function forDueStores(
  storage: Storage,
  { kind, time }: { readonly kind: WorkKind; readonly time: WorkTime },
  step: (store: Store) => Promise<NextWork>,
): Promise<void> {
  const errors: unknown[] = [];
  const ranges = [
    { after: firstWork, upTo: time.dueAt() },
    { after: { at: time.now() + wrongAheadMs, storeId: 0 }, upTo: Number.MAX_SAFE_INTEGER },
  ];
  for (const { after: from, upTo } of ranges) {
    for (let after: WorkPlace | undefined = from; after;) {
      const place: WorkPlace = after;
      const page: readonly StoreWork[] = await storage.read(() =>
        listWork(kind, { after: place, upTo, limit: pageMax }),
      );
      const settled: SettledWork[] = [];
      for (const work of page)
        try {
          const record = await storage.read(() => findStore(work.storeId));
          if (record?.status !== 'open') continue;
          const next = await step(record.store);
          if (next === undefined) continue;
          settled.push({ ...work, next: next === null ? null : Math.min(next, time.now() + aheadMaxMs) });
        } catch (error) {
          if (error instanceof Fault && error.code === 'closing') throw error;
          if (!isStoreClosed(error)) errors.push(error);
        }
      await writeByStore({ storage }, settled, settleWork);
      after = page.length === pageMax ? page.at(-1) : undefined;
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Returns the open stores that have work of a kind due. */
export async function listDueStores(
  storage: Storage,
  kinds: readonly WorkKind[],
  time: WorkTime,
): Promise<readonly Store[]> {
  const found = new Map<number, Store>();
  for (const kind of kinds)
    await forDueStores(storage, { kind, time }, (store) => {
      found.set(store.id, store);
      return Promise.resolve(undefined);
    });
  return [...found.values()];
}
