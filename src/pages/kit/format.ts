/** Amounts, days and instants as the pages show them, in the language of the page and the time zone of the store. */

import type { CsvDialect } from '../../core/tables/domain/csv.ts';
import { orderedParts } from '../../core/money/domain/currency.ts';
import { formatInstant } from '../../core/domain/day.ts';
import { formatMoney, type Money } from '../../core/money/domain/money.ts';
import type { Parsed } from '../../platform/parsed.ts';
import type { Store } from '../../core/stores/domain/store.ts';
import { parseWrittenAmount, type DecimalSign } from '../../core/tables/domain/written-amount.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import type { PageLanguage } from './texts.ts';

/** Formatters by their options. A new one takes 40 µs, and a page formats hundreds of values. */
const formatters = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();
const formattersMax = 500;

function cached<F extends Intl.NumberFormat | Intl.DateTimeFormat>(key: string, create: () => F): F {
  // A key begins with the kind of its formatter.
  const found = formatters.get(key) as F | undefined;
  if (found) return found;
  if (formatters.size >= formattersMax) formatters.clear();
  const formatter = create();
  formatters.set(key, formatter);
  return formatter;
}

function formatterOf({ currency: { code, decimals } }: Money, language: string): Intl.NumberFormat {
  return cached(
    `money ${language} ${code} ${decimals}`,
    () =>
      new Intl.NumberFormat(language, {
        style: 'currency',
        currency: code,
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
      }),
  );
}

function timeFormatterOf(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return cached(
    `time ${language} ${JSON.stringify(options)}`,
    () => new Intl.DateTimeFormat(language, { ...options, calendar: 'gregory' }),
  );
}

/** An amount as text, such as `€24.50`. */
export function amountText(money: Money, language: string): string {
  return textOf(moneyParts(money, language));
}

function textOf(parts: readonly Intl.NumberFormatPart[]): string {
  return parts.map(({ value }) => value).join('');
}

function partsOf(
  formatter: Intl.NumberFormat,
  amount: string,
  language: string,
): readonly Intl.NumberFormatPart[] {
  // As text, because the formatter is exact for it (ECMA-402, Intl mathematical values).
  const parts = formatter.formatToParts(amount as `${number}`).map(withMinus);
  return orderedParts(parts, language);
}

/** Languages have a hyphen or a minus sign; pages have the minus sign, which is as wide as a plus sign. */
function withMinus(part: Intl.NumberFormatPart): Intl.NumberFormatPart {
  return part.type === 'minusSign' ? { ...part, value: part.value.replace('-', '−') } : part;
}

/** An amount without its currency, such as `24.50`, with the separators that it has with its currency. */
export function decimalText(money: Money, language: PageLanguage): string {
  return textOf(moneyParts(money, language).filter(({ type }) => type !== 'currency' && type !== 'literal'));
}

/** The change of a balance as text, with its sign. @param change a negative amount decreases the balance. */
export function signedText({ minor, currency }: Money, language: string): string {
  const { code, decimals } = currency;
  const formatter = cached(
    `signed money ${language} ${code} ${decimals}`,
    () =>
      new Intl.NumberFormat(language, {
        style: 'currency',
        currency: code,
        signDisplay: 'exceptZero',
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
      }),
  );
  const [sign, amount] = minor < 0n ? ['-', -minor] : ['', minor];
  return textOf(partsOf(formatter, `${sign}${formatMoney({ minor: amount, currency })}`, language));
}

/** The parts of an amount in the language: its currency, digits and separators. */
export function moneyParts(money: Money, language: string): readonly Intl.NumberFormatPart[] {
  return partsOf(formatterOf(money, language), formatMoney(money), language);
}

/** An amount as the largest figure of a page: its currency is small and where the language puts it. */
export function figure(money: Money, language: string): Markup {
  const shown = moneyParts(money, language)
    .filter(({ type, value }) => type !== 'literal' || value.trim() !== '')
    .map(({ type, value }, place) => {
      if (type !== 'currency') return value;
      return place === 0 ? markup`<small>${value}</small>` : markup`<small class="after">${value}</small>`;
    });
  return markup`<span class="figure">${shown}</span>`;
}

/** The decimal sign of a language. */
export function decimalSignIn(language: string): DecimalSign {
  const formatter = cached(`decimal sign ${language}`, () => new Intl.NumberFormat(language));
  return formatter.formatToParts(1.5).some(({ type, value }) => type === 'decimal' && value === ',')
    ? ','
    : '.';
}

/** The CSV of spreadsheets in the language: semicolons where commas are in numbers. */
export function csvDialectOf(language: string): CsvDialect {
  const decimalSign = decimalSignIn(language);
  return { separator: decimalSign === ',' ? ';' : ',', decimalSign };
}

/**
 * Parses an amount as people type it: with separators of thousands and the currency. The language of the page decides what
 * `1.000` means. The error is not shown: pages have their own texts.
 */
export function parseTypedAmount(
  text: string,
  { currency }: Pick<Store, 'currency'>,
  { language, zeroAllowed = false }: { readonly language: string; readonly zeroAllowed?: boolean },
): Parsed<Money> {
  return parseWrittenAmount(text, { currency, decimalSign: decimalSignIn(language), zeroAllowed });
}

/**
 * An amount as the value of a field, with the decimal sign of the language and without separators of thousands, so that
 * `parseTypedAmount` reads it back.
 */
export function amountValue(money: Money, language: PageLanguage): string {
  return moneyParts(money, language)
    .filter(({ type }) => ['integer', 'decimal', 'fraction'].includes(type))
    .map(({ value }) => value)
    .join('');
}

/** A day `YYYY-MM-DD`, with the month as a word. */
export function dayText(day: string, language: string, dateStyle: 'medium' | 'long' = 'medium'): string {
  // Noon UTC, formatted in UTC: no time zone moves it to another day.
  const noon = Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: 'UTC', plainTime: '12:00' });
  return timeFormatterOf(language, { dateStyle, timeZone: 'UTC' }).format(noon.epochMilliseconds);
}

/** The name of a month `YYYY-MM`, with the year if it is long. */
export function monthText(month: string, language: string, style: 'long' | 'short' = 'long'): string {
  const day = Temporal.PlainDate.from(`${month}-15`).toZonedDateTime({ timeZone: 'UTC', plainTime: '12:00' });
  const options = { month: style, timeZone: 'UTC', ...(style === 'long' && { year: 'numeric' as const }) };
  return timeFormatterOf(language, options).format(day.epochMilliseconds);
}

/** An instant (ms) in the store's time zone, with the day. */
export function timeElement(
  instant: number,
  { timeZone }: Pick<Store, 'timeZone'>,
  language: string,
  options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' },
): Markup {
  const text = timeText(instant, { timeZone }, language, options);
  return markup`<time datetime="${formatInstant(instant)}">${text}</time>`;
}

/** Formats a time as `timeElement` does, as text. */
export function timeText(
  instant: number,
  { timeZone }: Pick<Store, 'timeZone'>,
  language: string,
  options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' },
): string {
  return timeFormatterOf(language, { ...options, timeZone }).format(instant);
}

/** The last characters of a card's code. */
export function cardTail(lastCharacters: string): Markup {
  return markup`<span class="code nowrap">•••• ${lastCharacters}</span>`;
}
