/**
 * Lists of cards. A statement reads a bounded number of rows: the few cards that an index finds for one filter, or the
 * cards of a stretch of the primary key or of the index of expiries. All other conditions are one expression that no
 * planner can use to choose an index (docs/decisions/lists.md).
 */

import { idMax, idSlackMs, idsOf } from '../../../database/sql/id-range.ts';
import {
  all,
  first,
  one,
  part,
  sql,
  toNumber,
  ValueList,
  type Part,
  type Script,
} from '../../../database/sql/sql.ts';
import { endOfOneOf, indexedBy, oneOf } from '../../../database/sql/fragments.ts';
import { int64Max } from '../../domain/int64.ts';

import { type CardFilter, type Listed, isMet, issuesAt, noDays, noRange } from './filter.ts';

export type CardSort = {
  readonly by: 'created_at' | 'balance' | 'expires_on';
  readonly isDescending: boolean;
};

/** The position of a card in every order. */
export type CardPosition = {
  readonly id: number;
  /** Minor units. */
  readonly balance: bigint;
  readonly expiresOn: string | null;
};

export type PositionRow = {
  readonly id: bigint;
  readonly balance: bigint;
  readonly expires_on: string | null;
};

export function toPosition({ id, balance, expires_on: expiresOn }: PositionRow): CardPosition {
  return { id: toNumber(id), balance, expiresOn };
}

export const byKey = indexedBy('sqlite_autoindex_gift_cards_1');
export const byBatch = indexedBy('gift_cards_by_batch');
export const byExpiry = indexedBy('gift_cards_by_expiry');

/**
 * Returns the instant (ms) after which at most `count` cards were issued, also if ids and clocks differ by an hour; undefined:
 * the store has no more cards than that.
 */
export function* findNewestSince(storeId: number, count: number): Script<number | undefined> {
  const row = yield* first(sql<{ created_at: bigint }>`
    select created_at from gift_cards where store_id = ${storeId} order by id desc limit 1 offset ${count}`);
  return row && toNumber(row.created_at) + 2 * idSlackMs;
}

/** A filter whose cards an index finds. `created_at`: a stretch of the primary key. */
export type CardSource =
  | 'external_id'
  | 'customer'
  | 'order_id'
  | 'batch_id'
  | 'email_status'
  | 'scheduled'
  | 'suspended'
  | 'disabled_at'
  | 'expires_on'
  | 'created_at'
  | 'issued_at';

/** The sources of a filter, the first of which usually has the fewest cards. */
export function sourcesOf(filter: CardFilter): readonly CardSource[] {
  const { customerId, orderId, batchId, emailStatus, state, disabledAt, expiresOn } = filter;
  const { createdAt, issuedAt, externalId } = filter;
  return [
    ...(externalId === null ? [] : (['external_id'] as const)),
    ...(customerId === null ? [] : (['customer'] as const)),
    ...(orderId === null ? [] : (['order_id'] as const)),
    ...(batchId === null ? [] : (['batch_id'] as const)),
    ...(emailStatus === 'bounced' || emailStatus === 'dead' ? (['email_status'] as const) : []),
    ...(state === 'scheduled' ? (['scheduled'] as const) : []),
    ...(state === 'suspended' ? (['suspended'] as const) : []),
    ...(disabledAt === null ? [] : (['disabled_at'] as const)),
    ...(expiresOn === null ? [] : (['expires_on'] as const)),
    ...(createdAt === null ? [] : (['created_at'] as const)),
    ...(issuedAt === null ? [] : (['issued_at'] as const)),
  ];
}

/** The ids of a source's cards; a customer's own cards twice. The other sources contribute none. */
function idsIn({ storeId, filter }: Listed, source: CardSource): Part {
  const is = (name: CardSource): number => Number(name === source);
  const disabled = filter.disabledAt ?? noRange;
  const expires = filter.expiresOn ?? noDays;
  const ids = idsOf(filter.createdAt);
  return part`
    select id from gift_cards ${indexedBy('gift_cards_by_customer')}
    where ${is('customer')} = 1 and store_id = ${storeId} and customer_id = ${filter.customerId ?? 0}
    union all
    select id from gift_cards ${indexedBy('gift_cards_by_recipient')}
    where ${is('customer')} = 1 and store_id = ${storeId} and recipient_id = ${filter.customerId ?? 0}
    union all
    select id from gift_cards ${indexedBy('gift_cards_by_external_id')}
    where ${is('external_id')} = 1 and store_id = ${storeId} and external_id = ${filter.externalId ?? ''}
    union all
    select id from gift_cards ${indexedBy('gift_cards_by_order')}
    where ${is('order_id')} = 1 and store_id = ${storeId} and order_id = ${filter.orderId ?? 0}
    union all
    select id from gift_cards ${byBatch}
    where ${is('batch_id')} = 1 and store_id = ${storeId} and batch_id = ${filter.batchId ?? 0}
    union all
    select card_id from email_deliveries ${indexedBy('email_deliveries_failed')}
    where ${is('email_status')} = 1 and store_id = ${storeId} and state = ${filter.emailStatus ?? ''}
      and kind = 'gift_card' and (state = 'bounced' or state = 'dead')
    union all
    select card_id from email_deliveries ${indexedBy('email_deliveries_scheduled')}
    where ${is('scheduled')} = 1 and store_id = ${storeId} and kind = 'gift_card' and state = 'scheduled'
    union all
    select id from gift_cards ${indexedBy('gift_cards_by_suspension')}
    where ${is('suspended')} = 1 and store_id = ${storeId} and suspended_at is not null
    union all
    select id from gift_cards ${indexedBy('gift_cards_by_disabling')}
    where ${is('disabled_at')} = 1 and store_id = ${storeId} and disabled_at is not null
      and disabled_at between ${disabled.min} and ${disabled.max}
    union all
    select id from gift_cards ${byExpiry}
    where ${is('expires_on')} = 1 and store_id = ${storeId} and expires_on is not null
      and expires_on between ${expires.min} and ${expires.max}
    union all
    select id from gift_cards ${byKey}
    where ${is('created_at')} = 1 and store_id = ${storeId} and id between ${ids.min} and ${ids.max}
    union all
    ${issuesAt(storeId, filter.issuedAt ?? [])} and ${is('issued_at')} = 1`;
}

/** The number of cards that a source has, at most `max`. */
export function* countSource(listed: Listed, source: CardSource, max: number): Script<number> {
  const { cards } = yield* one(sql<{ cards: bigint }>`
    select count(*) as cards from (select id from (${idsIn(listed, source)}) found limit ${max}) counted`);
  return toNumber(cards);
}

/** The cards of a source that meet the filter. */
export function* countFound(listed: Listed, source: CardSource): Script<number> {
  const { cards } = yield* one(sql<{ cards: bigint }>`
    select count(*) as cards from gift_cards g ${byKey}
    where g.store_id = ${listed.storeId} and g.id ${oneOf} ${idsIn(listed, source)} ${endOfOneOf}
      and ${isMet(listed)}`);
  return toNumber(cards);
}

export type SortedPage = {
  readonly sort: CardSort;
  /** The position after which the page begins; null: the first page. */
  readonly after: CardPosition | null;
  readonly limit: number;
  /** Whether the page ends before the position: its cards are read from the last one to the first. */
  readonly isBackwards: boolean;
};

/** The values by which few cards are sorted. Cards that never expire are last in both directions. */
function sortKey({ by, isDescending }: CardSort) {
  const last = isDescending ? -1 : 1;
  return {
    place: part`case when ${Number(by === 'expires_on')} = 1 and g.expires_on is null then ${last} else 0 end`,
    amount: part`case when ${Number(by === 'balance')} = 1 then g.balance else 0 end`,
    day: part`case when ${Number(by === 'expires_on')} = 1 then coalesce(g.expires_on, '') else '' end`,
  };
}

/** The sort key of a position; for the first page, one before all others. */
function keyOf({ by, isDescending }: CardSort, after: CardPosition | null): ValueList {
  const direction = isDescending ? -1 : 1;
  if (!after) return new ValueList([-2 * direction, 0n, '', 0]);
  const isLast = by === 'expires_on' && after.expiresOn === null;
  const day = by === 'expires_on' ? (after.expiresOn ?? '') : '';
  // The id 0 is before the first card that never expires.
  const id = isLast && isDescending && after.id === 0 ? idMax : after.id;
  return new ValueList([isLast ? direction : 0, by === 'balance' ? after.balance : 0n, day, id]);
}

/** The cards of a source that meet the filter, sorted. */
export function* listFound(
  listed: Listed,
  source: CardSource,
  { sort, after, limit, isBackwards }: SortedPage,
): Script<readonly CardPosition[]> {
  const { place, amount, day } = sortKey(sort);
  const key = keyOf(sort, after);
  const found = part`
    select g.id, g.balance, g.expires_on, ${place} as sorted_place, ${amount} as sorted_amount, ${day} as sorted_day
    from gift_cards g ${byKey}
    where g.store_id = ${listed.storeId} and g.id ${oneOf} ${idsIn(listed, source)} ${endOfOneOf}
      and ${isMet(listed)}`;
  const rows = yield* all(
    sort.isDescending !== isBackwards
      ? sql<PositionRow>`${found} and (${place}, ${amount}, ${day}, g.id) < (${key})
          order by sorted_place desc, sorted_amount desc, sorted_day desc, g.id desc limit ${limit}`
      : sql<PositionRow>`${found} and (${place}, ${amount}, ${day}, g.id) > (${key})
          order by sorted_place, sorted_amount, sorted_day, g.id limit ${limit}`,
  );
  return rows.map(toPosition);
}

/** The cards of a stretch of the primary key that meet the filter, sorted by balance. */
export function* listByBalance(
  listed: Listed,
  { sort, after, limit, isBackwards }: SortedPage,
): Script<readonly CardPosition[]> {
  const ids = idsOf(listed.filter.createdAt);
  const found = part`
    select g.id, g.balance, g.expires_on from gift_cards g ${byKey}
    where g.store_id = ${listed.storeId} and g.id between ${ids.min} and ${ids.max} and ${isMet(listed)}`;
  const rows = yield* all(
    sort.isDescending !== isBackwards
      ? sql<PositionRow>`${found} and (g.balance, g.id) < (${after?.balance ?? int64Max}, ${after?.id ?? idMax})
          order by +g.balance desc, g.id desc limit ${limit}`
      : sql<PositionRow>`${found} and (g.balance, g.id) > (${after?.balance ?? -1n}, ${after?.id ?? 0})
          order by +g.balance, g.id limit ${limit}`,
  );
  return rows.map(toPosition);
}
