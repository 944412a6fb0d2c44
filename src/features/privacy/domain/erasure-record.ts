/** The records of erasures in the API. */

import { formatInstant, formatInstantOrNull } from '../../../core/domain/day.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import type { ErasureRecord } from '../../../core/customers/domain/customer-schemas.ts';

/** An erasure as the storage returns it. */
type StoredErasure = {
  readonly customerId: number;
  readonly eraseNotes: boolean;
  readonly cards: number;
  readonly emails: number;
  readonly events: number;
  readonly texts: number;
  readonly textsLeft: number;
  readonly unsent: number;
  /** Ids between commas. */
  readonly unsentCards: string;
  readonly requestedAt: number;
  readonly completedAt: number | null;
};

export function erasureRecordOf(ids: PublicIds, erasure: StoredErasure): ErasureRecord {
  const { unsentCards } = erasure;
  return {
    customer_id: ids.of(erasure.customerId),
    status: erasure.completedAt === null ? 'running' : 'complete',
    erase_notes: erasure.eraseNotes,
    requested_at: formatInstant(erasure.requestedAt),
    completed_at: formatInstantOrNull(erasure.completedAt),
    gift_cards: erasure.cards,
    emails: erasure.emails,
    events: erasure.events,
    texts_erased: erasure.texts,
    texts_left: erasure.textsLeft,
    unsent_gift_cards: erasure.unsent,
    unsent_gift_card_ids: unsentCards === '' ? [] : unsentCards.split(',').map((id) => ids.of(Number(id))),
  };
}
