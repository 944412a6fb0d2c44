/** The values of cells of a workbook as text: numbers, days and truth values (ECMA-376, part 1, 18.3 and 18.8). */

import { withoutFinalZeros, type DecimalSign } from './written-amount.ts';

/** The meaning that a style gives to the numbers of its cells. */
export type NumberStyle =
  | { readonly kind: 'number' }
  | { readonly kind: 'day' }
  | { readonly kind: 'percent' }
  /** Leading zeros up to a number of digits. */
  | { readonly kind: 'digits'; readonly length: number };

const plain: NumberStyle = { kind: 'number' };

/** The formats that files do not define: days of all languages, without those of times alone. */
const dayFormats: ReadonlySet<number> = new Set([
  14,
  15,
  16,
  17,
  22,
  ...Array.from({ length: 10 }, (_, index) => 27 + index),
  ...Array.from({ length: 9 }, (_, index) => 50 + index),
]);

/** Spreadsheets write no longer one. */
const formatLengthMax = 255;

/** @param code that of the file; undefined: the format has the meaning of its number. */
export function numberStyleOf(id: number, code: string | undefined): NumberStyle {
  if (code === undefined) {
    if (dayFormats.has(id)) return { kind: 'day' };
    return id === 9 || id === 10 ? { kind: 'percent' } : plain;
  }
  if (code.length > formatLengthMax) return plain;
  // Without texts, skipped characters, colors and currencies. The first part is that of positive numbers.
  const [first = ''] = code.replaceAll(/"[^"]{0,255}"|\[[^[\]]{0,255}\]|[\\_*]./g, '').split(';');
  if (/[dy]/i.test(first) || (/m/i.test(first) && !/[hs]/i.test(first))) return { kind: 'day' };
  if (first.includes('%')) return { kind: 'percent' };
  return /^0{2,20}$/.test(first) ? { kind: 'digits', length: first.length } : plain;
}

/** The days before day 1. The year 1900 has a 29 February in spreadsheets, which is day 60. */
const origins = { 1900: '1899-12-30', 1904: '1904-01-01' } as const;

/** The year 1900, whose first days have other numbers, or 1904. */
export type DaySystem = keyof typeof origins;

const minutesOfDay = 24 * 60;
/** The last day of the year 9999. */
const lastSerial = 2_958_465;

/**
 * The day of a serial number as `YYYY-MM-DD`, with a time if it is not midnight; undefined: it is not a day from
 * 1 March 1900 on.
 */
export function dayOfSerial(serial: number, system: DaySystem): string | undefined {
  if (!(serial >= 1 && serial < lastSerial) || (system === 1900 && serial <= 60)) return undefined;
  const minutes = Math.round(serial * minutesOfDay);
  const days = Math.floor(minutes / minutesOfDay);
  const day = Temporal.PlainDate.from(origins[system]).add({ days }).toString();
  const rest = minutes % minutesOfDay;
  if (rest === 0) return day;
  const [hour, minute] = [Math.floor(rest / 60), rest % 60].map((part) => String(part).padStart(2, '0'));
  return `${day} ${hour}:${minute}`;
}

/** Numbers above have digits that a spreadsheet has not stored. */
const exactMax = 1e15;

/**
 * A number without an exponent, with the 15 digits that spreadsheets show. Three decimals get a zero: they cannot be
 * read as thousands.
 */
export function textOfNumber(value: number, decimalSign: DecimalSign): string {
  if (Math.abs(value) >= exactMax) return value.toExponential().toUpperCase();
  const [whole = '', decimals = ''] = plainNumber(Number(value.toPrecision(15))).split('.');
  if (decimals === '') return whole;
  return `${whole}${decimalSign}${decimals.length === 3 ? `${decimals}0` : decimals}`;
}

function plainNumber(value: number): string {
  const text = String(value);
  return text.includes('e') ? withoutFinalZeros(value.toFixed(20)) : text;
}

export type NumberPlace = { readonly decimalSign: DecimalSign; readonly daySystem: DaySystem };

/** @param style undefined: none. */
export function textOfNumberCell(
  text: string,
  style: NumberStyle | undefined,
  { decimalSign, daySystem }: NumberPlace,
): string {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return text.trim();
  const { kind } = style ?? plain;
  if (kind === 'day') return dayOfSerial(value, daySystem) ?? textOfNumber(value, decimalSign);
  if (kind === 'percent') return `${textOfNumber(Number((value * 100).toPrecision(12)), decimalSign)}%`;
  const number = textOfNumber(value, decimalSign);
  return style?.kind === 'digits' && /^\d+$/.test(number) ? number.padStart(style.length, '0') : number;
}
