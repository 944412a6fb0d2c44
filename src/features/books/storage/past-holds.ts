/** The holds that were open at a past instant. */

import { idsAt } from '../../../platform/random.ts';
import { holdSecondsMax } from '../../../core/money/domain/hold.ts';
import { expiryKnownAt } from '../../../core/money/storage/hold.ts';
import { all, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

const dayMs = 86_400_000;

/** A hold that can be open at an instant. */
export type HoldThen = { readonly cardId: number; readonly amount: bigint };

/** Holds that one statement reads. */
const holdsInRead = 2_000;

/** The ids of holds that one statement reads: above `after`, up to `upTo`. */
export type HoldRange = { readonly after: number; readonly upTo: number };

/**
 * Returns the next range of holds that can have been open at an instant; undefined after the last one. A clock that was
 * wrong by less than a day when a hold was placed does not hide it.
 */
export function* findHoldRange(
  storeId: number,
  at: number,
  last: HoldRange | null,
): Script<HoldRange | undefined> {
  const after = last?.upTo ?? idsAt(at - holdSecondsMax * 1_000 - dayMs) - 1;
  const end = idsAt(at + dayMs);
  if (after >= end) return undefined;
  const row = yield* first(sql<{ id: bigint }>`
    select id from holds where store_id = ${storeId} and id > ${after} and id < ${end}
    order by id limit 1 offset ${holdsInRead - 1}`);
  return { after, upTo: row ? toNumber(row.id) : end };
}

/** Returns the holds of a range that were open at an instant and had not expired. */
export function* listHoldsAt(
  storeId: number,
  { after, upTo }: HoldRange,
  at: number,
): Script<readonly HoldThen[]> {
  const rows = yield* all(sql<{ card_id: bigint; amount: bigint }>`
    select card_id, amount from holds
    where store_id = ${storeId} and id > ${after} and id <= ${upTo} and created_at <= ${at} and expires_at > ${at}
      and (closed_at is null or closed_at > ${at}) and ${expiryKnownAt(storeId, at)} > ${at}
    order by id`);
  return rows.map((row) => ({ cardId: toNumber(row.card_id), amount: row.amount }));
}
