/** The stored sums of days. */

import type { AgeSum, DaySum, EntryKind, MoveKind, Bucket } from '../domain/books.ts';
import type { Account } from '../../../core/money/domain/ledger.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { all, execute, first, part, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { forUpdate, indexedBy } from '../../../database/sql/fragments.ts';

export type StoreKey = Pick<Store, 'id' | 'currency'>;

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

type AgeRow = Pick<
  AgeSum,
  'issued' | 'period' | 'bucket' | 'raised' | 'lowered' | 'tax' | 'sold' | 'redeemed'
> & { readonly sold_tax: bigint; readonly redeemed_tax: bigint; readonly cards: bigint };

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
