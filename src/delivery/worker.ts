/**
 * Sends the jobs of a queue in the database.
 *
 * A *job* is one thing to send; its *destination* is the receiver. A process *claims* jobs for a time, *sends* them
 * outside of any transaction, and *settles* the results; one transaction claims or settles many jobs. The claims of a
 * crashed process expire.
 *
 * The *prefetch* of a destination is the number of its jobs that are claimed at the same time. It grows with every
 * success, so that a busy destination is claimed in large batches. After a failure it is one, and single jobs test
 * whether the receiver works again. A failing destination is *throttled*: one job at a time. All of them share a part
 * of the slots, so that any number of failing receivers does not delay the others.
 *
 * Everything in memory is bounded by `WorkerLimits`: jobs in progress, waiting jobs, and so results and destinations.
 */

import type { FastifyBaseLogger } from 'fastify';

export type Claimed<Job> = {
  readonly job: Job;
  readonly destination: string;
  /** Whether the last recorded attempt at this destination failed. */
  readonly startsThrottled: boolean;
};

export type Sent<Result> = {
  readonly result: Result;
  /** Whether the receiver works, even if it rejected this job. */
  readonly isHealthy: boolean;
};

export type SentJob<Job, Result> = { readonly job: Job; readonly result: Result };

/** The limits of a claim: in total, and of a destination. */
export type ClaimRoom = { readonly limit: number; readonly roomOf: (destination: string) => number };

export type ClaimedJobs<Job> = { readonly claimed: readonly Claimed<Job>[]; readonly hasMore: boolean };

/** A source of jobs, and how they are sent. */
export type Queue<Job, Result> = {
  /** For logs and metrics. */
  readonly name: string;
  /** Whether a commit of this process can have added jobs that are due. It is called after each commit. */
  mayHaveJobs(): boolean;
  /**
   * Claims due jobs: at most `roomOf` of each destination and `limit` in total.
   * @returns also whether more jobs may be due.
   */
  claim(room: ClaimRoom): Promise<ClaimedJobs<Job>>;
  /** Sends a job. Every failed delivery is a result; the promise rejects only for a defect of this program. */
  send(job: Job, signal: AbortSignal): Promise<Sent<Result>>;
  /** Records results. */
  settle(sent: readonly SentJob<Job, Result>[]): Promise<void>;
  /** Ends the claims of jobs that were not sent. */
  release(jobs: readonly Job[]): Promise<void>;
  /** When a claimed job must have started, on the monotonic clock. */
  startsUntil(job: Job): number;
};

export type WorkerLimits = {
  /** Jobs in progress: in total, per destination, and of all throttled destinations. */
  readonly inProgressMax: number;
  readonly inProgressPerDestinationMax: number;
  readonly inProgressThrottledMax: number;
  /** Claimed jobs of a destination. */
  readonly prefetchMax: number;
  /** Destinations in memory. Above it, idle ones are removed; their state is later read from the database. */
  readonly destinationsMax: number;
  /** Claimed jobs that wait in this process for a slot. */
  readonly waitingMax: number;
  /** Results in one transaction. */
  readonly settledAtOnceMax: number;
  /** The time between two polls for jobs of other processes and jobs that become due. */
  readonly pollMs: number;
  /** The minimum time between two polls. */
  readonly restMs: number;
  /** The minimum time between a poll and the one after a commit, which can have added no jobs. */
  readonly wakeRestMs: number;
  /** The longest time for jobs in progress when the worker stops; then they are aborted. */
  readonly stopMs: number;
};

export const workerLimits: WorkerLimits = Object.freeze({
  inProgressMax: 256,
  inProgressPerDestinationMax: 16,
  inProgressThrottledMax: 64,
  prefetchMax: 64,
  destinationsMax: 1_024,
  waitingMax: 2_048,
  settledAtOnceMax: 64,
  pollMs: 1_000,
  restMs: 10,
  wakeRestMs: 10,
  stopMs: 12_000,
});

/** In a distributed database each poll reads every shard, so polls are rarer. */
export function workerLimitsOn({ isDistributed }: { readonly isDistributed: boolean }): WorkerLimits {
  return isDistributed ? { ...workerLimits, pollMs: 5_000, wakeRestMs: 1_000 } : workerLimits;
}

export type Worker = {
  /** Polls now, if a transaction may have added jobs. */
  wake(): void;
  /** Sends all jobs that are due. */
  drain(): Promise<void>;
  /** The number of jobs that were sent since the start. */
  sent(): number;
  /** Runs a task while no job is claimed. */
  whileIdle(task: () => Promise<void>): Promise<void>;
  /** Stops claiming, waits for the jobs in progress, and releases the others. */
  stop(): Promise<void>;
};

type Destination<Job> = {
  readonly waiting: Job[];
  inProgress: number;
  prefetch: number;
  isThrottled: boolean;
};

const initialPrefetch = 16;
/** The wait after an error of the database. */
const failureRestMs = 1_000;

class QueueWorker<Job, Result> implements Worker {
  readonly #queue: Queue<Job, Result>;
  readonly #logger: FastifyBaseLogger;
  readonly #limits: WorkerLimits;
  readonly #destinations = new Map<string, Destination<Job>>();
  /** Results that are not recorded yet. */
  #results: SentJob<Job, Result>[] = [];
  readonly #aborted = new AbortController();
  #inProgress = 0;
  #inProgressThrottled = 0;
  #waiting = 0;
  #isStopping = false;
  #isClaiming = false;
  #isSettling = false;
  /** The least rest before the next poll that was requested during a claim. */
  #requestedRestMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** When the next poll is planned, of `performance.now`. */
  #nextAt = Number.POSITIVE_INFINITY;
  #claimedAt = Number.NEGATIVE_INFINITY;
  /** Whether `whileIdle` keeps it from claiming. */
  #isPaused = false;
  #claimed = 0;
  #sent = 0;
  /** Called with the number of claimed jobs when the next claim has ended. */
  #onClaimed: ((count: number) => void)[] = [];
  /** Called when no job is claimed. */
  #onIdle: (() => void)[] = [];

  constructor(queue: Queue<Job, Result>, logger: FastifyBaseLogger, limits: WorkerLimits) {
    this.#queue = queue;
    this.#logger = logger;
    this.#limits = limits;
    this.#poll(0);
  }

  wake(): void {
    if (this.#queue.mayHaveJobs()) this.#poll(this.#limits.wakeRestMs);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    const late = setTimeout(() => this.#aborted.abort(), this.#limits.stopMs);
    for (const resolve of this.#onClaimed.splice(0)) resolve(0);
    await this.#untilIdle();
    clearTimeout(late);
    const left = [...this.#destinations.values()].flatMap(({ waiting }) => waiting.splice(0));
    if (left.length === 0) return;
    await this.#queue.release(left).catch((error: unknown) => {
      this.#logger.warn({ err: error, queue: this.#queue.name }, 'claims could not be released; they expire');
    });
  }

  async drain(): Promise<void> {
    for (let claimed = 1; claimed > 0 && !this.#isStopping;) {
      const { promise, resolve } = Promise.withResolvers<number>();
      this.#onClaimed.push(resolve);
      this.#poll(0);
      claimed = await promise;
      await this.#untilIdle();
    }
  }

  sent(): number {
    return this.#sent;
  }

  async whileIdle(task: () => Promise<void>): Promise<void> {
    this.#isPaused = true;
    try {
      await this.#untilIdle();
      await task();
    } finally {
      this.#isPaused = false;
      this.#poll(0);
    }
  }

  async #untilIdle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle.push(resolve);
    this.#notifyIfIdle();
    await promise;
  }

  #notifyIfIdle(): void {
    if (this.#onIdle.length === 0 || this.#inProgress > 0 || this.#isClaiming || this.#isSettling) return;
    // A stopping worker releases what it has not started.
    if (this.#results.length > 0 || (this.#waiting > 0 && !this.#isStopping)) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** Removes the oldest destination without jobs: a receiver that was removed while it failed. */
  #forgetIdle(): void {
    for (const [name, { waiting: jobs, inProgress: count }] of this.#destinations) {
      if (jobs.length > 0 || count > 0) continue;
      this.#destinations.delete(name);
      return;
    }
  }

  #destinationOf(name: string, startsThrottled: boolean): Destination<Job> {
    let destination = this.#destinations.get(name);
    if (!destination) {
      const prefetch = startsThrottled ? 1 : initialPrefetch;
      destination = { waiting: [], inProgress: 0, prefetch, isThrottled: startsThrottled };
      if (this.#destinations.size >= this.#limits.destinationsMax) this.#forgetIdle();
      this.#destinations.set(name, destination);
    }
    return destination;
  }

  #roomOf(name: string): number {
    const destination = this.#destinations.get(name);
    if (!destination) return initialPrefetch;
    return destination.prefetch - destination.waiting.length - destination.inProgress;
  }

  /** Polls when this time has passed since the last claim, unless an earlier poll is planned. */
  #poll(restMs: number): void {
    if (this.#isStopping || this.#isPaused) return;
    if (this.#isClaiming) {
      this.#requestedRestMs = Math.min(this.#requestedRestMs, restMs);
      return;
    }
    const at = this.#claimedAt + restMs;
    if (at >= this.#nextAt) return;
    this.#nextAt = at;
    clearTimeout(this.#timer);
    const waitMs = at - performance.now();
    if (waitMs > 0) this.#timer = setTimeout(() => this.#startClaim(), waitMs).unref();
    else this.#startClaim();
  }

  #startClaim(): void {
    this.#nextAt = Number.POSITIVE_INFINITY;
    this.#requestedRestMs = Number.POSITIVE_INFINITY;
    if (this.#isPaused) return;
    this.#isClaiming = true;
    const waiting = this.#onClaimed.splice(0);
    const before = this.#claimed;
    void this.#claim().then((restMs) => {
      this.#isClaiming = false;
      this.#claimedAt = performance.now();
      for (const resolve of waiting) resolve(this.#claimed - before);
      this.#notifyIfIdle();
      if (!this.#isStopping)
        this.#poll(restMs === null ? failureRestMs : Math.min(restMs, this.#requestedRestMs));
    });
  }

  /** Claims jobs while there is room. @returns the rest before the next poll; null: it failed. */
  async #claim(): Promise<number | null> {
    const limit = this.#limits.waitingMax - this.#waiting;
    if (limit <= 0) return this.#limits.pollMs;
    try {
      const { claimed, hasMore } = await this.#queue.claim({ limit, roomOf: (name) => this.#roomOf(name) });
      for (const { job, destination, startsThrottled } of claimed) {
        this.#destinationOf(destination, startsThrottled).waiting.push(job);
        this.#waiting += 1;
        this.#claimed += 1;
      }
      if (!this.#isStopping) this.#dispatch();
      return hasMore ? this.#limits.restMs : this.#limits.pollMs;
    } catch (error) {
      this.#logger.error({ err: error, queue: this.#queue.name }, 'jobs could not be claimed');
      return null;
    }
  }

  /** Starts jobs while there are slots, one of each destination in turn. */
  #dispatch(): void {
    for (let hasStarted = true; hasStarted;) {
      hasStarted = false;
      for (const [name, destination] of this.#destinations) {
        if (this.#inProgress >= this.#limits.inProgressMax) return;
        if (destination.waiting.length === 0) continue;
        const isBusy =
          destination.inProgress > 0 || this.#inProgressThrottled >= this.#limits.inProgressThrottledMax;
        if (destination.isThrottled && isBusy) continue;
        if (destination.inProgress >= this.#limits.inProgressPerDestinationMax) continue;
        const job = destination.waiting.shift();
        if (job === undefined) continue;
        this.#waiting -= 1;
        // Too late: the claim could expire before the end, and another process would also send the job.
        if (performance.now() >= this.#queue.startsUntil(job)) continue;
        hasStarted = true;
        this.#start(name, destination, job);
      }
    }
  }

  #start(name: string, destination: Destination<Job>, job: Job): void {
    const wasThrottled = destination.isThrottled;
    this.#inProgress += 1;
    destination.inProgress += 1;
    if (wasThrottled) this.#inProgressThrottled += 1;
    this.#queue
      .send(job, this.#aborted.signal)
      .then(
        ({ result, isHealthy }) => {
          this.#results.push({ job, result });
          this.#sent += 1;
          destination.isThrottled = !isHealthy;
          destination.prefetch = isHealthy ? Math.min(this.#limits.prefetchMax, destination.prefetch + 1) : 1;
        },
        (error: unknown) => {
          // Its claim expires, and it is sent again.
          this.#logger.error(
            { err: error, queue: this.#queue.name, destination: name },
            'a job could not be sent',
          );
        },
      )
      .finally(() => {
        this.#inProgress -= 1;
        destination.inProgress -= 1;
        if (wasThrottled) this.#inProgressThrottled -= 1;
        this.#settle();
        const { waiting: left } = destination;
        if (left.length === 0 && destination.inProgress === 0 && !destination.isThrottled)
          this.#destinations.delete(name);
        if (!this.#isStopping) {
          this.#dispatch();
          if (left.length <= destination.prefetch / 2) this.#poll(this.#limits.restMs);
        }
      })
      .catch((error: unknown) =>
        this.#logger.error({ err: error, queue: this.#queue.name }, 'the worker failed'),
      );
  }

  /** Records the results that arrived during the last transaction. */
  #settle(): void {
    if (this.#isSettling || this.#results.length === 0) return this.#notifyIfIdle();
    this.#isSettling = true;
    const some = this.#results.slice(0, this.#limits.settledAtOnceMax);
    this.#results = this.#results.slice(this.#limits.settledAtOnceMax);
    this.#queue
      .settle(some)
      .catch((error: unknown) => {
        // An unrecorded job is sent again when its claim expires: at least once, not at most once.
        this.#logger.error(
          { err: error, queue: this.#queue.name, jobs: some.length },
          'results could not be recorded',
        );
      })
      .finally(() => {
        this.#isSettling = false;
        this.#settle();
      })
      .catch((error: unknown) =>
        this.#logger.error({ err: error, queue: this.#queue.name }, 'the worker failed'),
      );
  }
}

export function startWorker<Job, Result>(
  queue: Queue<Job, Result>,
  logger: FastifyBaseLogger,
  limits: WorkerLimits = workerLimits,
): Worker {
  return new QueueWorker(queue, logger, limits);
}
