/**
 * Records which rows of a store change while it moves out of a file. Triggers of its own add the key of each changed row to
 * `moving_changes`, whichever process or request changes it. They exist only then.
 */

import assert from 'node:assert/strict';
import {
  all,
  execute,
  one,
  sql,
  Statement,
  toNumber,
  type Script,
  type SqlValue,
} from '../../../database/sql/sql.ts';
import { catalogTriggers, Fragment } from '../../../database/sql/fragments.ts';
import { movingPrefix } from '../../../database/store-closing.ts';
import { quoted, type Key, type Table } from '../../../database/sql/table.ts';

/** Changes that are deleted in one transaction. */
const deletedMax = 10_000;

const operations = ['insert', 'update', 'delete'] as const;
type Operation = (typeof operations)[number];

/** The prefix, the ids of the store and of the recording, the table and the operation. */
function nameOf(storeId: number, recording: number, table: string, operation: Operation): string {
  return `${movingPrefix}${storeId}_${recording}_${table}_${operation}`;
}

/** Rows of `stores` are neither inserted nor deleted while one moves. */
function operationsOf({ name }: Table): readonly Operation[] {
  return name === 'stores' ? ['update'] : operations;
}

/** A statement that runs once. */
function once(text: string): Statement {
  return new Statement(['', ''], [new Fragment(() => text)]);
}

function creation(storeId: number, recording: number, { name, key }: Table, operation: Operation): Statement {
  const keyOf = (row: 'old' | 'new'): string =>
    `json_array(${key.map((column) => `quote(${row}.${quoted(column)})`).join(', ')})`;
  const [row, store] = [
    operation === 'delete' ? 'old' : 'new',
    name === 'stores' ? 'id' : 'store_id',
  ] as const;
  const adding = (version: 'old' | 'new'): string =>
    `insert into moving_changes (store_id, table_name, row_key) select ${storeId}, '${name}', ${keyOf(version)}`;
  const ofOldKey = operation === 'update' ? `${adding('old')} where ${keyOf('old')} <> ${keyOf('new')};` : '';
  return once(`
    create trigger ${nameOf(storeId, recording, name, operation)} after ${operation} on ${quoted(name)}
    when ${row}.${store} = ${storeId} begin ${adding(row)}; ${ofOldKey} end`);
}

function* listTriggers(storeId: number): Script<readonly string[]> {
  const found = yield* all(sql<{ trigger_name: string }>`select trigger_name from ${catalogTriggers}`);
  const prefix = `${movingPrefix}${storeId}_`;
  return found.map(({ trigger_name: name }) => name).filter((name) => name.startsWith(prefix));
}

/** Records the changes of a store from this commit on. */
export function* beginRecording(
  storeId: number,
  { tables, recording }: { readonly tables: readonly Table[]; readonly recording: number },
): Script<void> {
  for (const table of tables)
    for (const operation of operationsOf(table))
      yield* execute(creation(storeId, recording, table, operation));
}

/**
 * Returns the id of the recording of all changes of a store in these tables; undefined: there is none, or a trigger is
 * missing, such as after a migration.
 */
export function* findRecording(storeId: number, tables: readonly Table[]): Script<number | undefined> {
  const present = new Set(yield* listTriggers(storeId));
  const [any] = present;
  const recording = Number(any?.slice(movingPrefix.length).split('_')[1]);
  const expected = tables.flatMap((table) =>
    operationsOf(table).map((operation) => nameOf(storeId, recording, table.name, operation)),
  );
  return expected.length === present.size && expected.every((name) => present.has(name))
    ? recording
    : undefined;
}

/** Ends what `beginRecording` began. @returns whether changes were recorded. */
export function* endRecording(storeId: number): Script<boolean> {
  const names = yield* listTriggers(storeId);
  for (const name of names) yield* execute(once(`drop trigger ${name}`));
  return names.length > 0;
}

/** Deletes a page of the recorded changes. @returns whether there can be more. */
export function* deleteChanges(storeId: number): Script<boolean> {
  const rows = yield* all(sql`
    delete from moving_changes where id in (
      select id from moving_changes where store_id = ${storeId} limit ${deletedMax}) returning id`);
  return rows.length === deletedMax;
}

/** The key of a row that has changed. */
export type Change = { readonly id: number; readonly table: string; readonly rowKey: string };

/** Returns the first changes of a store after one, in the order of their commits. */
export function* listRecordedChanges(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Change[]> {
  const rows = yield* all(sql<{ id: bigint; table_name: string; row_key: string }>`
    select id, table_name, row_key from moving_changes where store_id = ${storeId} and id > ${after}
    order by id limit ${limit}`);
  return rows.map((row) => ({ id: toNumber(row.id), table: row.table_name, rowKey: row.row_key }));
}

/** Returns the last change of a store; 0: there is none. */
export function* findLastChange(storeId: number): Script<number> {
  const { last } = yield* one(sql<{ last: bigint }>`
    select coalesce(max(id), 0) as last from moving_changes where store_id = ${storeId}`);
  return toNumber(last);
}

/** Reads the key of a change. */
export function keyOfChange(rowKey: string): Key {
  const literals = JSON.parse(rowKey) as readonly string[];
  return literals.map(valueOfLiteral);
}

/** The value that SQLite's function `quote` has written. */
function valueOfLiteral(literal: string): SqlValue {
  if (literal.startsWith("X'")) return Buffer.from(literal.slice(2, -1), 'hex');
  if (literal.startsWith("'")) return literal.slice(1, -1).replaceAll("''", "'");
  assert.match(literal, /^-?\d+$/, 'keys contain only integers, texts and bytes');
  return BigInt(literal);
}
