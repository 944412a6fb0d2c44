/** Erases personal data of online sales: with a person, and what is no longer needed. Amounts and states stay. */

import { forUpdateSkipLocked, fragment, type Fragment } from '../../../database/sql/fragments.ts';
import { inChunks, padded } from '../../../database/sql/chunks.ts';
import {
  all,
  execute,
  parallel,
  part,
  sql,
  toNumber,
  type Part,
  type Script,
} from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';
import { saleColumns, toSale, type SaleRow, type StoredSale } from './sale.ts';

/** The primary key of a sale. */
type SaleRowKey = { readonly storeId: number; readonly id: number };

function keysOf(rows: readonly { store_id: bigint; id: bigint }[]): readonly SaleRowKey[] {
  return rows.map((row) => ({ storeId: toNumber(row.store_id), id: toNumber(row.id) }));
}

/**
 * A condition on sales that were not paid: nothing is expected for them. A payment that is on its way can arrive after
 * weeks, an email can be due, a process can be reading the payment, and a movement without a paid sale is a difference.
 */
function isOver(store: Fragment | number): Part {
  return part`paid_at is null and state <> 'waiting' and dispute is null and notice_at is null and lease is null
  and not exists (select 1 from online_sale_refunds r where r.store_id = ${store} and r.sale_id = o.id)
  and not exists (select 1 from payment_movements m where m.store_id = ${store} and m.sale_id = o.id)`;
}

const ofSale = fragment`o.store_id`;

/** Returns up to `limit` sales of all stores from before an instant (ms) that were not paid, and are over or have addresses. */
export function* listUnpaidSales(before: number, limit: number): Script<readonly SaleRowKey[]> {
  return keysOf(
    yield* all(sql<{ store_id: bigint; id: bigint }>`
      select store_id, id from online_sales o
      where paid_at is null and created_at < ${before} and (erased_at is null or (${isOver(ofSale)})) and ${ofOpenStore}
      order by created_at limit ${limit}`),
  );
}

/** Deletes those of the sales that are over, and erases the texts and addresses of the other unpaid ones. @returns their number. */
export function* removeUnpaidSales(found: readonly SaleRowKey[], now: number): Script<number> {
  const removed = yield* parallel(...inChunks(found).map((sales) => removeChunk(sales, now)));
  return removed.reduce((sum, count) => sum + count, 0);
}

function* removeChunk(
  { storeId, chunk }: { readonly storeId: number; readonly chunk: readonly SaleRowKey[] },
  now: number,
): Script<number> {
  const ids = padded(
    chunk.map(({ id }) => id),
    0,
  );
  const deleted = yield* all(sql`
    delete from online_sales where store_id = ${storeId} and id in (
      select id from online_sales o where store_id = ${storeId} and id in (${ids}) and ${isOver(storeId)} ${forUpdateSkipLocked})
    returning id`);
  const erased = yield* all(sql`
    update online_sales set buyer_name = null, buyer_address = null, buyer_key = null, recipient_name = null,
      recipient_address = null, recipient_key = null, sender_name = null, message = null, network = null, mailbox = null,
      erased_at = ${now}
    where store_id = ${storeId} and id in (
      select id from online_sales
      where store_id = ${storeId} and id in (${ids}) and paid_at is null and erased_at is null
      ${forUpdateSkipLocked})
    returning id`);
  return deleted.length + erased.length;
}

/** Returns up to `limit` sales of all stores that were decided before an instant (ms) and have a code or digests. */
export function* listTracedSales(before: number, limit: number): Script<readonly SaleRowKey[]> {
  return keysOf(
    yield* all(sql<{ store_id: bigint; id: bigint }>`
      select store_id, id from online_sales
      where decided_at is not null and (code is not null or network is not null) and decided_at < ${before}
        and ${ofOpenStore}
      order by decided_at limit ${limit}`),
  );
}

/** Erases the codes of sales, and the digests of networks and payment cards. @returns the number of sales. */
export function* eraseTraces(found: readonly SaleRowKey[]): Script<number> {
  const erased = yield* parallel(
    ...inChunks(found).map(({ storeId, chunk }) => {
      const ids = padded(
        chunk.map(({ id }) => id),
        0,
      );
      return all(sql`
        update online_sales set code = null, network = null, fingerprint = null, mailbox = null
        where store_id = ${storeId} and id in (
          select id from online_sales
          where store_id = ${storeId} and id in (${ids}) and (code is not null or network is not null)
          ${forUpdateSkipLocked})
        returning id`);
    }),
  );
  return erased.flat().length;
}

/** The sales of which a person is the buyer or the recipient, after an id. */
export function* listSalesOfPerson(
  storeId: number,
  { key, after, limit }: { readonly key: string; readonly after: number; readonly limit: number },
): Script<readonly StoredSale[]> {
  const rows = yield* all(sql<SaleRow>`
    select ${saleColumns} from online_sales o
    where o.store_id = ${storeId} and (o.buyer_key = ${key} or o.recipient_key = ${key}) and o.id > ${after}
    order by o.id limit ${limit}`);
  return rows.map(toSale);
}

/** Erases a person from up to `limit` sales: as the buyer, and as the recipient. @returns the number of sales. */
export function* erasePersonOfSales(
  storeId: number,
  { key, now, limit }: { readonly key: string; readonly now: number; readonly limit: number },
): Script<number> {
  const bought = keysOf(
    yield* all(sql<{ store_id: bigint; id: bigint }>`
    update online_sales set buyer_name = null, buyer_address = null, buyer_key = null, sender_name = null,
      message = null, network = null, fingerprint = null, mailbox = null, method = null, code = null, erased_at = ${now}
    where store_id = ${storeId} and id in (
      select id from online_sales where store_id = ${storeId} and buyer_key = ${key} order by id limit ${limit})
    returning store_id, id`),
  );
  const received = keysOf(
    yield* all(sql<{ store_id: bigint; id: bigint }>`
    update online_sales set recipient_name = null, recipient_address = null, recipient_key = null, message = null,
      erased_at = ${now}
    where store_id = ${storeId} and id in (
      select id from online_sales where store_id = ${storeId} and recipient_key = ${key} order by id limit ${limit})
    returning store_id, id`),
  );
  yield* eraseReasons([...bought, ...received]);
  return Math.max(bought.length, received.length);
}

/** Erases what staff wrote about the refunds of sales. */
function* eraseReasons(found: readonly SaleRowKey[]): Script<void> {
  yield* parallel(
    ...inChunks(found).map(({ storeId, chunk }) => {
      const ids = padded(
        chunk.map(({ id }) => id),
        0,
      );
      return execute(sql`
        update online_sale_refunds set reason = null
        where store_id = ${storeId} and sale_id in (${ids}) and reason is not null`);
    }),
  );
}
