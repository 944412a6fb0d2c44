/** Amounts, days and codes as people of a language read them. */

import { formatMoney, type Money } from '../../domain/money.ts';
import type { Secret } from '../../domain/secret.ts';

/** Symbols of a code that stand together. */
const codeGroupLength = 4;

/**
 * An amount in the way of a locale, with exactly the decimals of ISO 4217. It never is a float: the
 * formatter takes the decimal as text (ECMA-402, Intl mathematical values).
 */
export function formatAmount(money: Money, locale: string): string {
  const { code, decimals } = money.currency;
  const formatter = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: code,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return formatter.format(formatMoney(money) as `${number}`);
}

/** A day (`YYYY-MM-DD`) in the way of a locale, with the month as a word, in the Gregorian calendar. */
export function formatDay(day: string, locale: string): string {
  // Noon UTC, formatted in UTC: no time zone can move it to another day.
  const instant = Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: 'UTC', plainTime: '12:00' });
  const formatter = new Intl.DateTimeFormat(locale, {
    dateStyle: 'long',
    timeZone: 'UTC',
    calendar: 'gregory',
  });
  return formatter.format(instant.epochMilliseconds);
}

/** A code as it is read and typed: upper case, in groups of four. Spaces and case do not count when it is entered. */
export function groupCode(code: Secret): string {
  const groups = code.reveal().match(new RegExp(`.{1,${codeGroupLength}}`, 'g')) ?? [];
  return groups.join(' ').toUpperCase();
}
