/** Instants in the past, at which a client wants to read something. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

export const asOfPattern =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})$';

const form = new RegExp(asOfPattern);
const lengthMax = 40;

/**
 * Parses an instant (ms) that has begun at `now` (ms), as RFC 3339 has it. One in whole seconds, such as the time in a
 * response, includes everything in that second.
 */
export function parseAsOf(value: unknown, now: number): Parsed<number> {
  if (typeof value !== 'string' || value.length > lengthMax || !form.test(value))
    return rejected('must be a date and time with seconds, and Z or an offset');
  let instant: number;
  try {
    instant = Temporal.Instant.from(value).epochMilliseconds;
  } catch {
    return rejected('must be a time that exists');
  }
  if (instant > now) return rejected('must not be in the future');
  return accepted(value.includes('.') ? instant : Math.min(instant + 999, now));
}
