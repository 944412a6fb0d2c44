/**
 * Emails to owners about the machine. They are enqueued in the transaction of the change that they are about, so a process
 * that ends before it has sent them loses none.
 */

import { columns, integer, text, type RowOf } from '../../../database/sql/columns.ts';
import { forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { all, execute, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

/** The text of an email to owners, in the language of `locale`. */
export type NoticeContent = {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly locale: string;
};

type NoticeKey = { readonly storeId: number; readonly id: number };

export type OwnerNotice = NoticeKey & {
  readonly address: string;
  readonly content: NoticeContent;
  /** When it was enqueued (ms). */
  readonly createdAt: number;
  /** Attempts, with the one that the claim is for. */
  readonly attempts: number;
};

const notices = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  address: text('address'),
  content: text('contentText'),
  created_at: integer('createdAt'),
  attempts: integer('attempts'),
});

/** @param occasion null: a change by an owner. A notice about an occasion is enqueued once for each address. */
export function* insertOwnerNotice(
  { storeId, id, address, content, createdAt }: Omit<OwnerNotice, 'attempts'>,
  occasion: string | null,
): Script<void> {
  yield* execute(sql`
    insert into owner_notices (store_id, id, address, occasion, content, created_at, next_at, attempts)
    values (${storeId}, ${id}, ${address}, ${occasion}, ${JSON.stringify(content)}, ${createdAt}, ${createdAt}, 0)
    on conflict (store_id, address, occasion) where occasion is not null do nothing`);
}

/** Returns the stores with due notices. */
export function* listStoresToNotify(now: number, limit: number): Script<readonly number[]> {
  const rows = yield* all(sql<{ store_id: bigint }>`
    select distinct store_id from owner_notices where next_at <= ${now} and ${ofOpenStore} limit ${limit}`);
  return rows.map((row) => toNumber(row.store_id));
}

/** Claims due notices of a store until `until` (ms). */
export function* claimOwnerNotices(
  storeId: number,
  { now, until, limit }: { readonly now: number; readonly until: number; readonly limit: number },
): Script<readonly OwnerNotice[]> {
  const rows = yield* all(sql<RowOf<typeof notices>>`
    select ${notices.names} from owner_notices where store_id = ${storeId} and next_at <= ${now}
    order by next_at limit ${limit} ${forUpdateSkipLocked}`);
  const claims = rows.map(
    (row) => sql`
      update owner_notices set next_at = ${until}, attempts = attempts + 1
      where store_id = ${row.store_id} and id = ${row.id}`,
  );
  if (claims.length > 0) yield* execute(...claims);
  return rows.map((row) => {
    const { contentText, attempts, ...notice } = notices.read(row);
    // Only this file writes it.
    return { ...notice, content: JSON.parse(contentText) as NoticeContent, attempts: attempts + 1 };
  });
}

/** Ends a notice that was sent or is given up. Of one about an occasion, the occasion stays. */
export function* endOwnerNotice({ storeId, id }: NoticeKey): Script<void> {
  yield* execute(
    sql`delete from owner_notices where store_id = ${storeId} and id = ${id} and occasion is null`,
    sql`update owner_notices set next_at = null, content = '' where store_id = ${storeId} and id = ${id}`,
  );
}

/** @param nextAt when the next attempt is due (ms). */
export function* retryOwnerNotice({ storeId, id }: NoticeKey, nextAt: number): Script<void> {
  yield* execute(
    sql`update owner_notices set next_at = ${nextAt} where store_id = ${storeId} and id = ${id}`,
  );
}

/** Whether a notice of a store waits or is being sent. */
export function* hasOwnerNotices(storeId: number): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from owner_notices where store_id = ${storeId} and next_at is not null limit 1`);
  return row !== undefined;
}

/** Drops the waiting notices of a copy: the other machine may have sent them. */
export function* dropOwnerNotices(storeId: number): Script<void> {
  yield* execute(sql`delete from owner_notices where store_id = ${storeId} and next_at is not null`);
}

/** Deletes occasions of a store that were enqueued before an instant (ms). */
export function* deleteOldOccasions(storeId: number, before: number): Script<void> {
  yield* execute(sql`
    delete from owner_notices where store_id = ${storeId} and next_at is null and created_at < ${before}`);
}
