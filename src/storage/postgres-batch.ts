/**
 * Scripts of several callers, side by side in one transaction: their first steps go out together, then their
 * second ones. That saves a commit, and round trips, for each but the first.
 *
 * Nothing keeps scripts of one transaction apart, neither locks nor savepoints (which can only be undone from the
 * last one on). So whoever puts them together sees to it that no two of them are about the same rows, and a
 * script that throws after it has written brings all of them down: then each is to be run alone. One that throws
 * before, as most refusals do, leaves the others as they are.
 */

import type { Result } from './postgres-exchange.ts';
import type { Script, Statement } from './sql.ts';

/** What a script came to, once the transaction is committed. What was thrown had written nothing. */
export type Ending<T> =
  { readonly kind: 'returned'; readonly value: T } | { readonly kind: 'thrown'; readonly error: unknown };

/** A script threw after it had written. */
export class Spoiled extends Error {
  override readonly name = 'Spoiled';
  /** The script's place among the others. */
  readonly place: number;

  constructor(place: number, cause: unknown) {
    super('a script threw after it had written', { cause });
    this.place = place;
  }
}

/** The part of a transaction that scripts are driven in. */
type Driven = {
  step(statements: readonly Statement[]): Promise<readonly Result[]>;
  hold(statements: readonly Statement[]): void;
};

type Running<T> = {
  readonly script: Script<T>;
  readonly place: number;
  /** The rows that it waits for. */
  rows: readonly (readonly unknown[])[];
  hasWritten: boolean;
};

/**
 * Drives scripts to their ends. What the last of them yield is held back, to go out with the commit.
 * @throws Spoiled; the database's error if any statement fails.
 */
export async function driveTogether<T>(
  transaction: Driven,
  scripts: readonly Script<T>[],
): Promise<readonly Ending<T>[]> {
  const endings: Ending<T>[] = [];
  let running = scripts.map((script, place): Running<T> => ({ script, place, rows: [], hasWritten: false }));
  while (running.length > 0) {
    const statements: Statement[] = [];
    const waiting: { member: Running<T>; from: number; awaitedFrom: number; to: number }[] = [];
    for (const member of running) {
      const { unawaited, awaited, ending } = advance(member);
      if (ending?.kind === 'thrown' && member.hasWritten) throw new Spoiled(member.place, ending.error);
      const from = statements.length;
      if (ending?.kind !== 'thrown') statements.push(...unawaited, ...awaited);
      if (ending) endings[member.place] = ending;
      else waiting.push({ member, from, awaitedFrom: from + unawaited.length, to: statements.length });
    }
    if (waiting.length === 0) transaction.hold(statements);
    else {
      const results = await transaction.step(statements);
      for (const { member, from, awaitedFrom, to } of waiting) {
        member.rows = results.slice(awaitedFrom, to).map(({ rows }) => rows);
        member.hasWritten ||= results.slice(from, to).some(({ command }) => mayHaveWritten(command));
      }
    }
    running = waiting.map(({ member }) => member);
  }
  return endings;
}

type Advance<T> = {
  readonly unawaited: readonly Statement[];
  readonly awaited: readonly Statement[];
  /** Absent: it waits for rows. */
  readonly ending?: Ending<T>;
};

/** Goes on with a script until it waits for rows, returns or throws. */
function advance<T>({ script, rows }: Running<T>): Advance<T> {
  const unawaited: Statement[] = [];
  try {
    let step = script.next(rows);
    while (step.done !== true) {
      const { statements, isAwaited } = step.value;
      if (isAwaited) return { unawaited, awaited: statements };
      unawaited.push(...statements);
      step = script.next(statements.map(() => []));
    }
    return { unawaited, awaited: [], ending: { kind: 'returned', value: step.value } };
  } catch (error) {
    return { unawaited, awaited: [], ending: { kind: 'thrown', error } };
  }
}

/** Whether a statement may have changed anything, by the server's word for what it did. */
function mayHaveWritten(command: string): boolean {
  return !/^(?:SELECT \d+|(?:INSERT 0|UPDATE|DELETE) 0)$/.test(command);
}
