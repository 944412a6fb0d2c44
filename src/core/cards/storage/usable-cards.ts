/** The cards that a person can spend, for the counter. */

import type { EmailAddress } from '../../domain/email-address.ts';
import { cardColumns, toCardState, withCustomers, type CardStateRow, type CurrentCard } from './card.ts';
import { all, sql, type Script } from '../../../database/sql/sql.ts';
import { endOfOneOf, indexedBy, oneOf } from '../../../database/sql/fragments.ts';

/** The most cards of an address that are examined, as customer and as recipient. */
const examinedMax = 500;

/**
 * Returns the cards of a customer or recipient that can be spent on `today`, newest first.
 * @param now the instant (ms) at which holds are compared.
 */
export function* listUsableCards(
  storeId: number,
  {
    address: { key },
    today,
    now,
    limit,
  }: { readonly address: EmailAddress; readonly today: string; readonly now: number; readonly limit: number },
): Script<readonly CurrentCard[]> {
  const rows = yield* all(sql<CardStateRow>`
    select ${cardColumns},
      case when g.held = 0 then 0 else (
        select cast(coalesce(sum(h.amount), 0) as bigint) from holds h
        where h.store_id = ${storeId} and h.card_id = g.id and h.status = 'open' and h.expires_at <= ${now}
      ) end as expired_held
    from gift_cards g ${indexedBy('sqlite_autoindex_gift_cards_1')} ${withCustomers}
    where g.store_id = ${storeId} and g.id ${oneOf}
      select id from (
        select own.id from customers s
        join gift_cards own on own.store_id = s.store_id and own.customer_id = s.id
        where s.store_id = ${storeId} and s.email_key = ${key} limit ${examinedMax}) l
      union all
      select id from (
        select own.id from customers s
        join gift_cards own on own.store_id = s.store_id and own.recipient_id = s.id
        where s.store_id = ${storeId} and s.email_key = ${key} limit ${examinedMax}) w ${endOfOneOf}
      and g.disabled_at is null and g.suspended_at is null and (g.expires_on is null or g.expires_on >= ${today}) and g.balance > 0
    order by g.id desc limit ${limit}`);
  return rows.map(toCardState);
}
