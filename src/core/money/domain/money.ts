/**
 * Money: exact amounts of one currency, in *minor units*: the smallest units in ISO 4217 (cents of USD, yen of JPY, fils
 * of KWD). Amounts are never rounded, and amounts of two currencies are never combined.
 */

import type { Currency } from './currency.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

export type Money = {
  /** Minor units of the currency. */
  readonly minor: bigint;
  readonly currency: Currency;
};

/** Maximum number of digits before the point. With at most 4 decimals, an amount fits in 64 bits. */
export const integerDigitsMax = 12;

/** The decimal notation of an amount: no sign, no exponent, no leading zero, digits on both sides of a point. */
export const decimalPattern = '^(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$';

const plainDecimal = new RegExp(decimalPattern);

/**
 * A JSON number that a 64-bit float cannot represent exactly. The body parser returns it in place of the rounded number,
 * and `parseAmount` rejects it.
 */
export class InexactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Parses an amount from a JSON number or a decimal string. Zero and negative numbers have their own error message. */
export function parseAmount(
  value: unknown,
  { currency, zeroAllowed }: { readonly currency: Currency; readonly zeroAllowed: boolean },
): Parsed<Money> {
  if (value instanceof InexactNumber)
    return rejected('is a number that cannot be represented exactly; send it as a string');
  const text = decimalText(value);
  const bound = lowestError(zeroAllowed);
  if (text === undefined) return rejected('must be a decimal number such as "15.00"');
  if (text.startsWith('-')) return rejected(bound);
  const point = text.indexOf('.');
  const whole = point < 0 ? text : text.slice(0, point);
  const fraction = point < 0 ? '' : text.slice(point + 1);
  if (fraction.length > currency.decimals) return rejected(decimalsError(currency));
  if (whole.length > integerDigitsMax)
    return rejected(`must have at most ${integerDigitsMax} digits before the point`);
  const minor = BigInt(whole + fraction.padEnd(currency.decimals, '0'));
  if (minor === 0n && !zeroAllowed) return rejected(bound);
  return accepted({ minor, currency });
}

/** The error of an amount below the lowest one. */
export function lowestError(zeroAllowed: boolean): string {
  return zeroAllowed ? 'must be at least 0' : 'must be greater than 0';
}

function decimalsError({ code, decimals }: Currency): string {
  if (decimals === 0) return `must be a whole number: ${code} has no decimals`;
  return `must have at most ${decimals} decimals, as ${code} has`;
}

/** The plain decimal notation of a number or string, with an optional minus sign; undefined for other values. */
function decimalText(value: unknown): string | undefined {
  if (typeof value === 'string') return plainDecimal.test(value) ? value : undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  if (Object.is(value, -0)) return '0';
  // Numbers from 1e21 and below 1e-6 print with an exponent. Their plain notation is too long, which is the error.
  const text = String(value);
  if (!text.includes('e')) return text;
  return Math.abs(value) >= 1 ? BigInt(value).toString() : `${value < 0 ? '-' : ''}0.${'0'.repeat(6)}1`;
}

/** Formats an amount with exactly the currency's decimals: `"15.00"` USD, `"15"` JPY. */
export function formatMoney({ minor, currency: { decimals } }: Money): string {
  return formatMinor(minor, decimals);
}

/** Formats an integer number of minor units as `formatMoney` does. */
export function formatMinor(minor: number | bigint, decimals: number): string {
  const sign = minor < 0 ? '-' : '';
  const digits = String(minor < 0 ? -minor : minor);
  if (decimals === 0) return sign + digits;
  const padded = digits.padStart(decimals + 1, '0');
  return `${sign}${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`;
}

/** The difference of two amounts, which can be negative. @throws RangeError if their currencies differ. */
export function subtract(left: Money, right: Money): Money {
  return { minor: left.minor - inSameCurrency(left, right), currency: left.currency };
}

/** Whether two amounts are equal. @throws RangeError if their currencies differ. */
export function equal(left: Money, right: Money): boolean {
  return left.minor === inSameCurrency(left, right);
}

/** Whether the left amount is the larger one. @throws RangeError if their currencies differ. */
export function exceeds(left: Money, right: Money): boolean {
  return left.minor > inSameCurrency(left, right);
}

function inSameCurrency(left: Money, right: Money): bigint {
  if (left.currency.code !== right.currency.code) {
    throw new RangeError(`${left.currency.code} cannot be combined with ${right.currency.code}`);
  }
  return right.minor;
}
