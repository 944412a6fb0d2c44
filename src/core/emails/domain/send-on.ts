/** The time of a scheduled email. `send_on` is an instant with a UTC offset, or a day in the store's time zone. */

import { dayOf, parseDay } from '../../domain/day.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

/** A day, or a date and time with `Z` or an offset (RFC 3339). */
export const instantOrDayPattern =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2}))?$';

const form = new RegExp(instantOrDayPattern);
const dayLength = 'YYYY-MM-DD'.length;

/** Local time at which emails for a day are sent. */
const sendingTime = '09:00';

export type SendOn = {
  /** Instant in ms. */
  readonly at: number;
  /** The day in the store's time zone. */
  readonly day: string;
};

/** The instant (ms) at which emails for a day are sent. If a clock change skips 09:00, it is later by the gap. */
export function sendingInstantOf(day: string, timeZone: string): number {
  return Temporal.PlainDate.from(day).toZonedDateTime({ timeZone, plainTime: sendingTime }).epochMilliseconds;
}

/**
 * Parses a time that is not in the past and at most a year ahead. For the present day, an email is sent at 09:00, or
 * immediately if that has passed.
 */
export function parseSendOn(
  value: unknown,
  {
    now,
    timeZone,
    isRepetition = false,
  }: {
    readonly now: number;
    readonly timeZone: string;
    /** Whether the time can be in the past, because an earlier request can have sent it. */
    readonly isRepetition?: boolean;
  },
): Parsed<SendOn> {
  if (typeof value !== 'string' || !form.test(value))
    return rejected('must be a date, or a date and time with Z or an offset');
  const read = value.length === dayLength ? readDay(value, { now, timeZone }) : readInstant(value, timeZone);
  if (!read.ok || isRepetition) return read;
  const today = dayOf(now, timeZone);
  const isPast = value.length === dayLength ? read.value.day < today : read.value.at < now;
  if (isPast) return rejected('must not be in the past');
  if (read.value.at > yearAfter(now, timeZone)) return rejected('must be at most a year ahead');
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
    return rejected('must be a time that exists');
  }
}

/** The last millisecond of the same day one year later. */
function yearAfter(now: number, timeZone: string): number {
  const today = Temporal.PlainDate.from(dayOf(now, timeZone));
  return today.add({ years: 1, days: 1 }).toZonedDateTime({ timeZone }).epochMilliseconds - 1;
}
