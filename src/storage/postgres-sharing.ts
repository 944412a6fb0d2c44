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
import type { Pool } from './postgres-pool.ts';
import { ConnectionLost, type Session } from './postgres-session.ts';
import type { Script } from './sql.ts';
import type { Subject } from './storage.ts';

/** How many connections may be shared at a time: with more of them, fewer wait to be taken along. */
export const sharedMax = 4;
/** Scripts in one transaction. */
const scriptsMax = 32;
/** How many scripts of a store are run alone after one has brought others down. */
const scriptsAlone = 32;

/** A write that may share a transaction. */
export type Job = {
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
  readonly pool: Pool<Job>;
  /** Runs a script in a transaction of its own, again and again where need be, until a deadline. */
  alone<T>(script: () => Script<T>, until: number): Promise<T>;
  /**
   * Runs scripts in one transaction and commits it.
   * @throws Fault `unavailable` if nobody knows whether it was done; any other error if nothing of it was.
   */
  commitTogether(session: Session, scripts: readonly Script<() => void>[]): Promise<readonly Settling[]>;
  /** Whether a script that ended so may succeed when it is run again. */
  mayRunAgain(error: unknown): boolean;
  /** What the caller is told of what ended a script for good. */
  told(error: unknown): unknown;
};

/** Runs a script in one transaction with others; `until` as of a job. @throws as `Storage.write` does. */
export type Share = <T>(script: () => Script<T>, subject: Subject, until: number) => Promise<T>;

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
      const job: Job = { subject, until, script: settling, reject };
      pool
        .share(until, job)
        .then((session) => session && lead(session, job))
        .catch(reject);
    });

  /** Runs a job, and those that can be taken along, on a connection that is given back then. */
  const lead = async (session: Session, first: Job): Promise<void> => {
    const jobs = [first, ...companionsOf(first)].toSorted(byCard);
    for (const job of jobs) count(job, 1);
    try {
      const endings = await commitTogether(
        session,
        jobs.map(({ script }) => script()),
      );
      for (const [place, job] of jobs.entries()) settle(job, endings[place]);
    } catch (error) {
      if (jobs.length === 1)
        settle(first, { kind: 'thrown', error: error instanceof Spoiled ? error.cause : error });
      else undone(jobs, error);
    } finally {
      for (const job of jobs) count(job, -1);
      pool.giveBack(session);
    }
  };

  /** Nobody is to wait behind a card that somebody else is changing. */
  const companionsOf = (first: Job): readonly Job[] => {
    if (underWay.has(cardOf(first))) return [];
    const cards = new Set([cardOf(first)]);
    let left = scriptsMax - 1;
    return pool.takeAlong((job) => {
      const card = cardOf(job);
      if (left === 0 || (job.subject.cardId !== null && (cards.has(card) || underWay.has(card))))
        return false;
      cards.add(card);
      left -= 1;
      return true;
    });
  };

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
    // Of any other failure it is known that nothing was done.
    if (error instanceof Fault) for (const { reject } of jobs) reject(error);
    else {
      for (const { subject } of suspectsOf(jobs, error)) suspects.set(subject.storeId, scriptsAlone);
      for (const job of jobs) runAlone(job);
    }
  };

  const runAlone = ({ script, until, reject }: Job): void => {
    alone(script, until).then((settleCaller) => settleCaller(), reject);
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

function cardOf({ subject: { storeId, cardId } }: Job): string {
  return `${storeId} ${cardId}`;
}

function byCard({ subject: left }: Job, { subject: right }: Job): number {
  return left.storeId - right.storeId || (left.cardId ?? 0) - (right.cardId ?? 0);
}
