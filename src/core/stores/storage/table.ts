/**
 * The rows of one store, which "largesse copy --store" copies in pages and compares afterwards. The database's catalog
 * lists the tables, so a copy omits no table or column of a new migration.
 */

import assert from 'node:assert/strict';
import {
  all,
  execute,
  first,
  Lock,
  one,
  sql,
  Statement,
  toNumber,
  type Script,
} from '../../../database/sql/sql.ts';
import { commitOrder, lastCommittedFirst } from '../../../database/sql/fragments.ts';
import {
  between,
  pageRows,
  quoted,
  valuesOf,
  type Key,
  type RowPage,
  type Table,
  type TableRow,
} from '../../../database/sql/table.ts';

/** Tables that are not copied with a store: of the whole database, or about this database. */
export const tablesOfNoStore: ReadonlySet<string> = new Set(['key_checks', 'store_copies']);

/** Columns of `stores` about this database. */
const ownColumns: ReadonlySet<string> = new Set(['status', 'closed_at', 'moved_to']);

export type StoreTables = {
  /** The table `stores`, with the columns that are copied. */
  readonly stores: Table;
  /** The tables whose rows belong to a store, each after the tables that it references. */
  readonly ofStore: readonly Table[];
};

/**
 * Selects the tables that a store has rows in.
 * @param tables all of `listTables`.
 * @throws AssertionError if rows of a table do not belong to a store, and the table is not named here.
 */
export function storeTablesOf(tables: readonly Table[]): StoreTables {
  const stores = tables.find(({ name }) => name === 'stores');
  assert(stores, 'there is no table stores');
  const ofStore = tables.filter(({ name }) => name !== 'stores' && !tablesOfNoStore.has(name));
  for (const { name, key } of ofStore)
    assert(
      key[0] === 'store_id',
      `the key of ${name} does not begin with store_id: name it in src/core/stores/storage/table.ts`,
    );
  return {
    stores: { ...stores, columns: stores.columns.filter((column) => !ownColumns.has(column)) },
    ofStore,
  };
}

/** Texts of a table's statements. They are created once, because engines cache prepared statements by them. */
type Texts = {
  readonly firstPage: readonly string[];
  readonly nextPage: readonly string[];
  /** The first key of `events` in commit order. */
  readonly firstInOrder: readonly string[];
  readonly nextInOrder: readonly string[];
  readonly lastKey: readonly string[];
  readonly count: readonly string[];
  readonly deletePage: readonly string[];
};

const texts = new Map<string, Texts>();

function textsOf(table: Table): Texts {
  const name = quoted(table.name);
  const [key, columns] = [table.key.map(quoted), table.columns.map(quoted)];
  // A table whose key is the store has one row for each.
  const rest = key.length > 1 ? key.slice(1) : key;
  const described = `${name} (${key.join(', ')}) (${columns.join(', ')})`;
  let found = texts.get(described);
  if (!found) {
    const listed = `select ${columns.join(', ')} from ${name} where store_id = `;
    const sorted = `order by ${rest.join(', ')} limit ${pageRows}`;
    const tuple = `(${rest.join(', ')})`;
    found = {
      firstPage: [listed, ` ${sorted}`],
      nextPage: [listed, ` and ${tuple} > (`, ...between(', ', rest.length), `) ${sorted}`],
      firstInOrder: [listed, ' order by ', ` limit ${pageRows}`],
      nextInOrder: [
        listed,
        ' and (',
        `) > (select `,
        ` from ${name} where store_id = `,
        ' and id = ',
        ') order by ',
        ` limit ${pageRows}`,
      ],
      lastKey: [
        `select ${key.join(', ')} from ${name} where store_id = `,
        ` order by ${rest.map((column) => `${column} desc`).join(', ')} limit 1`,
      ],
      count: [`select count(*) as rows from ${name} where store_id = `, ''],
      deletePage: [
        `delete from ${name} where store_id = `,
        ` and ${tuple} in (select ${rest.join(', ')} from ${name} where store_id = `,
        ` ${sorted})`,
      ],
    };
    texts.set(described, found);
  }
  return found;
}

function pageOf(table: Table, rows: readonly TableRow[]): RowPage {
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return { rows, next: last && valuesOf(last, table.key) };
}

/** Returns a store's rows after a key, or its first rows. */
export function* readStorePage(table: Table, storeId: number, after: Key | undefined): Script<RowPage> {
  const { firstPage, nextPage } = textsOf(table);
  const statement = after
    ? new Statement<TableRow>(nextPage, table.key.length > 1 ? after : [storeId, ...after])
    : new Statement<TableRow>(firstPage, [storeId]);
  return pageOf(table, yield* all(statement));
}

/** Reads a page of events in commit order, as `readStorePage` does. */
export function* readEventPage(events: Table, storeId: number, after: Key | undefined): Script<RowPage> {
  const { firstInOrder, nextInOrder } = textsOf(events);
  const [, id = null] = after ?? [];
  const statement = after
    ? new Statement<TableRow>(nextInOrder, [storeId, commitOrder, commitOrder, storeId, id, commitOrder])
    : new Statement<TableRow>(firstInOrder, [storeId, commitOrder]);
  return pageOf(events, yield* all(statement));
}

/** Returns the key of a store's last event in commit order; undefined if it has none. */
export function* lastEventKey(storeId: number): Script<Key | undefined> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from events where store_id = ${storeId} order by ${lastCommittedFirst} limit 1`);
  return row && [storeId, row.id];
}

/** Counts a store's events that have a lower id than the event before them in commit order. */
export function* countInversions(storeId: number): Script<number> {
  const { inversions } = yield* one(sql<{ inversions: bigint }>`
    select count(*) as inversions from (
      select id, lag(id) over (order by ${commitOrder}) as previous from events where store_id = ${storeId}) e
    where id < previous`);
  return toNumber(inversions);
}

/** Returns the key of a store's last row in a table; undefined if it has none. */
export function* lastStoreKey(table: Table, storeId: number): Script<Key | undefined> {
  const row = yield* first(new Statement<TableRow>(textsOf(table).lastKey, [storeId]));
  return row && valuesOf(row, table.key);
}

export function* countStoreRows(table: Table, storeId: number): Script<number> {
  const { rows } = yield* one(new Statement<{ rows: bigint }>(textsOf(table).count, [storeId]));
  return toNumber(rows);
}

/** Returns the sum of the balances of a store's cards, in minor units. */
export function* sumBalances(storeId: number): Script<string> {
  const { sum } = yield* one(sql<{ sum: string }>`
    select cast(coalesce(sum(balance), 0) as text) as sum from gift_cards where store_id = ${storeId}`);
  return sum;
}

/** Deletes a store's first rows of a table. */
export function* deleteStorePage(table: Table, storeId: number): Script<void> {
  yield* execute(new Statement(textsOf(table).deletePage, [storeId, storeId]));
}

/**
 * Lets a server learn what a table contains after many rows of a store were inserted: it would otherwise expect none of this
 * store, and read all of them for each that it looks for. A file has fixed statistics.
 */
export function* learnContent(table: Table): Script<void> {
  yield* execute(new Lock([`analyze ${quoted(table.name)}`], []));
}
