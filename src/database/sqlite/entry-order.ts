/**
 * The order of a log's entries. SQLite has one writer at a time and appends rows, so the order of the rowids is the
 * order of the commits, whichever process or clock generated the ids. One cursor is for all stores. If a tool renumbers
 * the rows, the cursor no longer matches its row, and begins again.
 */

import type { Dialect, EntryTable } from '../sql/fragments.ts';

type Fragments = Dialect['fragments'];

function fragmentsOf<T extends EntryTable>(table: T) {
  const ofTable = {
    [`owners of ${table}`]: `(
      select 0 as owner where exists (
        select 1 from ${table} t
        where t.rowid > (select place from log_cursors where store_id = 0 and source = '${table}'))) p`,
    [`start of ${table}`]: `(
      select coalesce(max(place), 0) as place, coalesce(max(id), 0) as last_id
      from (select rowid as place, id from ${table} order by rowid desc limit 1) where 0 =`,
    [`stale cursor of ${table}`]: `
      c.place > 0 and not exists (select 1 from ${table} t where t.rowid = c.place and t.id = c.last_id)`,
  };
  // The names are those of the template.
  return ofTable as Pick<Fragments, `owners of ${T}` | `start of ${T}` | `stale cursor of ${T}`>;
}

export const sqliteEntryOrder = {
  'entry place': 'rowid',
  'cursor owners': '(select 0 as id) o',
  'owned by': '0 =',
  'cursor of': 'c.store_id = 0 *',
  'owner of store': '0 * store_id',
  'ended entries': '',
  ...fragmentsOf('transfers'),
  ...fragmentsOf('card_changes'),
};
