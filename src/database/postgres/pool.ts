/**
 * The pool of connections to the primary. One script uses a connection at a time, or several scripts share it.
 *
 * After a failover, callers wait for the new primary for a limited time (`postgres/hosts.ts`). A server whose
 * machine has failed does not close its connections, so the pool checks for another primary periodically, and
 * sooner if a script is slow.
 */

import assert from 'node:assert/strict';
import { Fault } from '../../core/domain/fault.ts';
import { openHosts, type HostOptions, type Hosts } from './hosts.ts';
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

class SessionPool<Sharer extends { readonly lane: Lane }> implements Pool<Sharer> {
  readonly #options: PoolOptions;
  readonly #hosts: Hosts;
  readonly #sweeper: NodeJS.Timeout;
  readonly #idle: Session[] = [];
  readonly #taken = new Map<Session, Taken>();
  readonly #waiting: Waiter<Sharer>[] = [];
  #opening = 0;
  /** Number of connections that each lane uses. */
  readonly #shared = { reads: 0, writes: 0 };
  #retryAt = 0;
  #checkedAt = performance.now();
  /** Error of the last attempt to connect; undefined if it succeeded. */
  #failure: unknown;
  #isClosed = false;
  #isDistributed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#hosts = openHosts(options);
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref();
  }

  get isDistributed(): boolean {
    return this.#isDistributed;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async take(until: number): Promise<Session> {
    const session = await this.#enter(until);
    assert(session, 'a script that does not share gets a connection');
    return session;
  }

  share(until: number, sharer: Sharer): Promise<Session | undefined> {
    return this.#enter(until, sharer);
  }

  takeAlong(isChosen: (sharer: Sharer) => boolean): readonly Sharer[] {
    const chosen: Sharer[] = [];
    const left = this.#waiting.filter(({ sharer, resolve }) => {
      if (sharer === undefined || !isChosen(sharer)) return true;
      chosen.push(sharer);
      resolve(undefined);
      return false;
    });
    this.#waiting.splice(0, this.#waiting.length, ...left);
    return chosen;
  }

  giveBack(session: Session): void {
    const lane = this.#taken.get(session)?.lane;
    if (lane) this.#shared[lane] -= 1;
    this.#taken.delete(session);
    this.#offer(session);
  }

  async connect(): Promise<Session> {
    try {
      const session = await this.#hosts.connect();
      this.#isDistributed = session.isDistributed;
      return session;
    } catch (error) {
      throw new Fault('unavailable', { retryAfterSeconds: 1, cause: error });
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    await Promise.all(this.#idle.splice(0).map((session) => session.close()));
  }

  #mayTake({ sharer }: Waiter<Sharer>): boolean {
    return sharer === undefined || this.#shared[sharer.lane] < this.#options.sharedMax[sharer.lane];
  }

  /** Returns how many waiting scripts could use another connection. */
  #countWanted(): number {
    const { reads, writes } = this.#options.sharedMax;
    const left = { reads: reads - this.#shared.reads, writes: writes - this.#shared.writes };
    return this.#waiting.filter(({ sharer }) => {
      if (!sharer) return true;
      left[sharer.lane] -= 1;
      return left[sharer.lane] >= 0;
    }).length;
  }

  #grow(): void {
    const total = this.#idle.length + this.#taken.size + this.#opening;
    if (total >= this.#options.connectionsMax || this.#countWanted() <= this.#opening) return;
    if (this.#failure !== undefined && (this.#opening > 0 || performance.now() < this.#retryAt)) return;
    this.#opening += 1;
    this.#hosts
      .connect()
      .then(
        (session) => {
          this.#failure = undefined;
          this.#isDistributed = session.isDistributed;
          session.onEnd(() => this.#forget(session));
          this.#offer(session);
        },
        (error: unknown) => {
          this.#failure = error;
          this.#retryAt = performance.now() + retryMs;
        },
      )
      .finally(() => {
        this.#opening -= 1;
        if (this.#failure === undefined) this.#grow();
      })
      .catch(() => undefined);
    // After a failure the pool makes one attempt at a time.
    if (this.#failure === undefined) this.#grow();
  }

  #offer(session: Session): void {
    if (session.isBroken) return this.#forget(session);
    if (this.#isClosed) return session.destroy();
    this.#idle.push(session);
    this.#handOut();
  }

  /** Assigns idle connections to waiting scripts, and opens more connections if needed. */
  #handOut(): void {
    for (;;) {
      const waiter = this.#waiting.find((one) => this.#mayTake(one));
      if (!waiter) return;
      const session = this.#popIdle();
      if (!session) return this.#grow();
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      const lane = waiter.sharer?.lane;
      if (lane) this.#shared[lane] += 1;
      this.#taken.set(session, { since: performance.now(), until: waiter.until, lane });
      waiter.resolve(session);
    }
  }

  /** Returns the most recently used connection that is not broken. */
  #popIdle(): Session | undefined {
    const session = this.#idle.pop();
    return session?.isBroken ? this.#popIdle() : session;
  }

  #forget(session: Session): void {
    const place = this.#idle.indexOf(session);
    if (place >= 0) this.#idle.splice(place, 1);
    this.#handOut();
  }

  #enter(until: number, sharer?: Sharer): Promise<Session | undefined> {
    return new Promise((resolve, reject) => {
      const deadline = Math.min(performance.now() + this.#options.waitMaxMs, until);
      const waiter: Waiter<Sharer> = { deadline, until, sharer, resolve, reject };
      this.#waiting.push(waiter);
      // The timer must keep the process running until the deadline, because a server that does not respond does
      // not.
      this.#sweeper.ref();
      this.#handOut();
      if (this.#waiting.length > this.#options.waitingMax && this.#waiting.at(-1) === waiter) {
        this.#waiting.pop();
        reject(new Fault('overloaded', { retryAfterSeconds: 1 }));
      }
    });
  }

  #rejectWaiter(waiter: Waiter<Sharer>): void {
    this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
    const code = this.#failure === undefined ? 'overloaded' : 'unavailable';
    waiter.reject(new Fault(code, { retryAfterSeconds: 1, cause: this.#failure }));
  }

  #sweep(): void {
    const now = performance.now();
    for (const waiter of this.#waiting.filter(({ deadline }) => now >= deadline)) this.#rejectWaiter(waiter);
    const late = [...this.#taken].filter(([, { until }]) => now >= until);
    for (const [session] of late) session.destroy();
    // If the server does not respond, its idle connections cannot be used either.
    if (late.length > 0) for (const session of this.#idle.splice(0)) session.destroy();
    const isSlow = [...this.#taken.values()].some(({ since }) => now - since >= doubtMs);
    if (
      this.#hosts.areSeveral &&
      now - this.#checkedAt >=
        Math.min(isSlow ? doubtMs : Number.POSITIVE_INFINITY, this.#options.primaryCheckPeriodMs)
    ) {
      this.#checkedAt = now;
      this.#hosts.check();
    }
    this.#handOut();
    if (this.#waiting.length === 0) this.#sweeper.unref();
  }
}

export function openPool<Sharer extends { readonly lane: Lane }>(options: PoolOptions): Pool<Sharer> {
  return new SessionPool(options);
}
