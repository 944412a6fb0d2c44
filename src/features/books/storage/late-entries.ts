/** Entries that were committed after their day was closed. */

import { columns, integer, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import { all, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import type { StoreKey } from './stored-sums.ts';
import {
  type ReadTransfer,
  type BooksTransferRow,
  entryColumns,
  termsColumns,
  type TermsRow,
  toEntry,
  toTerms,
} from './books.ts';

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
    const found = yield* first(sql<BooksTransferRow & TermsRow>`
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
