/** The emails of online sales, which are written in the transaction of their cause. */

import type { Card } from '../../../core/cards/domain/card.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import { enqueueEmail } from '../../../core/emails/storage/email.ts';
import type { StoredSale } from '../storage/sale.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** Whatever is repeated, the buyer receives one receipt. */
const receiptOccasion = 'online sale';

/** Enqueues the receipt of a sale to its buyer. The email with the card is one of the emails of the new card. */
export function* enqueueSaleReceipt(
  ctx: Context,
  { sale, card }: { readonly sale: StoredSale; readonly card: Card; readonly code: Secret },
): Script<void> {
  if (sale.buyerAddress === null) return;
  yield* enqueueEmail(ctx, {
    storeId: sale.storeId,
    cardId: card.id,
    kind: 'receipt',
    address: sale.buyerAddress,
    code: null,
    sendAt: null,
    occasion: receiptOccasion,
  });
}
