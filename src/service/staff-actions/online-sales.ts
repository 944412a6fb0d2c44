/** Online sales by staff: refunds, decisions on reviewed sales, the settings of the buy page and its providers. */

import type { ProviderAccount, ProviderCredential, ProviderKind } from '../../domain/online-sales/payment.ts';
import type { SalePage } from '../../domain/online-sales/rules.ts';
import type { OnlineRefund, OnlineSale } from '../../domain/online-sales/sale.ts';
import type { Context } from '../../storage/context.ts';
import type { Script } from '../../storage/sql/sql.ts';
import type { ByStaff } from './as-staff.ts';

/** Stops the card of a sale and requests the refund of what is left. @throws Fault `not-found`, `not-refundable`. */
export function* refundSale(
  ctx: Context,
  by: ByStaff,
  request: { readonly saleId: number; readonly reason: string | null },
): Script<OnlineRefund> {
  void [ctx, by, request];
  throw new Error('not built yet');
}

/** Makes the card of a reviewed sale. @throws Fault `not-found`. A sale that is not in review does not change. */
export function* releaseReviewed(ctx: Context, by: ByStaff, saleId: number): Script<OnlineSale> {
  void [ctx, by, saleId];
  throw new Error('not built yet');
}

/** Sends the money of a reviewed sale back. A sale that is not in review does not change. */
export function* returnReviewed(
  ctx: Context,
  by: ByStaff,
  request: { readonly saleId: number; readonly reason: string | null },
): Script<OnlineSale> {
  void [ctx, by, request];
  throw new Error('not built yet');
}

/** Saves the settings of the buy page. @throws Fault `invalid-parameter` if it cannot be opened. */
export function* saveSaleSettings(
  ctx: Context,
  by: ByStaff,
  page: Omit<SalePage, 'storeId' | 'updatedAt'>,
): Script<SalePage> {
  void [ctx, by, page];
  throw new Error('not built yet');
}

/** Sets a provider up, or replaces its key. It becomes the one of new sales. The key was examined. */
export function* setUpProvider(
  ctx: Context,
  by: ByStaff,
  request: {
    readonly kind: ProviderKind;
    readonly credential: ProviderCredential;
    readonly account: ProviderAccount;
  },
): Script<null> {
  void [ctx, by, request];
  throw new Error('not built yet');
}

/** Removes a provider's key. Sales that were paid there can no longer be read or refunded. */
export function* endProvider(
  ctx: Context,
  by: ByStaff,
  provider: { readonly kind: ProviderKind; readonly isTest: boolean },
): Script<null> {
  void [ctx, by, provider];
  throw new Error('not built yet');
}
