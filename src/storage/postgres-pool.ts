/**
 * The connections to the primary, wherever it is: made when they are wanted, given to one script at a
 * time, or to those that share one, replaced when they break.
 *
 * Of several hosts one is the primary; after a failover it is another one (`postgres-hosts.ts`). Who asks for a
 * connection waits for a primary for a bounded time. Nothing has to be restarted when a server comes back.
 *
 * A server whose machine is gone says nothing, not even goodbye. So where a script has waited for long, and now and
 * then, the pool looks whether another host has become the primary.
 */

import assert from 'node:assert/strict';
import { Fault } from '../domain/fault.ts';
import { openHosts, type HostOptions } from './postgres-hosts.ts';
import type { Session } from './postgres-session.ts';

export type PoolOptions = HostOptions & {
  readonly connectionsMax: number;
  /** How many of them those of a lane may have at a time who would share one: the fewer, the more share. */
  readonly sharedMax: Readonly<Record<Lane, number>>;
  /** Scripts that may wait for a connection; one more is refused. */
  readonly waitingMax: number;
  /** How long a script waits for a connection. */
  readonly waitMaxMs: number;
  /** How often all of several hosts are asked although nothing is slow or lost. */
  readonly primaryCheckPeriodMs: number;
};

/** Those of one lane may share a connection with each other. */
type Lane = 'reads' | 'writes';

export type Pool<Sharer extends { readonly lane: Lane }> = {
  /**
   * A connection for one script, to be given back; at `until` (of `performance.now`) it is broken off.
   * @throws Fault `overloaded` if all are taken for too long, `unavailable` if no primary can be reached.
   */
  take(until: number): Promise<Session>;
  /**
   * As `take`, for somebody who may share a connection: undefined, if somebody else has one by now and has taken
   * this sharer along.
   */
  share(until: number, sharer: Sharer): Promise<Session | undefined>;
  /** Those who wait to share a connection and are chosen: they wait no more. */
  takeAlong(isChosen: (sharer: Sharer) => boolean): readonly Sharer[];
  giveBack(session: Session): void;
  /**
   * A connection of the caller's own, who ends it.
   * @throws Fault `unavailable` if no primary can be reached.
   */
  connect(): Promise<Session>;
  readonly waiting: number;
  /** Closes the connections, all of which must have been given back. */
  close(): Promise<void>;
};

type Taken = { readonly since: number; readonly until: number; readonly lane: Lane | undefined };

type Waiter<Sharer> = {
  /** When it gives up. */
  readonly deadline: number;
  readonly until: number;
  /** undefined: it wants a connection for itself. */
  readonly sharer: Sharer | undefined;
  readonly resolve: (session: Session | undefined) => void;
  readonly reject: (fault: Fault) => void;
};

/** How often waiting and kept connections are looked at. */
const sweepMs = 100;
/** How long after every host refused until they are asked again. */
const retryMs = 100;
/** How long a script may take until the pool looks whether its server is still the primary, and how often then. */
const doubtMs = 2_000;

export function openPool<Sharer extends { readonly lane: Lane }>(options: PoolOptions): Pool<Sharer> {
  const idle: Session[] = [];
  const taken = new Map<Session, Taken>();
  const waiting: Waiter<Sharer>[] = [];
  let opening = 0;
  /** Connections that are shared, or could be. */
  const shared = { reads: 0, writes: 0 };
  let retryAt = 0;
  let checkedAt = performance.now();
  /** Why the last attempt to connect failed; undefined after one that did not. */
  let failure: unknown;
  let isClosed = false;

  const hosts = openHosts(options);

  const mayTake = ({ sharer }: Waiter<Sharer>): boolean =>
    sharer === undefined || shared[sharer.lane] < options.sharedMax[sharer.lane];

  /** How many of those who wait could use another connection. */
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
    // After a failure one attempt at a time is enough.
    if (failure === undefined) grow();
  };

  const offer = (session: Session): void => {
    if (session.isBroken) return forget(session);
    if (isClosed) return session.destroy();
    idle.push(session);
    handOut();
  };

  /** Gives idle connections to those who wait, and sees that there are more where they do not suffice. */
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

  /** The connection that was used last; one that broke just now may still be among them. */
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
      // Its deadline keeps the process alive: where no server answers, nothing else does.
      sweeper.ref();
      handOut();
      if (waiting.length > options.waitingMax && waiting.at(-1) === waiter) {
        waiting.pop();
        reject(new Fault('overloaded', { retryAfterSeconds: 1 }));
      }
    });

  const refuse = (waiter: Waiter<Sharer>): void => {
    waiting.splice(waiting.indexOf(waiter), 1);
    const code = failure === undefined ? 'overloaded' : 'unavailable';
    waiter.reject(new Fault(code, { retryAfterSeconds: 1, cause: failure }));
  };

  const sweep = (): void => {
    const now = performance.now();
    for (const waiter of waiting.filter(({ deadline }) => now >= deadline)) refuse(waiter);
    const late = [...taken].filter(([, { until }]) => now >= until);
    for (const [session] of late) session.destroy();
    // If the server is silent, the idle connections to it are of no more use than these.
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
      assert(session, 'nobody takes along who does not share');
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
      hosts.connect().catch((error: unknown) => {
        throw new Fault('unavailable', { retryAfterSeconds: 1, cause: error });
      }),
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
