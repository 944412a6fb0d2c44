/** The location of the sale of a receipt. */

import type { EmailDelivery } from '../../domain/emails/email.ts';
import type { Transfer } from '../../domain/money/ledger.ts';
import type { Location } from '../../domain/stores/location.ts';
import { listTransfersAfter } from '../money/transfer.ts';
import type { Script } from '../sql/sql.ts';
import { findLocation } from '../stores/location.ts';

/**
 * Returns the location of the sale or the top-up that an email is the receipt of.
 * @returns undefined if it took place at none, or if the email is not a receipt.
 */
export function* findReceiptPlace(
  {
    storeId,
    cardId,
    kind,
  }: { readonly storeId: number; readonly cardId: number } & Pick<EmailDelivery, 'kind'>,
  toppedUp: Transfer | undefined,
): Script<Location | undefined> {
  if (kind !== 'receipt' && kind !== 'top_up') return undefined;
  const [sold] =
    kind === 'top_up' ? [toppedUp] : yield* listTransfersAfter({ storeId, cardId }, { after: 0, limit: 1 });
  const id = sold?.locationId ?? null;
  return id === null ? undefined : yield* findLocation(storeId, id);
}
