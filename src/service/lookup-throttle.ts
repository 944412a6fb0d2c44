/**
 * The limit on failed lookups: how many searches and lookups of one caller may find nothing within an hour.
 *
 * Codes, their last four characters and ids could be guessed without it. A budget refills continuously: of 1,000
 * failures an hour, one is available again every 3.6 seconds. One caller's failures never count for another caller.
 */

import type { Context } from '../context.ts';
import { retiredCodeUsed } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { findCard, type CardKey } from '../storage/card.ts';
import { announce } from '../storage/event.ts';
import { insertFailedLookup, type LookupCaller } from '../storage/lookup-throttle.ts';
import type { Script } from '../storage/sql.ts';

export const lookupPeriodMs = 60 * 60 * 1_000;

/** A budget that is available again only later than this was written by a clock that was ahead, and does not count. */
const refillMaxMs = 2 * lookupPeriodMs;

/** The instant at which a budget is available again, or 0 if it does not count. */
export function countedRefill(refilledAt: number, now: number): number {
  return refilledAt > now + refillMaxMs ? 0 : refilledAt;
}

/** How many more lookups may fail at `now` (ms). `refilledAt` says when the whole budget is available again. */
export function failuresLeft(refilledAt: number, { now, perHour }: Budget): number {
  const inUseMs = Math.max(0, countedRefill(refilledAt, now) - now);
  return Math.max(0, Math.floor((lookupPeriodMs - inUseMs) / shareMsOf(perHour)));
}

type Budget = { readonly now: number; /** Failed lookups per hour. */ readonly perHour: number };

/** The fault of a caller whose budget is exhausted. */
export function throttled(refilledAt: number, { now, perHour }: Budget): Fault {
  const waitMs = refilledAt - now - (lookupPeriodMs - shareMsOf(perHour));
  return new Fault('too-many-misses', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
}

/** How long one failure takes to refill. Rounded down, so that the whole hourly budget can be used. */
function shareMsOf(perHour: number): number {
  return Math.floor(lookupPeriodMs / perHour);
}

/**
 * Records a failed lookup, however many processes record one at the same time.
 * @returns when the whole budget is available again (ms); undefined if it is exhausted.
 */
export function* recordFailedLookup(
  caller: LookupCaller,
  { now, perHour }: Budget,
): Script<number | undefined> {
  return yield* insertFailedLookup(caller, {
    now,
    shareMs: shareMsOf(perHour),
    periodMs: lookupPeriodMs,
    aheadMaxMs: refillMaxMs,
  });
}

/** Publishes that replaced codes of these cards were presented: one event per card in the list. */
export function* recordRetiredCodeUses(ctx: Context, uses: readonly CardKey[]): Script<void> {
  for (const { storeId, cardId } of uses) {
    const card = yield* findCard(storeId, cardId);
    if (card) yield* announce(ctx, retiredCodeUsed(ctx.keys.publicIds, card));
  }
}
