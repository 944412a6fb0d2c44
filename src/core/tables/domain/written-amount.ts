/**
 * Amounts as people and spreadsheets write them: `1.000,00`, `1,000.00`, `1 000,00 €`, `1'000.00`, `€25`, `EUR 25,00`. An
 * amount that two writers mean differently, such as `1.000`, needs the decimal sign of its writer. Nothing is rounded, and
 * a text that is not exactly an amount is an error.
 */

import type { Currency } from '../../money/domain/currency.ts';
import { lowestError, parseAmount, type Money } from '../../money/domain/money.ts';
import { rejected, type Parsed } from '../../../platform/parsed.ts';

/** The character between whole units and their decimals. */
export type DecimalSign = '.' | ',';

type Writing = {
  readonly currency: Currency;
  /** The decimal sign of the writer; null: unknown. */
  readonly decimalSign: DecimalSign | null;
  readonly zeroAllowed?: boolean;
};

/** The error of an amount that could have a separator of thousands or of decimals. */
export const ambiguousAmount =
  'is ambiguous: its separator can be that of thousands or of decimals; write it with decimals or without a separator';

/** Longer texts are not read. */
const writtenLengthMax = 64;

/** Parses a written amount. Errors read after the name of a field. */
export function parseWrittenAmount(
  text: string,
  { currency, decimalSign, zeroAllowed = false }: Writing,
): Parsed<Money> {
  const written = partsOf(text, currency);
  if (!written) return rejected(`must be an amount in ${currency.code}, such as 25.00 or 1,000.00`);
  if (written.isNegative) return rejected(lowestError(zeroAllowed));
  const { whole, sign, fraction } = written;
  if (!isAmbiguous(written)) return parseDecimal(whole, fraction);
  if (decimalSign === null) return rejected(ambiguousAmount);
  return sign === decimalSign ? parseDecimal(whole, fraction) : parseDecimal(whole + fraction, '');

  function parseDecimal(units: string, digits: string): Parsed<Money> {
    // More than three decimals cannot be thousands, and the zeros at their end change nothing.
    const decimals = digits.length > 3 ? withoutFinalZeros(digits) : digits;
    return parseAmount(decimals === '' ? units : `${units}.${decimals}`, { currency, zeroAllowed });
  }
}

/** The decimal sign of the writer of an amount; null: the amount does not show it. */
export function decimalSignOf(text: string, currency: Currency): DecimalSign | null {
  const written = partsOf(text, currency);
  if (!written || isAmbiguous(written)) return null;
  const { sign, group } = written;
  if (sign !== null) return sign;
  if (group === '.') return ',';
  return group === ',' ? '.' : null;
}

type Written = {
  readonly isNegative: boolean;
  /** Without separators. */
  readonly whole: string;
  /** The separator of thousands. */
  readonly group: string | null;
  /** The sign in front of the last digits, if that can be the decimal sign. */
  readonly sign: DecimalSign | null;
  readonly fraction: string;
};

/** Whether the digits that were read as decimals can be thousands: of `1.000`, and not of `0.500` or `1000.000`. */
function isAmbiguous({ whole, group, sign, fraction }: Written): boolean {
  return sign !== null && group === null && fraction.length === 3 && /^[1-9]\d{0,2}$/.test(whole);
}

/** Spaces that languages write between thousands, tabs, and marks for the direction of text, which cannot be seen. */
const spaces = /[\t\u00a0\u2007\u2009\u202f]/g;
const directionMarks = /[\u061c\u200e\u200f]/g;
const numeral = /^(?:(0|[1-9]\d*)|([1-9]\d{0,2})([., '])(\d{3}(?:\3\d{3})*))(?:([.,])(\d*))?$/;

function withPlainCharacters(text: string): string {
  return text
    .replaceAll(spaces, ' ')
    .replaceAll(directionMarks, '')
    .replaceAll('’', "'")
    .replaceAll('−', '-')
    .trim();
}

/** The parts of a written amount; undefined: it is not one, or has another currency. */
function partsOf(text: string, currency: Currency): Written | undefined {
  if (text.length > writtenLengthMax) return undefined;
  const plain = withPlainCharacters(text);
  const [, before = '', digits = '', after = ''] = /^(\D*)(\d(?:.*\d)?)(\D*)$/s.exec(plain) ?? [];
  const names = namesOf(currency);
  const start = startOf(before, names);
  const end = endOf(after, names);
  if (!start || !end) return undefined;
  const [, plainWhole, first = '', group, others = '', sign, fraction = ''] =
    numeral.exec(`${start.hasSign ? `0${start.sign}` : ''}${digits}${end.sign}`) ?? [];
  const whole = plainWhole ?? first + others.replaceAll(/\D/g, '');
  if (whole === '' || (sign !== undefined && sign === group)) return undefined;
  const isNegative = start.isNegative || end.isNegative;
  return {
    isNegative,
    whole,
    group: group ?? null,
    sign: sign === '.' || sign === ',' ? sign : null,
    fraction,
  };
}

type End = { readonly isNegative: boolean; readonly sign: string };

/** The text in front of the digits: a currency, a minus sign, and the decimal sign of `.50`. */
function startOf(
  text: string,
  names: ReadonlySet<string>,
): (End & { readonly hasSign: boolean }) | undefined {
  const isNegative = text.includes('-') && !isName(text.trim(), names);
  const name = (isNegative ? text.replace('-', '') : text).trim();
  if (isName(name, names)) return { isNegative, sign: '', hasSign: false };
  const sign = name.at(-1) ?? '';
  if (!/^[.,]$/.test(sign) || !isName(name.slice(0, -1).trim(), names)) return undefined;
  return { isNegative, sign, hasSign: true };
}

/** The text after the digits: the end of `25,-`, a minus sign, and a currency. */
function endOf(text: string, names: ReadonlySet<string>): End | undefined {
  const [, sign = '', minus = '', name = ''] = /^(?:([.,])(?:--?|[–—])?)?(-?)([^]*)$/.exec(text) ?? [];
  return isName(name.trim(), names) ? { isNegative: minus !== '', sign } : undefined;
}

function isName(text: string, names: ReadonlySet<string>): boolean {
  return text === '' || names.has(text.toLowerCase());
}

const languages = ['en', 'de', 'es', 'fr'] as const;
const namesByCode = new Map<string, ReadonlySet<string>>();

/** The names of a currency in lower case: its code, its symbols, and its words in the languages of the pages. */
function namesOf({ code }: Currency): ReadonlySet<string> {
  const known = namesByCode.get(code);
  if (known) return known;
  const names = new Set([code.toLowerCase()]);
  for (const language of languages)
    for (const currencyDisplay of ['symbol', 'narrowSymbol', 'name'] as const)
      for (const count of [1, 2, 1_000_000])
        for (const { type, value } of new Intl.NumberFormat(language, {
          style: 'currency',
          currency: code,
          currencyDisplay,
        }).formatToParts(count))
          if (type === 'currency') names.add(withPlainCharacters(value).toLowerCase());
  namesByCode.set(code, names);
  return names;
}

/** The decimals of a number without the zeros that change nothing: `50` becomes `5`. */
export function withoutFinalZeros(digits: string): string {
  let end = digits.length;
  while (digits.endsWith('0', end)) end -= 1;
  return digits.slice(0, end);
}
