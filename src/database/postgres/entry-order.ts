/**
 * The order of a log's entries: by transaction and id. An entry is final when no older transaction is open. Each store
 * has a cursor. In another cluster transaction ids start over, so a cursor can be ahead of them: it begins again
 * (`restored.ts`).
 */

import { endedPlace, hasEndedOf } from './distribution.ts';
import type { Dialect, EntryTable } from '../sql/fragments.ts';

type Fragments = Dialect['fragments'];

const oldest = 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint';

/** @param hasEnded whether the transaction of a row of `t` has ended. */
function pendingOf<T extends EntryTable>(table: T, hasEnded: string) {
  const ofTable = {
    // A condition in a `case` is checked for each cursor, by an index.
    [`owners of ${table}`]: `(
      select c.store_id as owner from log_cursors c
      where c.source = '${table}' and case when exists (
        select 1 from ${table} t
        where t.store_id = c.store_id and (t.transaction_id, t.id) > (c.place, c.last_id) and ${hasEnded}
      ) then 1 else 0 end = 1) p`,
  };
  // The names are those of the template.
  return ofTable as Pick<Fragments, `owners of ${T}`>;
}

/** @param place a number that the transactions below it have ended, and a condition for the rows that it is read from. */
function startOf<T extends EntryTable>(table: T, text: string) {
  return { [`start of ${table}`]: text } as Pick<Fragments, `start of ${T}`>;
}

/** The server reads the number once, not for each cursor. */
const hasEnded = `t.transaction_id < (select ${oldest})`;
/** Transactions below this number have ended. */
const start = `(select ${oldest} - 1 as place, 9007199254740991 as last_id where cast(0 as bigint) <>`;
const stale = 'c.place >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint';

export const postgresEntryOrder = {
  'entry place': 'transaction_id',
  'cursor owners': "(select id from stores where status <> 'arriving') o",
  'owned by': 'store_id =',
  'cursor of': 'c.store_id =',
  'owner of store': 'store_id',
  'ended entries': `and transaction_id < ${oldest}`,
  'stale cursor of transfers': stale,
  'stale cursor of card_changes': stale,
  ...startOf('transfers', start),
  ...startOf('card_changes', start),
  ...pendingOf('transfers', hasEnded),
  ...pendingOf('card_changes', hasEnded),
};

function citusStart(table: EntryTable): string {
  return `(select ${endedPlace('max(t.transaction_id)')} as place, 9007199254740991 as last_id
    from ${table} t where t.store_id =`;
}

/** In a distributed database. A place never becomes stale, because a store's numbers only rise. */
export const citusEntryOrder = {
  'ended entries': `and ${hasEndedOf('transaction_id')}`,
  'stale cursor of transfers': '1 = 0',
  'stale cursor of card_changes': '1 = 0',
  ...startOf('transfers', citusStart('transfers')),
  ...startOf('card_changes', citusStart('card_changes')),
  ...pendingOf('transfers', hasEndedOf('t.transaction_id')),
  ...pendingOf('card_changes', hasEndedOf('t.transaction_id')),
};
