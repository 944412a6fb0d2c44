/**
 * Reads of one step. Waiting reads are sent together, and each receives its own result.
 *
 * Statements that are sent together outside a transaction block form one transaction and see one state, so a
 * step can contain several statements.
 */

import type { Pool } from './pool.ts';
import type { Session } from './session.ts';
import type { Script, Statement } from '../sql/sql.ts';

/** Limit of connections for these reads. With more connections, fewer reads are sent together. */
export const sharedReadsMax = 2;
/** Limit of reads that are sent together. */
const readsMax = 32;

/** A read that waits for the rows of its only step. */
export type ReadJob = {
  readonly lane: 'reads';
  readonly statements: readonly Statement[];
  /** Passes the rows of each statement to the read. */
  readonly response: (rows: readonly (readonly unknown[])[]) => void;
  /** Runs the read alone after its group has failed. */
  readonly retry: () => void;
};

/** First statements of reads that need more than one step. */
const longReads = new WeakSet<readonly string[]>();

type Engine = {
  readonly pool: Pool<ReadJob | { readonly lane: 'writes' }>;
  /** Runs a read in a transaction of its own, with retries until a deadline of `performance.now`. */
  readonly alone: <T>(script: () => Script<T>, until: number) => Promise<T>;
  /** Whether a retry after this error can succeed. */
  readonly mayRunAgain: (error: unknown) => boolean;
};

/** A read that has yielded its first step. */
type Begun<T> = {
  readonly script: () => Script<T>;
  readonly running: Script<T>;
  /** The first statement of the step. */
  readonly head: Statement;
  readonly statements: readonly Statement[];
  readonly until: number;
};

/**
 * Runs a read until a deadline of `performance.now`, together with other reads if it has one step.
 * @throws as `Storage.read` does.
 */
export type BatchedRead = <T>(script: () => Script<T>, until: number) => Promise<T>;

export function openReads({ pool, alone, mayRunAgain }: Engine): BatchedRead {
  /** Sends a read together with waiting reads, then returns the connection. */
  const lead = async (session: Session, first: ReadJob): Promise<void> => {
    const jobs = [first];
    pool.takeAlong((job) => {
      if (job.lane !== 'reads' || jobs.length === readsMax) return false;
      jobs.push(job);
      return true;
    });
    try {
      const results = await session.send(jobs.flatMap(({ statements }) => statements));
      let from = 0;
      for (const { statements, response } of jobs) {
        const to = from + statements.length;
        response(results.slice(from, to).map(({ rows }) => rows));
        from = to;
      }
    } catch {
      // Alone, each read succeeds or fails with its own error.
      for (const { retry } of jobs) retry();
    } finally {
      pool.giveBack(session);
    }
  };

  const share = <T>({ script, running, head, statements, until }: Begun<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const rejectRead: (error: unknown) => void = reject;
      const retry = (): void => void alone(script, until).then(resolve, rejectRead);
      const response = (rows: readonly (readonly unknown[])[]): void => {
        try {
          const step = running.next(rows);
          if (step.done === true) return resolve(step.value);
          longReads.add(head.strings);
          retry();
        } catch (error) {
          if (mayRunAgain(error)) retry();
          else rejectRead(error);
        }
      };
      const job: ReadJob = { lane: 'reads', statements, response, retry };
      pool
        .share(until, job)
        .then((session) => session && lead(session, job))
        .catch(rejectRead);
    });

  return async (script, until) => {
    const running = script();
    const step = running.next([]);
    if (step.done === true) return step.value;
    const { statements } = step.value;
    const [head] = statements;
    const isShort = head && !longReads.has(head.strings);
    return isShort ? share({ script, running, head, statements, until }) : alone(script, until);
  };
}
