/** The movements of the balances at payment providers, and where they differ from the sales. */

import type { MovementKind, ProviderKind, ProviderMovement } from '../domain/payment.ts';
import { currencyOf } from '../../../core/money/domain/currency.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { all, first, sql, toNumber, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';
import type { ProviderPlace } from './provider.ts';
import type { SalePeriod } from './sale-lists.ts';
import { saleColumns, toSale, type SaleRow, type StoredSale } from './sale.ts';

/**
 * Records a movement of a sale, once. Movements of other payments of the account are not recorded.
 * @returns the sale, if its movement is new.
 */
export function* recordMovement(
  { storeId, kind: provider, isTest }: ProviderPlace,
  { id, kind, amount, fee, at, paymentId, saleKey, payoutId }: ProviderMovement,
): Script<StoredSale | undefined> {
  const sale = yield* first(sql<SaleRow>`
    select ${saleColumns} from online_sales o
    where o.store_id = ${storeId} and o.provider = ${provider} and o.is_test = ${Number(isTest)}
      and (o.payment_id = ${paymentId} or o.form_key = ${saleKey})
    limit 1`);
  if (!sale && saleKey === null) return undefined;
  const saleId = sale ? toNumber(sale.id) : null;
  const inserted = yield* first(sql<{ id: string }>`
    insert into payment_movements
      (store_id, provider, is_test, id, kind, amount, fee, currency, at, payment_id, payout_id, sale_key, sale_id)
    values (${storeId}, ${provider}, ${Number(isTest)}, ${id}, ${kind}, ${amount.minor}, ${fee.minor},
      ${amount.currency.code}, ${at}, ${paymentId}, ${payoutId}, ${saleKey}, ${saleId})
    on conflict (store_id, provider, is_test, id) do update
      set payout_id = coalesce(excluded.payout_id, payment_movements.payout_id), sale_id = excluded.sale_id,
        fee = excluded.fee
      where (excluded.payout_id is not null and payment_movements.payout_id is distinct from excluded.payout_id)
        or payment_movements.sale_id is distinct from excluded.sale_id
    returning id`);
  return inserted && sale && toSale(sale);
}

/** A sale, and the sums that its provider has moved, in minor units. */
export type ComparedSale = {
  readonly sale: StoredSale;
  readonly paid: bigint;
  readonly wentBack: bigint;
};

const comparedMax = 1_000;

/** The sales of a store with movements since an instant (ms), the newest first. */
export function* listComparedSales(storeId: number, since: number): Script<readonly ComparedSale[]> {
  const rows = yield* all(sql<SaleRow & { paid: bigint; went_back: bigint }>`
    select ${saleColumns}, m.paid, m.went_back from (
      select sale_id,
        cast(sum(case when kind = 'payment' then amount else 0 end) as bigint) as paid,
        cast(sum(case when kind = 'refund' or kind = 'dispute' then -amount else 0 end) as bigint) as went_back
      from payment_movements
      where store_id = ${storeId} and sale_id is not null
        and sale_id in (select sale_id from payment_movements where store_id = ${storeId} and at >= ${since})
      group by sale_id) m
    join online_sales o on o.store_id = ${storeId} and o.id = m.sale_id
    order by o.id desc limit ${comparedMax}`);
  return rows.map((row) => ({ sale: toSale(row), paid: row.paid, wentBack: row.went_back }));
}

/** A payment of the account that names a sale that the store does not have. */
export type UnknownPayment = {
  readonly provider: ProviderKind;
  readonly isTest: boolean;
  readonly paymentId: string | null;
  readonly amount: Money;
  readonly fee: Money;
  readonly payoutId: string | null;
  readonly at: number;
};

/** Returns those of a period (ms), the newest first. */
export function* listUnknownPayments(
  storeId: number,
  { from, to }: SalePeriod,
): Script<readonly UnknownPayment[]> {
  type Row = {
    provider: ProviderKind;
    is_test: bigint;
    payment_id: string | null;
    amount: bigint;
    fee: bigint;
    currency: string;
    payout_id: string | null;
    at: bigint;
  };
  const rows = yield* all(sql<Row>`
    select provider, is_test, payment_id, amount, fee, currency, payout_id, at from payment_movements
    where store_id = ${storeId} and at >= ${from} and at < ${to} and kind = 'payment' and sale_id is null
    order by at desc, provider desc, is_test desc, id desc limit ${comparedMax}`);
  return rows.map((row) => ({
    provider: row.provider,
    isTest: row.is_test === 1n,
    paymentId: row.payment_id,
    amount: { minor: row.amount, currency: currencyOf(row.currency) },
    fee: { minor: row.fee, currency: currencyOf(row.currency) },
    payoutId: row.payout_id,
    at: toNumber(row.at),
  }));
}

/** Paid sales of a period (ms) whose payment the provider did not list. */
export function* listUnlistedSales(
  { storeId, kind, isTest }: ProviderPlace,
  { from, to }: SalePeriod,
): Script<readonly StoredSale[]> {
  const rows = yield* all(sql<SaleRow>`
    select ${saleColumns} from online_sales o
    where o.store_id = ${storeId} and o.provider = ${kind} and o.is_test = ${Number(isTest)}
      and o.paid_at >= ${from} and o.paid_at < ${to}
      and not exists (
        select 1 from payment_movements m
        where m.store_id = ${storeId} and m.sale_id = o.id and m.kind = 'payment')
    order by o.id desc limit ${comparedMax}`);
  return rows.map(toSale);
}

export type PaymentMovementSum = {
  readonly provider: ProviderKind;
  readonly isTest: boolean;
  readonly payoutId: string | null;
  readonly kind: MovementKind;
  readonly movements: number;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly lastAt: number | null;
};

/** The sums of the movements of sales in a period (ms), by provider, payout and kind. */
export function* sumMovements(
  storeId: number,
  { from, to }: SalePeriod,
): Script<readonly PaymentMovementSum[]> {
  type Row = {
    provider: ProviderKind;
    is_test: bigint;
    payout_id: string | null;
    kind: MovementKind;
    movements: bigint;
    amount: bigint;
    fee: bigint;
    last_at: bigint | null;
  };
  const rows = yield* all(sql<Row>`
    select provider, is_test, payout_id, kind, count(*) as movements, cast(sum(amount) as bigint) as amount,
      cast(sum(fee) as bigint) as fee, max(at) as last_at
    from payment_movements where store_id = ${storeId} and at >= ${from} and at < ${to}
    group by provider, is_test, payout_id, kind
    order by provider, is_test, last_at, coalesce(payout_id, ''), kind limit ${comparedMax}`);
  return rows.map((row) => ({
    provider: row.provider,
    isTest: row.is_test === 1n,
    payoutId: row.payout_id,
    kind: row.kind,
    movements: toNumber(row.movements),
    amount: row.amount,
    fee: row.fee,
    lastAt: toNumberOrNull(row.last_at),
  }));
}
