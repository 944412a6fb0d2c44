/** Lists of online sales. */

import type { OnlineRefund, OnlineSale, SaleKey, SaleState } from '../../domain/online-sales/sale.ts';
import type { Money } from '../../domain/money/money.ts';
import type { Store } from '../../domain/stores/store.ts';
import type { Context } from '../../storage/context.ts';
import type { Script } from '../../storage/sql/sql.ts';

export type SaleFilter = {
  readonly states: readonly SaleState[] | null;
  /** The address of the buyer or the recipient, or the number of the order; null: any. */
  readonly search: string | null;
  /** Only sales that need staff: in review, disputed, with a failed refund or a loss. */
  readonly needsStaff: boolean;
};

/** @param before the internal id of the last sale of the page before; null: the newest sales. */
export function* listSales(
  ctx: Context,
  store: Store,
  request: { readonly filter: SaleFilter; readonly before: number | null; readonly limit: number },
): Script<readonly OnlineSale[]> {
  void [ctx, store, request];
  throw new Error('not built yet');
}

/** A sale with its refunds, the newest first; undefined: the store has no such sale. */
export function* findSaleWithRefunds(
  key: SaleKey,
): Script<{ readonly sale: OnlineSale; readonly refunds: readonly OnlineRefund[] } | undefined> {
  void [key];
  throw new Error('not built yet');
}

export type SaleCounts = {
  readonly byState: Readonly<Record<SaleState, number>>;
  readonly disputed: number;
  readonly failedRefunds: number;
};

export function* countSales(store: Store): Script<SaleCounts> {
  void [store];
  throw new Error('not built yet');
}

/** The sales of a month by provider. */
export type ProviderMonth = {
  readonly provider: OnlineSale['provider'];
  readonly isTest: boolean;
  readonly sales: number;
  readonly paid: Money;
  readonly refunded: Money;
  readonly fees: Money;
  readonly paidOut: Money;
};

/** @param month `YYYY-MM`. */
export function* sumMonth(store: Store, month: string): Script<readonly ProviderMonth[]> {
  void [store, month];
  throw new Error('not built yet');
}
