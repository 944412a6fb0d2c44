/**
 * SQL as it is written here, and the scripts that yield it.
 *
 * Terms: a *statement* is a text with its values; a *script* is a generator that yields
 * statements, is handed their rows, and returns its result. A script performs no I/O and awaits
 * nothing, so that an engine can drive it in one transaction, run it again, or interleave it with
 * others. It never catches a database error: an expected conflict is an `on conflict` clause or a
 * guarded `update … returning` that returns nothing.
 */

import assert from 'node:assert/strict';

/** What can be bound to a statement, on every engine. Integers come back as bigints; booleans are 0 and 1. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** One SQL statement whose rows have the given type. Made by the `sql` tag only. */
export class Statement<Row = unknown> {
  /** Of one call site, always the same array: what an engine keys its prepared statements by. */
  readonly strings: readonly string[];
  readonly values: readonly SqlValue[];
  /** Never set: it makes `Statement<A>` and `Statement<B>` different types. */
  declare readonly row: Row;

  constructor(strings: readonly string[], values: readonly SqlValue[]) {
    this.strings = strings;
    this.values = values;
  }

  /** The text for an engine, which spells the n-th parameter (from 1) as `placeholder(n)`: `?` or `$n`. */
  text(placeholder: (position: number) => string): string {
    return this.strings.reduce((text, part, index) => text + placeholder(index) + part);
  }
}

export function sql<Row = never>(strings: TemplateStringsArray, ...values: SqlValue[]): Statement<Row> {
  return new Statement<Row>(strings, values);
}

/**
 * A unit of work in one transaction. It yields statements that do not depend on each other's rows
 * together, and is handed the rows of each.
 */
export type Script<T> = Generator<readonly Statement[], T, readonly (readonly unknown[])[]>;

/**
 * What a script throws when a guarded statement finds that the world has moved since the script
 * read it, or that an id drawn at random is taken: the engine undoes it and runs it again.
 */
export class Rerun extends Error {
  override readonly name = 'Rerun';
}

/** How often an engine runs a script again before it gives up. */
export const rerunsMax = 5;

/** All rows of a statement. */
export function* all<Row>(statement: Statement<Row>): Script<readonly Row[]> {
  const [rows] = yield [statement];
  // The engine hands back one list of rows a statement; what is in them is the tag's declaration.
  return rows as readonly Row[];
}

/** The first row of a statement, or undefined. */
export function* first<Row>(statement: Statement<Row>): Script<Row | undefined> {
  const rows = yield* all(statement);
  return rows[0];
}

/** The only row of a statement. @throws AssertionError if there is another number of rows. */
export function* one<Row>(statement: Statement<Row>): Script<Row> {
  const [row, ...others] = yield* all(statement);
  assert(
    row !== undefined && others.length === 0,
    `expected exactly one row: ${statement.strings.join('?')}`,
  );
  return row;
}

/** Statements whose rows do not matter, sent together. */
export function* run(...statements: readonly Statement[]): Script<void> {
  yield statements;
}

/** A stored integer as a number. @throws AssertionError if it is not exact. */
export function toNumber(value: bigint): number {
  const number = Number(value);
  assert(Number.isSafeInteger(number), 'an integer beyond 2^53');
  return number;
}

/** A stored nullable integer as a number. */
export function toNumberOrNull(value: bigint | null): number | null {
  return value === null ? null : toNumber(value);
}
