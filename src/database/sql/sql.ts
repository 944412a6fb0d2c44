/**
 * The `sql` tag and scripts.
 *
 * A *statement* is a text with its values. A *script* is a generator that yields *steps* of statements,
 * receives their rows and returns a result. It performs no I/O, so an engine can run it in one transaction,
 * retry it, or interleave it with other scripts.
 *
 * A script never catches a database error. It handles an expected conflict with `on conflict` or with a guarded
 * `update … returning`. On an unexpected unique violation, such as a duplicate random id, the engine retries
 * it.
 *
 * Each awaited step is a network round trip, so scripts yield independent statements together. Statements from
 * `run` wait for the next step or the commit.
 */

import assert from 'node:assert/strict';
import { Fragment, type Dialect } from './fragments.ts';

/** A parameter value on every engine. Integers are returned as bigints; booleans are 0 and 1. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** Values separated by commas. A call site always uses the same number of them. */
export class ValueList {
  readonly values: readonly SqlValue[];

  constructor(values: readonly SqlValue[]) {
    this.values = values;
  }
}

/** A piece of SQL with values. A call site always uses one of the same text. */
export class Part {
  readonly strings: readonly string[];
  readonly written: readonly Written[];

  constructor(strings: readonly string[], written: readonly Written[]) {
    this.strings = strings;
    this.written = written;
  }
}

/** A part of statements that several of them share. */
export function part(strings: TemplateStringsArray, ...written: Written[]): Part {
  return new Part(strings, written);
}

/** Parts with a text between them. A call site always uses the same number of them, and at least one. */
export function joined(parts: readonly Part[], separator: string): Part {
  return new Part(['', ...parts.slice(1).map(() => separator), ''], parts);
}

type Written = SqlValue | Fragment | ValueList | Part;

/** One SQL statement with rows of type `Row`. The `sql` tag and `table.ts` create statements. */
export class Statement<Row = unknown> {
  /** Engines cache prepared statements by this array. It is the same array for each call site or table. */
  readonly strings: readonly string[];
  readonly values: readonly SqlValue[];
  readonly #written: readonly Written[];
  /** Never set. It makes `Statement<A>` and `Statement<B>` different types. */
  declare readonly row: Row;

  constructor(strings: readonly string[], written: readonly Written[]) {
    this.strings = strings;
    this.#written = written;
    this.values = written.every(isValue) ? written : valuesOf(written);
  }

  text(dialect: Dialect): string {
    let place = 0;
    const placeholder = (): string => dialect.placeholder((place += 1));
    const textOf = ({ strings, written: pieces }: Pick<Part, 'strings' | 'written'>): string =>
      strings.reduce((text, next, index) => {
        const written = pieces[index - 1];
        if (written instanceof Fragment) return text + written.text(dialect) + next;
        if (written instanceof Part) return text + textOf(written) + next;
        const placeholders =
          written instanceof ValueList ? written.values.map(placeholder).join(', ') : placeholder();
        return text + placeholders + next;
      });
    return textOf({ strings: this.strings, written: this.#written });
  }
}

/** A statement that only locks rows. An engine that does not interleave scripts omits it. */
export class Lock extends Statement<never> {}

/** A select of many rows, for verifications. Its integers are numbers, except that those above 2^53 are bigints. */
export class Scan<Row> extends Statement<Row> {}

/** An integer in a row of a `Scan`. */
export type ScannedInteger = number | bigint;

/** The number of an integer; the bigint itself above 2^53. */
export function exactOf(value: bigint): ScannedInteger {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function isValue(written: Written): written is SqlValue {
  return !(written instanceof Fragment) && !(written instanceof ValueList) && !(written instanceof Part);
}

function valuesOf(written: readonly Written[]): readonly SqlValue[] {
  const values: SqlValue[] = [];
  for (const value of written) {
    if (value instanceof ValueList) values.push(...value.values);
    else if (value instanceof Part) values.push(...valuesOf(value.written));
    else if (!(value instanceof Fragment)) values.push(value);
  }
  return values;
}

export function sql<Row = never>(strings: TemplateStringsArray, ...written: Written[]): Statement<Row> {
  return new Statement<Row>(strings, written);
}

/** The tag of a select that ends with `forUpdate` and whose rows are not read. */
export function lock(strings: TemplateStringsArray, ...written: Written[]): Lock {
  return new Lock(strings, written);
}

/** The tag of a `Scan`. */
export function scan<Row>(strings: TemplateStringsArray, ...written: Written[]): Scan<Row> {
  return new Scan<Row>(strings, written);
}

/** Statements that are sent to the database together, in order. */
type Step = {
  readonly statements: readonly Statement[];
  /** Whether the script reads their rows. If not, an engine can send them later, but before any later statement. */
  readonly isAwaited: boolean;
};

/**
 * A unit of work in one transaction. It receives the rows of each statement of an awaited step; what it
 * receives for other steps has no meaning.
 */
export type Script<T> = Generator<Step, T, readonly (readonly unknown[])[]>;

/**
 * Thrown by a script if a guarded statement finds that a row has changed since it was read, or if a random id
 * exists already. The engine rolls the script back and retries it.
 */
export class RetryTransaction extends Error {
  override readonly name = 'RetryTransaction';
}

/** The most times that an engine retries a script. */
export const rerunsMax = 5;

/** Returns all rows of a statement. */
export function* all<Row>(statement: Statement<Row>): Script<readonly Row[]> {
  const [rows] = yield { statements: [statement], isAwaited: true };
  // The engine returns one list of rows per statement. The `sql` tag declares their type.
  return rows as readonly Row[];
}

/** Returns the first row of a statement, or undefined. */
export function* first<Row>(statement: Statement<Row>): Script<Row | undefined> {
  const rows = yield* all(statement);
  return rows[0];
}

/** Returns the only row of a statement. @throws AssertionError if there is not exactly one row. */
export function* one<Row>(statement: Statement<Row>): Script<Row> {
  const [row, ...others] = yield* all(statement);
  assert(
    row !== undefined && others.length === 0,
    `expected exactly one row: ${statement.strings.join('?')}`,
  );
  return row;
}

/** Runs statements whose rows are not read. */
export function* execute(...statements: readonly Statement[]): Script<void> {
  yield { statements, isAwaited: false };
}

/** A script without statements, as a placeholder in `parallel`. */
// oxlint-disable-next-line require-yield -- a script without a statement
export function* resolved<T>(value: T): Script<T> {
  return value;
}

type Results<Scripts extends readonly Script<unknown>[]> = {
  [Place in keyof Scripts]: Scripts[Place] extends Script<infer T> ? T : never;
};

/**
 * Runs independent scripts in parallel and sends their steps together, in the order of the scripts. A script
 * sees the results of the others' guards only after all have ended, so each statement needs its own guard.
 * @returns the results in the order of the scripts.
 */
export function* parallel<const Scripts extends readonly Script<unknown>[]>(
  ...scripts: Scripts
): Script<Results<Scripts>> {
  const results: unknown[] = [];
  let waiting = scripts.map((script, place) => ({ script, place, step: script.next([]) }));
  while (waiting.length > 0) {
    const statements: Statement[] = [];
    const awaiting: { script: Script<unknown>; place: number; from: number; to: number }[] = [];
    for (const { script, place, step: reached } of waiting) {
      let step = reached;
      // These rows are not read: the script continues to its next awaited step.
      while (step.done !== true && !step.value.isAwaited) {
        statements.push(...step.value.statements);
        step = script.next(step.value.statements.map(() => []));
      }
      if (step.done === true) results[place] = step.value;
      else {
        const from = statements.push(...step.value.statements) - step.value.statements.length;
        awaiting.push({ script, place, from, to: statements.length });
      }
    }
    const rows = statements.length > 0 ? yield { statements, isAwaited: awaiting.length > 0 } : [];
    waiting = awaiting.map(({ script, place, from, to }) => ({
      script, place, step: script.next(rows.slice(from, to)),
    })); // prettier-ignore
  }
  // Results have the positions of their scripts.
  return results as Results<Scripts>;
}

/**
 * Runs a lookup together with the first awaited step of a script, and then the rest of the script. An error of the
 * lookup is thrown instead of one that the script throws by then.
 */
export function* withFirstStep<L, T>(
  lookup: Script<L>,
  script: () => Script<T>,
): Script<readonly [looked: L, result: T]> {
  const statements: Statement[] = [];
  const lookedUp = start(() => lookup, statements);
  const started = start(script, statements);
  const rows = statements.length > 0 ? yield { statements, isAwaited: true } : [];
  const looked = yield* finish(lookedUp, rows);
  return [looked, yield* finish(started, rows)];
}

/** A script at its first awaited step or its end, with the places of the rows that it waits for. */
type Started<T> =
  | { readonly script: Script<T>; readonly from: number; readonly to: number }
  | { readonly result: T }
  | { readonly error: unknown };

/** Adds the statements of a script up to its first awaited step. */
function start<T>(begin: () => Script<T>, statements: Statement[]): Started<T> {
  try {
    const script = begin();
    let step = script.next([]);
    while (step.done !== true) {
      const from = statements.length;
      statements.push(...step.value.statements);
      if (step.value.isAwaited) return { script, from, to: statements.length };
      step = script.next(step.value.statements.map(() => []));
    }
    return { result: step.value };
  } catch (error) {
    return { error };
  }
}

function* finish<T>(started: Started<T>, rows: readonly (readonly unknown[])[]): Script<T> {
  if ('error' in started) throw started.error;
  if ('result' in started) return started.result;
  const { script, from, to } = started;
  let step = script.next(rows.slice(from, to));
  while (step.done !== true) step = script.next(yield step.value);
  return step.value;
}

/** Converts a stored integer. @throws AssertionError if the number is not exact. */
export function toNumber(value: bigint): number {
  const number = Number(value);
  assert(Number.isSafeInteger(number), 'the integer exceeds 2^53');
  return number;
}

export function toNumberOrNull(value: bigint | null): number | null {
  return value === null ? null : toNumber(value);
}
