/**
 * Days and instants. An *instant* is whole milliseconds since 1970 UTC. A *day* is a calendar date as `YYYY-MM-DD`, whose
 * order as text is its order in time. The day of an instant depends on the *time zone*, an IANA name.
 */

import { accepted, rejected, type Parsed } from '../../platform/parsed.ts';

export const dayPattern = '^[0-9]{4}-[0-9]{2}-[0-9]{2}$';

const dayForm = new RegExp(dayPattern);

/** Parses a day. Rejects days that do not exist, such as `2026-02-30`. */
export function parseDay(value: unknown): Parsed<string> {
  if (typeof value !== 'string' || !dayForm.test(value))
    return rejected('must be a date in the form YYYY-MM-DD');
  try {
    Temporal.PlainDate.from(value, { overflow: 'reject' });
  } catch {
    return rejected('must be a day that exists');
  }
  return accepted(value);
}

const minuteMs = 60_000;

/** By time zone: the minute of the last call, counted from 1970 UTC, and its day. */
const lastAsked = new Map<string, { readonly minute: number; readonly day: string }>();

/**
 * The day of an instant in a time zone. The day of one minute is cached, because nearly all calls are for the present
 * and Temporal takes 1.6 µs. Since 1972, days and clock changes begin only at whole minutes of UTC.
 */
export function dayOf(instant: number, timeZone: string): string {
  const minute = Math.floor(instant / minuteMs);
  const last = lastAsked.get(timeZone);
  if (last?.minute === minute) return last.day;
  const day = Temporal.Instant.fromEpochMilliseconds(instant)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate()
    .toString();
  lastAsked.set(timeZone, { minute, day });
  return day;
}

/**
 * Formats an instant in UTC and whole seconds: `2025-08-15T12:37:38Z`. For years of four digits it uses a Date, which
 * takes a fifth of the time of Temporal.
 * @throws RangeError if the instant is out of range.
 */
export function formatInstant(instant: number): string {
  // oxlint-disable-next-line no-restricted-globals -- With an argument it does not read the clock.
  const date = new Date(instant);
  const year = date.getUTCFullYear();
  if (!(year >= 1_000 && year <= 9_999))
    return Temporal.Instant.fromEpochMilliseconds(instant).toString({ smallestUnit: 'second' });
  const day = `${year}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`;
  const time = `${twoDigits(date.getUTCHours())}:${twoDigits(date.getUTCMinutes())}:${twoDigits(date.getUTCSeconds())}`;
  return `${day}T${time}Z`;
}

/** Formats an instant as `formatInstant` does; null remains null. */
export function formatInstantOrNull(instant: number | null): string | null {
  return instant === null ? null : formatInstant(instant);
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : `${value}`;
}

/** Whether a text is the name of a time zone. Offsets are rejected, because they do not have daylight saving time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch {
    return false;
  }
}

/** The day that is a number of days after another (negative: before it). */
export function addDays(day: string, days: number): string {
  return Temporal.PlainDate.from(day).add({ days }).toString();
}

/** The instant (ms) at which a day begins in a time zone. */
export function startOfDay(day: string, timeZone: string): number {
  return Temporal.PlainDate.from(day).toZonedDateTime(timeZone).epochMilliseconds;
}
