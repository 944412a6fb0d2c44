/** Lists of online sales, and their sums. */

import { daysOfMonth, endOfMonth } from '../../accountants/domain/accountant.ts';
import { startOfDay } from '../../../core/domain/day.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { OnlineRefund, OnlineSale, SaleKey, SaleState } from '../domain/sale.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { listRefunds } from '../storage/refund.ts';
import { sumMovements } from '../storage/movement.ts';
import { listStoredSales, sumSalesByProvider, type SalePeriod } from '../storage/sale-lists.ts';
import { findStoredSale } from '../storage/sale.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';

export { countSales, type SaleCounts } from '../storage/sale-lists.ts';

export type SaleFilter = {
  readonly states: readonly SaleState[] | null;
  /** The address of the buyer or the recipient, or the number of the order; null: any. */
  readonly search: string | null;
  /** Only sales that need staff: in review, disputed, or with a refund that has failed. */
  readonly needsStaff: boolean;
};

const numberLengthMax = 16;

/** @param before the internal id of the last sale of the page before; null: the newest sales. */
export function* listSales(
  { keys }: Pick<Context, 'keys'>,
  { id: storeId }: Pick<Store, 'id'>,
  {
    filter,
    before,
    limit,
  }: { readonly filter: SaleFilter; readonly before: number | null; readonly limit: number },
): Script<readonly OnlineSale[]> {
  const { states, needsStaff } = filter;
  const search = filter.search?.trim() ?? '';
  const isNumber = /^\d+$/.test(search) && search.length <= numberLengthMax;
  const id = isNumber ? keys.publicIds.read(Number(search)) : undefined;
  const address = search === '' || isNumber ? undefined : parseEmail(search);
  const addressKey = address?.ok ? address.value.key : null;
  // Neither a number nor an address has sales.
  if (search !== '' && id === undefined && addressKey === null) return [];
  const stored = { states, needsStaff, addressKey, id: id ?? null };
  return yield* listStoredSales(storeId, stored, { before: before ?? Number.MAX_SAFE_INTEGER, limit });
}

/** A sale with its refunds, the oldest first; undefined: the store has no such sale. */
export function* findSaleWithRefunds(
  key: SaleKey,
): Script<{ readonly sale: OnlineSale; readonly refunds: readonly OnlineRefund[] } | undefined> {
  const [sale, refunds] = yield* parallel(findStoredSale(key), listRefunds(key));
  return sale && { sale, refunds };
}

/** A payout of a provider, with the part of it that is of sales. */
type Payout = { readonly id: string | null; readonly amount: Money; readonly lastAt: number };

/** The sales that were paid in a month, and the movements of their provider in it. */
export type ProviderMonth = {
  readonly provider: OnlineSale['provider'];
  readonly isTest: boolean;
  readonly sales: number;
  readonly paid: Money;
  readonly refunded: Money;
  readonly loss: Money;
  readonly fees: Money;
  /** Null as its id: movements that were not paid out. */
  readonly payouts: readonly Payout[];
};

/** @param month `YYYY-MM`. */
export function periodOf(month: string, timeZone: string): SalePeriod {
  return { from: startOfDay(daysOfMonth(month).from, timeZone), to: endOfMonth(month, timeZone) };
}

/** @param month `YYYY-MM`. */
export function* sumMonth(
  { id, currency, timeZone }: Pick<Store, 'id' | 'currency' | 'timeZone'>,
  month: string,
): Script<readonly ProviderMonth[]> {
  const period = periodOf(month, timeZone);
  const [sales, movements] = yield* parallel(sumSalesByProvider(id, period), sumMovements(id, period));
  const money = (minor: bigint): Money => ({ minor, currency });
  return sales.map(({ provider, isTest, sales: number, paid, refunded, loss }) => {
    const own = movements.filter((each) => each.provider === provider && each.isTest === isTest);
    const payouts = Map.groupBy(own, ({ payoutId }) => payoutId);
    return {
      provider,
      isTest,
      sales: number,
      paid: money(paid),
      refunded: money(refunded),
      loss: money(loss),
      fees: money(own.reduce((sum, { fee }) => sum + fee, 0n)),
      payouts: [...payouts].map(([payoutId, sums]) => ({
        id: payoutId,
        amount: money(sums.reduce((sum, { amount, fee }) => sum + amount - fee, 0n)),
        lastAt: Math.max(...sums.map(({ lastAt }) => lastAt ?? 0)),
      })),
    };
  });
}
