/** When a certificate is renewed, and when a failed attempt is repeated. */

import { createHash } from 'node:crypto';
import type { RenewalWindow } from '../acme/client.ts';
import type { Certificate } from './certificate.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The period of requests for the renewal window, unless the authority names another. */
export const windowAgeMs = 6 * hourMs;
const windowAgeMinMs = minuteMs;
const windowAgeMaxMs = dayMs;

/** After which time the renewal window is read again. */
export function nextWindowMs(window: RenewalWindow | null): number {
  const wanted = window?.retryAfterMs ?? windowAgeMs;
  return Math.min(Math.max(wanted, windowAgeMinMs), windowAgeMaxMs);
}

/**
 * When a certificate is renewed (ms since 1970 UTC): at a time in the authority's window, which is always the same for a
 * certificate, or when a third of its lifetime is left. At the latest a tenth before its end, whatever the window is.
 */
export function renewalAt(
  { from, until, serial }: Pick<Certificate, 'from' | 'until' | 'serial'>,
  window: Pick<RenewalWindow, 'start' | 'end'> | null,
): number {
  const lifetime = until - from;
  if (!window) return until - lifetime / 3;
  const place = createHash('sha256').update(serial).digest().readUInt32BE(0) / 2 ** 32;
  return Math.min(window.start + place * (window.end - window.start), until - lifetime / 10);
}

const retryFirstMs = minuteMs;
const retryFactor = 4;
const retryMaxMs = 6 * hourMs;
/** The maximum of an authority's `Retry-After`. Its limits have periods of a week. */
const retryAfterMaxMs = 7 * dayMs;

/**
 * The wait after a failed attempt: 1, 4, 16, 64 minutes, … 6 hours, up to a fifth more or less. The `Retry-After`
 * of the authority replaces it.
 * @param failures those in a row, at least 1.
 * @param random from 0 up to, not including, 1.
 */
export function retryMs(
  failures: number,
  { random, retryAfterMs }: { readonly random: number; readonly retryAfterMs: number | null },
): number {
  if (retryAfterMs !== null) return Math.min(Math.max(retryAfterMs, retryFirstMs), retryAfterMaxMs);
  const step = Math.min(retryFirstMs * retryFactor ** (failures - 1), retryMaxMs);
  return Math.round(step * (0.8 + random * 0.4));
}

/** Whether a time of the next attempt can be true: a later one was computed with another clock. */
export function isPlausibleRetry(nextAt: number | null, now: number): boolean {
  return nextAt === null || nextAt <= now + retryAfterMaxMs;
}
