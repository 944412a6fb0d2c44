/** The refunds of online sales. */

import type { OnlineRefund, OnlineSale, RefundRequester, RefundState, SaleKey } from '../domain/sale.ts';
import {
  columns,
  integer,
  integerOrNull,
  money,
  text,
  textOrNull,
  unchanged,
  writeOnly,
  type RowOf,
} from '../../../database/sql/columns.ts';
import type { SaleTraces } from './sale.ts';
import { all, execute, one, sql, type Script } from '../../../database/sql/sql.ts';

const refunds = columns({
  store_id: integer('storeId'),
  sale_id: integer('saleId'),
  id: integer('id'),
  key: text('key'),
  requested_by: unchanged<RefundRequester>()('by'),
  actor: text('actor'),
  reason: textOrNull('reason'),
  amount: money('amount'),
  currency: writeOnly<string>()((refund: Pick<OnlineSale, 'amount'>) => refund.amount.currency.code),
  state: unchanged<RefundState>()('state'),
  provider_id: textOrNull('providerId'),
  detail: textOrNull('detail'),
  created_at: integer('createdAt'),
  settled_at: integerOrNull('settledAt'),
});

/** More refunds of one sale are not made. */
export const refundsMax = 100;

/** The refunds of a sale, the oldest first. The sale is locked when they change. */
export function* listRefunds({ storeId, saleId }: SaleKey): Script<readonly OnlineRefund[]> {
  const rows = yield* all(sql<RowOf<typeof refunds>>`
    select ${refunds.names} from online_sale_refunds where store_id = ${storeId} and sale_id = ${saleId}
    order by id limit ${refundsMax}`);
  return rows.map(refunds.read);
}

/** Counts the withdrawals since an instant (ms) from sales with a payment card, or with a mailbox if there is none. */
export function* countWithdrawals(
  storeId: number,
  { fingerprint, mailbox }: Pick<SaleTraces, 'fingerprint' | 'mailbox'>,
  since: number,
): Script<number> {
  const { withdrawals } = yield* one(sql<{ withdrawals: bigint }>`
    select cast(count(*) as bigint) as withdrawals from online_sale_refunds r
    join online_sales o on o.store_id = ${storeId} and o.id = r.sale_id
    where r.store_id = ${storeId} and r.created_at >= ${since} and r.requested_by = 'buyer'
      and (o.fingerprint = ${fingerprint} or o.mailbox = ${fingerprint === null ? mailbox : null})`);
  return Number(withdrawals);
}

export function* insertRefund(refund: OnlineRefund): Script<void> {
  yield* execute(sql`insert into online_sale_refunds (${refunds.names}) values (${refunds.values(refund)})`);
}

export function* updateRefund({
  storeId,
  saleId,
  id,
  amount,
  state,
  providerId,
  detail,
  settledAt,
}: OnlineRefund): Script<void> {
  yield* execute(sql`
    update online_sale_refunds set amount = ${amount.minor}, state = ${state}, provider_id = ${providerId},
      detail = ${detail}, settled_at = ${settledAt}
    where store_id = ${storeId} and sale_id = ${saleId} and id = ${id}`);
}
