/** Refunds of online sales: the card stops first, then the provider pays. */

import type { OnlineRefund, RefundRequester, SaleKey } from '../../domain/online-sales/sale.ts';
import type { Context } from '../../storage/context.ts';
import type { Script } from '../../storage/sql/sql.ts';

/**
 * Stops the card of a paid sale and requests the refund of what is left. Money goes back to its payment only.
 * @throws Fault `not-found`, `not-refundable` if nothing is left to refund.
 */
export function* requestRefund(
  ctx: Context,
  request: SaleKey & {
    readonly reason: string | null;
    readonly by: RefundRequester;
    readonly actor: string;
  },
): Script<OnlineRefund> {
  void [ctx, request];
  throw new Error('not built yet');
}
