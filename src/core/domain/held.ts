/** Emails and deliveries that wait for an owner after a restore. */

/**
 * Added to the time of an email or a delivery that waits for an owner, in ms: about 31,700 years. Taking it off again makes
 * it due when it was.
 */
export const heldMs = 1e15;

/** Returns the time of the next attempt (ms); null: there is none, or it waits for an owner. */
export function timeUnlessHeld(nextAt: number | null): number | null {
  return nextAt !== null && nextAt >= heldMs ? null : nextAt;
}
