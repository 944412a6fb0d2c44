/**
 * The ends of a range of instants: a day in the store's time zone, or a date and time with `Z` or an offset. Both ends
 * are included. Instants are compared in whole seconds, as responses have them.
 */

import { addDays, parseDay, startOfDay } from './day.ts';
import { accepted, rejected, type Parsed } from '../../platform/parsed.ts';
import { instantOrDayPattern } from '../emails/domain/send-on.ts';

const form = new RegExp(instantOrDayPattern);
const dayLength = 'YYYY-MM-DD'.length;
const lengthMax = 40;

/** Parses an end of a range to its first or last instant, in ms. */
export function parseTimeBound(
  value: unknown,
  { timeZone, isMax }: { readonly timeZone: string; readonly isMax: boolean },
): Parsed<number> {
  if (typeof value !== 'string' || value.length > lengthMax || !form.test(value))
    return rejected('must be a date, or a date and time with Z or an offset');
  if (value.length === dayLength) {
    const day = parseDay(value);
    if (!day.ok) return day;
    return accepted(
      isMax ? startOfDay(addDays(day.value, 1), timeZone) - 1 : startOfDay(day.value, timeZone),
    );
  }
  try {
    const second = Math.floor(Temporal.Instant.from(value).epochMilliseconds / 1_000) * 1_000;
    return accepted(isMax ? second + 999 : second);
  } catch {
    return rejected('must be a time that exists');
  }
}
