/** The entries of the stores' logs: rows of one of the *sources*, identified by their source and id. */

import { Statement, type sql } from '../../../database/sql/sql.ts';
import { entryOrderOf, Fragment, type EntryOrder, type EntryTable } from '../../../database/sql/fragments.ts';

/** The tables of entries; their places in this list are stored. */
export const entrySources: readonly EntryTable[] = ['transfers', 'card_changes'];

export type EntryId = { readonly source: EntryTable; readonly id: number };
export type LogEntry = EntryId & { readonly hash: Uint8Array };

export type HashRow = { readonly id: bigint; readonly hash: Uint8Array };

/** The SQL of a table of entries. */
type EntrySql = EntryOrder & {
  readonly table: Fragment;
  /** The tag `sql`: a call site has another statement for each table. */
  readonly sql: typeof sql;
};

function entrySqlOf(table: EntryTable): EntrySql {
  const texts = new WeakMap<readonly string[], readonly string[]>();
  return {
    ...entryOrderOf(table),
    table: new Fragment(() => table),
    sql(strings, ...written) {
      const own = texts.get(strings) ?? [...strings];
      texts.set(strings, own);
      return new Statement(own, written);
    },
  };
}

export const sqlOf: Readonly<Record<EntryTable, EntrySql>> = {
  transfers: entrySqlOf('transfers'),
  card_changes: entrySqlOf('card_changes'),
};
