/**
 * Writes that share a transaction (docs/decisions/postgresql.md). Few connections serve them, and a script that
 * gets one includes the waiting ones. There is no timer, so a write runs alone if no other write waits.
 *
 * Scripts of a transaction change different cards, in one order, so transactions do not deadlock. If a
 * transaction fails, each script runs alone and reports its own error. After a script has aborted a
 * transaction, its store's scripts run alone for a while, so that one store cannot slow down others.
 */

import { Fault } from '../../core/domain/fault.ts';
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

export type Batches = {
  /**
   * Runs a script in one transaction with others, until a deadline of `performance.now`.
   * @throws as `Storage.write` does.
   */
  share<T>(script: () => Script<T>, scope: WriteScope, until: number): Promise<T>;
  /** Returns whether a store's next script must run alone, and counts it as run. */
  isAloneNext(storeId: number): boolean;
};

/** Runs a script, and returns a function that resolves with its result. */
function* settling<T>(script: () => Script<T>, resolve: (value: T) => void): Script<() => void> {
  const value = yield* script();
  return () => resolve(value);
}

class SharedWrites implements Batches {
  readonly #engine: Engine;
  /** Number of running scripts per card. */
  readonly #underWay = new Map<string, number>();
  /** Number of scripts per store that still have to run alone. */
  readonly #suspects = new Map<number, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  share<T>(script: () => Script<T>, scope: WriteScope, until: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const job: BatchedScript = {
        lane: 'writes',
        scope,
        until,
        script: () => settling(script, resolve),
        reject,
      };
      this.#engine.pool
        .share(until, job)
        .then((session) => session && this.#lead(session, job))
        .catch(reject);
    });
  }

  isAloneNext(storeId: number): boolean {
    const left = this.#suspects.get(storeId);
    if (left === undefined) return false;
    if (left > 1) this.#suspects.set(storeId, left - 1);
    else this.#suspects.delete(storeId);
    return true;
  }

  /** Runs a job together with waiting jobs, then returns the connection. */
  async #lead(session: Session, first: BatchedScript): Promise<void> {
    if (this.#isUnderWay(first)) {
      // It must wait for the card, and would delay the other scripts of a shared transaction.
      this.#engine.pool.giveBack(session);
      return this.#runAlone(first);
    }
    const jobs = [first, ...this.#companionsOf(first)].toSorted(byCard);
    for (const job of jobs) this.#count(job, 1);
    try {
      const scripts = jobs.map(({ script }) => script());
      const endings = await this.#engine.commitBatch(session, scripts);
      for (const [place, job] of jobs.entries()) this.#settle(job, endings[place]);
    } catch (error) {
      if (jobs.length > 1) this.#undone(jobs, error);
      else
        this.#settle(first, { kind: 'thrown', error: error instanceof BatchAborted ? error.cause : error });
    } finally {
      for (const job of jobs) this.#count(job, -1);
      this.#engine.pool.giveBack(session);
    }
  }

  /** Returns waiting jobs whose cards are not in use. */
  #companionsOf(first: BatchedScript): readonly BatchedScript[] {
    const jobs = [first];
    this.#engine.pool.takeAlong((job) => {
      if (job.lane !== 'writes') return false;
      const isFree = !this.#isUnderWay(job) && !jobs.some((other) => isSameCard(job, other));
      // A transaction of several servers needs a two-phase commit.
      const isElsewhere = this.#engine.pool.isDistributed && job.scope.storeId !== first.scope.storeId;
      if (jobs.length === scriptsMax || !isFree || isElsewhere) return false;
      jobs.push(job);
      return true;
    });
    return jobs.slice(1);
  }

  #isUnderWay(job: BatchedScript): boolean {
    return this.#underWay.has(cardOf(job));
  }

  #count(job: BatchedScript, added: number): void {
    if (job.scope.cardId === null) return;
    const scripts = (this.#underWay.get(cardOf(job)) ?? 0) + added;
    if (scripts > 0) this.#underWay.set(cardOf(job), scripts);
    else this.#underWay.delete(cardOf(job));
  }

  #settle(job: BatchedScript, ending: Settling | undefined): void {
    if (ending?.kind === 'returned') ending.value();
    else if (this.#engine.mayRunAgain(ending?.error)) this.#runAlone(job);
    else job.reject(this.#engine.publicError(ending?.error));
  }

  #undone(jobs: readonly BatchedScript[], error: unknown): void {
    if (error instanceof Fault) {
      for (const { reject } of jobs) reject(error);
      return;
    }
    for (const { scope } of suspectsOf(jobs, error)) this.#suspects.set(scope.storeId, scriptsAlone);
    for (const job of jobs) this.#runAlone(job);
  }

  #runAlone(job: BatchedScript): void {
    this.#count(job, 1);
    this.#engine
      .alone(job.script, job.until)
      .then((settleCaller) => settleCaller(), job.reject)
      .finally(() => this.#count(job, -1))
      .catch(job.reject);
  }
}

export function openBatches(engine: Engine): Batches {
  return new SharedWrites(engine);
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
