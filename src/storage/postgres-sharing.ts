/**
 * Writes that share a transaction. There is no timer: few connections at a time are for them, and whoever gets one
 * takes along those who wait by then. So a write that nobody waits beside is a transaction of its own, as ever.
 *
 * No two scripts of a transaction change the same card, and they go through their cards in one order, so that two
 * transactions do not wait for each other's. If one fails as a whole, each of its scripts is run alone, which tells
 * every caller just what they would have been told without the others. A store whose script has brought others down
 * runs alone for a while: whoever provokes refusals slows down nobody but themselves.
 */

import { Fault } from '../domain/fault.ts';
import { Spoiled, type Ending } from './postgres-batch.ts';
import { ConnectionLost } from './postgres-errors.ts';
import type { Pool } from './postgres-pool.ts';
import type { Session } from './postgres-session.ts';
import type { Script } from './sql.ts';
import type { Subject } from './storage.ts';

/** How many connections may be shared at a time: with more of them, fewer wait to be taken along. */
export const sharedMax = 2;
/** How long a shared transaction waits for a row: less than the server takes to look for a deadlock. */
export const sharedLockWaitMaxMs = 200;
/** Scripts in one transaction. */
const scriptsMax = 32;
/** How many scripts of a store are run alone after one has brought others down. */
const scriptsAlone = 32;

/** A write that may share a transaction. */
export type Job = {
  readonly lane: 'writes';
  readonly subject: Subject;
  /** When it is given up, of `performance.now`. */
  readonly until: number;
  /** What it returns answers the caller, once that is durable. */
  readonly script: () => Script<() => void>;
  readonly reject: (error: unknown) => void;
};

type Settling = Ending<() => void>;

/** What the engine does with scripts. */
type Engine = {
  readonly pool: Pool<Job | { readonly lane: 'reads' }>;
  /** Runs a script in a transaction of its own, again and again where need be, until a deadline. */
  readonly alone: <T>(script: () => Script<T>, until: number) => Promise<T>;
  /**
   * Runs scripts in one transaction and commits it.
   * @throws Fault `unavailable` if nobody knows whether it was done; any other error if nothing of it was.
   */
  readonly commitTogether: (
    session: Session,
    scripts: readonly Script<() => void>[],
  ) => Promise<readonly Settling[]>;
  /** Whether a script that ended so may succeed when it is run again. */
  readonly mayRunAgain: (error: unknown) => boolean;
  /** What the caller is told of what ended a script for good. */
  readonly told: (error: unknown) => unknown;
};

/** Runs a script in one transaction with others; `until` as of a job. @throws as `Storage.write` does. */
type Share = <T>(script: () => Script<T>, subject: Subject, until: number) => Promise<T>;

export type Sharing = {
  readonly share: Share;
  /** Whether a store's next script is to be run alone. Counts it as run. */
  isAloneNext(storeId: number): boolean;
};

export function openSharing({ pool, alone, commitTogether, mayRunAgain, told }: Engine): Sharing {
  /** The cards of scripts that are being run, and of how many each. */
  const underWay = new Map<string, number>();
  /** How many scripts of a store are still to be run alone. */
  const suspects = new Map<number, number>();

  const share: Share = (script, subject, until) =>
    new Promise((resolve, reject) => {
      const settling = function* (): Script<() => void> {
        const value = yield* script();
        return () => resolve(value);
      };
      const job: Job = { lane: 'writes', subject, until, script: settling, reject };
      pool
        .share(until, job)
        .then((session) => session && lead(session, job))
        .catch(reject);
    });

  /** Runs a job, and those that can be taken along, on a connection that is given back then. */
  const lead = async (session: Session, first: Job): Promise<void> => {
    if (isUnderWay(first)) {
      // It has to wait for the card: not where others would wait along with it.
      pool.giveBack(session);
      return runAlone(first);
    }
    const jobs = [first, ...companionsOf(first)].toSorted(byCard);
    for (const job of jobs) count(job, 1);
    try {
      const scripts = jobs.map(({ script }) => script());
      const endings = await commitTogether(session, scripts);
      for (const [place, job] of jobs.entries()) settle(job, endings[place]);
    } catch (error) {
      if (jobs.length > 1) undone(jobs, error);
      else settle(first, { kind: 'thrown', error: error instanceof Spoiled ? error.cause : error });
    } finally {
      for (const job of jobs) count(job, -1);
      pool.giveBack(session);
    }
  };

  /** Takes along those who wait with other cards than anybody has. */
  const companionsOf = (first: Job): readonly Job[] => {
    const jobs = [first];
    pool.takeAlong((job) => {
      if (job.lane !== 'writes') return false;
      const isFree = !isUnderWay(job) && !jobs.some((other) => isSameCard(job, other));
      if (jobs.length === scriptsMax || !isFree) return false;
      jobs.push(job);
      return true;
    });
    return jobs.slice(1);
  };

  const isUnderWay = (job: Job): boolean => underWay.has(cardOf(job));

  const count = (job: Job, added: number): void => {
    if (job.subject.cardId === null) return;
    const scripts = (underWay.get(cardOf(job)) ?? 0) + added;
    if (scripts > 0) underWay.set(cardOf(job), scripts);
    else underWay.delete(cardOf(job));
  };

  const settle = (job: Job, ending: Settling | undefined): void => {
    if (ending?.kind === 'returned') ending.value();
    else if (mayRunAgain(ending?.error)) runAlone(job);
    else job.reject(told(ending?.error));
  };

  const undone = (jobs: readonly Job[], error: unknown): void => {
    if (error instanceof Fault) {
      for (const { reject } of jobs) reject(error);
      return;
    }
    for (const { subject } of suspectsOf(jobs, error)) suspects.set(subject.storeId, scriptsAlone);
    for (const job of jobs) runAlone(job);
  };

  const runAlone = (job: Job): void => {
    count(job, 1);
    alone(job.script, job.until)
      .then((settleCaller) => settleCaller(), job.reject)
      .finally(() => count(job, -1))
      .catch(job.reject);
  };

  return {
    share,
    isAloneNext(storeId) {
      const left = suspects.get(storeId);
      if (left === undefined) return false;
      if (left > 1) suspects.set(storeId, left - 1);
      else suspects.delete(storeId);
      return true;
    },
  };
}

/** Those that may have brought the others down: where the database refused a statement, any of them. */
function suspectsOf(jobs: readonly Job[], error: unknown): readonly Job[] {
  if (error instanceof Spoiled) return jobs.slice(error.place, error.place + 1);
  return error instanceof ConnectionLost ? [] : jobs;
}

function isSameCard(left: Job, right: Job): boolean {
  return left.subject.cardId !== null && byCard(left, right) === 0;
}

function cardOf({ subject: { storeId, cardId } }: Job): string {
  return `${storeId} ${cardId}`;
}

function byCard({ subject: left }: Job, { subject: right }: Job): number {
  if (left.storeId !== right.storeId) return left.storeId - right.storeId;
  return (left.cardId ?? 0) - (right.cardId ?? 0);
}
