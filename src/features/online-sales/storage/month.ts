/** The online sales of a month: those of which something was paid, refunded, disputed or moved in it. */

import { sql, all, type Script } from '../../../database/sql/sql.ts';
import type { SalePeriod } from './sale-lists.ts';
import { saleColumns, toSale, type SaleRow, type StoredSale } from './sale.ts';

/** A sale, with what happened in a period in minor units. */
export type PeriodSale = {
  readonly sale: StoredSale;
  /** The VAT of the card, as `readVat` reads it; null: no card was made, or it has none. */
  readonly vat: string | null;
  /** The refunds that were requested in the period and have not failed. */
  readonly refunded: bigint;
  /** The provider's fees in the period, and what it was paid in it; null: it has listed nothing. */
  readonly fee: bigint | null;
  readonly movedIn: bigint | null;
  /** The payout that has the payment; null: it is not known. */
  readonly payoutId: string | null;
};

/**
 * The sales of a period after an id: those that were paid, refunded or disputed in it, those with movements, and those that
 * were paid before its end and still have neither a card nor the money back.
 */
export function* listPeriodSales(
  storeId: number,
  { from, to }: SalePeriod,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly PeriodSale[]> {
  type Row = SaleRow & {
    vat: string | null;
    refunded_then: bigint;
    fee: bigint | null;
    moved_in: bigint | null;
    payout_id: string | null;
  };
  const rows = yield* all(sql<Row>`
    select ${saleColumns}, g.vat, coalesce(r.amount, 0) as refunded_then, m.fee, m.moved_in, m.payout_id
    from (
      select id from online_sales where store_id = ${storeId} and paid_at >= ${from} and paid_at < ${to}
      union select sale_id from online_sale_refunds
        where store_id = ${storeId} and created_at >= ${from} and created_at < ${to}
      union select id from online_sales
        where store_id = ${storeId} and dispute is not null and disputed_at >= ${from} and disputed_at < ${to}
      union select sale_id from payment_movements
        where store_id = ${storeId} and at >= ${from} and at < ${to} and sale_id is not null
      union select id from online_sales where store_id = ${storeId} and state = 'review' and paid_at < ${to}
      union select id from online_sales where store_id = ${storeId} and owed > 0 and paid_at < ${to}) f
    join online_sales o on o.store_id = ${storeId} and o.id = f.id
    left join gift_cards g on g.store_id = ${storeId} and g.id = o.card_id
    left join (
      select sale_id, cast(sum(amount) as bigint) as amount from online_sale_refunds
      where store_id = ${storeId} and created_at >= ${from} and created_at < ${to} and state <> 'failed'
      group by sale_id) r on r.sale_id = o.id
    left join (
      select sale_id, cast(sum(fee) as bigint) as fee,
        cast(sum(case when kind = 'payment' then amount else 0 end) as bigint) as moved_in,
        max(case when kind = 'payment' then payout_id end) as payout_id
      from payment_movements
      where store_id = ${storeId} and at >= ${from} and at < ${to} and sale_id is not null
      group by sale_id) m on m.sale_id = o.id
    where o.id > ${after} order by o.id limit ${limit}`);
  return rows.map((row) => ({
    sale: toSale(row),
    vat: row.vat,
    refunded: row.refunded_then,
    fee: row.fee,
    movedIn: row.moved_in,
    payoutId: row.payout_id,
  }));
}
