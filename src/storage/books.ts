/** The books: closed days and their sums, and what has to be read to sum a day. */

import type { CardState } from '../domain/card.ts';
import type { AgeSum, BooksDay, DaySum, MoveKind } from '../domain/books.ts';
import type { Account, TransferKind } from '../domain/ledger.ts';
import { effectOf } from '../domain/ledger.ts';
import type { Store } from '../domain/store.ts';
import { idsAt } from '../random.ts';
import type { CardKey } from './card.ts';
import { columns, integer, text, unchanged, type RowOf } from './columns.ts';
import {
  all,
  execute,
  first,
  forUpdate,
  newestTransaction,
  oldestTransaction,
  one,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from './sql.ts';

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
  { day, part, doneId }: Pick<ClosingDay, 'day' | 'part' | 'doneId'>,
  closedAt: number | null,
): Script<void> {
  yield* execute(sql`
    update store_closings set part = ${part}, done_id = ${doneId}, closed_at = ${closedAt}
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
  readonly kind: TransferKind;
  readonly account: Account;
  readonly actor: string;
  readonly effect: bigint;
  readonly isFirst: boolean;
  readonly card: CardTerms;
};

/** The present terms of a card. */
export type CardTerms = {
  readonly expiresOn: string | null;
  readonly disabledAt: number | null;
  readonly vat: string;
  /** Instant in ms. */
  readonly issuedAt: number;
  readonly isChanged: boolean;
};

type TransferRow = {
  readonly id: bigint;
  readonly card_id: bigint;
  readonly created_at: bigint;
  readonly kind: TransferKind;
  readonly amount: bigint;
  readonly debit_account: Account;
  readonly credit_account: Account;
  readonly actor: string;
  readonly sequence: bigint;
};

type TermsRow = {
  readonly expires_on: string | null;
  readonly disabled_at: bigint | null;
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
    effect,
    isFirst: row.sequence === 1n,
  };
}

function toTerms(row: TermsRow): CardTerms {
  return {
    expiresOn: row.expires_on,
    disabledAt: toNumberOrNull(row.disabled_at),
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
    select t.id, t.card_id, t.created_at, t.kind, t.amount, t.debit_account, t.credit_account, t.actor, t.sequence,
      g.expires_on, g.disabled_at, g.vat, g.created_at as issued_at, cast(case when g.last_change_id is null then 0 else 1 end as bigint) as is_changed
    from transfers t join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    where t.store_id = ${storeId} and t.id > ${from} and t.id < ${idsAt(untilAt + idSkewMaxMs + 1)}
      and t.created_at >= ${fromAt} and t.created_at < ${untilAt}
      and not exists (select 1 from late_entries l where l.store_id = ${storeId} and l.id = t.id)
    order by t.id limit ${limit}`);
  return rows.map((row) => ({ ...toEntry(row, currency), card: toTerms(row) }));
}

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
      select t.id, t.card_id, t.created_at, t.kind, t.amount, t.debit_account, t.credit_account, t.actor, t.sequence,
        g.expires_on, g.disabled_at, g.vat, g.created_at as issued_at, cast(case when g.last_change_id is null then 0 else 1 end as bigint) as is_changed
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
    select g.expires_on, g.disabled_at, g.vat, g.created_at as issued_at, cast(case when g.last_change_id is null then 0 else 1 end as bigint) as is_changed from gift_cards g
    where g.store_id = ${storeId} and g.id = ${cardId}`);
  return row && toTerms(row);
}

/** Returns all transfers of a card. */
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
    select t.id, t.card_id, t.created_at, t.kind, t.amount, t.debit_account, t.credit_account, t.actor, t.sequence,
      cast(case when l.id is null then 0 else 1 end as bigint) as is_late, l.day as late_day
    from chain c join transfers t on t.store_id = ${storeId} and t.id = c.id
    left join late_entries l on l.store_id = ${storeId} and l.id = t.id`);
  return rows.map((row) => ({
    ...toEntry(row, currency),
    late: row.is_late === 1n ? { day: row.late_day } : null,
  }));
}

type StoreKey = Pick<Store, 'id' | 'currency'>;

/** Adds to a sum of a day. */
export function* insertDay({ id, currency }: StoreKey, sum: DaySum): Script<void> {
  yield* execute(sql`
    insert into store_days (store_id, currency, day, kind, bucket, account, actor, vat, entries, raised, lowered, cards)
    values (${id}, ${currency.code}, ${sum.day}, ${sum.kind}, ${sum.bucket}, ${sum.account}, ${sum.actor},
      ${sum.vat}, ${sum.entries}, ${sum.raised}, ${sum.lowered}, ${sum.cards})
    on conflict (store_id, currency, day, kind, bucket, account, actor, vat) do update set
      entries = store_days.entries + excluded.entries, raised = store_days.raised + excluded.raised,
      lowered = store_days.lowered + excluded.lowered, cards = store_days.cards + excluded.cards`);
}

/** Adds to a sum by the month of issue. @param period a month, or the day that is being closed. */
export function* insertAge({ id, currency }: StoreKey, period: string, sum: AgeSum): Script<void> {
  yield* execute(sql`
    insert into store_ages (store_id, currency, issued, month, bucket, raised, lowered, cards)
    values (${id}, ${currency.code}, ${sum.issued}, ${period}, ${sum.bucket}, ${sum.raised}, ${sum.lowered},
      ${sum.cards})
    on conflict (store_id, currency, issued, month, bucket) do update set
      raised = store_ages.raised + excluded.raised, lowered = store_ages.lowered + excluded.lowered,
      cards = store_ages.cards + excluded.cards`);
}

/** Adds to the sums of a day that is being closed. */
export function* addSums(
  store: StoreKey,
  {
    day,
    days,
    ages,
  }: { readonly day: string; readonly days: readonly DaySum[]; readonly ages: readonly AgeSum[] },
): Script<void> {
  for (const sum of days) yield* insertDay(store, sum);
  for (const sum of ages) yield* insertAge(store, day, sum);
}

/** Adds the ages of a day that is closed now to those of its month. */
export function* mergeAges(
  { id, currency }: StoreKey,
  { day, month }: { readonly day: string; readonly month: string },
): Script<void> {
  yield* execute(
    sql`
      insert into store_ages (store_id, currency, issued, month, bucket, raised, lowered, cards)
      select store_id, currency, issued, ${month}, bucket, raised, lowered, cards from store_ages
      where store_id = ${id} and currency = ${currency.code} and month = ${day}
      on conflict (store_id, currency, issued, month, bucket) do update set
        raised = store_ages.raised + excluded.raised, lowered = store_ages.lowered + excluded.lowered,
        cards = store_ages.cards + excluded.cards`,
    sql`delete from store_ages where store_id = ${id} and currency = ${currency.code} and month = ${day}`,
  );
}

/** Removes the sums of a day. */
export function* deleteDay({ id, currency }: StoreKey, day: string): Script<void> {
  yield* execute(sql`
    delete from store_days where store_id = ${id} and currency = ${currency.code} and day = ${day}`);
}

/** Removes the sums by the month of issue, except those of a day that is being closed. */
export function* deleteAges({ id, currency }: StoreKey): Script<void> {
  yield* execute(sql`
    delete from store_ages where store_id = ${id} and currency = ${currency.code} and length(month) = 7`);
}

type SumRow = {
  readonly day: string;
  readonly kind: TransferKind | MoveKind;
  readonly bucket: CardState;
  readonly account: Account | '';
  readonly actor: string;
  readonly vat: string;
  readonly entries: bigint | string;
  readonly raised: bigint | string;
  readonly lowered: bigint | string;
  readonly cards: bigint | string;
};

function toSum(row: SumRow): DaySum {
  return {
    ...row,
    entries: Number(row.entries),
    raised: BigInt(row.raised),
    lowered: BigInt(row.lowered),
    cards: Number(row.cards),
  };
}

/** The days of stored sums, both ends included. */
export type StoredDays = { readonly from: string; readonly to: string };

/** Returns the stored sums of days, together for all days and actors; their day, actor and VAT are empty. */
export function* sumPeriod({ id, currency }: StoreKey, { from, to }: StoredDays): Script<readonly DaySum[]> {
  const rows = yield* all(sql<SumRow>`
    select '' as day, kind, bucket, account, '' as actor, '' as vat, cast(sum(entries) as text) as entries,
      cast(sum(raised) as text) as raised, cast(sum(lowered) as text) as lowered, cast(sum(cards) as text) as cards
    from store_days
    where store_id = ${id} and currency = ${currency.code} and day >= ${from} and day <= ${to}
    group by kind, bucket, account`);
  return rows.map(toSum);
}

/** Returns the stored sums of days in the order of the days. */
export function* listSums({ id, currency }: StoreKey, { from, to }: StoredDays): Script<readonly DaySum[]> {
  const rows = yield* all(sql<SumRow>`
    select day, kind, bucket, account, actor, vat, entries, raised, lowered, cards from store_days
    where store_id = ${id} and currency = ${currency.code} and day >= ${from} and day <= ${to}
    order by day, kind, bucket, account, actor, vat`);
  return rows.map(toSum);
}

/** Returns the stored sums by the month of issue, of the months up to one, `YYYY-MM`. */
export function* listAges({ id, currency }: StoreKey, upTo: string): Script<readonly AgeSum[]> {
  const rows = yield* all(sql<{
    issued: string;
    month: string;
    bucket: CardState;
    raised: bigint;
    lowered: bigint;
    cards: bigint;
  }>`
    select issued, month, bucket, raised, lowered, cards from store_ages
    where store_id = ${id} and currency = ${currency.code} and month <= ${upTo} and length(month) = 7
    order by issued, month, bucket`);
  return rows.map((row) => ({ ...row, cards: toNumber(row.cards) }));
}

/** A hold that can be open at an instant. */
export type HoldThen = { readonly id: number; readonly cardId: number; readonly amount: bigint };

/** Returns the holds that were open at an instant and had not expired, after the id `after`. */
export function* listHoldsAt(
  storeId: number,
  {
    after,
    createdFrom,
    at,
    limit,
  }: { readonly after: number; readonly createdFrom: number; readonly at: number; readonly limit: number },
): Script<readonly HoldThen[]> {
  const from = Math.max(after, idsAt(createdFrom) - 1);
  const rows = yield* all(sql<{ id: bigint; card_id: bigint; amount: bigint }>`
    select id, card_id, amount from holds
    where store_id = ${storeId} and id > ${from} and created_at <= ${at} and expires_at > ${at}
      and (closed_at is null or closed_at > ${at})
    order by id limit ${limit}`);
  return rows.map((row) => ({ id: toNumber(row.id), cardId: toNumber(row.card_id), amount: row.amount }));
}
