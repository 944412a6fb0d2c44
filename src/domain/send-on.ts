/**
 * When a mail is sent that a store schedules.
 *
 * Terms: `send_on` is an instant with its offset from UTC, or a day of the store's time zone, on which the mail goes
 * out at the *sending hour*: nine o'clock on the clocks of that day, whatever daylight saving does.
 */

import { dayOf, parseDay } from './day.ts';
import { accepted, refused, type Parsed } from './parsed.ts';

/** A day, or a date and time with `Z` or an offset (RFC 3339). */
export const sendOnPattern =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2}))?$';

const form = new RegExp(sendOnPattern);
const dayLength = 'YYYY-MM-DD'.length;

const sendingTime = '09:00';

export type SendOn = {
  /** Instant in ms. */
  readonly at: number;
  /** The day in the store's time zone. */
  readonly day: string;
};

/** The instant at which what is due on a day is sent. Should its clocks skip that hour, it is sent at the next one that there is. */
export function sendingInstantOf(day: string, timeZone: string): number {
  return Temporal.PlainDate.from(day).toZonedDateTime({ timeZone, plainTime: sendingTime }).epochMilliseconds;
}

/** Reads a time for a mail: not in the past, and at most a year ahead. A day that is today is sent at once if the hour is over. */
export function parseSendOn(
  value: unknown,
  { now, timeZone }: { readonly now: number; readonly timeZone: string },
): Parsed<SendOn> {
  if (typeof value !== 'string' || !form.test(value))
    return refused('must be a date, or a date and time with Z or an offset');
  const read = value.length === dayLength ? readDay(value, { now, timeZone }) : readInstant(value, timeZone);
  if (!read.ok) return read;
  const today = dayOf(now, timeZone);
  const isPast = value.length === dayLength ? read.value.day < today : read.value.at < now;
  if (isPast) return refused('must not be in the past');
  if (read.value.at > yearAfter(now, timeZone)) return refused('must be at most a year ahead');
  return read;
}

function readDay(
  value: string,
  { now, timeZone }: { readonly now: number; readonly timeZone: string },
): Parsed<SendOn> {
  const day = parseDay(value);
  if (!day.ok) return day;
  return accepted({ day: day.value, at: Math.max(now, sendingInstantOf(day.value, timeZone)) });
}

function readInstant(value: string, timeZone: string): Parsed<SendOn> {
  try {
    const at = Temporal.Instant.from(value).epochMilliseconds;
    return accepted({ at, day: dayOf(at, timeZone) });
  } catch {
    return refused('must be a time that exists');
  }
}

/** The end of the same day a year on. */
function yearAfter(now: number, timeZone: string): number {
  const today = Temporal.PlainDate.from(dayOf(now, timeZone));
  return today.add({ years: 1, days: 1 }).toZonedDateTime({ timeZone }).epochMilliseconds - 1;
}
