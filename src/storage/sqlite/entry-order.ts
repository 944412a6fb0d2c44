/**
 * The order of a log's entries. SQLite has one writer at a time and appends rows, so the order of the rowids is the
 * order of the commits, whichever process or clock generated the ids. One cursor is for all stores. If a tool renumbers
 * the rows, the cursor no longer matches its row, and begins again.
 */

import type { Dialect, EntryTable } from '../sql.ts';

type Fragments = Dialect['fragments'];

function fragmentsOf<T extends EntryTable>(table: T) {
  const ofTable = {
    [`${table} to append`]: `(
      select t.store_id, t.id, t.hash, t.rowid as place, 0 as owner from ${table} t
      where t.rowid > (select place from log_cursors where store_id = 0 and source = '${table}')
      order by t.rowid limit 500) e`,
    [`start of ${table}`]: `(
      select coalesce(max(place), 0) as place, coalesce(max(id), 0) as last_id
      from (select rowid as place, id from ${table} order by rowid desc limit 1)) s`,
    [`stale cursor of ${table}`]: `
      c.place > 0 and not exists (select 1 from ${table} t where t.rowid = c.place and t.id = c.last_id)`,
  };
  // The names are those of the template.
  return ofTable as Pick<Fragments, `${T} to append` | `start of ${T}` | `stale cursor of ${T}`>;
}

export const sqliteEntryOrder = {
  'entry place': 'rowid',
  'cursor owners': '(select 0 as id) o',
  ...fragmentsOf('transfers'),
  ...fragmentsOf('card_changes'),
};
