/**
 * The columns of a table, each listed once. The list gives the row type, the conversion of rows and records, and
 * the lists of names and values in statements:
 *
 *     const notes = columns({ id: integer('id'), text: text('text') });
 *     sql<RowOf<typeof notes>>`select ${notes.of('n')} from notes n where n.id = ${id}`
 *     sql`insert into notes (${notes.names}) values (${notes.values(note)})`
 *
 * Columns that a record does not contain, such as a token's hash, are written in the statements that use them.
 */

import { currencyOf } from '../../core/money/domain/currency.ts';
import { compileLiteral } from '../../core/domain/literal.ts';
import type { Money } from '../../core/money/domain/money.ts';
import { toNumber, toNumberOrNull, ValueList, type SqlValue } from './sql.ts';
import { Fragment } from './fragments.ts';

/**
 * A column that is read into a field of a record. `Row` has the other columns that reading needs, `Record` the
 * fields that writing needs.
 */
export type Column<
  Stored,
  Field extends string | null,
  Value,
  Row = unknown,
  Record = { readonly [F in Field & string]: Value },
> = {
  /** Null: the column is only written. */
  readonly field: Field;
  readonly read: (stored: Stored, row: Row) => Value;
  readonly write: (record: Record) => SqlValue;
  /** Whether the field has the stored value itself, without a conversion. */
  readonly isPlain?: boolean;
};

type AnyColumn = Column<never, string | null, unknown, never, never>;
type List = { readonly [name: string]: AnyColumn };

type StoredIn<C> = C extends { readonly read: (stored: infer Stored, row: never) => unknown }
  ? Stored
  : never;
type FieldOf<C> = C extends { readonly field: infer Field extends string } ? Field : never;
type ValueOf<C> = C extends { readonly read: (stored: never, row: never) => infer Value } ? Value : never;
/** The intersection of what all columns need. */
type RowNeeds<C extends List> = C[keyof C]['read'] extends (stored: never, row: infer Row) => unknown
  ? Row
  : never;
type RecordNeeds<C extends List> = C[keyof C]['write'] extends (record: infer Record) => SqlValue
  ? Record
  : never;

type RowIn<C extends List> = { readonly [K in keyof C]: StoredIn<C[K]> } & RowNeeds<C>;
type RecordOf<C extends List> = { readonly [K in keyof C as FieldOf<C[K]>]: ValueOf<C[K]> };

export type Columns<Row, Read, Written> = {
  /** `id, text` */
  readonly names: Fragment;
  /** `n.id, n.text` */
  readonly of: (alias: string) => Fragment;
  /** `id = excluded.id, text = excluded.text` */
  readonly excluded: Fragment;
  /** The values of a record in the order of `names`. */
  readonly values: (record: Written) => ValueList;
  readonly read: (row: Row) => Read;
};

/** The type of the rows that `read` converts. */
export type RowOf<T> = T extends { readonly read: (row: infer Row) => unknown } ? Row : never;

function quoted(name: string): string {
  return JSON.stringify(name);
}

export function columns<const C extends List>(list: C): Columns<RowIn<C>, RecordOf<C>, RecordNeeds<C>> {
  const entries = Object.entries(list);
  const functions = entries.flatMap(([, { read, write }]) => [read, write]);
  const fields = entries.flatMap(([name, { field, isPlain }], index) => {
    if (field === null) return [];
    const stored = `row[${quoted(name)}]`;
    return [`${quoted(field)}: ${isPlain ? stored : `f${index * 2}(${stored}, row)`}`];
  });
  const written = entries.map(([, { field, isPlain }], index) =>
    isPlain && field !== null ? `record[${quoted(field)}]` : `f${index * 2 + 1}(record)`,
  );
  const listOf = (text: (name: string) => string): Fragment =>
    new Fragment(() => Object.keys(list).map(text).join(', '));
  // The compiled functions have the types that the list declares.
  const read = compileLiteral('row', `{ ${fields.join(', ')} }`, functions) as (row: RowIn<C>) => RecordOf<C>;
  const toValues = compileLiteral('record', `[${written.join(', ')}]`, functions) as (
    record: RecordNeeds<C>,
  ) => readonly SqlValue[];
  return {
    names: listOf((name) => name),
    of: (alias) => listOf((name) => `${alias}.${name}`),
    excluded: listOf((name) => `${name} = excluded.${name}`),
    values: (record) => new ValueList(toValues(record)),
    read,
  };
}

/** A column whose values the field has unchanged. */
export function unchanged<Stored extends SqlValue>() {
  return <Field extends string>(field: Field): Column<Stored, Field, Stored> => ({
    field,
    read: (stored) => stored,
    write: (record) => record[field],
    isPlain: true,
  });
}

export const text = unchanged<string>();
export const textOrNull = unchanged<string | null>();
export const bytes = unchanged<Uint8Array>();
export const bytesOrNull = unchanged<Uint8Array | null>();
/** Integers above 2^53, as bigints. */
export const bigInteger = unchanged<bigint>();

/** @param read as `toNumber`. */
export function integer<Field extends string>(field: Field, read = toNumber): Column<bigint, Field, number> {
  return { field, read: (stored) => read(stored), write: (record) => record[field] };
}

/** @param read as `toNumberOrNull`. */
export function integerOrNull<Field extends string>(
  field: Field,
  read = toNumberOrNull,
): Column<bigint | null, Field, number | null> {
  return { field, read: (stored) => read(stored), write: (record) => record[field] };
}

/** A boolean, stored as 0 or 1. */
export function flag<Field extends string>(field: Field): Column<bigint, Field, boolean> {
  return { field, read: (stored) => stored === 1n, write: (record) => Number(record[field]) };
}

/** An amount in minor units. The row also has its currency. */
export function money<Field extends string>(
  field: Field,
): Column<bigint, Field, Money, { readonly currency: string }> {
  return {
    field,
    read: (minor, row) => ({ minor, currency: currencyOf(row.currency) }),
    write: (record) => record[field].minor,
  };
}

/** A column that is written, and that the columns of other fields read from the row. */
export function writeOnly<Stored extends SqlValue>() {
  return <Record>(
    write: (record: Record) => Stored | number,
  ): Column<Stored, null, Stored, unknown, Record> => ({ field: null, read: (stored) => stored, write });
}
