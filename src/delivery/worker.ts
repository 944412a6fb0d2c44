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

type Sent<Result> = {
  readonly result: Result;
  /** Whether the receiver works, even if it rejected this job. */
  readonly isHealthy: boolean;
};

/** A source of jobs, and how they are sent. */
export type Queue<Job, Result> = {
  /** For logs and metrics. */
  readonly name: string;
  /**
   * Claims due jobs: at most `roomOf` of each destination and `limit` in total.
   * @returns also whether more jobs may be due.
   */
  claim(room: {
    readonly limit: number;
    readonly roomOf: (destination: string) => number;
  }): Promise<{ readonly claimed: readonly Claimed<Job>[]; readonly hasMore: boolean }>;
  /** Sends a job. Every failed delivery is a result; the promise rejects only for a defect of this program. */
  send(job: Job, signal: AbortSignal): Promise<Sent<Result>>;
  /** Records results. */
  settle(sent: readonly { readonly job: Job; readonly result: Result }[]): Promise<void>;
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
  /** Polls now, because a transaction may have added jobs. */
  wake(): void;
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

export function startWorker<Job, Result>(
  queue: Queue<Job, Result>,
  logger: FastifyBaseLogger,
  limits: WorkerLimits = workerLimits,
): Worker {
  const destinations = new Map<string, Destination<Job>>();
  /** Results that are not recorded yet. */
  let results: { readonly job: Job; readonly result: Result }[] = [];
  const aborted = new AbortController();
  let inProgress = 0;
  let inProgressThrottled = 0;
  let waiting = 0;
  let isStopping = false;
  let isClaiming = false;
  let isSettling = false;
  /** The least rest before the next poll that was requested during a claim. */
  let requestedRestMs = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  /** When the next poll is planned, of `performance.now`. */
  let nextAt = Number.POSITIVE_INFINITY;
  let claimedAt = Number.NEGATIVE_INFINITY;
  /** Called when a stopping worker has finished. */
  let onIdle: (() => void) | undefined;

  const notifyIfIdle = (): void => {
    if (inProgress === 0 && !isClaiming && !isSettling && results.length === 0) onIdle?.();
  };

  /** Removes the oldest destination without jobs: a receiver that was removed while it failed. */
  const forgetIdle = (): void => {
    for (const [name, { waiting: jobs, inProgress: count }] of destinations) {
      if (jobs.length > 0 || count > 0) continue;
      destinations.delete(name);
      return;
    }
  };

  const destinationOf = (name: string, startsThrottled: boolean): Destination<Job> => {
    let destination = destinations.get(name);
    if (!destination) {
      const prefetch = startsThrottled ? 1 : initialPrefetch;
      destination = { waiting: [], inProgress: 0, prefetch, isThrottled: startsThrottled };
      if (destinations.size >= limits.destinationsMax) forgetIdle();
      destinations.set(name, destination);
    }
    return destination;
  };

  const roomOf = (name: string): number => {
    const destination = destinations.get(name);
    if (!destination) return initialPrefetch;
    return destination.prefetch - destination.waiting.length - destination.inProgress;
  };

  /** Polls when this time has passed since the last claim, unless an earlier poll is planned. */
  const poll = (restMs: number): void => {
    if (isStopping) return;
    if (isClaiming) {
      requestedRestMs = Math.min(requestedRestMs, restMs);
      return;
    }
    const at = claimedAt + restMs;
    if (at >= nextAt) return;
    nextAt = at;
    clearTimeout(timer);
    const waitMs = at - performance.now();
    if (waitMs > 0) timer = setTimeout(startClaim, waitMs).unref();
    else startClaim();
  };

  const startClaim = (): void => {
    nextAt = Number.POSITIVE_INFINITY;
    requestedRestMs = Number.POSITIVE_INFINITY;
    isClaiming = true;
    void claim().then((restMs) => {
      isClaiming = false;
      claimedAt = performance.now();
      if (isStopping) notifyIfIdle();
      else poll(restMs === null ? failureRestMs : Math.min(restMs, requestedRestMs));
    });
  };

  /** Claims jobs while there is room. @returns the rest before the next poll; null: it failed. */
  const claim = async (): Promise<number | null> => {
    const limit = limits.waitingMax - waiting;
    if (limit <= 0) return limits.pollMs;
    try {
      const { claimed, hasMore } = await queue.claim({ limit, roomOf });
      for (const { job, destination, startsThrottled } of claimed) {
        destinationOf(destination, startsThrottled).waiting.push(job);
        waiting += 1;
      }
      if (!isStopping) dispatch();
      return hasMore ? limits.restMs : limits.pollMs;
    } catch (error) {
      logger.error({ err: error, queue: queue.name }, 'jobs could not be claimed');
      return null;
    }
  };

  /** Starts jobs while there are slots, one of each destination in turn. */
  const dispatch = (): void => {
    for (let hasStarted = true; hasStarted;) {
      hasStarted = false;
      for (const [name, destination] of destinations) {
        if (inProgress >= limits.inProgressMax) return;
        if (destination.waiting.length === 0) continue;
        const isBusy = destination.inProgress > 0 || inProgressThrottled >= limits.inProgressThrottledMax;
        if (destination.isThrottled && isBusy) continue;
        if (destination.inProgress >= limits.inProgressPerDestinationMax) continue;
        const job = destination.waiting.shift();
        if (job === undefined) continue;
        waiting -= 1;
        // Too late: the claim could expire before the end, and another process would also send the job.
        if (performance.now() >= queue.startsUntil(job)) continue;
        hasStarted = true;
        start(name, destination, job);
      }
    }
  };

  const start = (name: string, destination: Destination<Job>, job: Job): void => {
    const wasThrottled = destination.isThrottled;
    inProgress += 1;
    destination.inProgress += 1;
    if (wasThrottled) inProgressThrottled += 1;
    queue
      .send(job, aborted.signal)
      .then(
        ({ result, isHealthy }) => {
          results.push({ job, result });
          destination.isThrottled = !isHealthy;
          destination.prefetch = isHealthy ? Math.min(limits.prefetchMax, destination.prefetch + 1) : 1;
        },
        (error: unknown) => {
          // Its claim expires, and it is sent again.
          logger.error({ err: error, queue: queue.name, destination: name }, 'a job could not be sent');
        },
      )
      .finally(() => {
        inProgress -= 1;
        destination.inProgress -= 1;
        if (wasThrottled) inProgressThrottled -= 1;
        settle();
        const { waiting: left } = destination;
        if (left.length === 0 && destination.inProgress === 0 && !destination.isThrottled)
          destinations.delete(name);
        if (!isStopping) {
          dispatch();
          if (left.length <= destination.prefetch / 2) poll(limits.restMs);
        }
      })
      .catch((error: unknown) => logger.error({ err: error, queue: queue.name }, 'the worker failed'));
  };

  /** Records the results that arrived during the last transaction. */
  const settle = (): void => {
    if (isSettling || results.length === 0) return notifyIfIdle();
    isSettling = true;
    const some = results.slice(0, limits.settledAtOnceMax);
    results = results.slice(limits.settledAtOnceMax);
    queue
      .settle(some)
      .catch((error: unknown) => {
        // An unrecorded job is sent again when its claim expires: at least once, not at most once.
        logger.error({ err: error, queue: queue.name, jobs: some.length }, 'results could not be recorded');
      })
      .finally(() => {
        isSettling = false;
        settle();
      })
      .catch((error: unknown) => logger.error({ err: error, queue: queue.name }, 'the worker failed'));
  };

  poll(0);
  return {
    wake: () => poll(limits.wakeRestMs),
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      const late = setTimeout(() => aborted.abort(), limits.stopMs);
      const { promise: idle, resolve } = Promise.withResolvers<void>();
      onIdle = resolve;
      notifyIfIdle();
      await idle;
      clearTimeout(late);
      const left = [...destinations.values()].flatMap((destination) => destination.waiting.splice(0));
      if (left.length === 0) return;
      await queue.release(left).catch((error: unknown) => {
        logger.warn({ err: error, queue: queue.name }, 'claims could not be released; they expire');
      });
    },
  };
}
