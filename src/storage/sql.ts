/**
 * SQL as it is written here, and the scripts that yield it.
 *
 * Terms: a *statement* is a text with its values; a *script* is a generator that yields *steps* of
 * statements, is handed their rows, and returns its result. A script performs no I/O and awaits
 * nothing, so that an engine can drive it in one transaction, run it again, or interleave it with
 * others. It never catches a database error: an expected conflict is an `on conflict` clause or a
 * guarded `update … returning` that returns nothing. A key that is taken although nobody expects it
 * (an id drawn at random, a place that another transaction took meanwhile) is an error of the
 * database, upon which the engine runs the script again.
 *
 * Where the database is across a network, every step whose rows are awaited is a round trip. So
 * independent statements are yielded together, and those whose rows nobody looks at (`run`) wait
 * for the next step, or go out with the commit.
 */

import assert from 'node:assert/strict';

/** What can be bound to a statement, on every engine. Integers come back as bigints; booleans are 0 and 1. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A piece of SQL that each engine spells in its own way. */
export class Fragment {
  readonly name: FragmentName;

  constructor(name: FragmentName) {
    this.name = name;
  }
}

export type FragmentName =
  'for update' | 'for update skip locked' | 'commit order' | 'last committed first' | 'committed for good';

/** Behind a select: its rows stay as they are until the transaction ends. Who wants them, too, waits. */
export const forUpdate = new Fragment('for update');

/** As `forUpdate`, but rows that somebody else has are left out: for work that any process may do. */
export const forUpdateSkipLocked = new Fragment('for update skip locked');

/** The columns of events in whose order they were committed: `(${commitOrder}) > (…)`, `order by ${commitOrder}`. */
export const commitOrder = new Fragment('commit order');

/** Behind `order by`: the same order, backwards. */
export const lastCommittedFirst = new Fragment('last committed first');

/** Of events: nothing that is committed from now on comes before this one in the order of commits. */
export const committedForGood = new Fragment('committed for good');

/** How an engine spells what is not the same everywhere. */
export type Dialect = {
  /** The n-th parameter, from 1: `?` or `$n`. */
  readonly placeholder: (position: number) => string;
  readonly fragments: Readonly<Record<FragmentName, string>>;
};

/** One SQL statement whose rows have the given type. Made by the `sql` tag, and by `table.ts` from its list. */
export class Statement<Row = unknown> {
  /** Of one call site, or of one entry of a list, always the same array: what an engine keys its prepared statements by. */
  readonly strings: readonly string[];
  readonly values: readonly SqlValue[];
  readonly #written: readonly (SqlValue | Fragment)[];
  /** Never set: it makes `Statement<A>` and `Statement<B>` different types. */
  declare readonly row: Row;

  constructor(strings: readonly string[], written: readonly (SqlValue | Fragment)[]) {
    this.strings = strings;
    this.#written = written;
    this.values = written.every(isValue) ? written : written.filter(isValue);
  }

  /** The text for an engine. */
  text({ placeholder, fragments }: Dialect): string {
    let position = 0;
    return this.strings.reduce((text, part, index) => {
      const written = this.#written[index - 1];
      if (isFragment(written)) return text + fragments[written.name] + part;
      position += 1;
      return text + placeholder(position) + part;
    });
  }
}

/** A statement that only keeps its rows as they are: an engine in which nothing comes between a script's steps leaves it out. */
export class Lock extends Statement<never> {}

function isFragment(written: SqlValue | Fragment | undefined): written is Fragment {
  return written instanceof Fragment;
}

function isValue(written: SqlValue | Fragment): written is SqlValue {
  return !(written instanceof Fragment);
}

export function sql<Row = never>(
  strings: TemplateStringsArray,
  ...written: (SqlValue | Fragment)[]
): Statement<Row> {
  return new Statement<Row>(strings, written);
}

/** As `sql`, of a select with `forUpdate` behind it at whose rows nobody looks. */
export function lock(strings: TemplateStringsArray, ...written: (SqlValue | Fragment)[]): Lock {
  return new Lock(strings, written);
}

/** Statements that go to the database together, in this order. */
type Step = {
  readonly statements: readonly Statement[];
  /** Whether the script looks at their rows. If not, an engine may send them later, but before any later statement. */
  readonly isAwaited: boolean;
};

/** A unit of work in one transaction. It is handed the rows of each statement of a step; of a step that is not awaited, any. */
export type Script<T> = Generator<Step, T, readonly (readonly unknown[])[]>;

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
  const [rows] = yield { statements: [statement], isAwaited: true };
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

/** Statements whose rows do not matter. */
export function* run(...statements: readonly Statement[]): Script<void> {
  yield { statements, isAwaited: false };
}

/** A script that has its result already: stands in `together` where there is nothing to ask. */
// oxlint-disable-next-line require-yield -- a script without a statement
export function* constant<T>(value: T): Script<T> {
  return value;
}

type Results<Scripts extends readonly Script<unknown>[]> = {
  [Place in keyof Scripts]: Scripts[Place] extends Script<infer T> ? T : never;
};

/**
 * Runs scripts side by side, so that their steps go out together: for scripts of which none depends on
 * what another does. The first statements of each go out in the order of the scripts, and whether the
 * guard of one held is known only when all are done: so each statement carries its own guard.
 * @returns what each returns.
 */
export function* together<const Scripts extends readonly Script<unknown>[]>(
  ...scripts: Scripts
): Script<Results<Scripts>> {
  const results: unknown[] = [];
  let waiting = scripts.map((script, place) => ({ script, place, step: script.next([]) }));
  while (waiting.length > 0) {
    const statements: Statement[] = [];
    const awaiting: { script: Script<unknown>; place: number; from: number; to: number }[] = [];
    for (const { script, place, step: reached } of waiting) {
      let step = reached;
      // Nobody looks at these rows: the script goes on to the step that it waits for.
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
  // Each result stands at its script's place.
  return results as Results<Scripts>;
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
