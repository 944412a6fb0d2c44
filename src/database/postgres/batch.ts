/**
 * Runs scripts of several callers in one transaction: first the first steps of all, then their second steps.
 * This saves a commit and round trips.
 *
 * Locks and savepoints do not isolate the scripts, so the caller must not combine scripts that use the same
 * rows. A script that throws before it has written does not affect the others. One that throws later aborts the
 * transaction, and the caller runs each script alone.
 */

import type { StatementResult } from './pipeline.ts';
import type { Script, Statement } from '../sql/sql.ts';

/** The result of a script after the commit. A script that threw had not written. */
export type Ending<T> =
  { readonly kind: 'returned'; readonly value: T } | { readonly kind: 'thrown'; readonly error: unknown };

/** A script threw after it had written: the transaction is aborted. */
export class BatchAborted extends Error {
  override readonly name = 'BatchAborted';
  /** Index of the script. */
  readonly place: number;

  constructor(place: number, cause: unknown) {
    super('a script threw after it had written', { cause });
    this.place = place;
  }
}

type Driven = {
  step(statements: readonly Statement[]): Promise<readonly StatementResult[]>;
  hold(statements: readonly Statement[]): void;
};

type Running<T> = {
  readonly script: Script<T>;
  readonly place: number;
  /** The rows that the script receives next. */
  rows: readonly (readonly unknown[])[];
  hasWritten: boolean;
};

/**
 * Runs scripts until all have ended. The statements of the last step are sent with the commit.
 * @throws BatchAborted if a script throws after it has written; the database's error if a statement fails.
 */
export async function driveBatch<T>(
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
      if (ending?.kind === 'thrown' && member.hasWritten) throw new BatchAborted(member.place, ending.error);
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
  /** Absent: the script waits for rows. */
  readonly ending?: Ending<T>;
};

/** Runs a script until it waits for rows, returns or throws. */
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

/** Whether a statement can have changed rows, according to its command tag. */
function mayHaveWritten(command: string): boolean {
  return !/^(?:SELECT \d+|(?:INSERT 0|UPDATE|DELETE) 0)$/.test(command);
}
