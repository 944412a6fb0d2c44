/** Cards of a filter in the order of an index, a bounded number of rows at a time. */

import { idMax, idsOf } from '../../../database/sql/id-range.ts';
import { all, first, one, part, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { type Listed, noDays, isMet } from './filter.ts';
import { type CardPosition, type PositionRow, toPosition, byBatch, byKey, byExpiry } from './list.ts';

/** A stretch of a walk: up to `rowsMax` cards after a position. */
export type Walk = {
  readonly isDescending: boolean;
  readonly after: CardPosition | null;
  readonly rowsMax: number;
  readonly limit: number;
};

export type Walked = {
  /** The cards of the stretch that meet the filter, at most `limit`. */
  readonly found: readonly CardPosition[];
  /** The last card of the stretch; null if it is the end of the list. */
  readonly end: CardPosition | null;
};

/**
 * Walks through the primary key.
 * @param neverExpiring whether only cards that never expire are found.
 */
export function* walkIds(
  listed: Listed,
  { isDescending, after, rowsMax, limit }: Walk,
  neverExpiring: boolean,
): Script<Walked> {
  const { storeId, filter } = listed;
  const ids = idsOf(filter.createdAt);
  const min = after && !isDescending ? Math.max(ids.min, after.id + 1) : ids.min;
  const max = after && isDescending ? Math.min(ids.max, after.id - 1) : ids.max;
  const end = yield* first(
    isDescending
      ? sql<PositionRow>`
          select g.id, g.balance, g.expires_on from gift_cards g ${byKey}
          where g.store_id = ${storeId} and g.id = (
            select id from gift_cards ${byKey}
            where store_id = ${storeId} and id between ${min} and ${max} order by id desc limit 1 offset ${rowsMax - 1})`
      : sql<PositionRow>`
          select g.id, g.balance, g.expires_on from gift_cards g ${byKey}
          where g.store_id = ${storeId} and g.id = (
            select id from gift_cards ${byKey}
            where store_id = ${storeId} and id between ${min} and ${max} order by id limit 1 offset ${rowsMax - 1})`,
  );
  const [from, to] = [
    isDescending && end ? toNumber(end.id) : min,
    !isDescending && end ? toNumber(end.id) : max,
  ];
  const found = part`
    select g.id, g.balance, g.expires_on from gift_cards g ${byKey}
    where g.store_id = ${storeId} and g.id between ${from} and ${to}
      and ${isMet(listed)} and case when ${Number(!neverExpiring)} = 1 or g.expires_on is null then 1 else 0 end = 1`;
  const rows = yield* all(
    isDescending
      ? sql<PositionRow>`${found} order by g.id desc limit ${limit}`
      : sql<PositionRow>`${found} order by g.id limit ${limit}`,
  );
  return { found: rows.map(toPosition), end: end ? toPosition(end) : null };
}

/** Walks through the cards of a batch as `walkIds` does. A statement is prepared once, so the index is not a value. */
export function* walkBatch(
  listed: Listed,
  { isDescending, after, rowsMax, limit }: Walk,
  { batchId, neverExpiring }: { readonly batchId: number; readonly neverExpiring: boolean },
): Script<Walked> {
  const { storeId, filter } = listed;
  const ids = idsOf(filter.createdAt);
  const min = after && !isDescending ? Math.max(ids.min, after.id + 1) : ids.min;
  const max = after && isDescending ? Math.min(ids.max, after.id - 1) : ids.max;
  const stretch = part`
    select id, balance, expires_on from gift_cards ${byBatch}
    where store_id = ${storeId} and batch_id = ${batchId} and id between ${min} and ${max}`;
  const end = yield* first(
    isDescending
      ? sql<PositionRow>`${stretch} order by id desc limit 1 offset ${rowsMax - 1}`
      : sql<PositionRow>`${stretch} order by id limit 1 offset ${rowsMax - 1}`,
  );
  const from = isDescending && end ? toNumber(end.id) : min;
  const to = !isDescending && end ? toNumber(end.id) : max;
  const found = part`
    select g.id, g.balance, g.expires_on from gift_cards g ${byBatch}
    where g.store_id = ${storeId} and g.batch_id = ${batchId} and g.id between ${from} and ${to}
      and ${isMet(listed)} and case when ${Number(!neverExpiring)} = 1 or g.expires_on is null then 1 else 0 end = 1`;
  const rows = yield* all(
    isDescending
      ? sql<PositionRow>`${found} order by g.id desc limit ${limit}`
      : sql<PositionRow>`${found} order by g.id limit ${limit}`,
  );
  return { found: rows.map(toPosition), end: end ? toPosition(end) : null };
}

/** Walks through the index of expiries: cards that expire. */
export function* walkExpiries(listed: Listed, { isDescending, after, rowsMax, limit }: Walk): Script<Walked> {
  const { storeId, filter } = listed;
  const days = filter.expiresOn ?? noDays;
  const [low, high] = [
    { day: days.min, id: 0 },
    { day: days.max, id: idMax },
  ];
  const start = after && { day: after.expiresOn ?? '', id: after.id };
  // Both ends are excluded, except the end of the stretch.
  const min = !isDescending && start ? start : low;
  const max = isDescending && start ? start : high;
  const end = yield* first(
    isDescending
      ? sql<PositionRow>`
          select id, balance, expires_on from gift_cards ${byExpiry}
          where store_id = ${storeId} and expires_on is not null
            and (expires_on, id) > (${min.day}, ${min.id}) and (expires_on, id) < (${max.day}, ${max.id})
          order by expires_on desc, id desc limit 1 offset ${rowsMax - 1}`
      : sql<PositionRow>`
          select id, balance, expires_on from gift_cards ${byExpiry}
          where store_id = ${storeId} and expires_on is not null
            and (expires_on, id) > (${min.day}, ${min.id}) and (expires_on, id) < (${max.day}, ${max.id})
          order by expires_on, id limit 1 offset ${rowsMax - 1}`,
  );
  const last = end && { day: end.expires_on ?? '', id: toNumber(end.id) };
  const from = isDescending && last ? { day: last.day, id: last.id - 1 } : min;
  const to = !isDescending && last ? { day: last.day, id: last.id + 1 } : max;
  const found = part`
    select g.id, g.balance, g.expires_on from gift_cards g ${byExpiry}
    where g.store_id = ${storeId} and g.expires_on is not null
      and (g.expires_on, g.id) > (${from.day}, ${from.id}) and (g.expires_on, g.id) < (${to.day}, ${to.id})
      and ${isMet(listed)}`;
  const rows = yield* all(
    isDescending
      ? sql<PositionRow>`${found} order by g.expires_on desc, g.id desc limit ${limit}`
      : sql<PositionRow>`${found} order by g.expires_on, g.id limit ${limit}`,
  );
  return { found: rows.map(toPosition), end: end ? toPosition(end) : null };
}

/** The number of cards that meet the filter among the newest `rowsMax`, and whether there are more cards. */
export function* countWalk(
  listed: Listed,
  rowsMax: number,
): Script<{ readonly cards: number; readonly isComplete: boolean }> {
  const { storeId, filter } = listed;
  const ids = idsOf(filter.createdAt);
  const { batchId } = filter;
  const beyond = yield* first(
    batchId === null
      ? sql<{ id: bigint }>`
          select id from gift_cards ${byKey}
          where store_id = ${storeId} and id between ${ids.min} and ${ids.max}
          order by id desc limit 1 offset ${rowsMax}`
      : sql<{ id: bigint }>`
          select id from gift_cards ${byBatch}
          where store_id = ${storeId} and batch_id = ${batchId} and id between ${ids.min} and ${ids.max}
          order by id desc limit 1 offset ${rowsMax}`,
  );
  const min = beyond ? toNumber(beyond.id) + 1 : ids.min;
  const { cards } = yield* one(
    batchId === null
      ? sql<{ cards: bigint }>`
          select count(*) as cards from gift_cards g ${byKey}
          where g.store_id = ${storeId} and g.id between ${min} and ${ids.max} and ${isMet(listed)}`
      : sql<{ cards: bigint }>`
          select count(*) as cards from gift_cards g ${byBatch}
          where g.store_id = ${storeId} and g.batch_id = ${batchId} and g.id between ${min} and ${ids.max}
            and ${isMet(listed)}`,
  );
  return { cards: toNumber(cards), isComplete: !beyond };
}
