/** Exact sums of amounts, which are decimal strings of one currency: `"12.50"`. */

/** The sum of amounts. A leading `-` subtracts one. @throws TypeError for a text that is not an amount. */
export function addAmounts(...amounts: readonly string[]): string {
  const parsed = amounts.map((amount) => {
    const [, sign = '', whole = '', decimals = ''] = /^(-?)(\d{1,30})(?:\.(\d{1,6}))?$/.exec(amount) ?? [];
    if (whole === '') throw new TypeError(`${JSON.stringify(amount.slice(0, 40))} is not an amount`);
    return { sign, whole, decimals };
  });
  const places = Math.max(0, ...parsed.map(({ decimals }) => decimals.length));
  const total = parsed.reduce(
    (sum, { sign, whole, decimals }) => sum + BigInt(`${sign}${whole}${decimals.padEnd(places, '0')}`),
    0n,
  );
  const digits = String(total < 0n ? -total : total).padStart(places + 1, '0');
  const point = digits.length - places;
  return `${total < 0n ? '-' : ''}${digits.slice(0, point)}${places === 0 ? '' : `.${digits.slice(point)}`}`;
}

/** The difference of two amounts. */
export function subtractAmounts(from: string, amount: string): string {
  return addAmounts(from, amount.startsWith('-') ? amount.slice(1) : `-${amount}`);
}

/** The smaller one of two amounts. */
export function smallerAmount(one: string, other: string): string {
  return subtractAmounts(one, other).startsWith('-') ? one : other;
}
