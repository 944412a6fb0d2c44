/** The amounts that a store sells most often. */

import type { CardDesign } from '../../../core/cards/domain/design.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { isAbove, type Store } from '../../../core/stores/domain/store.ts';
import { hasStock } from '../../../core/stocks/storage/stock.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { listRecentValues } from '../../../database/sql/recent-values.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';

const amountsMax = 4;
const newestCards = 200;
/** An amount that was sold less often is not usual. */
const salesMin = 3;

/** Whole units of the currency; the others start at 20. */
const smallestOf: Readonly<Record<string, number>> = {
  AED: 100, ARS: 20_000, BRL: 50, CLP: 20_000, CNY: 100, COP: 50_000, CZK: 500, DKK: 200, EGP: 500, HKD: 200,
  HUF: 5_000, IDR: 200_000, ILS: 100, INR: 500, ISK: 5_000, JPY: 2_000, KRW: 20_000, MXN: 200, NOK: 200, PHP: 500,
  PLN: 50, RON: 100, SAR: 100, SEK: 200, THB: 500, TRY: 500, TWD: 500, UAH: 500, VND: 200_000, ZAR: 200,
}; // prettier-ignore

const steps: readonly number[] = [1, 1.5, 2.5, 5];

function defaultsOf({ currency }: Pick<Store, 'currency'>): readonly bigint[] {
  const smallest = smallestOf[currency.code] ?? 20;
  return steps.map((step) => BigInt(Math.round(smallest * step)) * 10n ** BigInt(currency.decimals));
}

/**
 * The amounts that the store's newest cards had most often, ascending; without enough sales, amounts that are common in
 * the currency. Amounts above the limits are left out.
 * @param limit the highest amount that the person may sell; null: no limit.
 */
export function* usualAmounts(store: Store, limit: Money | null): Script<readonly Money[]> {
  const counts = new Map<bigint, number>();
  for (const value of yield* listRecentValues(store.id, newestCards))
    counts.set(value, (counts.get(value) ?? 0) + 1);
  const sold = [...counts]
    .filter(([, count]) => count >= salesMin)
    .toSorted(([, left], [, right]) => right - left)
    .map(([value]) => value);
  return (sold.length >= 2 ? sold.slice(0, amountsMax) : defaultsOf(store))
    .map((minor): Money => ({ minor, currency: store.currency }))
    .filter((amount) => !isAbove(store.issueLimit, amount) && !isAbove(limit, amount))
    .toSorted((left, right) => Number(left.minor - right.minor));
}

export type Offer = {
  /** The amounts that a form suggests. */
  readonly usual: readonly Money[];
  /** Whether the store and the service send emails. */
  readonly canSend: boolean;
  /** The design that a form suggests. */
  readonly design: CardDesign;
  /** Whether the store has printed cards. */
  readonly isStocked: boolean;
};

/** Reads the choices of a form for a new card. @param canSend whether the service sends emails. */
export function* readOffer(store: Store, limit: Money | null, canSend: boolean): Script<Offer> {
  const [{ enabled, design }, usual, isStocked] = yield* parallel(
    findEmailSettings(store.id),
    usualAmounts(store, limit),
    hasStock(store.id),
  );
  return { usual, canSend: canSend && enabled, design, isStocked };
}
