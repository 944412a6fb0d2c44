/** A transaction of a session, whose first statements are sent together with those that begin it. */

import { Fault } from '../../core/domain/fault.ts';
import type { StatementResult } from './pipeline.ts';
import { ConnectionLost, isPeerLost } from './errors.ts';
import type { Command, Session } from './session.ts';
import type { Script, Statement } from '../sql/sql.ts';

/** A transaction on a connection. `begin` is sent with the first statements. */
type Transaction = {
  /** Sends statements, after those held back, and returns their results. */
  step(statements: readonly Statement[]): Promise<readonly StatementResult[]>;
  /** Holds statements back until the next step or the end. */
  hold(statements: readonly Statement[]): void;
  /** Sends the statements held back. */
  settle(): Promise<void>;
  /**
   * Sends the statements held back and commits. Returns false if there is nothing to commit.
   * @throws Fault `unavailable` if the outcome is unknown; the database's error if the transaction was rolled
   * back.
   */
  commit(): Promise<boolean>;
  /** Rolls back without waiting for the server. */
  abandon(): void;
};

export const writing = 'begin isolation level read committed, read write';
export const reading = 'begin isolation level repeatable read, read only';

export function openTransaction(session: Session, ...begin: readonly Command[]): Transaction {
  let isBegun = false;
  let held: (Statement | Command)[] = [];
  const flushed = (): (Statement | Command)[] => {
    const queries = isBegun ? held : [...begin, ...held];
    isBegun = true;
    held = [];
    return queries;
  };
  return {
    async step(statements) {
      if (statements.length === 0) return [];
      const results = await session.send([...flushed(), ...statements]);
      return results.slice(-statements.length);
    },
    hold: (statements) => void held.push(...statements),
    async settle() {
      if (held.length > 0) await session.send(flushed());
    },
    async commit() {
      if (!isBegun && held.length === 0) return false;
      session.hasWarned();
      const results = await session.send([...flushed(), 'commit']).catch((error: unknown) => {
        const isUnknown = error instanceof ConnectionLost ? !error.isUndone : isPeerLost(error);
        throw isUnknown ? unknownOutcome(error) : error;
      });
      // 01000 at a commit: it is durable here, but the wait for the standby was canceled.
      if (session.hasWarned()) throw unknownOutcome(new Error('the commit may not be on the standby'));
      const command = results.at(-1)?.command;
      if (command !== 'COMMIT') throw new Error(`the commit came to ${command}`);
      return true;
    },
    abandon() {
      if (isBegun && !session.isBroken) session.post('rollback');
    },
  };
}

export async function drive<T>(transaction: Transaction, script: Script<T>): Promise<T> {
  let step = script.next([]);
  while (step.done !== true) {
    const { statements, isAwaited } = step.value;
    if (isAwaited) step = script.next((await transaction.step(statements)).map(({ rows }) => rows));
    else {
      transaction.hold(statements);
      step = script.next(statements.map(() => []));
    }
  }
  return step.value;
}

/** Runs a script in a transaction and rolls it back. */
export function runAndAbandon<T>(transaction: Transaction, script: () => Script<T>): Promise<T> {
  return undoIfThrown(transaction, async () => {
    const result = await drive(transaction, script());
    await transaction.settle();
    transaction.abandon();
    return result;
  });
}

export async function undoIfThrown<T>(transaction: Transaction, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    transaction.abandon();
    throw error;
  }
}

/** The commit was sent, and its outcome is unknown. */
function unknownOutcome(cause: unknown): Fault {
  return new Fault('unavailable', { retryAfterSeconds: 1, cause });
}
