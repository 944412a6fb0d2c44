/**
 * The connections to the primary, wherever it is: made when they are wanted, given to one script at a
 * time, replaced when they break.
 *
 * Of several hosts one is the primary; after a failover it is another one. Who asks for a connection waits
 * for the first host that takes writes, for a bounded time. Nothing has to be restarted when a server comes
 * back.
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
  /** How long a script may keep a connection; then it is broken off. */
  readonly keepMaxMs: number;
};

export type Pool = {
  /**
   * A connection for one script, to be given back.
   * @throws Fault `overloaded` if all are taken for too long, `unavailable` if no primary can be reached.
   */
  take(): Promise<Session>;
  giveBack(session: Session): void;
  /**
   * A connection of the caller's own, who ends it.
   * @throws whatever keeps it from connecting.
   */
  connect(): Promise<Session>;
  readonly waiting: number;
  /** Closes the connections, all of which must have been given back. */
  close(): Promise<void>;
};

type Waiter = {
  readonly since: number;
  readonly resolve: (session: Session) => void;
  readonly reject: (fault: Fault) => void;
};

/** How often waiting and kept connections are looked at. */
const sweepMs = 100;
/** How long after every host refused until they are asked again. */
const retryMs = 100;

export function openPool(options: PoolOptions): Pool {
  const idle: Session[] = [];
  const taken = new Map<Session, number>();
  const waiting: Waiter[] = [];
  let urls = options.urls;
  let opening = 0;
  let retryAt = 0;
  /** Why the last attempt to connect failed; undefined after one that did not. */
  let failure: unknown;
  let isClosed = false;

  /** Connects to the first host that is the primary. */
  const connect = async (): Promise<Session> => {
    const failures: unknown[] = [];
    for (const url of urls) {
      try {
        const session = await openSession({ ...options, url });
        urls = [url, ...urls.filter((other) => other !== url)];
        return session;
      } catch (error) {
        failures.push(error);
      }
    }
    throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'no host is the primary');
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
      taken.set(session, performance.now());
      waiter.resolve(session);
    } else if (isClosed) session.destroy();
    else idle.push(session);
  };

  const forget = (session: Session): void => {
    const place = idle.indexOf(session);
    if (place >= 0) idle.splice(place, 1);
    grow();
  };

  const refuse = (waiter: Waiter): void => {
    const code = failure === undefined ? 'overloaded' : 'unavailable';
    waiter.reject(new Fault(code, { retryAfterSeconds: 1, cause: failure }));
  };

  const sweep = (): void => {
    const now = performance.now();
    while (waiting[0] && now - waiting[0].since >= options.waitMaxMs) {
      const waiter = waiting.shift();
      if (waiter) refuse(waiter);
    }
    for (const [session, since] of taken) if (now - since >= options.keepMaxMs) session.destroy();
    grow();
  };
  const sweeper = setInterval(sweep, sweepMs).unref();

  return {
    take() {
      const session = idle.pop();
      if (session) {
        taken.set(session, performance.now());
        return Promise.resolve(session);
      }
      if (waiting.length >= options.waitingMax)
        return Promise.reject(new Fault('overloaded', { retryAfterSeconds: 1 }));
      return new Promise((resolve, reject) => {
        waiting.push({ since: performance.now(), resolve, reject });
        grow();
      });
    },
    giveBack(session) {
      taken.delete(session);
      offer(session);
    },
    connect,
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
