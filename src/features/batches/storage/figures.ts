/** Figures about the cards of a batch, counted along its indexes when the page is shown. */

import type { EmailState } from '../../../core/emails/domain/email.ts';
import type { BatchKey } from './batch.ts';
import { byBatch } from '../../../core/cards/storage/list.ts';
import { indexedBy } from '../../../database/sql/fragments.ts';
import { all, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

/** The emails of a batch, in the order of its index. */
export const byEmailBatch = indexedBy('email_deliveries_by_batch');

/** The number of cards by the state of their newest email with the code. Cards without one are not counted. */
export function* countCardsByEmail({ storeId, batchId }: BatchKey): Script<ReadonlyMap<EmailState, number>> {
  const rows = yield* all(sql<{ state: EmailState; cards: bigint }>`
    select state, count(*) as cards from (
      select state, row_number() over (partition by card_id order by id desc) as place
      from email_deliveries ${byEmailBatch}
      where store_id = ${storeId} and batch_id = ${batchId} and kind = 'gift_card') newest
    where place = 1 group by state`);
  return new Map(rows.map(({ state, cards }) => [state, toNumber(cards)]));
}

export type CardUse = {
  /** Cards that the page of recipients has shown. */
  readonly viewed: number;
  /** Cards with which more was redeemed than was refunded. */
  readonly redeemed: number;
  /** The sum of it, in minor units. */
  readonly redeemedMinor: bigint;
};

export function* countCardUse({ storeId, batchId }: BatchKey): Script<CardUse> {
  const row = yield* one(sql<Readonly<Record<'viewed' | 'redeemed' | 'minor', bigint>>>`
    select count(viewed_at) as viewed, count(case when redeemed > 0 then 1 end) as redeemed,
      cast(coalesce(sum(redeemed), 0) as bigint) as minor
    from gift_cards ${byBatch} where store_id = ${storeId} and batch_id = ${batchId}`);
  return { viewed: toNumber(row.viewed), redeemed: toNumber(row.redeemed), redeemedMinor: row.minor };
}
