/**
 * The budgets of failed lookups, as one process knows them.
 *
 * In one process, the reservations and recorded failures of a budget never exceed it: further lookups wait for a
 * reservation to end.
 *
 * A guarded statement records failures in the database, so all processes together never return more "not found"
 * responses than the budget. Each further process can have at most one more budget in flight until it reads the
 * failures of the others, at the latest with its own first failure.
 */

import assert from 'node:assert/strict';
import type { Fault } from '../core/domain/fault.ts';
import {
  countedRefill,
  failuresLeft,
  recordFailedLookups,
  tooManyLookups,
  type Budget,
} from '../core/cards/service/lookup-throttle.ts';
import type { Context } from '../core/storage/context.ts';
import { findRefilledAt, type LookupCaller } from '../core/stores/storage/lookup-throttle.ts';
import type { Storage } from '../database/storage.ts';

/** The state of a budget in this process. */
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

export type NamedBudget = {
  readonly key: LookupCaller;
  readonly perHour: number;
  /** Whether failures of other budgets are reserved while this one is exhausted. */
  readonly isOptional?: boolean;
};

/** A budget whose state is in memory. */
export type OpenBudget = NamedBudget & { readonly state: State };

/** Failures that are reserved until `release`. */
export type Reservation = {
  /** The budgets in which they are reserved. */
  readonly held: readonly OpenBudget[];
  /** The exhausted ones. */
  readonly usedUp: readonly OpenBudget[];
  readonly count: number;
};

/** The minimum time between two reads of a row. Only failures of other processes can be missing. */
const rereadPeriodMs = 1_000;

/** The minimum time between two log lines about a budget. */
const logPeriodMs = 60_000;

/** The later of two refill times. A time that is too far in the future is invalid and does not count. */
function laterRefill({ refilledAt = 0 }: Pick<State, 'refilledAt'>, other: number, now: number): number {
  return Math.max(countedRefill(refilledAt, now), countedRefill(other, now));
}

export class LookupBudgets {
  readonly #ctx: Pick<Context, 'wallClock'>;
  readonly #storage: Pick<Storage, 'read' | 'write'>;
  readonly #statesMax: number;
  readonly #states = new Map<string, State>();

  constructor(
    { ctx, storage }: Readonly<{ ctx: Pick<Context, 'wallClock'>; storage: Pick<Storage, 'read' | 'write'> }>,
    /** The budgets whose state is kept in memory, apart from those in use. */
    statesMax: number,
  ) {
    this.#ctx = ctx;
    this.#storage = storage;
    this.#statesMax = statesMax;
  }

  open(budget: NamedBudget): OpenBudget {
    const { storeId, caller } = budget.key;
    const name = `${storeId} ${caller}`;
    const found = this.#states.get(name);
    // The states that were used last are at the end.
    if (found) this.#states.delete(name);
    else if (this.#states.size >= this.#statesMax) evict(this.#states);
    const state: State = found ?? {
      refilledAt: undefined, readAt: 0, reading: undefined, reserved: 0, users: 0, waiting: [],
      loggedAt: Number.NEGATIVE_INFINITY,
    }; // prettier-ignore
    this.#states.set(name, state);
    return { ...budget, state };
  }

  /** Reserves failures in all budgets that are not exhausted; in none if one is that is not optional. */
  reserve(budgets: readonly OpenBudget[], count: number): Reservation | Promise<Reservation> {
    if (budgets.every((budget) => budget.state.waiting.length === 0 && this.#isFresh(budget))) {
      const reserved = this.#reserveNow(budgets, count);
      if ('held' in reserved) return reserved;
    }
    return this.#reserveWaiting(budgets, count);
  }

  release({ held, count }: Reservation): void {
    for (const { state } of held) {
      state.reserved -= count;
      wakeNext(state);
    }
  }

  /** @returns whether they were recorded in all budgets; otherwise other processes have exhausted one, and none is. */
  async record(budgets: readonly OpenBudget[], count: number): Promise<boolean> {
    const callers = budgets.map(({ key, perHour }) => ({ caller: key, budget: this.#budgetOf({ perHour }) }));
    const refills = await this.#storage.write(() => recordFailedLookups(callers, count));
    if (!refills) {
      await Promise.all(budgets.map((budget) => this.#refresh(budget)));
      return false;
    }
    // Before the reservation ends, so that one of the two always counts.
    for (const [place, { state }] of budgets.entries())
      state.refilledAt = laterRefill(state, refills[place] ?? 0, this.#ctx.wallClock.now());
    return true;
  }

  isUsedUp({ state, perHour }: OpenBudget, count: number): boolean {
    return failuresLeft(state.refilledAt ?? 0, this.#budgetOf({ perHour })) < count;
  }

  /** The fault of the budget in which `count` failures are available last. */
  faultOf(budgets: readonly OpenBudget[], count: number): Fault {
    const faults = budgets.map(({ state, perHour }) =>
      tooManyLookups(state.refilledAt ?? 0, this.#budgetOf({ perHour }), count),
    );
    const [last] = faults.toSorted(
      (left, right) => (right.retryAfterSeconds ?? 0) - (left.retryAfterSeconds ?? 0),
    );
    assert(last, 'no budget is used up');
    return last;
  }

  /** Whether a rejection is logged: at most once a minute for each budget. */
  isLogged({ state }: OpenBudget): boolean {
    const now = this.#ctx.wallClock.now();
    const isNew = now - state.loggedAt >= logPeriodMs;
    if (isNew) state.loggedAt = now;
    return isNew;
  }

  #budgetOf({ perHour }: Pick<NamedBudget, 'perHour'>): Budget {
    return { now: this.#ctx.wallClock.now(), perHour };
  }

  #isFresh({ state: { refilledAt, readAt } }: OpenBudget): boolean {
    return refilledAt !== undefined && Math.abs(this.#ctx.wallClock.now() - readAt) < rereadPeriodMs;
  }

  /** Reads the row of a budget. */
  async #refresh({ state, key }: OpenBudget): Promise<void> {
    const now = this.#ctx.wallClock.now();
    const read = (await this.#storage.read(() => findRefilledAt(key))) ?? 0;
    state.refilledAt = laterRefill(state, read, now);
    state.readAt = now;
  }

  /**
   * Reserves failures if so many are left. It does not wait, so another lookup cannot reserve the same failures.
   * @returns the state in which another reservation has to end first.
   */
  #reserveNow(budgets: readonly OpenBudget[], count: number): Reservation | State {
    const usedUp = budgets.filter((budget) => this.isUsedUp(budget, count));
    const held = usedUp.every(({ isOptional = false }) => isOptional)
      ? budgets.filter((budget) => !usedUp.includes(budget))
      : [];
    const full = held.find((budget) => this.isUsedUp(budget, budget.state.reserved + count));
    if (full) return full.state;
    for (const { state } of held) state.reserved += count;
    return { held, usedUp, count };
  }

  /** Reserves failures when the rows are read and other reservations end, if that is necessary. */
  async #reserveWaiting(budgets: readonly OpenBudget[], count: number): Promise<Reservation> {
    for (const { state } of budgets) state.users += 1;
    try {
      let wokenBy: State | undefined;
      for (;;) {
        const old = budgets.filter((budget) => !this.#isFresh(budget));
        await Promise.all(old.map((budget) => this.#readOnce(budget)));
        const reserved = this.#reserveNow(budgets, count);
        if ('held' in reserved) return reserved;
        const { promise, resolve } = Promise.withResolvers<void>();
        reserved.waiting.push(resolve);
        // It waits for another budget now, so the next one can reserve in the first.
        if (wokenBy && wokenBy !== reserved) wakeNext(wokenBy);
        wokenBy = reserved;
        await promise;
      }
    } finally {
      for (const { state } of budgets) {
        state.users -= 1;
        // Waiting lookups retry one by one, until each has reserved or is rejected.
        wakeNext(state);
      }
    }
  }

  #readOnce(budget: OpenBudget): Promise<void> {
    const { state } = budget;
    state.reading ??= this.#refresh(budget).finally(() => (state.reading = undefined));
    return state.reading;
  }
}

/** Lets the lookup retry that has waited for longest. */
function wakeNext({ waiting }: State): void {
  waiting.shift()?.();
}

/** Removes the state that was not used for longest, except those in use. */
function evict(states: Map<string, State>): void {
  for (const [name, { reserved, users }] of states) {
    if (reserved > 0 || users > 0) continue;
    states.delete(name);
    return;
  }
}
