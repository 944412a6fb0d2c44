/**
 * The tables that "largesse copy" copies in pages, ordered by primary key, and compares afterwards. The database's
 * catalog lists them, so a copy omits no table or column of a new migration.
 */

import assert from 'node:assert/strict';
import { createHash, type Hash } from 'node:crypto';
import {
  all,
  first,
  one,
  execute,
  sql,
  Statement,
  parallel,
  toNumber,
  type Script,
  type SqlValue,
} from './sql.ts';
import { catalogColumns, catalogReferences, Fragment } from './fragments.ts';

export type Table = {
  readonly name: string;
  /** Columns of the primary key, in order. */
  readonly key: readonly string[];
  /** All copied columns: those of the primary key, and the others by name. */
  readonly columns: readonly string[];
};

export type TableRow = Readonly<Record<string, SqlValue>>;
export type Key = readonly SqlValue[];

/** Tables about the database itself, and those that Litestream adds, which are not copied. */
const ownTables: ReadonlySet<string> = new Set([
  'schema_migrations',
  'heartbeat',
  // Neither copied from nor into.
  'sandbox',
  'sandbox_payments',
  // Another machine has other disks.
  'backup_settings',
  'backups',
  'version_check',
  'owner_notices',
  'copies',
  // Places of rows in this database.
  'log_cursors',
  'log_backfills',
  'log_turn',
  'file_remains',
  // Follows from the other tables.
  'store_work',
  // About stores that leave this database.
  'moving_changes',
  // Another database has not been verified.
  'verifications',
  '_litestream_seq',
  '_litestream_lock',
]);

/** Columns of one engine only, which are neither copied nor compared. */
const ownColumns: Readonly<Record<string, readonly string[]>> = {
  // The commit order on this server. Copied rows are committed in key order.
  events: ['transaction_id'],
  transfers: ['transaction_id'],
  card_changes: ['transaction_id'],
};

/** Tables that are copied before a table without being referenced by it. */
const earlierTables: Readonly<Record<string, readonly string[]>> = {
  // The insert of an event enqueues deliveries to all existing webhooks.
  webhooks: ['events'],
};

type CatalogColumn = {
  readonly table_name: string;
  readonly column_name: string;
  readonly key_place: bigint;
};
type CatalogReference = { readonly table_name: string; readonly referenced_name: string };

/**
 * Returns all tables except those about the database itself, each after the tables that it references.
 * @throws AssertionError if tables reference each other.
 */
export function* listTables(): Script<readonly Table[]> {
  const [columns, references] = yield* parallel(
    all(sql<CatalogColumn>`select table_name, column_name, key_place from ${catalogColumns}`),
    all(sql<CatalogReference>`select table_name, referenced_name from ${catalogReferences}`),
  );
  const byTable = Map.groupBy(columns, ({ table_name: name }) => name);
  const tables = [...byTable].filter(([name]) => !ownTables.has(name)).map(tableOf);
  return inOrder(tables, (name) => [
    ...(earlierTables[name] ?? []),
    ...references.filter((reference) => reference.table_name === name).map((to) => to.referenced_name),
  ]);
}

function tableOf([name, columns]: readonly [string, readonly CatalogColumn[]]): Table {
  const key = columns
    .filter((column) => column.key_place > 0n)
    .toSorted((left, right) => Number(left.key_place - right.key_place))
    .map((column) => column.column_name);
  const others = columns.map((column) => column.column_name).filter((column) => !key.includes(column));
  const copied = others.filter((column) => !ownColumns[name]?.includes(column));
  return { name, key, columns: [...key, ...copied.toSorted()] };
}

/** Sorts tables by name, but each after those that `earlierOf` returns. */
function inOrder(tables: readonly Table[], earlierOf: (name: string) => readonly string[]): readonly Table[] {
  const sorted: Table[] = [];
  let rest = tables.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  while (rest.length > 0) {
    const waiting = new Set(rest.map(({ name }) => name));
    const ready = rest.find(({ name }) =>
      earlierOf(name).every((earlier) => earlier === name || !waiting.has(earlier)),
    );
    assert(ready, `these tables reference each other: ${[...waiting].join(', ')}`);
    sorted.push(ready);
    rest = rest.filter((table) => table !== ready);
  }
  return sorted;
}

/** Returns one line per table or column that only one of two databases has, and per primary key that cannot be used. */
export function schemaDifferences(source: readonly Table[], target: readonly Table[]): readonly string[] {
  const ofSource = new Map(source.map((table) => [table.name, table]));
  const ofTarget = new Map(target.map((table) => [table.name, table]));
  const names = [...new Set([...ofSource.keys(), ...ofTarget.keys()])];
  return names.flatMap((name) => {
    const [left, right] = [ofSource.get(name), ofTarget.get(name)];
    if (!left || !right) return [`only the ${left ? 'source' : 'target'} has the table ${name}`];
    const columns = [
      ...left.columns
        .filter((column) => !right.columns.includes(column))
        .map((column) => `only the source has the column ${name}.${column}`),
      ...right.columns
        .filter((column) => !left.columns.includes(column))
        .map((column) => `only the target has the column ${name}.${column}`),
    ];
    if (columns.length > 0) return columns;
    if (left.key.length === 0) return [`the table ${name} has no primary key`];
    if (left.key.join(' ') === right.key.join(' ')) return [];
    return [
      `${name} has the primary key (${left.key.join(', ')}) in the source, (${right.key.join(', ')}) in the target`,
    ];
  });
}

/** A constant in the statements: without it, a planner could sort a whole table for every page. */
export const pageRows = 1_000;
/** Approximate number of parameters of an insert. */
const valuesMax = 2_000;

/** Texts of a table's statements. They are created once, because engines cache prepared statements by them. */
type Texts = {
  readonly firstPage: readonly string[];
  readonly nextPage: readonly string[];
  readonly lastKey: readonly string[];
  readonly count: readonly string[];
  readonly anyRow: readonly string[];
  readonly byId: readonly string[];
  readonly missingStores: Fragment;
  readonly missingStoresOf: readonly string[];
  readonly insertOne: readonly string[];
  readonly insertMany: readonly string[];
  /** Number of rows of `insertMany`. */
  readonly manyRows: number;
};

/** By table and columns: each reading of the catalog makes new objects. */
const texts = new Map<string, Texts>();

function textsOf(table: Table): Texts {
  const name = quoted(table.name);
  const [key, columns] = [table.key.map(quoted), table.columns.map(quoted)];
  const described = `${name} (${key.join(', ')}) (${columns.join(', ')})`;
  let found = texts.get(described);
  if (!found) {
    const manyRows = Math.floor(valuesMax / columns.length);
    const listed = `select ${columns.join(', ')} from ${name}`;
    const sorted = `order by ${key.join(', ')} limit ${pageRows}`;
    found = {
      firstPage: [`${listed} ${sorted}`],
      nextPage: [`${listed} where (${key.join(', ')}) > (`, ...between(', ', key.length), `) ${sorted}`],
      lastKey: [
        `select ${key.join(', ')} from ${name} order by ${key.map((column) => `${column} desc`).join(', ')} limit 1`,
      ],
      count: [`select count(*) as rows from ${name}`],
      anyRow: [`select 1 as found from ${name} limit 1`],
      byId: [`${listed} where ${key.join(', ')} = `, ''],
      // Steps from store to store in the primary key, if it is on one server.
      missingStores: new Fragment(({ isDistributed }) =>
        isDistributed
          ? `select distinct store_id as id from ${name} where store_id not in (select id from stores)`
          : `with recursive s (id) as (
              select min(store_id) from ${name} union all
              select (select min(t.store_id) from ${name} t where t.store_id > s.id) from s where s.id is not null)
            select id from s where id is not null and id not in (select id from stores)`,
      ),
      missingStoresOf: ['', ''],
      insertOne: insertion(name, columns, 1),
      insertMany: insertion(name, columns, manyRows),
      manyRows,
    };
    texts.set(described, found);
  }
  return found;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function between(separator: string, values: number): readonly string[] {
  return Array.from({ length: values - 1 }, () => separator);
}

function insertion(name: string, columns: readonly string[], rows: number): readonly string[] {
  const row = between(', ', columns.length);
  return [
    `insert into ${name} (${columns.join(', ')}) values (`,
    ...row,
    ...Array.from({ length: rows - 1 }, () => ['), (', ...row]).flat(),
    ')',
  ];
}

export type RowPage = {
  readonly rows: readonly TableRow[];
  /** Start of the next page; undefined after the last row. */
  readonly next: Key | undefined;
};

/** Returns the rows after a key, or the first rows. */
export function* readPage(table: Table, after: Key | undefined): Script<RowPage> {
  const { firstPage, nextPage } = textsOf(table);
  const rows = yield* all(new Statement<TableRow>(after ? nextPage : firstPage, after ?? []));
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return { rows, next: last && valuesOf(last, table.key) };
}

export function* insertRows(table: Table, rows: readonly TableRow[]): Script<void> {
  const { insertOne, insertMany, manyRows } = textsOf(table);
  const { columns } = table;
  const inMany = rows.length - (rows.length % manyRows);
  for (let from = 0; from < inMany; from += manyRows) {
    const values = rows.slice(from, from + manyRows).flatMap((row) => valuesOf(row, columns));
    yield* execute(new Statement(insertMany, values));
  }
  for (const row of rows.slice(inMany)) yield* execute(new Statement(insertOne, valuesOf(row, columns)));
}

/** Returns the highest key of a table; undefined if the table is empty. */
export function* lastKey(table: Table): Script<Key | undefined> {
  const row = yield* first(new Statement<TableRow>(textsOf(table).lastKey, []));
  return row && valuesOf(row, table.key);
}

export function* countRows(table: Table): Script<number> {
  const { rows } = yield* one(new Statement<{ rows: bigint }>(textsOf(table).count, []));
  return toNumber(rows);
}

export function* isEmpty(table: Table): Script<boolean> {
  return (yield* all(new Statement(textsOf(table).anyRow, []))).length === 0;
}

/** Returns the row with an id of a table that has no other key. */
export function* findRowById(table: Table, id: number): Script<TableRow | undefined> {
  return yield* first(new Statement<TableRow>(textsOf(table).byId, [id]));
}

/** Returns the ids of stores that do not exist and that the table references. */
export function* listMissingStores(table: Table): Script<readonly number[]> {
  if (table.key[0] !== 'store_id') return [];
  const { missingStoresOf, missingStores } = textsOf(table);
  const rows = yield* all(new Statement<{ id: bigint }>(missingStoresOf, [missingStores]));
  return rows.map(({ id }) => Number(id));
}

/** Returns the sum of all card versions, which increases with every change of a card. */
export function* sumVersions(): Script<string> {
  const { versions } = yield* one(
    sql<{ versions: string }>`select cast(coalesce(sum(version), 0) as text) as versions from gift_cards`,
  );
  return versions;
}

export function valuesOf(row: TableRow, columns: readonly string[]): SqlValue[] {
  return columns.map((column) => {
    const value = row[column];
    assert(value !== undefined, `the row has no ${column}`);
    return value;
  });
}

/** A digest of rows that is the same on every engine. Rows must be added in key order. */
export type TableDigest = { add(rows: readonly TableRow[]): void; hex(): string };

export function digestOf(table: Table): TableDigest {
  const { columns } = table;
  const hash: Hash = createHash('sha256').update(`${table.name} ${columns.join(' ')}\n`);
  return {
    add(rows) {
      let text = '';
      for (const row of rows) text += canonicalRow(columns, row);
      hash.update(text);
    },
    hex: () => hash.digest('hex'),
  };
}

/** Whether two rows of a table, or their absence, are the same. */
export function isSameRow(
  { columns }: Table,
  row: TableRow | undefined,
  other: TableRow | undefined,
): boolean {
  if (!row || !other) return row === other;
  return canonicalRow(columns, row) === canonicalRow(columns, other);
}

function canonicalRow(columns: readonly string[], row: TableRow): string {
  let text = '';
  for (const column of columns) text += canonical(row[column]);
  return text;
}

/** Encodes a value unambiguously: sequences of different values have different encodings. */
function canonical(value: SqlValue | undefined): string {
  if (value === null) return 'n';
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (value instanceof Uint8Array)
    return `b${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')};`;
  assert(typeof value === 'bigint', 'columns contain only integers, texts and bytes');
  return `i${value};`;
}
