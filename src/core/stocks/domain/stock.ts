/**
 * Stock: printed codes without money. A code in stock is neither a gift card nor a liability, and counts as used. Its
 * activation issues a gift card; after that, or after it was voided, it never returns.
 */

import { dayOf } from '../../domain/day.ts';
import { exceeds, formatMoney, integerDigitsMax, type Money } from '../../money/domain/money.ts';
import { aboveLimit, isAbove, type Store } from '../../stores/domain/store.ts';

/** Maximum number of codes of a stock. */
export const stockCodesMax = 10_000;

/** Maximum number of errors of codes that one response lists. */
export const stockErrorsMax = 100;

/** The codes of a stock can be read for this time after it is complete. */
export const stockCodesMs = 24 * 60 * 60 * 1_000;

export const stockNameLengthMax = 100;

export const validMonthsMax = 120;

export const stockStates = ['running', 'complete'] as const;

export type StockState = (typeof stockStates)[number];

/** The prices at which the codes of a stock are sold. Either `fixedValue` is null, or both others are. */
export type StockTerms = {
  readonly fixedValue: Money | null;
  readonly minimumValue: Money | null;
  readonly maximumValue: Money | null;
  /** The months for which a gift card is valid after its activation; null: it never expires. */
  readonly validMonths: number | null;
};

export type Stock = StockTerms & {
  readonly storeId: number;
  readonly id: number;
  readonly name: string | null;
  readonly actor: string;
  readonly apiClientId: number | null;
  readonly state: StockState;
  /** Whether the service generated the codes; otherwise the caller uploaded them. */
  readonly isGenerated: boolean;
  readonly currency: string;
  /** The number of codes. */
  readonly codes: number;
  /** Codes that are in stock, or were. */
  readonly printed: number;
  /** Codes that could not be added. */
  readonly failed: number;
  /** The first part that was not added. */
  readonly nextPart: number;
  /** Instants in ms. */
  readonly createdAt: number;
  readonly completedAt: number | null;
  /** When all that was left was voided, which holds for codes that are added later; null: it was not. */
  readonly voidedAt: number | null;
  /** Null: codes are being added, or are erased. */
  readonly codesUntil: number | null;
};

/** The numbers of codes of a stock that were sold and voided. */
export type StockCounts = { readonly sold: number; readonly voided: number };

export type CountedStock = { readonly stock: Stock; readonly counts: StockCounts };

/** The reason why a code was not added to its stock. */
export type StockFailure = {
  /** The place of the code in the stock, from 0. */
  readonly index: number;
  /** Reads after the name of the parameter. */
  readonly message: string;
};

type TermsError = readonly [field: 'fixed_value' | 'minimum_value' | 'maximum_value', message: string];

/** The values that a request or a form sets; absent or null: not set. */
export type SentValues = { readonly [K in 'fixedValue' | 'minimumValue' | 'maximumValue']?: Money | null };

/** The errors of values that concern several fields, or the store's limit. */
export function valueErrors(
  sent: SentValues,
  store: Pick<Store, 'currency' | 'issueLimit'>,
): readonly TermsError[] {
  const { fixedValue, minimumValue, maximumValue } = sent;
  const { issueLimit } = store;
  const errors: TermsError[] = [];
  if (fixedValue && minimumValue) errors.push(['minimum_value', 'cannot be combined with fixed_value']);
  if (fixedValue && maximumValue) errors.push(['maximum_value', 'cannot be combined with fixed_value']);
  const named = [
    ['fixed_value', fixedValue],
    ['minimum_value', minimumValue],
    ['maximum_value', maximumValue],
  ] as const;
  for (const [field, value] of named)
    if (value && isAbove(issueLimit, value)) errors.push([field, aboveLimit(issueLimit)]);
  if (errors.length > 0) return errors;
  const { minimumValue: lowest, maximumValue: highest } = stockValuesOf(sent, store);
  return lowest && highest && exceeds(lowest, highest)
    ? [['minimum_value', `must be at most ${formatMoney(highest)}, the highest value`]]
    : [];
}

/** The values of a stock. An open value has limits: without others, any amount up to the store's limit. */
export function stockValuesOf(
  { fixedValue = null, minimumValue, maximumValue }: SentValues,
  { currency, issueLimit }: Pick<Store, 'currency' | 'issueLimit'>,
): Omit<StockTerms, 'validMonths'> {
  if (fixedValue) return { fixedValue, minimumValue: null, maximumValue: null };
  const largest = issueLimit ?? { minor: 10n ** BigInt(integerDigitsMax + currency.decimals) - 1n, currency };
  return {
    fixedValue,
    minimumValue: minimumValue ?? { minor: 1n, currency },
    maximumValue: maximumValue ?? largest,
  };
}

/** The values of a code in stock, by their names in responses. */
export function writtenValues({
  fixedValue,
  minimumValue,
  maximumValue,
}: StockTerms): Readonly<Record<string, string>> {
  return {
    ...(fixedValue && { fixed_value: formatMoney(fixedValue) }),
    ...(minimumValue && { minimum_value: formatMoney(minimumValue) }),
    ...(maximumValue && { maximum_value: formatMoney(maximumValue) }),
  };
}

/** The reason why a code cannot be activated with a value; null: it can. The message reads after the name of the parameter. */
export function valueError(
  { fixedValue, minimumValue, maximumValue }: StockTerms,
  value: Money,
): string | null {
  if (fixedValue && value.minor !== fixedValue.minor)
    return `must be ${formatMoney(fixedValue)}, the value of the printed card`;
  if (minimumValue && exceeds(minimumValue, value))
    return `must be at least ${formatMoney(minimumValue)}, the lowest value of the printed card`;
  if (maximumValue && exceeds(value, maximumValue))
    return `must be at most ${formatMoney(maximumValue)}, the highest value of the printed card`;
  return null;
}

/** The last valid day of a card that is activated at an instant (ms); null: it never expires. */
export function expiryOf({ validMonths }: StockTerms, now: number, { timeZone }: Store): string | null {
  if (validMonths === null) return null;
  return Temporal.PlainDate.from(dayOf(now, timeZone)).add({ months: validMonths }).toString();
}

/** The number of codes that are left. */
export function leftOf({ stock, counts }: CountedStock): number {
  return stock.printed - counts.sold - counts.voided;
}
