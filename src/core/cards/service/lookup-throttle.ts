/**
 * The limit on failed searches and lookups per caller and hour, which prevents guessing of codes, last characters and
 * ids. A budget refills continuously: with 1,000 failures per hour, one is available again every 3.6 seconds.
 */

import assert from 'node:assert/strict';
import type { Context } from '../../storage/context.ts';
import { retiredCodeUsedEvent } from '../../events/domain/event.ts';
import { Fault } from '../../domain/fault.ts';
import { findCard, lockCard, type CardKey } from '../storage/card.ts';
import { recordEvent } from '../../events/storage/event.ts';
import {
  findRefilledAt,
  insertFailedLookup,
  returnShare,
  type LookupCaller,
} from '../../stores/storage/lookup-throttle.ts';
import type { Script } from '../../../database/sql/sql.ts';

export const lookupPeriodMs = 60 * 60 * 1_000;

/** A refill time that is further ahead was written by a clock that was ahead, and is ignored. */
const refillMaxMs = 2 * lookupPeriodMs;

/** The instant (ms) at which the whole budget is available again; 0 if the stored one is ignored. */
export function countedRefill(refilledAt: number, now: number): number {
  return refilledAt > now + refillMaxMs ? 0 : refilledAt;
}

/** The number of lookups that can still fail at `now` (ms). The whole budget is available again at `refilledAt`. */
export function failuresLeft(refilledAt: number, { now, perHour }: Budget): number {
  const inUseMs = Math.max(0, countedRefill(refilledAt, now) - now);
  return Math.max(0, Math.floor((lookupPeriodMs - inUseMs) / shareMsOf(perHour)));
}

export type Budget = { readonly now: number; /** Failed lookups per hour. */ readonly perHour: number };

/** The fault of a caller whose budget has fewer than `count` failures left. */
export function tooManyLookups(refilledAt: number, { now, perHour }: Budget, count = 1): Fault {
  const waitMs = refilledAt - now - (lookupPeriodMs - count * shareMsOf(perHour));
  return new Fault('too-many-misses', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
}

/** The time in which one failure refills (ms), rounded down to make the whole hourly budget usable. */
function shareMsOf(perHour: number): number {
  return Math.floor(lookupPeriodMs / perHour);
}

/**
 * Records `count` failed lookups, or none. Concurrent records of several processes are all counted.
 * @param count at most the whole budget.
 * @returns when the whole budget is available again (ms); undefined if fewer are left.
 */
export function* recordFailedLookup(
  caller: LookupCaller,
  { now, perHour }: Budget,
  count = 1,
): Script<number | undefined> {
  assert(count >= 1 && count <= perHour);
  return yield* insertFailedLookup(caller, {
    now,
    shareMs: count * shareMsOf(perHour),
    periodMs: lookupPeriodMs,
    aheadMaxMs: refillMaxMs,
  });
}

/**
 * Records `count` failed lookups in each of several budgets, or none in any.
 * @param owned in the order in which their rows are locked.
 * @returns as `recordFailedLookup`, for each budget; undefined if one has fewer left.
 */
export function* recordFailedLookups(
  owned: readonly { readonly caller: LookupCaller; readonly budget: Budget }[],
  count: number,
): Script<readonly number[] | undefined> {
  const refills: number[] = [];
  for (const [place, { caller, budget }] of owned.entries()) {
    const refilledAt = yield* recordFailedLookup(caller, budget, count);
    if (refilledAt !== undefined) {
      refills.push(refilledAt);
      continue;
    }
    for (const earlier of owned.slice(0, place)) yield* releaseLookups(earlier.caller, earlier.budget, count);
    return undefined;
  }
  return refills;
}

/**
 * Reserves `count` failures before a lookup, so that concurrent lookups cannot exceed the budget.
 * @param count at most the whole budget.
 * @returns the fault if fewer are left; null if they are reserved.
 */
export function* reserveLookups(caller: LookupCaller, budget: Budget, count = 1): Script<Fault | null> {
  if ((yield* recordFailedLookup(caller, budget, count)) !== undefined) return null;
  return tooManyLookups((yield* findRefilledAt(caller)) ?? budget.now, budget, count);
}

/** Gives back reserved lookups that did not fail. */
export function* releaseLookups(
  caller: LookupCaller,
  { perHour }: Pick<Budget, 'perHour'>,
  count: number,
): Script<void> {
  yield* returnShare(caller, count * shareMsOf(perHour));
}

/** Publishes one `gift_card.retired_code_used` per card in the list. */
export function* recordRetiredCodeUses(ctx: Context, uses: readonly CardKey[]): Script<void> {
  for (const { storeId, cardId } of uses) {
    yield* lockCard({ storeId, cardId });
    const card = yield* findCard(storeId, cardId);
    if (card) yield* recordEvent(ctx, retiredCodeUsedEvent(ctx.keys.publicIds, card));
  }
}
