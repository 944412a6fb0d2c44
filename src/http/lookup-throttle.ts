/**
 * Limits failed lookups per caller, for every operation that can be used to guess a code or an id.
 *
 * A request reserves its failures before it looks for something, and releases those that did not fail. In one process,
 * the reservations and recorded failures of a caller never exceed its budget: further lookups wait for a reservation to
 * end.
 *
 * A guarded statement records failures in the database, so all processes together never return more "not found"
 * responses than the budget. Each further process can have at most one more budget in flight until it reads the
 * failures of the others, at the latest with its own first failure.
 */

import { Fault } from '../domain/fault.ts';
import {
  countedRefill,
  failuresLeft,
  recordFailedLookup,
  tooManyLookups,
} from '../service/cards/lookup-throttle.ts';
import type { Context } from '../storage/context.ts';
import type { HttpResponse } from '../service/requests/http-response.ts';
import { findRefilledAt, type LookupCaller } from '../storage/stores/lookup-throttle.ts';
import type { Storage } from '../storage/storage.ts';
import type { Caller } from './auth.ts';
import { problems } from './problem.ts';

export type LookupAttempt = {
  /** The failed lookups of the caller per hour. */
  readonly perHour: number;
  /**
   * Reserves failures in the caller's budget until the request ends. Those that `failuresOf` returns for the status of the
   * response are recorded, and the others are released. A request has one reservation, however often it reserves.
   * @param count at most `perHour`; 1 by default, and always after another reservation.
   * @returns a promise if it has to wait. @throws Fault `too-many-misses`, or rejects with it.
   */
  reserve(failuresOf: (status: number) => number, count?: number): Promise<void> | undefined;
};

export type LookupThrottle = {
  /** Runs a request, and then records or releases its reservation. @throws Fault `too-many-misses`. */
  run<T extends Pick<HttpResponse, 'status' | 'headers'>>(
    caller: Caller,
    request: (attempt: LookupAttempt) => Promise<T>,
  ): Promise<T>;
};

export type LookupLimits = {
  /** The default of failed lookups per hour for a token or development mode. */
  readonly perHour: number;
  /** The maximum for a signed-in storefront customer. */
  readonly perHourOfCustomer: number;
  /** Callers whose state is kept in memory. */
  readonly callersMax: number;
};

/** The state of a caller in this process. */
type State = {
  /** Undefined: not read yet. */
  refilledAt: number | undefined;
  /** When the row was last read (ms). */
  readAt: number;
  /** The read in progress, which lookups share. */
  reading: Promise<void> | undefined;
  /** Open reservations. */
  reserved: number;
  /** Requests that are reserving. */
  users: number;
  /** Lookups that wait for a reservation to end. */
  readonly waiting: (() => void)[];
  loggedAt: number;
};

/** The minimum time between two reads of a row. Only failures of other processes can be missing. */
const rereadPeriodMs = 1_000;

/** The minimum time between two log lines about a throttled caller. */
const logPeriodMs = 60_000;

/** The later of two refill times. A time that is too far in the future is invalid and does not count. */
function laterRefill({ refilledAt = 0 }: Pick<State, 'refilledAt'>, other: number, now: number): number {
  return Math.max(countedRefill(refilledAt, now), countedRefill(other, now));
}

export function lookupThrottle({
  ctx,
  storage,
  limits,
  onThrottled,
}: {
  readonly ctx: Pick<Context, 'wallClock'>;
  readonly storage: Pick<Storage, 'read' | 'write'>;
  readonly limits: LookupLimits;
  /** Called for every throttled lookup; `isNew` is true at most once a minute per caller. */
  readonly onThrottled: (caller: Caller, isNew: boolean) => void;
}): LookupThrottle {
  const states = new Map<string, State>();

  const perHourOf = ({ store, onlyStorefrontCustomerId }: Caller): number => {
    const perHour = store.lookupFailuresPerHour ?? limits.perHour;
    return onlyStorefrontCustomerId === null ? perHour : Math.min(perHour, limits.perHourOfCustomer);
  };

  const stateOf = (key: string): State => {
    const found = states.get(key);
    if (found) return found;
    if (states.size >= limits.callersMax) evict(states);
    const state: State = {
      refilledAt: undefined, readAt: 0, reading: undefined, reserved: 0, users: 0, waiting: [],
      loggedAt: Number.NEGATIVE_INFINITY,
    }; // prettier-ignore
    states.set(key, state);
    return state;
  };

  const throttle = (caller: Caller, state: State, count: number): Fault => {
    const now = ctx.wallClock.now();
    const isNew = now - state.loggedAt >= logPeriodMs;
    if (isNew) state.loggedAt = now;
    onThrottled(caller, isNew);
    return tooManyLookups(state.refilledAt ?? 0, { now, perHour: perHourOf(caller) }, count);
  };

  /** Reads the row of a caller. */
  const refresh = async (state: State, key: LookupCaller): Promise<void> => {
    const now = ctx.wallClock.now();
    const read = (await storage.read(() => findRefilledAt(key))) ?? 0;
    state.refilledAt = laterRefill(state, read, now);
    state.readAt = now;
  };

  const isFresh = ({ refilledAt, readAt }: State): boolean =>
    refilledAt !== undefined && Math.abs(ctx.wallClock.now() - readAt) < rereadPeriodMs;

  /**
   * Reserves failures if so many are left. It does not wait, so another lookup cannot take the same failures.
   * @returns whether they were reserved. @throws Fault `too-many-misses` if fewer are left without the reservations.
   */
  const reserveNow = (caller: Caller, state: State, count: number): boolean => {
    const budget = { now: ctx.wallClock.now(), perHour: perHourOf(caller) };
    const left = failuresLeft(state.refilledAt ?? 0, budget);
    if (left < count) throw throttle(caller, state, count);
    if (state.reserved + count > left) return false;
    state.reserved += count;
    return true;
  };

  /** Reserves failures when the row is read and another reservation ends, if that is necessary. */
  const reserve = async (caller: Caller, state: State, count: number): Promise<void> => {
    for (;;) {
      if (!isFresh(state)) {
        state.reading ??= refresh(state, keyOf(caller)).finally(() => (state.reading = undefined));
        await state.reading;
      }
      if (reserveNow(caller, state, count)) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      state.waiting.push(resolve);
      await promise;
    }
  };

  const reserveWaiting = async (caller: Caller, state: State, count: number): Promise<void> => {
    state.users += 1;
    try {
      await reserve(caller, state, count);
    } finally {
      state.users -= 1;
      // Waiting lookups retry one by one, until each has reserved or is rejected.
      wakeNext(state);
    }
  };

  /** @throws Fault `too-many-misses` if failures that other processes have recorded exhaust the budget. */
  const record = async (caller: Caller, state: State, count: number): Promise<void> => {
    const budget = { now: ctx.wallClock.now(), perHour: perHourOf(caller) };
    const refilledAt = await storage.write(() => recordFailedLookup(keyOf(caller), budget, count));
    if (refilledAt === undefined) {
      await refresh(state, keyOf(caller));
      throw throttle(caller, state, count);
    }
    // Before the reservation ends, so that one of the two always counts.
    state.refilledAt = laterRefill(state, refilledAt, budget.now);
  };

  return {
    async run(caller, request) {
      const rules: ((status: number) => number)[] = [];
      let reserved: { readonly state: State; readonly count: number } | undefined;
      const attempt: LookupAttempt = {
        perHour: perHourOf(caller),
        reserve(failuresOf, count = 1) {
          rules.push(failuresOf);
          if (reserved) return undefined;
          const state = stateOf(nameOf(caller));
          if (state.waiting.length === 0 && isFresh(state) && reserveNow(caller, state, count)) {
            reserved = { state, count };
            return undefined;
          }
          return reserveWaiting(caller, state, count).then(() => void (reserved = { state, count }));
        },
      };
      const settle = async (status: number): Promise<void> => {
        if (!reserved) return;
        const failures = Math.max(...rules.map((failuresOf) => failuresOf(status)));
        if (failures > 0) await record(caller, reserved.state, Math.min(failures, reserved.count));
      };
      try {
        const response = await request(attempt);
        // A replayed response was counted when it was first returned.
        if (!('idempotent-replayed' in response.headers)) await settle(response.status);
        return response;
      } catch (error) {
        if (error instanceof Fault) await settle(problems[error.code].status);
        throw error;
      } finally {
        if (reserved) {
          reserved.state.reserved -= reserved.count;
          wakeNext(reserved.state);
        }
      }
    },
  };
}

function keyOf({ store, tokenId, actor }: Caller): LookupCaller {
  return { storeId: store.id, caller: tokenId === null ? actor : `token:${tokenId}` };
}

function nameOf(caller: Caller): string {
  const { storeId, caller: name } = keyOf(caller);
  return `${storeId} ${name}`;
}

/** Lets the lookup retry that has waited for longest. */
function wakeNext({ waiting }: State): void {
  waiting.shift()?.();
}

/** Removes the oldest state that is not in use. */
function evict(states: Map<string, State>): void {
  for (const [name, { reserved, users }] of states) {
    if (reserved > 0 || users > 0) continue;
    states.delete(name);
    return;
  }
}
