/**
 * The pool of connections to the primary. One script uses a connection at a time, or several scripts share it.
 *
 * After a failover, callers wait for the new primary for a limited time (`postgres/hosts.ts`). A server whose
 * machine has failed does not close its connections, so the pool checks for another primary periodically, and
 * sooner if a script is slow.
 */

import assert from 'node:assert/strict';
import { Fault } from '../../domain/fault.ts';
import { openHosts, type HostOptions } from './hosts.ts';
import type { Session } from './session.ts';

export type PoolOptions = HostOptions & {
  readonly connectionsMax: number;
  /**
   * At most this many connections per lane are shared at a time. With fewer connections, more scripts share
   * each.
   */
  readonly sharedMax: Readonly<Record<Lane, number>>;
  /** Limit of scripts that wait for a connection. Further ones are rejected. */
  readonly waitingMax: number;
  readonly waitMaxMs: number;
  /** Period of the checks of all hosts while no connection is slow or lost. Only with several hosts. */
  readonly primaryCheckPeriodMs: number;
};

/** Scripts of the same lane can share a connection. */
type Lane = 'reads' | 'writes';

export type Pool<Sharer extends { readonly lane: Lane }> = {
  /**
   * Returns a connection for one script. The pool destroys it at `until` (of `performance.now`).
   * @throws Fault `overloaded` if no connection becomes free in time, `unavailable` if no primary can be
   * reached.
   */
  take(until: number): Promise<Session>;
  /**
   * Takes a connection for a script that can share it. Returns undefined if another script's connection runs
   * it.
   */
  share(until: number, sharer: Sharer): Promise<Session | undefined>;
  /** Removes the chosen scripts from the waiting ones and returns them. */
  takeAlong(isChosen: (sharer: Sharer) => boolean): readonly Sharer[];
  giveBack(session: Session): void;
  /**
   * Opens a connection outside the pool. The caller closes it.
   * @throws Fault `unavailable` if no primary can be reached.
   */
  connect(): Promise<Session>;
  readonly waiting: number;
  /** Whether the stores are on different servers. It is known once a connection was opened. */
  readonly isDistributed: boolean;
  /** Closes the connections. All must have been returned. */
  close(): Promise<void>;
};

type Taken = { readonly since: number; readonly until: number; readonly lane: Lane | undefined };

type Waiter<Sharer> = {
  readonly deadline: number;
  readonly until: number;
  /** undefined: it needs a connection of its own. */
  readonly sharer: Sharer | undefined;
  readonly resolve: (session: Session | undefined) => void;
  readonly reject: (fault: Fault) => void;
};

/** The period of checks of deadlines. */
const sweepMs = 100;
/** Delay between attempts to connect after one has failed. */
const retryMs = 100;
/**
 * Duration of a script after which the pool checks whether its server is still the primary, and the period of
 * those checks.
 */
const doubtMs = 2_000;

export function openPool<Sharer extends { readonly lane: Lane }>(options: PoolOptions): Pool<Sharer> {
  const idle: Session[] = [];
  const taken = new Map<Session, Taken>();
  const waiting: Waiter<Sharer>[] = [];
  let opening = 0;
  /** Number of connections that each lane uses. */
  const shared = { reads: 0, writes: 0 };
  let retryAt = 0;
  let checkedAt = performance.now();
  /** Error of the last attempt to connect; undefined if it succeeded. */
  let failure: unknown;
  let isClosed = false;
  let isDistributed = false;

  const hosts = openHosts(options);

  const mayTake = ({ sharer }: Waiter<Sharer>): boolean =>
    sharer === undefined || shared[sharer.lane] < options.sharedMax[sharer.lane];

  /** Returns how many waiting scripts could use another connection. */
  const countWanted = (): number => {
    const { reads, writes } = options.sharedMax;
    const left = { reads: reads - shared.reads, writes: writes - shared.writes };
    return waiting.filter(({ sharer }) => {
      if (!sharer) return true;
      left[sharer.lane] -= 1;
      return left[sharer.lane] >= 0;
    }).length;
  };

  const grow = (): void => {
    const total = idle.length + taken.size + opening;
    if (total >= options.connectionsMax || countWanted() <= opening) return;
    if (failure !== undefined && (opening > 0 || performance.now() < retryAt)) return;
    opening += 1;
    hosts
      .connect()
      .then(
        (session) => {
          failure = undefined;
          isDistributed = session.isDistributed;
          session.onEnd(() => forget(session));
          offer(session);
        },
        (error: unknown) => {
          failure = error;
          retryAt = performance.now() + retryMs;
        },
      )
      .finally(() => {
        opening -= 1;
        if (failure === undefined) grow();
      })
      .catch(() => undefined);
    // After a failure the pool makes one attempt at a time.
    if (failure === undefined) grow();
  };

  const offer = (session: Session): void => {
    if (session.isBroken) return forget(session);
    if (isClosed) return session.destroy();
    idle.push(session);
    handOut();
  };

  /** Assigns idle connections to waiting scripts, and opens more connections if needed. */
  const handOut = (): void => {
    for (;;) {
      const waiter = waiting.find(mayTake);
      if (!waiter) return;
      const session = popIdle();
      if (!session) return grow();
      waiting.splice(waiting.indexOf(waiter), 1);
      const lane = waiter.sharer?.lane;
      if (lane) shared[lane] += 1;
      taken.set(session, { since: performance.now(), until: waiter.until, lane });
      waiter.resolve(session);
    }
  };

  /** Returns the most recently used connection that is not broken. */
  const popIdle = (): Session | undefined => {
    const session = idle.pop();
    return session?.isBroken ? popIdle() : session;
  };

  const forget = (session: Session): void => {
    const place = idle.indexOf(session);
    if (place >= 0) idle.splice(place, 1);
    handOut();
  };

  const enter = (until: number, sharer?: Sharer): Promise<Session | undefined> =>
    new Promise((resolve, reject) => {
      const deadline = Math.min(performance.now() + options.waitMaxMs, until);
      const waiter: Waiter<Sharer> = { deadline, until, sharer, resolve, reject };
      waiting.push(waiter);
      // The timer must keep the process running until the deadline, because a server that does not respond does
      // not.
      sweeper.ref();
      handOut();
      if (waiting.length > options.waitingMax && waiting.at(-1) === waiter) {
        waiting.pop();
        reject(new Fault('overloaded', { retryAfterSeconds: 1 }));
      }
    });

  const rejectWaiter = (waiter: Waiter<Sharer>): void => {
    waiting.splice(waiting.indexOf(waiter), 1);
    const code = failure === undefined ? 'overloaded' : 'unavailable';
    waiter.reject(new Fault(code, { retryAfterSeconds: 1, cause: failure }));
  };

  const sweep = (): void => {
    const now = performance.now();
    for (const waiter of waiting.filter(({ deadline }) => now >= deadline)) rejectWaiter(waiter);
    const late = [...taken].filter(([, { until }]) => now >= until);
    for (const [session] of late) session.destroy();
    // If the server does not respond, its idle connections cannot be used either.
    if (late.length > 0) for (const session of idle.splice(0)) session.destroy();
    const isSlow = [...taken.values()].some(({ since }) => now - since >= doubtMs);
    if (
      hosts.areSeveral &&
      now - checkedAt >= Math.min(isSlow ? doubtMs : Number.POSITIVE_INFINITY, options.primaryCheckPeriodMs)
    ) {
      checkedAt = now;
      hosts.check();
    }
    handOut();
    if (waiting.length === 0) sweeper.unref();
  };
  const sweeper = setInterval(sweep, sweepMs).unref();

  return {
    async take(until) {
      const session = await enter(until);
      assert(session, 'a script that does not share gets a connection');
      return session;
    },
    share: enter,
    takeAlong(isChosen) {
      const chosen: Sharer[] = [];
      const left = waiting.filter(({ sharer, resolve }) => {
        if (sharer === undefined || !isChosen(sharer)) return true;
        chosen.push(sharer);
        resolve(undefined);
        return false;
      });
      waiting.splice(0, waiting.length, ...left);
      return chosen;
    },
    giveBack(session) {
      const lane = taken.get(session)?.lane;
      if (lane) shared[lane] -= 1;
      taken.delete(session);
      offer(session);
    },
    connect: () =>
      hosts.connect().then(
        (session) => {
          isDistributed = session.isDistributed;
          return session;
        },
        (error: unknown) => {
          throw new Fault('unavailable', { retryAfterSeconds: 1, cause: error });
        },
      ),
    get isDistributed() {
      return isDistributed;
    },
    get waiting() {
      return waiting.length;
    },
    async close() {
      isClosed = true;
      clearInterval(sweeper);
      await Promise.all(idle.splice(0).map((session) => session.close()));
    },
  };
}
