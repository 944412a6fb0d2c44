/** Lists, numbers and sums of the online sales of a store. */

import type { ProviderKind } from '../domain/payment.ts';
import { saleStates, type SaleState } from '../domain/sale.ts';
import {
  all,
  one,
  parallel,
  part,
  sql,
  toNumber,
  ValueList,
  type Part,
  type Statement,
  type Script,
} from '../../../database/sql/sql.ts';
import { saleColumns, toSale, type SaleRow, type StoredSale } from './sale.ts';

/** Selects sales of a store. */
export type StoredFilter = {
  /** Null: any. */
  readonly states: readonly SaleState[] | null;
  /** The key of the address of the buyer or the recipient; null: any. */
  readonly addressKey: string | null;
  /** Null: any. */
  readonly id: number | null;
  /** Only sales that need staff: in review, disputed, or of which money is owed. */
  readonly needsStaff: boolean;
};

/** Disputes, and warnings about cards that staff have neither refunded nor resumed: a warning has no end at the provider. */
function undecidedOf(storeId: number): Part {
  return part`dispute is not null and (
    dispute = 'open' or dispute = 'warning' and refunded = 0 and exists (
      select 1 from gift_cards g where g.store_id = ${storeId} and g.id = card_id and g.suspended_at is not null))`;
}

/** Sales that need staff, found by indexes that have no others. */
function neededOf(storeId: number): Part {
  return part`o.id in (
    select id from online_sales where store_id = ${storeId} and state = 'review'
    union all select id from online_sales where store_id = ${storeId} and owed > 0
    union all select id from online_sales where store_id = ${storeId} and ${undecidedOf(storeId)})`;
}

/** A call site always uses the same number of values. */
function statesOf(states: readonly SaleState[]): ValueList {
  return new ValueList(saleStates.map((_, place) => states[place] ?? states[0] ?? ''));
}

/** The sales of a store before an id, the newest first. */
export function* listStoredSales(
  storeId: number,
  filter: StoredFilter,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly StoredSale[]> {
  const { states, addressKey, id, needsStaff } = filter;
  const listed = part`select ${saleColumns} from online_sales o where o.store_id = ${storeId} and o.id < ${before}`;
  const newest = part`order by o.id desc limit ${limit}`;
  const ofStates = part`o.state in (${statesOf(states ?? saleStates)})`;
  // Each has a statement of its own, whose index it uses.
  if (id !== null) return yield* salesOf(sql`${listed} and o.id = ${id} and ${ofStates} ${newest}`);
  if (addressKey !== null) {
    const ofAddress = part`(o.buyer_key = ${addressKey} or o.recipient_key = ${addressKey})`;
    return needsStaff
      ? yield* salesOf(sql`${listed} and ${ofAddress} and ${neededOf(storeId)} ${newest}`)
      : yield* salesOf(sql`${listed} and ${ofAddress} and ${ofStates} ${newest}`);
  }
  if (needsStaff) return yield* salesOf(sql`${listed} and ${neededOf(storeId)} ${newest}`);
  if (states) return yield* salesOf(sql`${listed} and ${ofStates} ${newest}`);
  return yield* salesOf(sql`${listed} ${newest}`);
}

function* salesOf(statement: Statement<SaleRow>): Script<readonly StoredSale[]> {
  return (yield* all(statement)).map(toSale);
}

/** Counts the sales that were begun since an id, at most `limit`. */
export function* countBegunSince(
  storeId: number,
  { since, limit }: { readonly since: number; readonly limit: number },
): Script<number> {
  const { begun } = yield* one(sql<{ begun: bigint }>`
    select count(*) as begun from (
      select id from online_sales where store_id = ${storeId} and id >= ${since} limit ${limit}) newest`);
  return toNumber(begun);
}

/** Numbers of sales: those that wait for staff, and those that are not paid yet. */
export type SaleCounts = {
  readonly review: number;
  readonly waiting: number;
  /** Disputes that have not ended, and warnings that staff have not decided about. */
  readonly disputed: number;
  /** Sales of which money is owed, because a refund has failed. */
  readonly owed: number;
  /** Payments without a card: in review, or returned and owed. In minor units of the sales' currency. */
  readonly withoutCard: bigint;
};

/** Counts what an index lists, so that the number of earlier sales makes no difference. */
export function* countSales(storeId: number): Script<SaleCounts> {
  type Sums = { readonly sales: bigint; readonly held: bigint };
  const ofState = (state: SaleState) =>
    one(sql<Sums>`
      select count(*) as sales, cast(coalesce(sum(amount), 0) as bigint) as held
      from online_sales where store_id = ${storeId} and state = ${state}`);
  const [review, fresh, open, waiting, disputed, owed] = yield* parallel(
    ofState('review'),
    ofState('new'),
    ofState('open'),
    ofState('waiting'),
    one(sql<Pick<Sums, 'sales'>>`
      select count(*) as sales from online_sales
      where store_id = ${storeId} and ${undecidedOf(storeId)}`),
    one(sql<Sums>`
      select count(*) as sales,
        cast(coalesce(sum(case when state = 'returned' and paid_currency = currency then owed else 0 end), 0) as bigint) as held
      from online_sales where store_id = ${storeId} and owed > 0`),
  );
  return {
    review: toNumber(review.sales),
    waiting: toNumber(fresh.sales + open.sales + waiting.sales),
    disputed: toNumber(disputed.sales),
    owed: toNumber(owed.sales),
    withoutCard: review.held + owed.held,
  };
}

/** Instants (ms); the end is not included. */
export type SalePeriod = { readonly from: number; readonly to: number };

/** The sums of the sales that were paid in a period, by provider, without the amounts in other currencies. */
export type ProviderSum = {
  readonly provider: ProviderKind;
  readonly isTest: boolean;
  readonly sales: number;
  readonly paid: bigint;
  readonly refunded: bigint;
  readonly loss: bigint;
};

export function* sumSalesByProvider(
  storeId: number,
  { from, to }: SalePeriod,
): Script<readonly ProviderSum[]> {
  type Row = {
    provider: ProviderKind;
    is_test: bigint;
    sales: bigint;
    paid: bigint;
    refunded: bigint;
    loss: bigint;
  };
  const rows = yield* all(sql<Row>`
    select provider, is_test, count(*) as sales,
      cast(sum(case when paid_currency = currency then paid else 0 end) as bigint) as paid,
      cast(sum(case when paid_currency = currency then refunded else 0 end) as bigint) as refunded,
      cast(sum(loss) as bigint) as loss
    from online_sales where store_id = ${storeId} and paid_at >= ${from} and paid_at < ${to}
    group by provider, is_test order by provider, is_test`);
  return rows.map((row) => ({
    provider: row.provider,
    isTest: row.is_test === 1n,
    sales: toNumber(row.sales),
    paid: row.paid,
    refunded: row.refunded,
    loss: row.loss,
  }));
}
