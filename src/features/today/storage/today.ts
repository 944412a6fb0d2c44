/** The figures and lists of the first page of the console. Each statement reads a bounded number of rows. */

import type { EntryKind } from '../../books/domain/books.ts';
import { effectOf, type Account, type TransferKind } from '../../../core/money/domain/ledger.ts';
import type { EntryPlaces } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { idsAt } from '../../../platform/random.ts';
import { issuesAt } from '../../../core/cards/storage/filter.ts';
import { padded } from '../../../database/sql/chunks.ts';
import { entryKindOf } from '../../books/storage/books.ts';
import {
  all,
  one,
  part,
  sql,
  toNumber,
  toNumberOrNull,
  type Part,
  type Script,
} from '../../../database/sql/sql.ts';
import { indexedBy } from '../../../database/sql/fragments.ts';

type StoreKey = Pick<Store, 'id' | 'currency'>;

/** Transfers after the closed days that have a kind and a direction in common. */
export type OpenSum = {
  readonly kind: EntryKind;
  readonly isRaise: boolean;
  /** Whether they are of today, and not only after the closed days. */
  readonly isToday: boolean;
  /** Their location; null: at no location. */
  readonly locationId: number | null;
  readonly entries: number;
  /** Minor units. */
  readonly amount: bigint;
};

/** The start of the open days and of today: instants in ms. */
export type OpenDays = { readonly openFrom: number; readonly todayFrom: number };

type OpenRow = {
  readonly kind: EntryKind;
  readonly is_raise: bigint;
  readonly is_today: bigint;
  readonly is_open: bigint;
  readonly location_id: bigint | null;
  readonly entries: bigint;
  readonly amount: string;
  readonly last_id: bigint;
};

/** @param transfers the store's rows of `transfers`, with `is_late`. */
function openSums(storeId: number, transfers: Part, { openFrom, todayFrom }: OpenDays): Part {
  return part`
    select kind, is_raise, is_today, is_open, location_id, count(*) as entries, cast(sum(amount) as text) as amount,
      max(id) as last_id
    from (
      select t.id, t.location_id, ${entryKindOf(storeId)} as kind, t.amount,
        cast(case when t.credit_account = 'card' then 1 else 0 end as bigint) as is_raise,
        cast(case when t.created_at >= ${todayFrom} then 1 else 0 end as bigint) as is_today,
        cast(case when t.is_late = 1 or t.created_at >= ${openFrom} then 1 else 0 end as bigint) as is_open
      from (${transfers}) t
    ) summed
    group by kind, is_raise, is_today, is_open, location_id`;
}

/** Sums of a page of transfers, and the last of them; undefined: there are no more. */
export type OpenPage = { readonly sums: readonly OpenSum[]; readonly last: number | undefined };

function toPage(rows: readonly OpenRow[], limit: number): OpenPage {
  const entries = rows.reduce((sum, row) => sum + toNumber(row.entries), 0);
  const sums = rows
    .filter((row) => row.is_open === 1n)
    .map((row) => ({
      kind: row.kind,
      isRaise: row.is_raise === 1n,
      isToday: row.is_today === 1n,
      locationId: toNumberOrNull(row.location_id),
      entries: toNumber(row.entries),
      amount: BigInt(row.amount),
    }));
  return { sums, last: entries < limit ? undefined : Math.max(...rows.map((row) => toNumber(row.last_id))) };
}

/** Sums the transfers that are not late with ids above `after` and below `before`. */
export function* sumOpenTransfers(
  { id: storeId }: Pick<Store, 'id'>,
  days: OpenDays,
  { after, before, limit }: { readonly after: number; readonly before: number; readonly limit: number },
): Script<OpenPage> {
  const transfers = part`
    select id, kind, amount, credit_account, reverses, created_at, location_id, 0 as is_late from transfers
    where store_id = ${storeId} and id > ${after} and id < ${before}
      and not exists (select 1 from late_entries l where l.store_id = ${storeId} and l.id = transfers.id)
    order by id limit ${limit}`;
  return toPage(yield* all(sql<OpenRow>`${openSums(storeId, transfers, days)}`), limit);
}

/** Sums the late transfers that no closed day contains: those of no day, and those of a day that is being closed. */
export function* sumLateOpenTransfers(
  { id: storeId }: Pick<Store, 'id'>,
  days: OpenDays,
  { closedDay, limit }: { readonly closedDay: string; readonly limit: number },
): Script<OpenPage> {
  const transfers = part`
    select id, kind, amount, credit_account, reverses, created_at, location_id, 1 as is_late from (
      select t.* from late_entries l join transfers t on t.store_id = ${storeId} and t.id = l.id
      where l.store_id = ${storeId} and l.day is null
      union all
      select t.* from late_entries l join transfers t on t.store_id = ${storeId} and t.id = l.id
      where l.store_id = ${storeId} and l.day > ${closedDay}
      limit ${limit}
    ) late`;
  return toPage(yield* all(sql<OpenRow>`${openSums(storeId, transfers, days)}`), limit);
}

/** A number of rows; if it is not exact, there are more. */
export type Counted = { readonly count: number; readonly isExact: boolean };

/** Counts the usable cards with a balance whose last valid day is one of these days, both ends included. */
export function* countExpiring(
  storeId: number,
  { from, to, limit }: { readonly from: string; readonly to: string; readonly limit: number },
): Script<Counted> {
  const row = yield* one(sql<{ found: bigint; matching: bigint }>`
    select count(*) as found, cast(coalesce(sum(matches), 0) as bigint) as matching from (
      select case when balance > 0 and disabled_at is null then 1 else 0 end as matches
      from gift_cards ${indexedBy('gift_cards_by_expiry')}
      where store_id = ${storeId} and expires_on is not null and expires_on >= ${from} and expires_on <= ${to}
      order by expires_on, id limit ${limit}) expiring`);
  return { count: Number(row.matching), isExact: toNumber(row.found) < limit };
}

/** The amount in minor units that open holds reserve on usable cards at an instant, of at most `limit` holds. */
export function* sumHeld(
  storeId: number,
  { now, today, limit }: { readonly now: number; readonly today: string; readonly limit: number },
): Script<{ readonly amount: bigint; readonly isExact: boolean }> {
  const row = yield* one(sql<{ found: bigint; amount: string }>`
    select count(*) as found, cast(coalesce(sum(h.amount), 0) as text) as amount from (
      select card_id, amount from holds
      where status = 'open' and expires_at > ${now} and store_id = ${storeId} limit ${limit}
    ) h join gift_cards g on g.store_id = ${storeId} and g.id = h.card_id
    where g.disabled_at is null and (g.expires_on is null or g.expires_on >= ${today})`);
  return { amount: BigInt(row.amount), isExact: toNumber(row.found) < limit };
}

/** Emails that were enqueued since an instant and are due: how many, and how many of them were sent, or kept instead. */
export type EmailCounts = {
  readonly due: number;
  readonly sent: number;
  readonly kept: number;
  readonly isExact: boolean;
};

/** Counts the newest emails, at most `limit`. */
export function* countEmailsSince(
  storeId: number,
  { since, limit }: { readonly since: number; readonly limit: number },
): Script<EmailCounts> {
  const rows = yield* all(sql<{ state: string; emails: bigint }>`
    select state, count(*) as emails from (
      select state from email_deliveries ${indexedBy('email_deliveries_by_id')}
      where store_id = ${storeId} and id >= ${idsAt(since)} order by id desc limit ${limit}
    ) newest group by state`);
  const countOf = (wanted: (state: string) => boolean): number =>
    rows.reduce((sum, { state, emails }) => sum + (wanted(state) ? toNumber(emails) : 0), 0);
  return {
    due: countOf((state) => state !== 'scheduled' && state !== 'cancelled'),
    sent: countOf((state) => state === 'sent'),
    kept: countOf((state) => state === 'kept'),
    isExact: countOf(() => true) < limit,
  };
}

/** A movement of a card, or an email of a card that could not be delivered. */
export type Activity = {
  /** The id of the transfer or the event. */
  readonly id: number;
  readonly cardId: number;
  /** Null: an email could not be delivered. */
  readonly transfer: {
    readonly kind: TransferKind;
    /** The change of the balance, in minor units. */
    readonly effect: bigint;
    readonly actor: string;
    readonly orderId: number | null;
    readonly reference: string | null;
  } | null;
  /** Instant in ms. */
  readonly at: number;
  readonly lastCharacters: string;
  /** The name of the recipient, or an address; null: none is known. */
  readonly person: string | null;
};

type CardRow = { readonly card_id: bigint; readonly last_characters: string; readonly person: string | null };

const personOf = (storeId: number): Part => part`coalesce(g.recipient_name,
      (select nullif(c.email, '') from customers c where c.store_id = ${storeId} and c.id = g.recipient_id),
      (select nullif(c.email, '') from customers c where c.store_id = ${storeId} and c.id = g.customer_id)) as person`;

/** Entries among which those of some locations are looked for. */
const examinedMax = 1_000;

/** Returns the newest movements of a store, the newest first; of some locations, those among its newest 1,000. */
export function* listNewestMovements(
  { id: storeId, currency }: StoreKey,
  { places, limit }: { readonly places: EntryPlaces; readonly limit: number },
): Script<readonly Activity[]> {
  type Row = CardRow & {
    id: bigint;
    created_at: bigint;
    kind: TransferKind;
    amount: bigint;
    credit_account: Account;
    actor: string;
    order_id: bigint | null;
    reference: string | null;
  };
  const rows = yield* all(sql<Row>`
    select t.id, t.card_id, t.created_at, t.kind, t.amount, t.credit_account, t.actor, t.order_id, t.reference,
      g.last_characters, ${personOf(storeId)}
    from (
      select newest.id from (
        select id, location_id from transfers where store_id = ${storeId} order by id desc
        limit ${places === null ? limit : examinedMax}) newest
      where ${Number(places === null)} = 1 or newest.location_id in (${padded(idsOf(places), 0)})
        or (${Number(places?.includes(null) === true)} = 1 and newest.location_id is null)
      order by newest.id desc limit ${limit}
    ) n join transfers t on t.store_id = ${storeId} and t.id = n.id
    join gift_cards g on g.store_id = ${storeId} and g.id = t.card_id
    order by n.id desc`);
  return rows.map((row) => ({
    ...activityOf(row),
    transfer: {
      kind: row.kind,
      effect: effectOf({ amount: { minor: row.amount, currency }, credit: row.credit_account }),
      actor: row.actor,
      orderId: toNumberOrNull(row.order_id),
      reference: row.reference,
    },
  }));
}

function idsOf(places: EntryPlaces): readonly number[] {
  return places?.filter((place) => place !== null) ?? [];
}

/**
 * Returns the emails that could not be delivered according to the newest events of a store, the newest first; of some
 * locations, those of cards that were issued there.
 */
export function* listNewestFailures(
  storeId: number,
  { events, places }: { readonly events: number; readonly places: EntryPlaces },
): Script<readonly Activity[]> {
  const rows = yield* all(sql<CardRow & { id: bigint; created_at: bigint }>`
    select e.id, e.subject_id as card_id, e.created_at, g.last_characters, ${personOf(storeId)}
    from (
      select id, type, subject_id, created_at from events where store_id = ${storeId} order by id desc limit ${events}
    ) e join gift_cards g on g.store_id = ${storeId} and g.id = e.subject_id
    where e.type = 'gift_card.delivery_failed'
      and (${Number(places === null)} = 1 or exists (${issuesAt(storeId, idsOf(places))} and i.card_id = g.id))
    order by e.id desc`);
  return rows.map((row) => ({ ...activityOf(row), transfer: null }));
}

function activityOf(row: CardRow & { readonly id: bigint; readonly created_at: bigint }) {
  return {
    id: toNumber(row.id),
    cardId: toNumber(row.card_id),
    at: toNumber(row.created_at),
    lastCharacters: row.last_characters,
    person: row.person,
  };
}
