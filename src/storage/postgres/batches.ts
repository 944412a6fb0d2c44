/**
 * Writes that share a transaction (docs/decisions/postgresql.md). Few connections serve them, and a script that
 * gets one includes the waiting ones. There is no timer, so a write runs alone if no other write waits.
 *
 * Scripts of a transaction change different cards, in one order, so transactions do not deadlock. If a
 * transaction fails, each script runs alone and reports its own error. After a script has aborted a
 * transaction, its store's scripts run alone for a while, so that one store cannot slow down others.
 */

import { Fault } from '../../domain/fault.ts';
import { BatchAborted, type Ending } from './batch.ts';
import { ConnectionLost } from './errors.ts';
import type { Pool } from './pool.ts';
import type { Session } from './session.ts';
import type { Script } from '../sql/sql.ts';
import type { WriteScope } from '../storage.ts';

/** Limit of shared connections. With more connections, fewer scripts wait and share. */
export const sharedMax = 2;
/** Lock timeout of a shared transaction: less than the server's deadlock timeout. */
export const sharedLockWaitMaxMs = 200;
/** Limit of scripts in one transaction. */
const scriptsMax = 32;
/** Number of a store's scripts that run alone after one has aborted a transaction. */
const scriptsAlone = 32;

/** A write that can share a transaction. */
export type BatchedScript = {
  readonly lane: 'writes';
  readonly scope: WriteScope;
  /** Deadline, of `performance.now`. */
  readonly until: number;
  /** Returns a function that resolves the caller's promise after the commit. */
  readonly script: () => Script<() => void>;
  readonly reject: (error: unknown) => void;
};

type Settling = Ending<() => void>;

type Engine = {
  readonly pool: Pool<BatchedScript | { readonly lane: 'reads' }>;
  /** Runs a script in a transaction of its own, with retries until a deadline of `performance.now`. */
  readonly alone: <T>(script: () => Script<T>, until: number) => Promise<T>;
  /**
   * Runs scripts in one transaction and commits it.
   * @throws Fault `unavailable` if the outcome of the commit is unknown; any other error if it was rolled back.
   */
  readonly commitBatch: (
    session: Session,
    scripts: readonly Script<() => void>[],
  ) => Promise<readonly Settling[]>;
  /** Whether a retry after this error can succeed. */
  readonly mayRunAgain: (error: unknown) => boolean;
  /** Converts the final error of a script to the caller's error. */
  readonly publicError: (error: unknown) => unknown;
};

/**
 * Runs a script in one transaction with others, until a deadline of `performance.now`.
 * @throws as `Storage.write` does.
 */
type Share = <T>(script: () => Script<T>, scope: WriteScope, until: number) => Promise<T>;

export type Batches = {
  readonly share: Share;
  /** Returns whether a store's next script must run alone, and counts it as run. */
  isAloneNext(storeId: number): boolean;
};

/** Runs a script, and returns a function that resolves with its result. */
function* settling<T>(script: () => Script<T>, resolve: (value: T) => void): Script<() => void> {
  const value = yield* script();
  return () => resolve(value);
}

export function openBatches({ pool, alone, commitBatch, mayRunAgain, publicError }: Engine): Batches {
  /** Number of running scripts per card. */
  const underWay = new Map<string, number>();
  /** Number of scripts per store that still have to run alone. */
  const suspects = new Map<number, number>();

  const share: Share = (script, scope, until) =>
    new Promise((resolve, reject) => {
      const job: BatchedScript = {
        lane: 'writes',
        scope,
        until,
        script: () => settling(script, resolve),
        reject,
      };
      pool
        .share(until, job)
        .then((session) => session && lead(session, job))
        .catch(reject);
    });

  /** Runs a job together with waiting jobs, then returns the connection. */
  const lead = async (session: Session, first: BatchedScript): Promise<void> => {
    if (isUnderWay(first)) {
      // It must wait for the card, and would delay the other scripts of a shared transaction.
      pool.giveBack(session);
      return runAlone(first);
    }
    const jobs = [first, ...companionsOf(first)].toSorted(byCard);
    for (const job of jobs) count(job, 1);
    try {
      const scripts = jobs.map(({ script }) => script());
      const endings = await commitBatch(session, scripts);
      for (const [place, job] of jobs.entries()) settle(job, endings[place]);
    } catch (error) {
      if (jobs.length > 1) undone(jobs, error);
      else settle(first, { kind: 'thrown', error: error instanceof BatchAborted ? error.cause : error });
    } finally {
      for (const job of jobs) count(job, -1);
      pool.giveBack(session);
    }
  };

  /** Returns waiting jobs whose cards are not in use. */
  const companionsOf = (first: BatchedScript): readonly BatchedScript[] => {
    const jobs = [first];
    pool.takeAlong((job) => {
      if (job.lane !== 'writes') return false;
      const isFree = !isUnderWay(job) && !jobs.some((other) => isSameCard(job, other));
      // A transaction of several servers needs a two-phase commit.
      const isElsewhere = pool.isDistributed && job.scope.storeId !== first.scope.storeId;
      if (jobs.length === scriptsMax || !isFree || isElsewhere) return false;
      jobs.push(job);
      return true;
    });
    return jobs.slice(1);
  };

  const isUnderWay = (job: BatchedScript): boolean => underWay.has(cardOf(job));

  const count = (job: BatchedScript, added: number): void => {
    if (job.scope.cardId === null) return;
    const scripts = (underWay.get(cardOf(job)) ?? 0) + added;
    if (scripts > 0) underWay.set(cardOf(job), scripts);
    else underWay.delete(cardOf(job));
  };

  const settle = (job: BatchedScript, ending: Settling | undefined): void => {
    if (ending?.kind === 'returned') ending.value();
    else if (mayRunAgain(ending?.error)) runAlone(job);
    else job.reject(publicError(ending?.error));
  };

  const undone = (jobs: readonly BatchedScript[], error: unknown): void => {
    if (error instanceof Fault) {
      for (const { reject } of jobs) reject(error);
      return;
    }
    for (const { scope } of suspectsOf(jobs, error)) suspects.set(scope.storeId, scriptsAlone);
    for (const job of jobs) runAlone(job);
  };

  const runAlone = (job: BatchedScript): void => {
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

/**
 * Returns the jobs that can have aborted the transaction: all of them if the database rejected a statement,
 * none if the connection was lost.
 */
function suspectsOf(jobs: readonly BatchedScript[], error: unknown): readonly BatchedScript[] {
  if (error instanceof BatchAborted) return jobs.slice(error.place, error.place + 1);
  return error instanceof ConnectionLost ? [] : jobs;
}

function isSameCard(left: BatchedScript, right: BatchedScript): boolean {
  return left.scope.cardId !== null && byCard(left, right) === 0;
}

function cardOf({ scope: { storeId, cardId } }: BatchedScript): string {
  return `${storeId} ${cardId}`;
}

function byCard({ scope: left }: BatchedScript, { scope: right }: BatchedScript): number {
  if (left.storeId !== right.storeId) return left.storeId - right.storeId;
  return (left.cardId ?? 0) - (right.cardId ?? 0);
}
