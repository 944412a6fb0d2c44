/** The ids of rows by the time of their creation. Ids grow with time. */

import { idsAt } from '../../platform/random.ts';

export type Range<T> = { readonly min: T; readonly max: T };

/** The ids of a burst can be ahead of the clock, and the clocks of processes differ. */
export const idSlackMs = 60 * 60 * 1_000;

export const idMax = Number.MAX_SAFE_INTEGER;

/** The ids that rows of a range of instants (ms) can have; null: of any instant. */
export function idsOf(createdAt: Range<number> | null): Range<number> {
  if (!createdAt) return { min: 1, max: idMax };
  const { min, max } = createdAt;
  return {
    min: Math.max(1, idsAt(min - idSlackMs)),
    max: Math.max(0, Math.min(idMax, idsAt(max + 1 + idSlackMs))),
  };
}
