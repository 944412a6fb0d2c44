/**
 * Lists of cards. A statement reads a bounded number of rows: the few cards that an index finds for one filter, or the
 * cards of a stretch of the primary key or of the index of expiries. All other conditions are one expression that no
 * planner can use to choose an index (docs/decisions/lists.md).
 */

import { idsAt } from '../../platform/random.ts';
import { idMax, idSlackMs, idsOf, type Range } from '../sql/id-range.ts';
import {
  filteredFields,
  fieldFiltersOf,
  type FieldFilters,
  type FilteredField,
} from '../../domain/cards/field-filters.ts';
import { cardFields, propertyOf, type FieldFilter } from '../../domain/cards/fields.ts';
import type { EmailState } from '../../domain/emails/email.ts';
import type { CardState, EmailStatus } from '../../domain/cards/state.ts';
import type { CardKey } from './card.ts';
import {
  all,
  first,
  joined,
  one,
  part,
  sql,
  toNumber,
  ValueList,
  type Part,
  type Script,
} from '../sql/sql.ts';
import { padded } from '../sql/chunks.ts';
import { endOfOneOf, Fragment, indexedBy, oneOf, position } from '../sql/fragments.ts';
import { int64Max } from '../../domain/int64.ts';

/** Both ends are included. */

/** The conditions of a list; null: any. */
export type CardFilter = FieldFilters & {
  readonly state: CardState | null;
  readonly emailStatus: EmailState | null;
  /** The customer or recipient. */
  readonly customerId: number | null;
  /** Instants in ms. */
  readonly createdAt: Range<number> | null;
  readonly disabledAt: Range<number> | null;
  /** The time of the card's last entry in the ledger: an instant in ms. */
  readonly lastActivityAt: Range<number> | null;
  readonly expiresOn: Range<string> | null;
  /** Minor units. */
  readonly balance: Range<bigint> | null;
  readonly orderId: number | null;
  /** The batch that issued them. */
  readonly batchId: number | null;
  /** Whether the recipient's page has shown them. */
  readonly viewed: boolean | null;
  /** Whether more was redeemed than was refunded. */
  readonly redeemed: boolean | null;
  readonly lastCharacters: string | null;
  /** A tag as `searchedTag` returns it. */
  readonly tag: string | null;
  /** The locations at one of which the card was issued, at most 20. */
  readonly issuedAt: readonly number[] | null;
  /** Part of the note, or of the name of the sender or recipient, with A to Z in lower case. */
  readonly text: string | null;
};

/** The filter that every card meets. */
export const anyCard: CardFilter = Object.freeze({
  ...fieldFiltersOf({}),
  state: null,
  emailStatus: null,
  customerId: null,
  createdAt: null,
  disabledAt: null,
  lastActivityAt: null,
  expiresOn: null,
  balance: null,
  orderId: null,
  batchId: null,
  viewed: null,
  redeemed: null,
  lastCharacters: null,
  tag: null,
  issuedAt: null,
  text: null,
});

/** The store's cards, and the moment at which their states are compared. */
export type Listed = {
  readonly storeId: number;
  readonly filter: CardFilter;
  readonly today: string;
  /** Instant in ms. */
  readonly now: number;
};

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

const noRange = { min: 0, max: idMax };
export const noDays = { min: '', max: '~' };

/**
 * Returns the instant (ms) after which at most `count` cards were issued, also if ids and clocks differ by an hour; undefined:
 * the store has no more cards than that.
 */
export function* findNewestSince(storeId: number, count: number): Script<number | undefined> {
  const row = yield* first(sql<{ created_at: bigint }>`
    select created_at from gift_cards where store_id = ${storeId} order by id desc limit 1 offset ${count}`);
  return row && toNumber(row.created_at) + 2 * idSlackMs;
}

/** The status of the newest email with the code of the card `g`; null: there is none. */
export function emailStatusAt(storeId: number, now: number): Part {
  return part`(
    select case when e.state = 'scheduled' and e.next_at <= ${now} then 'queued' else e.state end
    from email_deliveries e
    where e.store_id = ${storeId} and e.card_id = g.id and e.kind = 'gift_card'
    order by e.id desc limit 1)`;
}

/** Returns the status of the newest email with a card's code at `now` (ms). */
export function* findEmailStatus({ storeId, cardId }: CardKey, now: number): Script<EmailStatus> {
  const row = yield* first(sql<{ status: EmailStatus | null }>`
    select ${emailStatusAt(storeId, now)} as status from gift_cards g
    where g.store_id = ${storeId} and g.id = ${cardId}`);
  return row?.status ?? 'none';
}

/** 1 if the email of the card `g` is scheduled; otherwise null. */
function scheduledAt(storeId: number, now: number): Part {
  return part`(
    select 1 from email_deliveries e ${indexedBy('email_deliveries_scheduled')}
    where e.store_id = ${storeId} and e.card_id = g.id and e.kind = 'gift_card' and e.state = 'scheduled'
      and e.next_at > ${now}
      and not exists (
        select 1 from email_deliveries later
        where later.store_id = ${storeId} and later.card_id = e.card_id and later.kind = 'gift_card'
          and later.id > e.id)
    limit 1)`;
}

/** 1 if a condition is absent, so that it is true for every card. */
function any(value: unknown): number {
  return Number(value === null);
}

/** The first id of an instant (ms), within the ids that exist. */
function idAt(instant: number): number {
  return Math.max(0, Math.min(idMax, idsAt(instant)));
}

/**
 * Whether the last entry of the card `g` is in a range. Its id decides, except near the ends of the range: reading the
 * entry of every card would make a walk several times slower.
 */
function isLastActivityIn(storeId: number, { min, max }: Range<number>): Part {
  return part`case
    when g.last_transfer_id < ${idAt(min - idSlackMs)} or g.last_transfer_id >= ${idAt(max + 1 + idSlackMs)} then false
    when g.last_transfer_id >= ${idAt(min + idSlackMs)} and g.last_transfer_id < ${idAt(max + 1 - idSlackMs)} then true
    else (
      select t.created_at from transfers t where t.store_id = ${storeId} and t.id = g.last_transfer_id
    ) between ${min} and ${max}
  end`;
}

/** `card_id` of the entries that issued a card at one of some locations, at most 20. */
export function issuesAt(storeId: number, locationIds: readonly number[]): Part {
  return part`
    select i.card_id from transfers i ${indexedBy('transfers_by_issue_location')}
    where i.store_id = ${storeId} and i.kind = 'issue' and i.location_id is not null
      and i.location_id in (${padded(locationIds, 0)})`;
}

const conditions: Readonly<Record<FieldFilter, (column: Fragment, value: string) => Part>> = {
  equals: (column, value) => part`g.${column} = ${value}`,
  contains: (column, value) => part`${position}(lower(g.${column}), ${value}) > 0`,
};

function fieldCondition(name: FilteredField, filter: CardFilter): Part {
  const value = filter[propertyOf(name)];
  const column = new Fragment(() => name);
  return part`(${any(value)} = 1 or ${conditions[cardFields[name].filter](column, value ?? '')})`;
}

/** Whether the card `g` meets the filter. The states are those of `stateOf`. */
export function isMet({ storeId, filter, today, now }: Listed): Part {
  const { state, emailStatus, customerId, orderId, lastCharacters, tag, issuedAt, text } = filter;
  const { batchId, viewed, redeemed } = filter;
  const { createdAt, disabledAt, lastActivityAt, expiresOn, balance } = filter;
  const created = createdAt ?? noRange;
  const disabled = disabledAt ?? noRange;
  const expires = expiresOn ?? noDays;
  const isInForce = part`g.disabled_at is null and (g.expires_on is null or g.expires_on >= ${today})`;
  return part`case when
    (${any(customerId)} = 1 or g.customer_id = ${customerId ?? 0} or g.recipient_id = ${customerId ?? 0})
    and (${any(orderId)} = 1 or g.order_id = ${orderId ?? 0})
    and (${any(batchId)} = 1 or g.batch_id = ${batchId ?? 0})
    and (${any(viewed)} = 1 or case when g.viewed_at is null then 0 else 1 end = ${Number(viewed)})
    and (${any(redeemed)} = 1 or case when g.redeemed > 0 then 1 else 0 end = ${Number(redeemed)})
    and (${any(lastCharacters)} = 1 or g.last_characters = ${lastCharacters ?? ''})
    and g.balance between ${balance?.min ?? 0n} and ${balance?.max ?? int64Max}
    and (${any(createdAt)} = 1 or g.created_at between ${created.min} and ${created.max})
    and (${any(disabledAt)} = 1 or g.disabled_at between ${disabled.min} and ${disabled.max})
    and (${any(lastActivityAt)} = 1 or ${isLastActivityIn(storeId, lastActivityAt ?? noRange)})
    and (${any(expiresOn)} = 1 or g.expires_on between ${expires.min} and ${expires.max})
    and (${any(issuedAt)} = 1 or exists (${issuesAt(storeId, issuedAt ?? [])} and i.card_id = g.id))
    and (${any(tag)} = 1 or ${position}(lower(g.tags), ${tag ?? ''}) > 0)
    and ${joined(
      filteredFields.map((name) => fieldCondition(name, filter)),
      ' and ',
    )}
    and (${any(text)} = 1 or ${position}(lower(g.recipient_name), ${text ?? ''}) > 0
      or ${position}(lower(g.sender_name), ${text ?? ''}) > 0 or ${position}(lower(g.note), ${text ?? ''}) > 0)
    and case ${state ?? ''}
      when '' then true
      when 'disabled' then g.disabled_at is not null
      when 'expired' then g.disabled_at is null and g.expires_on < ${today}
      when 'suspended' then g.suspended_at is not null and ${isInForce}
      when 'empty' then g.suspended_at is null and ${isInForce} and g.balance = 0
      when 'scheduled' then g.suspended_at is null and ${isInForce}
        and g.balance > 0 and ${scheduledAt(storeId, now)} is not null
      else g.suspended_at is null and ${isInForce} and g.balance > 0 and ${scheduledAt(storeId, now)} is null
    end
    and (${any(emailStatus)} = 1 or ${emailStatusAt(storeId, now)} = ${emailStatus ?? ''})
  then 1 else 0 end = 1`;
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
