/**
 * Reads of one step. Those that wait go out together, as writes do, and each is answered by itself. What is sent at
 * once outside of a transaction block is a transaction of its own, whose statements all see one state: so a step may
 * have several.
 */

import type { Pool } from './postgres-pool.ts';
import type { Session } from './postgres-session.ts';
import type { Script, Statement } from './sql.ts';

/** How many connections are for such reads at a time: with more of them, fewer go out together. */
export const sharedReadsMax = 2;
/** Reads that go out together. */
const readsMax = 32;

/** A read that waits for the rows of its only step. */
export type ReadJob = {
  readonly lane: 'reads';
  readonly statements: readonly Statement[];
  /** Hands it the rows of each statement. */
  readonly answer: (rows: readonly (readonly unknown[])[]) => void;
  /** Runs it by itself: what it was part of has failed. */
  readonly retry: () => void;
};

/** The first statements of reads that turned out to need more steps. */
const longReads = new WeakSet<readonly string[]>();

type Engine = {
  readonly pool: Pool<ReadJob | { readonly lane: 'writes' }>;
  /** Runs a read in a transaction of its own, again and again where need be, until a deadline of `performance.now`. */
  readonly alone: <T>(script: () => Script<T>, until: number) => Promise<T>;
  /** Whether a script that ended so may succeed when it is run again. */
  readonly mayRunAgain: (error: unknown) => boolean;
};

/** A read that has come to its first step. */
type Begun<T> = {
  readonly script: () => Script<T>;
  readonly running: Script<T>;
  /** The first of its statements. */
  readonly head: Statement;
  readonly statements: readonly Statement[];
  readonly until: number;
};

/** Runs a read until a deadline of `performance.now`, beside others if it is one step. @throws as `Storage.read` does. */
type Read = <T>(script: () => Script<T>, until: number) => Promise<T>;

export function openReads({ pool, alone, mayRunAgain }: Engine): Read {
  /** Sends a read, and those that can be taken along, on a connection that is given back then. */
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
      for (const { statements, answer } of jobs) {
        const to = from + statements.length;
        answer(results.slice(from, to).map(({ rows }) => rows));
        from = to;
      }
    } catch {
      // By itself each is told what was the matter with it, or nothing is.
      for (const { retry } of jobs) retry();
    } finally {
      pool.giveBack(session);
    }
  };

  const share = <T>({ script, running, head, statements, until }: Begun<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const refuse: (error: unknown) => void = reject;
      const retry = (): void => void alone(script, until).then(resolve, refuse);
      const answer = (rows: readonly (readonly unknown[])[]): void => {
        try {
          const step = running.next(rows);
          if (step.done === true) return resolve(step.value);
          longReads.add(head.strings);
          retry();
        } catch (error) {
          if (mayRunAgain(error)) retry();
          else refuse(error);
        }
      };
      const job: ReadJob = { lane: 'reads', statements, answer, retry };
      pool
        .share(until, job)
        .then((session) => session && lead(session, job))
        .catch(refuse);
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
