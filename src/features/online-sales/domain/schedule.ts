/** When a sale is read at its provider again. Hints of the provider come before most of these times. */

import type { OnlineRefund, OnlineSale } from './sale.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
export const dayMs = 24 * hour;

const steps = [10 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute] as const;

/** A session that was not recorded in this time has ended at every provider. */
export const unrecordedMs = 25 * hour;

/** The wait before a finished sale is read because of a notification, of which providers send several at a time. */
export const finishedWaitMs = 30 * second;

/** The time for which a session can be paid. Stripe allows 30 minutes to 24 hours, also if its creation is repeated. */
export const sessionMs = 23 * hour;

/** The time after which the money of a sale with a test key goes back outside of a sandbox. */
export const trialMs = hour;

/** Payments can be disputed for about this time. */
export const disputableMs = 120 * dayMs;

/** The wait after a number of attempts: 10 s to one hour. */
export function waitAfter(attempts: number): number {
  return steps[attempts] ?? hour;
}

/** The days after a payment on which it is read again: a lost hint of a fraud warning is not a movement either. */
const watchedDays = [1, 2, 4, 8, 16, 32, 64] as const;

function nextWatch(paidAt: number, now: number): number | null {
  const days = watchedDays.find((each) => paidAt + each * dayMs > now);
  return days === undefined ? null : paidAt + days * dayMs;
}

type Scheduled = Pick<OnlineSale, 'state' | 'dispute' | 'reviewUntil' | 'paidAt'> & {
  readonly attempts: number;
};

/**
 * The next time (ms) at which a sale is read; null: nothing is expected of its provider.
 * @param isIncomplete whether the card still has a part of what went back, because it is held.
 */
export function nextReadAt(
  { state, dispute, reviewUntil, paidAt, attempts }: Scheduled,
  {
    now,
    refunds,
    isIncomplete,
  }: {
    readonly now: number;
    readonly refunds: readonly Pick<OnlineRefund, 'state'>[];
    readonly isIncomplete: boolean;
  },
): number | null {
  if (state === 'new' || state === 'open' || state === 'waiting') return now + waitAfter(attempts);
  if (refunds.some((refund) => refund.state === 'requested')) return now + waitAfter(attempts);
  if (state === 'review') return Math.min(reviewUntil ?? now, now + hour);
  if (isIncomplete || refunds.some((refund) => refund.state === 'pending')) return now + hour;
  // A warning has no end at the provider.
  const isWarned = dispute === 'warning' && paidAt !== null && now < paidAt + disputableMs;
  if (isWarned || dispute === 'open') return now + dayMs;
  return state === 'issued' && paidAt !== null ? nextWatch(paidAt, now) : null;
}
