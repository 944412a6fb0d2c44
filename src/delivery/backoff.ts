/**
 * When a failed delivery is retried.
 *
 * A *step* is the longest wait after a number of attempts. The *window* is the time after the first attempt in which a
 * delivery is retried.
 */

export type Backoff = {
  /** The step after the first attempt, the second, …; the last one repeats. */
  readonly stepsMs: readonly number[];
  readonly windowMs: number;
};

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** A receiver that is down for three days still receives every delivery. */
const windowMs = 72 * hour;

/** For webhooks: 20 to 31 attempts. */
export const webhookBackoff: Backoff = Object.freeze({
  stepsMs: [
    5 * second,
    30 * second,
    2 * minute,
    10 * minute,
    30 * minute,
    hour,
    2 * hour,
    4 * hour,
    6 * hour,
  ],
  windowMs,
});

/** For emails: slower at first, because servers that greylist require some minutes (RFC 5321, 4.5.4.1). */
export const emailBackoff: Backoff = Object.freeze({
  stepsMs: [2 * minute, 10 * minute, 20 * minute, 40 * minute, hour, 2 * hour, 4 * hour],
  windowMs,
});

/** The maximum of a receiver's `Retry-After`. */
export const retryAfterMaxMs = 6 * hour;

export type Attempts = {
  /** Attempts made so far. */
  readonly made: number;
  /** When the first one was made, ms since 1970 UTC; ignored before the first one. */
  readonly firstAt: number;
};

export type Moment = {
  /** Ms since 1970 UTC. */
  readonly now: number;
  /** From 0 up to, not including, 1. */
  readonly random: number;
  /** The receiver's `Retry-After` in ms; null: none. */
  readonly retryAfterMs: number | null;
};

/**
 * The time of the next attempt, ms since 1970 UTC; null if the window is over. The last attempt is therefore made after
 * the end of the window.
 *
 * The wait is random between half the step and the whole step, so that deliveries that failed together are not retried
 * together. It is never close to zero, which bounds the number of attempts.
 */
export function nextAttempt(
  { stepsMs, windowMs: window }: Backoff,
  { made, firstAt }: Attempts,
  { now, random, retryAfterMs }: Moment,
): number | null {
  if (made === 0) return now;
  if (now - firstAt >= window) return null;
  const stepMs = stepsMs[made - 1] ?? stepsMs.at(-1) ?? 0;
  const waitMs = Math.ceil(stepMs * (0.5 + random / 2));
  return now + Math.max(waitMs, Math.min(retryAfterMs ?? 0, retryAfterMaxMs));
}
