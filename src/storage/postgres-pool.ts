/**
 * The connections to the primary, wherever it is: made when they are wanted, given to one script at a
 * time, replaced when they break.
 *
 * Of several hosts one is the primary; after a failover it is another one. Who asks for a connection waits
 * for the first host that takes writes, for a bounded time. Nothing has to be restarted when a server comes
 * back.
 *
 * A server whose machine is gone says nothing, not even goodbye. So where a script has waited for long, the pool
 * looks whether another host has become the primary, and gives up all connections to the old one if so.
 */

import { Fault } from '../domain/fault.ts';
import type { Secret } from '../domain/secret.ts';
import { openSession, type Session, type SessionOptions } from './postgres-session.ts';

export type PoolOptions = Omit<SessionOptions, 'url'> & {
  /** One a host, the likeliest primary first. */
  readonly urls: readonly Secret[];
  readonly connectionsMax: number;
  /** Scripts that may wait for a connection; one more is refused. */
  readonly waitingMax: number;
  /** How long a script waits for a connection. */
  readonly waitMaxMs: number;
};

/** None of the hosts takes writes; the message tells of each why, and no password. */
class NoPrimary extends Error {
  override readonly name = 'NoPrimary';
}

export type Pool = {
  /**
   * A connection for one script, to be given back; at `until` (of `performance.now`) it is broken off.
   * @throws Fault `overloaded` if all are taken for too long, `unavailable` if no primary can be reached.
   */
  take(until: number): Promise<Session>;
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

type Taken = { readonly since: number; readonly until: number };

type Waiter = {
  /** When it gives up. */
  readonly deadline: number;
  readonly until: number;
  readonly resolve: (session: Session) => void;
  readonly reject: (fault: Fault) => void;
};

/** How often waiting and kept connections are looked at. */
const sweepMs = 100;
/** How long after every host refused until they are asked again. */
const retryMs = 100;
/** How long a script may take until the pool looks whether its server is still the primary, and how often then. */
const doubtMs = 2_000;

export function openPool(options: PoolOptions): Pool {
  const idle: Session[] = [];
  const taken = new Map<Session, Taken>();
  const hosts = new WeakMap<Session, Secret>();
  const waiting: Waiter[] = [];
  let urls = options.urls;
  let opening = 0;
  let retryAt = 0;
  let doubtAt = 0;
  /** Why the last attempt to connect failed; undefined after one that did not. */
  let failure: unknown;
  let isClosed = false;

  /** Connects to the first host that is the primary. */
  const connect = async (): Promise<Session> => {
    const failures: string[] = [];
    for (const url of urls) {
      try {
        const session = await openSession({ ...options, url });
        hosts.set(session, url);
        if (url !== urls[0]) leave(url);
        return session;
      } catch (error) {
        failures.push(`${new URL(url.reveal()).host}: ${reasonOf(error)}`);
      }
    }
    throw new NoPrimary(`no server takes writes: ${failures.join('; ')}`);
  };

  /** The primary is another host than before: whatever is still said to the old one is said to nobody. */
  const leave = (url: Secret): void => {
    urls = [url, ...urls.filter((other) => other !== url)];
    for (const session of [...idle, ...taken.keys()]) if (hosts.get(session) !== url) session.destroy();
  };

  /** Looks which host is the primary, beside the connections that there are. */
  const doubt = (): void => {
    doubtAt = performance.now() + doubtMs;
    connect()
      .then((session) => session.close())
      .catch(() => undefined);
  };

  const grow = (): void => {
    const total = idle.length + taken.size + opening;
    if (waiting.length <= opening || total >= options.connectionsMax) return;
    if (failure !== undefined && (opening > 0 || performance.now() < retryAt)) return;
    opening += 1;
    connect()
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
    const waiter = waiting.shift();
    if (waiter) {
      taken.set(session, { since: performance.now(), until: waiter.until });
      waiter.resolve(session);
    } else if (isClosed) session.destroy();
    else idle.push(session);
  };

  /** The connection that was used last; one that broke just now may still be among them. */
  const popIdle = (): Session | undefined => {
    const session = idle.pop();
    return session?.isBroken ? popIdle() : session;
  };

  const forget = (session: Session): void => {
    const place = idle.indexOf(session);
    if (place >= 0) idle.splice(place, 1);
    grow();
  };

  const refuse = (waiter: Waiter): void => {
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
    const isDoubtful = urls.length > 1 && [...taken.values()].some(({ since }) => now - since >= doubtMs);
    if (isDoubtful && now >= doubtAt) doubt();
    grow();
  };
  const sweeper = setInterval(sweep, sweepMs).unref();

  return {
    take(until) {
      const since = performance.now();
      const session = popIdle();
      if (session) {
        taken.set(session, { since, until });
        return Promise.resolve(session);
      }
      if (waiting.length >= options.waitingMax)
        return Promise.reject(new Fault('overloaded', { retryAfterSeconds: 1 }));
      return new Promise((resolve, reject) => {
        const deadline = Math.min(since + options.waitMaxMs, until);
        waiting.push({ deadline, until, resolve, reject });
        grow();
      });
    },
    giveBack(session) {
      taken.delete(session);
      offer(session);
    },
    connect: () =>
      connect().catch((error: unknown) => {
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

/** Why a host is not to be used, in a line. */
function reasonOf(error: unknown): string {
  // A name with several addresses fails with an error for each.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
