/**
 * The worker: sends what waits in a queue of the database, whatever it is.
 *
 * Terms: a *job* is one thing to be sent; a *lane* is whom it goes to, and lanes do not delay each other. A process
 * *claims* jobs for a time, *sends* them outside of any transaction, and *settles* what came of each; both are done
 * for many jobs in one transaction. A process that dies never settles, and its claims run out.
 *
 * How many jobs of a lane are claimed at once is its *window*. It grows as long as jobs succeed, so that a lane with
 * much to be sent is claimed in large batches, and shrinks to one when a job fails: then single jobs find out
 * whether the receiver is back, and lanes that fail share a part of the slots, so that however many of them wait for
 * dead receivers, the others have theirs.
 */

import type { FastifyBaseLogger } from 'fastify';

export type Claimed<Job> = {
  readonly job: Job;
  readonly lane: string;
  /** Whether an earlier attempt at anything in this lane is known to have failed last: it starts carefully. */
  readonly isCareful: boolean;
};

type Sent<Result> = {
  readonly result: Result;
  /** Whether the receiver is in good health, whatever it thought of this job. */
  readonly isHealthy: boolean;
};

/** What is to be sent, and how. */
export type Queue<Job, Result> = {
  /** For logs and metrics. */
  readonly name: string;
  /**
   * Claims jobs that are due: of each lane no more than `roomOf` says, and of all together no more than `limit`.
   * @returns also whether there may be more that could be claimed at once.
   */
  claim(room: {
    readonly limit: number;
    readonly roomOf: (lane: string) => number;
  }): Promise<{ readonly claimed: readonly Claimed<Job>[]; readonly hasMore: boolean }>;
  /** Sends one. It answers what came of it, and rejects for a defect of this program only. */
  send(job: Job, signal: AbortSignal): Promise<Sent<Result>>;
  /** Records what came of jobs. */
  settle(sent: readonly { readonly job: Job; readonly result: Result }[]): Promise<void>;
  /** Gives back jobs that were claimed and not sent. */
  release(jobs: readonly Job[]): Promise<void>;
  /** Until when a claimed job may be begun, on the monotonic clock. */
  startsUntil(job: Job): number;
};

export type WorkerLimits = {
  /** Jobs under way at once, of all lanes, of one lane, and of all lanes that fail. */
  readonly underWayMax: number;
  readonly underWayPerLaneMax: number;
  readonly underWayFailingMax: number;
  /** Jobs of a lane that are claimed ahead at most. */
  readonly windowMax: number;
  /** Jobs that wait in this process for a slot. */
  readonly waitingMax: number;
  readonly settledAtOnceMax: number;
  /** How often the queue is looked at for what others have put there, or has become due. */
  readonly pollMs: number;
  /** How often it is looked at most. */
  readonly restMs: number;
  /** How long jobs under way may take when the worker is stopped; then they are called off. */
  readonly stopMs: number;
};

export const workerLimits: WorkerLimits = Object.freeze({
  underWayMax: 256,
  underWayPerLaneMax: 16,
  underWayFailingMax: 64,
  windowMax: 64,
  waitingMax: 2_048,
  settledAtOnceMax: 64,
  pollMs: 1_000,
  restMs: 10,
  stopMs: 12_000,
});

export type Worker = {
  /** Something was committed: the queue is looked at without waiting for the next time. */
  wake(): void;
  /** How many jobs are under way. */
  readonly underWay: number;
  /** Claims nothing more, waits for what is under way, and gives back the rest. */
  stop(): Promise<void>;
};

type Lane<Job> = {
  readonly waiting: Job[];
  underWay: number;
  window: number;
  isFailing: boolean;
};

const windowAtFirst = 16;
/** After a failure of the database. */
const failureRestMs = 1_000;

export function startWorker<Job, Result>(
  queue: Queue<Job, Result>,
  logger: FastifyBaseLogger,
  limits: WorkerLimits = workerLimits,
): Worker {
  const lanes = new Map<string, Lane<Job>>();
  /** Results that are to be recorded. */
  let results: { readonly job: Job; readonly result: Result }[] = [];
  const calledOff = new AbortController();
  let underWay = 0;
  let underWayFailing = 0;
  let waiting = 0;
  let isStopping = false;
  let isClaiming = false;
  let isSettling = false;
  let isWoken = false;
  let timer: NodeJS.Timeout | undefined;
  let claimedAt = Number.NEGATIVE_INFINITY;
  /** Set once it is to be told that nothing is under way any more. */
  let onQuiet: (() => void) | undefined;

  const tellIfQuiet = (): void => {
    if (underWay === 0 && !isClaiming && !isSettling && results.length === 0) onQuiet?.();
  };

  const laneOf = (name: string, isCareful: boolean): Lane<Job> => {
    let lane = lanes.get(name);
    if (!lane) {
      lane = { waiting: [], underWay: 0, window: isCareful ? 1 : windowAtFirst, isFailing: isCareful };
      lanes.set(name, lane);
    }
    return lane;
  };

  const roomOf = (name: string): number => {
    const lane = lanes.get(name);
    return lane ? lane.window - lane.waiting.length - lane.underWay : windowAtFirst;
  };

  const look = (): void => {
    if (isStopping) return;
    if (isClaiming) {
      isWoken = true;
      return;
    }
    const restMs = claimedAt + limits.restMs - performance.now();
    clearTimeout(timer);
    if (restMs > 0) {
      timer = setTimeout(look, restMs);
      return;
    }
    isClaiming = true;
    isWoken = false;
    void claim().then((restNowMs) => {
      isClaiming = false;
      claimedAt = performance.now();
      clearTimeout(timer);
      if (isStopping) tellIfQuiet();
      else if (isWoken && restNowMs < failureRestMs) look();
      else timer = setTimeout(look, restNowMs).unref();
    });
  };

  /** Claims what there is room for, and answers when to look again. */
  const claim = async (): Promise<number> => {
    const limit = limits.waitingMax - waiting;
    if (limit <= 0) return limits.pollMs;
    try {
      const { claimed, hasMore } = await queue.claim({ limit, roomOf });
      for (const { job, lane: name, isCareful } of claimed) {
        laneOf(name, isCareful).waiting.push(job);
        waiting += 1;
      }
      if (isStopping) return limits.pollMs;
      dispatch();
      return hasMore ? 0 : limits.pollMs;
    } catch (error) {
      logger.error({ err: error, queue: queue.name }, 'nothing could be claimed');
      return failureRestMs;
    }
  };

  /** Begins what there are slots for, one of each lane in turn. */
  const dispatch = (): void => {
    for (let begun = true; begun;) {
      begun = false;
      for (const [name, lane] of lanes) {
        if (underWay >= limits.underWayMax) return;
        if (lane.waiting.length === 0 || lane.underWay >= limits.underWayPerLaneMax) continue;
        if (lane.isFailing && (lane.underWay > 0 || underWayFailing >= limits.underWayFailingMax)) continue;
        const job = lane.waiting.shift();
        if (job === undefined) continue;
        waiting -= 1;
        // Too late to begin: the claim might run out meanwhile, and another process has it then.
        if (performance.now() >= queue.startsUntil(job)) continue;
        begun = true;
        begin(name, lane, job);
      }
    }
  };

  const begin = (name: string, lane: Lane<Job>, job: Job): void => {
    const wasFailing = lane.isFailing;
    underWay += 1;
    lane.underWay += 1;
    if (wasFailing) underWayFailing += 1;
    queue
      .send(job, calledOff.signal)
      .then(
        ({ result, isHealthy }) => {
          results.push({ job, result });
          if (isHealthy) {
            lane.isFailing = false;
            lane.window = Math.min(limits.windowMax, lane.window + 1);
          } else {
            lane.isFailing = true;
            lane.window = 1;
          }
        },
        (error: unknown) => {
          // Its claim runs out, and it comes round again.
          logger.error({ err: error, queue: queue.name, lane: name }, 'a job could not be sent');
        },
      )
      .finally(() => {
        underWay -= 1;
        lane.underWay -= 1;
        if (wasFailing) underWayFailing -= 1;
        settle();
        const isDrained = lane.waiting.length === 0;
        if (isDrained && lane.underWay === 0 && !lane.isFailing) lanes.delete(name);
        if (!isStopping) {
          dispatch();
          if (lane.waiting.length <= lane.window / 2) look();
        }
      })
      .catch((error: unknown) => logger.error({ err: error, queue: queue.name }, 'the worker failed'));
  };

  /** Records results: all that have come while the ones before were recorded. */
  const settle = (): void => {
    if (isSettling || results.length === 0) return tellIfQuiet();
    isSettling = true;
    const some = results.slice(0, limits.settledAtOnceMax);
    results = results.slice(limits.settledAtOnceMax);
    queue
      .settle(some)
      .catch((error: unknown) => {
        // What is not recorded is sent again when the claim has run out: at least once, not at most.
        logger.error({ err: error, queue: queue.name, jobs: some.length }, 'results could not be recorded');
      })
      .finally(() => {
        isSettling = false;
        settle();
      })
      .catch((error: unknown) => logger.error({ err: error, queue: queue.name }, 'the worker failed'));
  };

  look();
  return {
    wake: look,
    get underWay() {
      return underWay;
    },
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      const late = setTimeout(() => calledOff.abort(), limits.stopMs);
      const { promise: quiet, resolve } = Promise.withResolvers<void>();
      onQuiet = resolve;
      tellIfQuiet();
      await quiet;
      clearTimeout(late);
      const left = [...lanes.values()].flatMap((lane) => lane.waiting.splice(0));
      if (left.length === 0) return;
      await queue.release(left).catch((error: unknown) => {
        logger.warn(
          { err: error, queue: queue.name },
          'claims were not given back; they run out by themselves',
        );
      });
    },
  };
}
