/**
 * The order of a log's entries: by transaction and id. An entry is final when no older transaction is open. Each store
 * has a cursor. In another cluster transaction ids start over, so a cursor can be ahead of them: it begins again
 * (`restored.ts`).
 */

import type { Dialect, EntryTable } from '../sql.ts';

type Fragments = Dialect['fragments'];

function fragmentsOf<T extends EntryTable>(table: T) {
  const ofTable = {
    [`${table} to append`]: `(
      select n.store_id, n.id, n.hash, n.transaction_id as place, n.store_id as owner
      from log_cursors c cross join lateral (
        select t.store_id, t.id, t.hash, t.transaction_id from ${table} t
        where t.store_id = c.store_id and (t.transaction_id, t.id) > (c.place, c.last_id)
          and t.transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        order by t.transaction_id, t.id limit 500) n
      where c.source = '${table}') e`,
    // Transactions below this number have ended.
    [`start of ${table}`]: `(
      select pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 as place, 9007199254740991 as last_id) s`,
    [`stale cursor of ${table}`]: 'c.place >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint',
  };
  // The names are those of the template.
  return ofTable as Pick<Fragments, `${T} to append` | `start of ${T}` | `stale cursor of ${T}`>;
}

export const postgresEntryOrder = {
  'entry place': 'transaction_id',
  'cursor owners': '(select id from stores) o',
  ...fragmentsOf('transfers'),
  ...fragmentsOf('card_changes'),
};
