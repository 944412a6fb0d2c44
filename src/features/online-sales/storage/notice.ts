/** The emails to buyers that are not about a card: that a sale waits, is reviewed or was not paid, and that money goes back. */

import type { SaleKey } from '../domain/sale.ts';
import { all, execute, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';
import { saleColumns, toSale, type SaleRow, type StoredSale } from './sale.ts';

/** The stores with emails that are due. Those of a restored copy wait, because they can have been sent before. */
export function* listStoresWithDueNotices(now: number, limit: number): Script<readonly number[]> {
  const rows = yield* all(sql<{ store_id: bigint }>`
    select distinct store_id from online_sales o where notice_at <= ${now} and ${ofOpenStore}
      and not exists (select 1 from setup_steps t where t.store_id = o.store_id and t.step = 'restored_copy')
    limit ${limit}`);
  return rows.map((row) => toNumber(row.store_id));
}

/** The sales of a store whose emails are due. */
export function* listDueNotices(
  storeId: number,
  { now, limit }: { readonly now: number; readonly limit: number },
): Script<readonly StoredSale[]> {
  const rows = yield* all(sql<SaleRow>`
    select ${saleColumns} from online_sales o where o.store_id = ${storeId} and o.notice_at <= ${now}
    order by o.notice_at, o.id limit ${limit}`);
  return rows.map(toSale);
}

/** Claims the email of a sale, until an instant. @returns false: another process has claimed it, or it has changed. */
export function* claimNotice(
  { storeId, id, noticeAt }: Pick<StoredSale, 'storeId' | 'id' | 'noticeAt'>,
  until: number,
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update online_sales set notice_at = ${until}, notice_attempts = notice_attempts + 1
    where store_id = ${storeId} and id = ${id} and notice_at = ${noticeAt} returning id`);
  return row !== undefined;
}

/** Ends a claim. @param claim its end, which is another one if the sale has changed. @param nextAt null: it was sent, or never is. */
export function* settleNotice(
  { storeId, saleId }: SaleKey,
  { claim, nextAt }: { readonly claim: number; readonly nextAt: number | null },
): Script<void> {
  yield* execute(sql`
    update online_sales set notice_at = ${nextAt}
    where store_id = ${storeId} and id = ${saleId} and notice_at = ${claim}`);
}
