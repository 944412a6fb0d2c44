/**
 * The limit on failed searches and lookups per caller and hour, which prevents guessing of codes, last characters and
 * ids. A budget refills continuously: with 1,000 failures per hour, one is available again every 3.6 seconds.
 */

import type { Context } from '../context.ts';
import { retiredCodeUsedEvent } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { findCard, lockCard, type CardKey } from '../storage/card.ts';
import { recordEvent } from '../storage/event.ts';
import { insertFailedLookup, type LookupCaller } from '../storage/lookup-throttle.ts';
import type { Script } from '../storage/sql.ts';

export const lookupPeriodMs = 60 * 60 * 1_000;

/** A refill time that is further ahead was written by a clock that was ahead, and is ignored. */
const refillMaxMs = 2 * lookupPeriodMs;

/** The instant (ms) at which the whole budget is available again; 0 if the stored one is ignored. */
export function countedRefill(refilledAt: number, now: number): number {
  return refilledAt > now + refillMaxMs ? 0 : refilledAt;
}

/** How many more lookups can fail at `now` (ms). The whole budget is available again at `refilledAt`. */
export function failuresLeft(refilledAt: number, { now, perHour }: Budget): number {
  const inUseMs = Math.max(0, countedRefill(refilledAt, now) - now);
  return Math.max(0, Math.floor((lookupPeriodMs - inUseMs) / shareMsOf(perHour)));
}

type Budget = { readonly now: number; /** Failed lookups per hour. */ readonly perHour: number };

/** The fault of a caller whose budget is exhausted. */
export function tooManyLookups(refilledAt: number, { now, perHour }: Budget): Fault {
  const waitMs = refilledAt - now - (lookupPeriodMs - shareMsOf(perHour));
  return new Fault('too-many-misses', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
}

/** How long one failure takes to refill (ms), rounded down to make the whole hourly budget usable. */
function shareMsOf(perHour: number): number {
  return Math.floor(lookupPeriodMs / perHour);
}

/**
 * Records a failed lookup. Concurrent records of several processes are all counted.
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

/** Publishes one `gift_card.retired_code_used` per card in the list. */
export function* recordRetiredCodeUses(ctx: Context, uses: readonly CardKey[]): Script<void> {
  for (const { storeId, cardId } of uses) {
    yield* lockCard({ storeId, cardId });
    const card = yield* findCard(storeId, cardId);
    if (card) yield* recordEvent(ctx, retiredCodeUsedEvent(ctx.keys.publicIds, card));
  }
}
