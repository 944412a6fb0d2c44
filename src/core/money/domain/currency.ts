/**
 * Currencies: ISO 4217 codes and their number of decimals, from the package `currency-codes` (generated from the
 * maintenance agency's list one). `Intl` is not used, because it returns CLDR's digits, which differ for a dozen
 * currencies.
 */

import iso4217 from 'currency-codes';

export type Currency = {
  /** ISO 4217 alphabetic code, upper case. */
  readonly code: string;
  /** Digits after the decimal point: 0 (JPY) to 4 (CLF). */
  readonly decimals: number;
};

/** ISO 4217 codes of metals, funds, tests and "no currency", which a store cannot have. */
const notMoney = new Set([
  'XAG', 'XAU', 'XBA', 'XBB', 'XBC', 'XBD', 'XDR', 'XPD', 'XPT', 'XSU', 'XTS', 'XUA', 'XXX',
]); // prettier-ignore

/** Additions to ISO 4217 since the package's table of June 2024 (amendment 176: the Caribbean guilder). */
const added: readonly Currency[] = [{ code: 'XCG', decimals: 2 }];

/**
 * Withdrawn from list one since then: existing stores keep them. Amendments 176 (ANG, replaced by XCG in March 2025), 178
 * (CUC, of 2021) and 180 (BGN, replaced by EUR in January 2026), at
 * https://www.six-group.com/en/products-services/financial-information/market-reference-data/data-standards.html
 */
const withdrawn: ReadonlySet<string> = new Set(['ANG', 'BGN', 'CUC']);

const currencies: ReadonlyMap<string, Currency> = new Map(
  iso4217.data
    .filter((entry) => !notMoney.has(entry.code))
    .map((entry): Currency => ({ code: entry.code, decimals: entry.digits }))
    .concat(added)
    .map((currency) => [currency.code, Object.freeze(currency)]),
);

/** The currency of an ISO 4217 code (upper case), or undefined. Each code always returns the same object. */
export function findCurrency(code: string): Currency | undefined {
  return currencies.get(code);
}

/** The currency of a known code, such as a stored one. @throws RangeError if the code is unknown. */
export function currencyOf(code: string): Currency {
  const currency = findCurrency(code);
  if (!currency) throw new RangeError(`${code} is not an ISO 4217 currency`);
  return currency;
}

/** The currency of a code (upper case) that a new store can have, or undefined. */
export function findNewCurrency(code: string): Currency | undefined {
  return withdrawn.has(code) ? undefined : findCurrency(code);
}

/** All codes that a new store can have, sorted. */
export function currencyCodes(): string[] {
  return [...currencies.keys()].filter((code) => !withdrawn.has(code)).toSorted();
}

const rightToLeft = /^(?:ar|he)\b/i;
const leftToRightMark = '\u200e';

/**
 * The parts of an amount, from Intl, for a text of their locale. Where text runs from right to left, the mark after a symbol
 * such as US$ keeps `$` on the right of its letters, also in subjects of emails and attributes, which have no elements.
 */
export function orderedParts(
  parts: readonly Intl.NumberFormatPart[],
  locale: string,
): readonly Intl.NumberFormatPart[] {
  if (!rightToLeft.test(locale)) return parts;
  return parts.map((part) =>
    part.type === 'currency' && /[A-Z]/.test(part.value)
      ? { ...part, value: `${part.value}${leftToRightMark}` }
      : part,
  );
}
