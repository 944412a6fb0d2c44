/** The location of the sale that an email is about. */

import type { EmailDelivery } from '../domain/email.ts';
import type { Transfer } from '../../money/domain/ledger.ts';
import type { Location } from '../../stores/domain/location.ts';
import { listTransfersAfter } from '../../money/storage/transfer.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findLocation } from '../../stores/storage/location.ts';

/**
 * Returns the location of the top-up that an email is the receipt of, or of the sale of its card.
 * @returns undefined if it took place at none.
 */
export function* findEmailPlace(
  {
    storeId,
    cardId,
    kind,
  }: { readonly storeId: number; readonly cardId: number } & Pick<EmailDelivery, 'kind'>,
  toppedUp: Transfer | undefined,
): Script<Location | undefined> {
  const [sold] =
    kind === 'top_up' ? [toppedUp] : yield* listTransfersAfter({ storeId, cardId }, { after: 0, limit: 1 });
  const id = sold?.locationId ?? null;
  return id === null ? undefined : yield* findLocation(storeId, id);
}
