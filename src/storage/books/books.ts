/** The books: closed days and their sums, and what has to be read to sum a day. */

import assert from 'node:assert/strict';
import type { AgeSum, BooksDay, Bucket, DaySum, EntryKind, MoveKind } from '../../domain/books/books.ts';
import type { Account } from '../../domain/money/ledger.ts';
import { effectOf } from '../../domain/money/ledger.ts';
import type { Store } from '../../domain/stores/store.ts';
import { idsAt } from '../../platform/random.ts';
import { holdSecondsMax } from '../../domain/money/hold.ts';
import type { CardKey } from '../cards/card.ts';
import { expiryKnownAt } from '../money/hold.ts';
import { columns, integer, text, unchanged, type RowOf } from '../sql/columns.ts';
import {
  all,
  execute,
  first,
  forUpdate,
  indexedBy,
  newestTransaction,
  oldestTransaction,
  one,
  part,
  sql,
  toNumber,
  toNumberOrNull,
  ValueList,
  type Part,
  type Script,
} from '../sql/sql.ts';

/** The times of an entry that is not late and of its id differ by at most this. A trigger records the others. */
export const idSkewMaxMs = 5 * 60_000;

/** The parts of a closing, in order. */
type ClosingPart = 'late' | 'late_transfers' | 'transfers' | 'cards' | 'closed';

/** A day that is closed, or being closed. */
export type ClosingDay = BooksDay & {
  readonly part: ClosingPart;
  /** The last entry or card of the part that is done. */
  readonly doneId: number;
};

const closings = columns({
  day: text('day'),
  from_at: integer('fromAt'),
  until_at: integer('untilAt'),
  part: unchanged<ClosingPart>()('part'),
  done_id: integer('doneId'),
});

type ClosingRow = RowOf<typeof closings>;

/** Returns the last day that is closed or being closed, and the one before it. */
export function* findLastClosings(storeId: number): Script<readonly ClosingDay[]> {
  const rows = yield* all(sql<ClosingRow>`
    select ${closings.names} from store_closings where store_id = ${storeId} order by day desc limit 2`);
  return rows.map(closings.read);
}

/** Returns the closed days in order, from one on. */
export function* listClosedDays(
  storeId: number,
  { from, limit }: { readonly from: string; readonly limit: number },
): Script<readonly BooksDay[]> {
  const rows = yield* all(sql<ClosingRow>`
    select ${closings.names} from store_closings
    where store_id = ${storeId} and day >= ${from} and part = 'closed' order by day limit ${limit}`);
  return rows.map(closings.read);
}

/** Returns the closed day that contains an instant, and the closed day before it. */
export function* findClosedDayOf(
  storeId: number,
  instant: number,
): Script<{ readonly day: BooksDay | undefined; readonly before: BooksDay | undefined }> {
  const rows = yield* all(sql<ClosingRow>`
    select ${closings.names} from store_closings
    where store_id = ${storeId} and from_at <= ${instant} and part = 'closed' order by from_at desc limit 2`);
  const [last, before] = rows.map(closings.read);
  return last && instant < last.untilAt ? { day: last, before } : { day: undefined, before: last };
}

/** Returns the start of each month of the books in order, with the name of the month, `YYYY-MM`. */
export function* listMonths(
  storeId: number,
): Script<readonly { readonly month: string; readonly fromAt: number }[]> {
  const rows = yield* all(sql<{ month: string; from_at: bigint }>`
    select substr(day, 1, 7) as month, min(from_at) as from_at from store_closings
    where store_id = ${storeId} group by substr(day, 1, 7) order by 1`);
  return rows.map((row) => ({ month: row.month, fromAt: toNumber(row.from_at) }));
}

/** Returns the instant (ms) of the store's first entry; undefined if it has none. */
export function* findFirstInstant(storeId: number): Script<number | undefined> {
  const row = yield* first(sql<{ first: bigint | null; late: bigint | null }>`
    select (select created_at from transfers where store_id = ${storeId} order by id limit 1) as first,
      (select min(created_at) from late_entries where store_id = ${storeId}) as late`);
  const found = [row?.first ?? null, row?.late ?? null].flatMap((at) => (at === null ? [] : [toNumber(at)]));
  return found.length === 0 ? undefined : Math.min(...found);
}

/** Begins the closing of a day. Entries before its end that are committed from now on are late. */
export function* insertClosing(storeId: number, { day, fromAt, untilAt }: BooksDay): Script<void> {
  yield* execute(sql`
    insert into store_closings (store_id, day, from_at, until_at, part, done_id)
    values (${storeId}, ${day}, ${fromAt}, ${untilAt}, 'late', 0) on conflict do nothing`);
}

/** Locks and returns a day that is being closed; undefined if it is closed. */
export function* claimClosing(storeId: number, day: string): Script<ClosingDay | undefined> {
  const row = yield* first(sql<ClosingRow>`
    select ${closings.names} from store_closings
    where store_id = ${storeId} and day = ${day} and part <> 'closed' ${forUpdate}`);
  return row && closings.read(row);
}

/** Records what is summed next. @param closedAt when the day is closed; null: it is not. */
export function* advanceClosing(
  storeId: number,
  { day, part: reached, doneId }: Pick<ClosingDay, 'day' | 'part' | 'doneId'>,
  closedAt: number | null,
): Script<void> {
  yield* execute(sql`
    update store_closings set part = ${reached}, done_id = ${doneId}, closed_at = ${closedAt}
    where store_id = ${storeId} and day = ${day}`);
}

/** A day that is being closed. Its row is on the server of the store's transactions. */
export type ClosingKey = { readonly storeId: number; readonly day: string };

/** A number that every transaction of the store that is open now is below. */
export function* findNewestTransaction({ storeId, day }: ClosingKey): Script<bigint> {
  return (yield* one(sql<{ id: bigint }>`
    select ${newestTransaction} as id from store_closings where store_id = ${storeId} and day = ${day}`)).id;
}

/** Returns whether every transaction of the store below a number has ended. */
export function* haveEnded({ storeId, day }: ClosingKey, before: bigint): Script<boolean> {
  return (
    (yield* one(sql<{ id: bigint }>`
      select ${oldestTransaction} as id from store_closings where store_id = ${storeId} and day = ${day}`))
      .id >= before
  );
}

/** A transfer with the columns of its card that its bucket depends on. */
export type ReadTransfer = {
  readonly id: number;
  readonly cardId: number;
  readonly createdAt: number;
  readonly kind: EntryKind;
  readonly account: Account;
  readonly actor: string;
  readonly locationId: number | null;
  readonly effect: bigint;
  /** The place in the card's chain, starting at 1. */
  readonly sequence: number;
  readonly card: CardTerms;
};

/** The present terms of a card. */
export type CardTerms = {
  readonly expiresOn: string | null;
  readonly disabledAt: number | null;
  readonly suspendedAt: number | null;
  readonly vat: string;
  /** Instant in ms. */
  readonly issuedAt: number;
  readonly isChanged: boolean;
};

type TransferRow = {
  readonly id: bigint;
  readonly card_id: bigint;
  readonly created_at: bigint;
  readonly kind: EntryKind;
  readonly amount: bigint;
  readonly debit_account: Account;
  readonly credit_account: Account;
  readonly actor: string;
  readonly location_id: bigint | null;
  readonly sequence: bigint;
};

/** The kind of a transfer `t` in the books. Only an issue is the first entry of its card. */
export function entryKindOf(storeId: number): Part {
  return part`case when t.kind = 'reversal' and exists (
    select 1 from transfers r where r.store_id = ${storeId} and r.id = t.reverses and r.sequence = 1
  ) then 'cancellation' else t.kind end`;
}

/** The columns of a transfer `t`. */
function entryColumns(storeId: number): Part {
  return part`t.id, t.card_id, t.created_at, ${entryKindOf(storeId)} as kind, t.amount, t.debit_account,
    t.credit_account, t.actor, t.location_id, t.sequence`;
}

/** The columns of a card `g` that its bucket depends on. */
const termsColumns = part`g.expires_on, g.disabled_at, g.suspended_at, g.vat, g.created_at as issued_at,
  cast(case when g.last_change_id is null then 0 else 1 end as bigint) as is_changed`;

type TermsRow = {
  readonly expires_on: string | null;
  readonly disabled_at: bigint | null;
  readonly suspended_at: bigint | null;
  readonly vat: string | null;
  readonly issued_at: bigint;
  readonly is_changed: bigint;
};

function toEntry(row: TransferRow, currency: Store['currency']): Omit<ReadTransfer, 'card'> {
  const effect = effectOf({ amount: { minor: row.amount, currency }, credit: row.credit_account });
  return {
    id: toNumber(row.id),
    cardId: toNumber(row.card_id),
    createdAt: toNumber(row.created_at),
    kind: row.kind,
    account: row.credit_account === 'card' ? row.debit_account : row.credit_account,
    actor: row.actor,
    locationId: toNumberOrNull(row.location_id),
    effect,
    sequence: toNumber(row.sequence),
  };
}

function toTerms(row: TermsRow): CardTerms {
  return {
    expiresOn: row.expires_on,
    disabledAt: toNumberOrNull(row.disabled_at),
    suspendedAt: toNumberOrNull(row.suspended_at),
    vat: row.vat ?? '',
    issuedAt: toNumber(row.issued_at),
    isChanged: row.is_changed === 1n,
  };
}

/**
 * Returns the transfers of a period that are not late, in the order of their ids, after the id `after`.
 * @param untilAt the end of the period, which it does not include.
 */
export function* listTransfersBetween(
  { id: storeId, currency }: StoreKey,
  {
    after,
    fromAt,
    untilAt,
    limit,
  }: { readonly after: number; readonly fromAt: number; readonly untilAt: number; readonly limit: number },
): Script<readonly ReadTransfer[]> {
  const from = Math.max(after, idsAt(fromAt - idSkewMaxMs) - 1);
  const rows = yield* all(sql<TransferRow & TermsRow>`
    select ${entryColumns(storeId)}, ${termsColumns}
    from transfers t join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    where t.store_id = ${storeId} and t.id > ${from} and t.id < ${idsAt(untilAt + idSkewMaxMs + 1)}
      and t.created_at >= ${fromAt} and t.created_at < ${untilAt}
      and not exists (select 1 from late_entries l where l.store_id = ${storeId} and l.id = t.id)
    order by t.id limit ${limit}`);
  return rows.map((row) => ({ ...toEntry(row, currency), card: toTerms(row) }));
}

/** Returns transfers by their ids, at most `transfersMax`. */
export function* listTransfersById(
  { id: storeId, currency }: StoreKey,
  ids: readonly number[],
): Script<readonly ReadTransfer[]> {
  assert(ids.length <= transfersMax);
  // A statement has the same number of values each time. Id 0 does not exist.
  const list = new ValueList([...ids, ...Array.from({ length: transfersMax - ids.length }, () => 0)]);
  const rows = yield* all(sql<TransferRow & TermsRow>`
    select ${entryColumns(storeId)}, ${termsColumns}
    from transfers t join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    where t.store_id = ${storeId} and t.id in (${list})`);
  return rows.map((row) => ({ ...toEntry(row, currency), card: toTerms(row) }));
}

export const transfersMax = 250;

/** A late entry. */
export type LateEntry = {
  readonly id: number;
  readonly cardId: number;
  readonly createdAt: number;
  /** The day in whose sums it is; null: not yet in any. */
  readonly day: string | null;
  /** Null for a change of a card. */
  readonly transfer: ReadTransfer | null;
};

const lates = columns({
  id: integer('id'),
  card_id: integer('cardId'),
  created_at: integer('createdAt'),
  day: unchanged<string | null>()('day'),
});

type LateRow = RowOf<typeof lates>;

function* toLateEntries(
  { id: storeId, currency }: StoreKey,
  rows: readonly LateRow[],
): Script<readonly LateEntry[]> {
  const entries: LateEntry[] = [];
  for (const row of rows) {
    const late = lates.read(row);
    const found = yield* first(sql<TransferRow & TermsRow>`
      select ${entryColumns(storeId)}, ${termsColumns}
      from transfers t join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
      where t.store_id = ${storeId} and t.id = ${late.id}`);
    entries.push({ ...late, transfer: found ? { ...toEntry(found, currency), card: toTerms(found) } : null });
  }
  return entries;
}

/** Adds late entries of before an instant to a day. @returns whether there can be more. */
export function* assignLateEntries(
  storeId: number,
  { day, untilAt, limit }: { readonly day: string; readonly untilAt: number; readonly limit: number },
): Script<boolean> {
  const rows = yield* all(sql<{ id: bigint }>`
    update late_entries set day = ${day} where store_id = ${storeId} and id in (
      select id from late_entries
      where store_id = ${storeId} and day is null and created_at < ${untilAt} order by id limit ${limit}
    ) and day is null returning id`);
  return rows.length === limit;
}

/** Returns late entries of a day or, if the day is null, those that no day contains, in the order of their ids. */
export function* listLateEntries(
  store: StoreKey,
  { day, after, limit }: { readonly day: string | null; readonly after: number; readonly limit: number },
): Script<readonly LateEntry[]> {
  const rows = yield* day === null
    ? all(sql<LateRow>`
        select ${lates.names} from late_entries
        where store_id = ${store.id} and day is null and id > ${after} order by id limit ${limit}`)
    : all(sql<LateRow>`
        select ${lates.names} from late_entries
        where store_id = ${store.id} and day = ${day} and id > ${after} order by id limit ${limit}`);
  return yield* toLateEntries(store, rows);
}

/**
 * Returns late entries of before the instant `until` (ms) that count after a day, or are not yet in the sums of one, in the
 * order of their ids, with their cards.
 */
export function* listEntriesLaterThan(
  storeId: number,
  {
    day,
    until,
    after,
    limit,
  }: { readonly day: string; readonly until: number; readonly after: number; readonly limit: number },
): Script<readonly Pick<LateEntry, 'id' | 'cardId'>[]> {
  const rows = yield* all(sql<{ id: bigint; card_id: bigint }>`
    select id, card_id from late_entries
    where store_id = ${storeId} and id > ${after} and created_at <= ${until} and (day is null or day > ${day})
    order by id limit ${limit}`);
  return rows.map(({ id, card_id: cardId }) => ({ id: toNumber(id), cardId: toNumber(cardId) }));
}

/** A place in a list of cards by a day or an instant, and their ids. */
export type CardAt<T> = { readonly at: T; readonly id: number };

/** Returns cards by their last valid day, after a place, up to before the day `until`. */
export function* listCardsWithExpiry(
  storeId: number,
  { after, until, limit }: { readonly after: CardAt<string>; readonly until: string; readonly limit: number },
): Script<readonly CardAt<string>[]> {
  const rows = yield* all(sql<{ at: string; id: bigint }>`
    select expires_on as at, id from gift_cards
    where store_id = ${storeId} and expires_on is not null and expires_on >= ${after.at} and expires_on < ${until}
      and (expires_on > ${after.at} or id > ${after.id})
    order by expires_on, id limit ${limit}`);
  return rows.map(({ at, id }) => ({ at, id: toNumber(id) }));
}

/** Returns cards by when they were disabled, after a place, up to before the instant `until`. */
export function* listCardsDisabled(
  storeId: number,
  { after, until, limit }: { readonly after: CardAt<number>; readonly until: number; readonly limit: number },
): Script<readonly CardAt<number>[]> {
  const rows = yield* all(sql<{ at: bigint; id: bigint }>`
    select disabled_at as at, id from gift_cards
    where store_id = ${storeId} and disabled_at is not null and disabled_at >= ${after.at} and disabled_at < ${until}
      and (disabled_at > ${after.at} or id > ${after.id})
    order by disabled_at, id limit ${limit}`);
  return rows.map(({ at, id }) => ({ at: toNumber(at), id: toNumber(id) }));
}

/** A transfer of a card's chain. */
export type ChainTransfer = Omit<ReadTransfer, 'card'> & {
  /** If it is a late entry. */
  readonly late: { readonly day: string | null } | null;
};

/** Returns the present terms of a card; undefined if there is no such card. */
export function* findCardTerms({ storeId, cardId }: CardKey): Script<CardTerms | undefined> {
  const row = yield* first(sql<TermsRow>`
    select ${termsColumns} from gift_cards g
    where g.store_id = ${storeId} and g.id = ${cardId}`);
  return row && toTerms(row);
}

/** Returns all transfers of a card, in the order of its chain. */
export function* listCardEntries(
  { id: storeId, currency }: StoreKey,
  cardId: number,
): Script<readonly ChainTransfer[]> {
  const rows = yield* all(sql<TransferRow & { readonly is_late: bigint; readonly late_day: string | null }>`
    with recursive chain (id, previous_id, sequence) as (
      select t.id, t.previous_id, t.sequence from gift_cards g
      join transfers t on t.store_id = ${storeId} and t.id = g.last_transfer_id
      where g.store_id = ${storeId} and g.id = ${cardId}
      union all
      select t.id, t.previous_id, t.sequence from chain c
      join transfers t on t.store_id = ${storeId} and t.id = c.previous_id
      -- Ends even if rows that were tampered with refer to each other.
      where t.sequence < c.sequence
    )
    select ${entryColumns(storeId)},
      cast(case when l.id is null then 0 else 1 end as bigint) as is_late, l.day as late_day
    from chain c join transfers t on t.store_id = ${storeId} and t.id = c.id
    left join late_entries l on l.store_id = ${storeId} and l.id = t.id
    order by t.sequence`);
  return rows.map((row) => ({
    ...toEntry(row, currency),
    late: row.is_late === 1n ? { day: row.late_day } : null,
  }));
}

type StoreKey = Pick<Store, 'id' | 'currency'>;

/** The column is a part of the key, which has no null. */
const noLocation = 0;

/** Adds to a sum of a day. */
export function* insertDay({ id, currency }: StoreKey, sum: DaySum): Script<void> {
  yield* execute(sql`
    insert into store_days (store_id, currency, day, kind, bucket, account, actor, vat, location_id, entries, raised, lowered,
      raised_tax, lowered_tax, cards)
    values (${id}, ${currency.code}, ${sum.day}, ${sum.kind}, ${sum.bucket}, ${sum.account}, ${sum.actor},
      ${sum.vat}, ${sum.locationId ?? noLocation}, ${sum.entries}, ${sum.raised}, ${sum.lowered}, ${sum.raisedTax},
      ${sum.loweredTax}, ${sum.cards})
    on conflict (store_id, currency, day, kind, bucket, account, actor, vat, location_id) do update set
      entries = store_days.entries + excluded.entries, raised = store_days.raised + excluded.raised,
      lowered = store_days.lowered + excluded.lowered,
      raised_tax = store_days.raised_tax + excluded.raised_tax,
      lowered_tax = store_days.lowered_tax + excluded.lowered_tax, cards = store_days.cards + excluded.cards`);
}

/** Adds the row that conflicts with a sum by the month of issue. */
const addAges = part`on conflict (store_id, currency, issued, month, bucket) do update set
  raised = store_ages.raised + excluded.raised, lowered = store_ages.lowered + excluded.lowered,
  tax = store_ages.tax + excluded.tax, sold = store_ages.sold + excluded.sold,
  sold_tax = store_ages.sold_tax + excluded.sold_tax, redeemed = store_ages.redeemed + excluded.redeemed,
  redeemed_tax = store_ages.redeemed_tax + excluded.redeemed_tax, cards = store_ages.cards + excluded.cards`;

const ageAmounts = part`raised, lowered, tax, sold, sold_tax, redeemed, redeemed_tax, cards`;

/** Adds to a sum by the month of issue. */
export function* insertAge({ id, currency }: StoreKey, sum: AgeSum): Script<void> {
  yield* execute(sql`
    insert into store_ages (store_id, currency, issued, month, bucket, ${ageAmounts})
    values (${id}, ${currency.code}, ${sum.issued}, ${sum.period}, ${sum.bucket}, ${sum.raised}, ${sum.lowered},
      ${sum.tax}, ${sum.sold}, ${sum.soldTax}, ${sum.redeemed}, ${sum.redeemedTax}, ${sum.cards})
    ${addAges}`);
}

/** Adds to the sums of a day that is being closed. */
export function* addSums(
  store: StoreKey,
  { days, ages }: { readonly days: readonly DaySum[]; readonly ages: readonly AgeSum[] },
): Script<void> {
  for (const sum of days) yield* insertDay(store, sum);
  for (const sum of ages) yield* insertAge(store, sum);
}

/** Adds the ages of a day that is closed now to those of its month, which is in the same column. */
export function* mergeAges(
  { id, currency }: StoreKey,
  { day, month }: { readonly day: string; readonly month: string },
): Script<void> {
  yield* execute(
    sql`
      insert into store_ages (store_id, currency, issued, month, bucket, ${ageAmounts})
      select store_id, currency, issued, ${month}, bucket, ${ageAmounts} from store_ages
      where store_id = ${id} and currency = ${currency.code} and month = ${day}
      ${addAges}`,
  );
}

/** Removes the sums of a closed day, and locks it until the transaction ends. */
export function* deleteDay({ id, currency }: StoreKey, day: string): Script<void> {
  yield* lockClosing(id, day);
  yield* execute(sql`
    delete from store_days where store_id = ${id} and currency = ${currency.code} and day = ${day}`);
}

/** Locks a day, so that only one process replaces its sums, and those by the month of issue up to it. */
export function* lockClosing(storeId: number, day: string): Script<void> {
  yield* execute(sql`
    select 1 as one from store_closings where store_id = ${storeId} and day = ${day} ${forUpdate}`);
}

/** Removes the sums by the month of issue up to a day and its month. Those of the day that is being closed are later. */
export function* deleteAges({ id, currency }: StoreKey, upTo: string): Script<void> {
  yield* execute(sql`
    delete from store_ages where store_id = ${id} and currency = ${currency.code} and month <= ${upTo}`);
}

type SumRow = {
  readonly day: string;
  readonly kind: EntryKind | MoveKind;
  readonly bucket: Bucket;
  readonly account: Account | '';
  readonly actor: string;
  readonly vat: string;
  readonly location_id: bigint;
  readonly entries: bigint | string;
  readonly raised: bigint | string;
  readonly lowered: bigint | string;
  readonly raised_tax: bigint | string;
  readonly lowered_tax: bigint | string;
  readonly cards: bigint | string;
};

function toSum({ raised_tax: raisedTax, lowered_tax: loweredTax, location_id, ...row }: SumRow): DaySum {
  const locationId = toNumber(location_id);
  return {
    ...row,
    locationId: locationId === noLocation ? null : locationId,
    raisedTax: BigInt(raisedTax),
    loweredTax: BigInt(loweredTax),
    entries: Number(row.entries),
    raised: BigInt(row.raised),
    lowered: BigInt(row.lowered),
    cards: Number(row.cards),
  };
}

/** The days of stored sums, both ends included. */
export type StoredDays = { readonly from: string; readonly to: string };

/** Returns the stored sums of days, together for all days, actors and locations; their day, actor and VAT are empty. */
export function* sumPeriod({ id, currency }: StoreKey, { from, to }: StoredDays): Script<readonly DaySum[]> {
  const rows = yield* all(sql<SumRow>`
    select '' as day, kind, bucket, account, '' as actor, '' as vat, cast(${noLocation} as bigint) as location_id,
      cast(sum(entries) as text) as entries,
      cast(sum(raised) as text) as raised, cast(sum(lowered) as text) as lowered,
      cast(sum(coalesce(raised_tax, 0)) as text) as raised_tax,
      cast(sum(coalesce(lowered_tax, 0)) as text) as lowered_tax, cast(sum(cards) as text) as cards
    from store_days
    where store_id = ${id} and currency = ${currency.code} and day >= ${from} and day <= ${to}
    group by kind, bucket, account`);
  return rows.map(toSum);
}

/** Returns the stored sums of days in the order of the days. */
export function* listSums({ id, currency }: StoreKey, { from, to }: StoredDays): Script<readonly DaySum[]> {
  const rows = yield* all(sql<SumRow>`
    select day, kind, bucket, account, actor, vat, location_id, entries, raised, lowered,
      coalesce(raised_tax, 0) as raised_tax, coalesce(lowered_tax, 0) as lowered_tax, cards
    from store_days
    where store_id = ${id} and currency = ${currency.code} and day >= ${from} and day <= ${to}
    order by day, kind, bucket, account, actor, vat, location_id`);
  return rows.map(toSum);
}

/** The tables with sums that can be computed again from the ledger. */
export const rebuiltTables: ReadonlySet<string> = new Set(['store_days', 'store_ages']);

/**
 * Whether an earlier version stored the sums of a store. One row shows it, because all sums by the month of issue are
 * replaced in one transaction, after those of the days.
 */
export function* areSumsOutdated({ id, currency }: StoreKey): Script<boolean> {
  const row = yield* first(sql<{ tax: bigint | null }>`
    select tax from store_ages where store_id = ${id} and currency = ${currency.code}
    order by issued, month, bucket limit 1`);
  return row?.tax === null;
}

type AgeRow = Pick<
  AgeSum,
  'issued' | 'period' | 'bucket' | 'raised' | 'lowered' | 'tax' | 'sold' | 'redeemed'
> & {
  readonly sold_tax: bigint;
  readonly redeemed_tax: bigint;
  readonly cards: bigint;
};

/** Sums of earlier versions have no VAT until they are computed again. */
const readAges = part`issued, month as period, bucket, raised, lowered, coalesce(tax, 0) as tax,
  coalesce(sold, 0) as sold, coalesce(sold_tax, 0) as sold_tax, coalesce(redeemed, 0) as redeemed,
  coalesce(redeemed_tax, 0) as redeemed_tax, cards`;

function toAge({ sold_tax: soldTax, redeemed_tax: redeemedTax, cards, ...row }: AgeRow): AgeSum {
  return { ...row, soldTax, redeemedTax, cards: toNumber(cards) };
}

/** Returns the stored sums by the month of issue, of the months before one, `YYYY-MM`. */
export function* listMonthAges({ id, currency }: StoreKey, before: string): Script<readonly AgeSum[]> {
  const rows = yield* all(sql<AgeRow>`
    select ${readAges}
    from store_ages ${indexedBy('store_ages_of_months')}
    where store_id = ${id} and currency = ${currency.code} and month < ${before} and length(month) = 7
    order by month, issued, bucket`);
  return rows.map(toAge);
}

/** Returns the stored sums by the month of issue, of days. */
export function* listDayAges(
  { id, currency }: StoreKey,
  { from, to }: StoredDays,
): Script<readonly AgeSum[]> {
  const rows = yield* all(sql<AgeRow>`
    select ${readAges}
    from store_ages ${indexedBy('store_ages_of_days')}
    where store_id = ${id} and currency = ${currency.code} and month >= ${from} and month <= ${to} and length(month) = 10
    order by month, issued, bucket`);
  return rows.map(toAge);
}

/** Returns the first day with stored sums by the month of issue. Earlier versions stored only those of months. */
export function* findFirstAgedDay({ id, currency }: StoreKey): Script<string | undefined> {
  const row = yield* first(sql<{ day: string }>`
    select month as day from store_ages ${indexedBy('store_ages_of_days')}
    where store_id = ${id} and currency = ${currency.code} and length(month) = 10 order by month limit 1`);
  return row?.day;
}

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
