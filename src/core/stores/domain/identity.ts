/** The identity of a shop, which recipients, buyers and staff see on emails, cards, sheets, receipts and pages. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { parseLine } from '../../domain/text.ts';

export type Identity = {
  /** The address for replies and questions; null: the sender's address. */
  readonly replyTo: string | null;
  /** The https URL of an image; null: none. */
  /** `#rrggbb`; null: the default. */
  readonly colour: string | null;
  /** An https URL; null: none. */
  readonly website: string | null;
  /** In the notation of the shop, such as `+33 1 42 00 00 00`; null: none. */
  readonly phone: string | null;
  /** The opening hours, one or more lines; null: none. */
  readonly hours: string | null;
  /** The https URL of the terms of gift cards; null: none. */
  readonly terms: string | null;
};

export const noIdentity: Identity = Object.freeze({
  replyTo: null,
  colour: null,
  website: null,
  phone: null,
  hours: null,
  terms: null,
});

/** Characters of a URL, in UTF-16 units. */
const urlLengthMax = 2_000;

/** Parses an https URL without a user name and password. @param isAccepted the protocols; default: https only. */
export function parseLink(
  value: unknown,
  isAccepted: (url: URL) => boolean = ({ protocol }) => protocol === 'https:',
): Parsed<string> {
  const url = typeof value === 'string' && value.length <= urlLengthMax ? URL.parse(value) : null;
  if (!url || !isAccepted(url)) return rejected('must be an https URL');
  // A URL can be longer than what it was parsed from, because characters are percent-encoded.
  if (url.href.length > urlLengthMax) return rejected(`must have at most ${urlLengthMax} characters`);
  return url.username === '' && url.password === ''
    ? accepted(url.href)
    : rejected('must not contain a user name or password');
}

/** A website without protocol and final slash, as people read it. @param url an accepted link. */
export function shownLink(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\/$/, '');
}

const phoneLengthMax = 40;
/** E.164 allows 15 digits. Short numbers are those of a country. */
const phoneDigits = { min: 3, max: 15 } as const;

/** Parses a phone number: digits with spaces, hyphens, dots, slashes and parentheses, and a plus sign before them. */
export function parsePhone(value: unknown): Parsed<string> {
  const phone = typeof value === 'string' && value.length <= 2 * phoneLengthMax ? value.trim() : '';
  const digits = phone.replaceAll(/\D/g, '').length;
  return phone.length <= phoneLengthMax &&
    /^\+?[\d ()./-]+$/.test(phone) &&
    digits >= phoneDigits.min &&
    digits <= phoneDigits.max
    ? accepted(phone)
    : rejected(`must be a phone number of ${phoneDigits.min} to ${phoneDigits.max} digits`);
}

/** The URL that calls a phone number (RFC 3966). @param phone of `parsePhone`. */
export function phoneLink(phone: string): string {
  return `tel:${phone.startsWith('+') ? '+' : ''}${phone.replaceAll(/\D/g, '')}`;
}

const hoursLinesMax = 7;
const hoursLineLengthMax = 100;

/** Parses opening hours: lines of any text, without empty ones. */
export function parseOpeningHours(value: unknown): Parsed<string> {
  const error = `must have at most ${hoursLinesMax} lines of at most ${hoursLineLengthMax} visible characters`;
  // Twice: Windows ends lines with two characters.
  const isShort = typeof value === 'string' && value.length <= 2 * hoursLinesMax * (hoursLineLengthMax + 2);
  if (!isShort) return rejected(error);
  const lines = value.split(/\r?\n/).map((line) => parseLine(line, hoursLineLengthMax));
  const shown = lines.flatMap((line) => (line.ok && line.value !== null ? [line.value] : []));
  return lines.every(({ ok }) => ok) && shown.length > 0 && shown.length <= hoursLinesMax
    ? accepted(shown.join('\n'))
    : rejected(error);
}
