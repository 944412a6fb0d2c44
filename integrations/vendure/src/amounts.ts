/** Converts between the integers of Vendure and the decimal strings of Largesse. Nothing is rounded up. */

/**
 * The decimal string of an amount, without zeros at its end: 1250 with two decimals is `12.5`.
 * @param precision the decimals of the integer, which Vendure's MoneyStrategy decides for all currencies.
 * @throws RangeError for a negative or inexact number.
 */
export function decimalOf(amount: number, precision: number): string {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError(`${amount} is not an amount`);
  const digits = String(amount).padStart(precision + 1, '0');
  const point = digits.length - precision;
  const decimals = digits.slice(point).replace(/0+$/, '');
  return decimals === '' ? digits.slice(0, point) : `${digits.slice(0, point)}.${decimals}`;
}

/** The largest integer amount that is at most a decimal amount. @throws RangeError for another text, or one too large. */
export function integerOf(decimal: string, precision: number): number {
  const [, whole = '', decimals = ''] = /^(\d{1,16})(?:\.(\d{1,6}))?$/.exec(decimal) ?? [];
  const amount = Number(`${whole}${decimals.padEnd(precision, '0').slice(0, precision)}`);
  if (whole === '' || !Number.isSafeInteger(amount)) throw new RangeError(`${decimal} is not an amount`);
  return amount;
}

/**
 * The largest amount of a currency that is at most an integer amount: Vendure can have more decimals than the currency.
 * @param sample an amount of the currency in Largesse, which has exactly its decimals.
 */
export function roundedDown(amount: number, precision: number, sample: string): number {
  const decimals = sample.split('.')[1]?.length ?? 0;
  const unit = 10 ** Math.max(0, precision - decimals);
  return amount - (amount % unit);
}
