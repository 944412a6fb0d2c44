/** Amounts, days and instants as the pages show them, in the language of the page and the time zone of the store. */

import { formatInstant } from '../domain/day.ts';
import { formatMoney, parseAmount, type Money } from '../domain/money.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Store } from '../domain/store.ts';
import { markup, type Markup } from '../markup.ts';
import type { Language } from './texts.ts';

function formatterOf({ currency: { code, decimals } }: Money, language: Language): Intl.NumberFormat {
  return new Intl.NumberFormat(language, {
    style: 'currency',
    currency: code,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}

/** An amount as text, such as `€24.50`. */
export function amountText(money: Money, language: Language): string {
  // As text, because the formatter is exact for it (ECMA-402, Intl mathematical values).
  return formatterOf(money, language).format(formatMoney(money) as `${number}`);
}

/** An amount as the largest figure of a page: its currency is small and where the language puts it. */
export function figure(money: Money, language: Language): Markup {
  const parts = formatterOf(money, language).formatToParts(formatMoney(money) as `${number}`);
  const shown = parts
    .filter(({ type, value }) => type !== 'literal' || value.trim() !== '')
    .map(({ type, value }) => (type === 'currency' ? markup`<small>${value}</small>` : value));
  return markup`<span class="figure">${shown}</span>`;
}

const typedLengthMax = 40;

/**
 * Parses an amount as people type it: with a point or a comma before the decimals, spaces, and the currency.
 * The error is not shown: pages have their own texts.
 */
export function parseTypedAmount(
  text: string,
  { currency }: Pick<Store, 'currency'>,
  { zeroAllowed = false }: { readonly zeroAllowed?: boolean } = {},
): Parsed<Money> {
  const typed = text
    .slice(0, typedLengthMax)
    .replaceAll(/[\s\u00a0\u202f]|\p{Sc}/gu, '')
    .replace(new RegExp(`^${currency.code}|${currency.code}$`, 'i'), '')
    .replace(',', '.')
    .replace(/\.$/, '');
  return parseAmount(typed, { currency, zeroAllowed });
}

/** An amount as the value of a field, with the decimal separator of the language. */
export function amountValue(money: Money, language: Language): string {
  const parts = formatterOf(money, language).formatToParts(formatMoney(money) as `${number}`);
  return parts
    .filter(({ type }) => ['integer', 'decimal', 'fraction'].includes(type))
    .map(({ value }) => value)
    .join('');
}

/** A day `YYYY-MM-DD`, with the month as a word. */
export function dayText(day: string, language: Language): string {
  // Noon UTC, formatted in UTC: no time zone moves it to another day.
  const noon = Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: 'UTC', plainTime: '12:00' });
  return new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeZone: 'UTC',
    calendar: 'gregory',
  }).format(noon.epochMilliseconds);
}

/** An instant (ms) in the store's time zone, with the day. */
export function timeElement(
  instant: number,
  { timeZone }: Pick<Store, 'timeZone'>,
  language: Language,
  options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' },
): Markup {
  const text = timeText(instant, { timeZone }, language, options);
  return markup`<time datetime="${formatInstant(instant)}">${text}</time>`;
}

/** As `timeElement`, as text. */
export function timeText(
  instant: number,
  { timeZone }: Pick<Store, 'timeZone'>,
  language: Language,
  options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' },
): string {
  return new Intl.DateTimeFormat(language, { ...options, timeZone, calendar: 'gregory' }).format(instant);
}
