/**
 * Texts of a language with values.
 *
 * A placeholder such as `{store}` is replaced once, by an *isolated* value: one between the Unicode characters that
 * keep its direction apart from the text around it. So a Hebrew name leaves an English sentence in order, and the
 * reverse. `htmlOf` turns these characters into `<bdi>`; `plainOf` removes them where they are not needed.
 */

import { orderedParts } from '../../../core/money/domain/currency.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Language, TextName } from './language.ts';
import { endsWithStop, markup, insertTags, type Markup } from '../../../platform/markup.ts';

/** FIRST STRONG ISOLATE or LEFT-TO-RIGHT ISOLATE, a value, POP DIRECTIONAL ISOLATE. */
export type Isolated = `${'\u2068' | '\u2066'}${string}\u2069`;

export type Placeholders = Readonly<Record<string, Isolated>>;

/** Returns a text of a language with its values. @throws RangeError if a placeholder has no value. */
export type Translate = (name: TextName, values?: Placeholders) => string;

const isolates = /[\u2066-\u2069]/g;

/** @param direction `auto` for that of the value's own text; `ltr` for codes, numbers and addresses. */
export function isolate(value: string, direction: 'auto' | 'ltr' = 'auto'): Isolated {
  const text = value.replaceAll(isolates, '');
  return direction === 'ltr' ? `\u2066${text}\u2069` : `\u2068${text}\u2069`;
}

/** @param common values that every text can use. */
export function translator({ texts }: Pick<Language, 'texts'>, common: Placeholders): Translate {
  return (name, values = {}) => {
    const text = insertValues(texts[name], { ...common, ...values });
    if (text === undefined) throw new RangeError(`a placeholder of the text ${name} has no value`);
    return text;
  };
}

/** A text with its values, each inserted once; undefined if a placeholder has no value. */
export function insertValues(text: string, values: Placeholders): string | undefined {
  let isComplete = true;
  const filled = text.replaceAll(/\{([a-z]{1,20})\}(\.?)/g, (placeholder, key: string, stop: string) => {
    const value = values[key];
    if (value === undefined) {
      isComplete = false;
      return placeholder;
    }
    return endsWithStop(value) ? value : value + stop;
  });
  return isComplete ? filled : undefined;
}

/** Plain text without isolates: for left-to-right texts, subjects and attributes. */
export function plainOf(text: string): string {
  return text.replaceAll(isolates, '');
}

/** Markup with `<bdi>` for isolates and `<br />` for newlines. */
export function htmlOf(text: string): Markup {
  return insertTags(markup`${text}`, {
    '\u2068': '<bdi>',
    '\u2066': '<bdi dir="ltr">',
    '\u2069': '</bdi>',
    '\n': '<br />',
  });
}

/** An amount in the locale's format, with exactly the decimals of ISO 4217. */
export function formatAmount(money: Money, locale: string): Isolated {
  const { code, decimals } = money.currency;
  const formatter = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: code,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  // As text, because the formatter is exact for it (ECMA-402, Intl mathematical values).
  const parts = orderedParts(formatter.formatToParts(formatMoney(money) as `${number}`), locale);
  return isolate(parts.map(({ value }) => value).join(''));
}

/** A day (`YYYY-MM-DD`) in the locale's format, with the month as a word, in the Gregorian calendar. */
export function formatDay(day: string, locale: string): Isolated {
  // Noon UTC, formatted in UTC: no time zone moves it to another day.
  const instant = Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: 'UTC', plainTime: '12:00' });
  const formatter = new Intl.DateTimeFormat(locale, {
    dateStyle: 'long',
    timeZone: 'UTC',
    calendar: 'gregory',
  });
  return isolate(formatter.format(instant.epochMilliseconds));
}

/** A code for reading and typing: upper case, in groups of four. Spaces and case are ignored when it is entered. */
export function formatCode(code: Secret): string {
  return (code.reveal().match(/.{1,4}/g) ?? []).join(' ').toUpperCase();
}
