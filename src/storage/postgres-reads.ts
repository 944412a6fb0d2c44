/**
 * Reads of one statement, which need no transaction: what such a statement sees is one state by itself. Those that
 * wait go out together, as writes do, and each is answered by itself.
 */

import type { Pool } from './postgres-pool.ts';
import type { Session } from './postgres-session.ts';
import type { Script, Statement } from './sql.ts';

/** How many connections are for such reads at a time: with more of them, fewer go out together. */
export const sharedReadsMax = 2;
/** Reads that go out together. */
const readsMax = 32;

/** A read that waits for the rows of its only statement. */
export type ReadJob = {
  readonly lane: 'reads';
  readonly statement: Statement;
  readonly answer: (rows: readonly unknown[]) => void;
  /** Runs it by itself: what it was part of has failed. */
  readonly retry: () => void;
};

/** The first statements of reads that turned out to need more than one step. */
const longReads = new WeakSet<readonly string[]>();

type Engine = {
  readonly pool: Pool<ReadJob | { readonly lane: 'writes' }>;
  /** Runs a read in a transaction of its own, again and again where need be, until a deadline of `performance.now`. */
  readonly alone: <T>(script: () => Script<T>, until: number) => Promise<T>;
  /** Whether a script that ended so may succeed when it is run again. */
  readonly mayRunAgain: (error: unknown) => boolean;
};

/** A read that has come to its first statement. */
type Begun<T> = {
  readonly script: () => Script<T>;
  readonly running: Script<T>;
  readonly statement: Statement;
  readonly until: number;
};

/** Runs a read until a deadline of `performance.now`, beside others if it is one statement. @throws as `Storage.read` does. */
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
      const results = await session.send(jobs.map(({ statement }) => statement));
      for (const [place, { answer }] of jobs.entries()) answer(results[place]?.rows ?? []);
    } catch {
      // By itself each is told what was the matter with it, or nothing is.
      for (const { retry } of jobs) retry();
    } finally {
      pool.giveBack(session);
    }
  };

  const share = <T>({ script, running, statement, until }: Begun<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const refuse: (error: unknown) => void = reject;
      const retry = (): void => void alone(script, until).then(resolve, refuse);
      const answer = (rows: readonly unknown[]): void => {
        try {
          const step = running.next([rows]);
          if (step.done === true) return resolve(step.value);
          longReads.add(statement.strings);
          retry();
        } catch (error) {
          if (mayRunAgain(error)) retry();
          else refuse(error);
        }
      };
      const job: ReadJob = { lane: 'reads', statement, answer, retry };
      pool
        .share(until, job)
        .then((session) => session && lead(session, job))
        .catch(refuse);
    });

  return async (script, until) => {
    const running = script();
    const step = running.next([]);
    if (step.done === true) return step.value;
    const [statement, ...others] = step.value.statements;
    const isShort = others.length === 0 && statement && !longReads.has(statement.strings);
    return isShort ? share({ script, running, statement, until }) : alone(script, until);
  };
}
