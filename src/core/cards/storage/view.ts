/** When the page of recipients first showed a card. No version of the card, and no chain, contains it. */

import type { CardKey } from './card.ts';
import { execute, first, sql, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';

/** The batch that issued a card, and when its recipient first saw it (ms); null: neither. */
export type FirstView = { readonly batchId: number | null; readonly viewedAt: number | null };

export function* findCardView({ storeId, cardId }: CardKey): Script<FirstView> {
  const row = yield* first(sql<{ batch_id: bigint | null; viewed_at: bigint | null }>`
    select batch_id, viewed_at from gift_cards where store_id = ${storeId} and id = ${cardId}`);
  return { batchId: toNumberOrNull(row?.batch_id ?? null), viewedAt: toNumberOrNull(row?.viewed_at ?? null) };
}

/** Records the first view of a card. Later ones change nothing. @param now instant in ms. */
export function* saveFirstView({ storeId, cardId }: CardKey, now: number): Script<void> {
  yield* execute(sql`
    update gift_cards set viewed_at = ${now}
    where store_id = ${storeId} and id = ${cardId} and viewed_at is null`);
}
