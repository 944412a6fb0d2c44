/**
 * Which cards' expiry is still to be told. A card notes the last good day that was told of, so that each is told
 * once, however many processes look, and anew when the day is moved.
 */

import type { Card } from '../domain/card.ts';
import { toCard, type CardRow } from './card.ts';
import { all, first, sql, type Script } from './sql.ts';

/** Cards whose last good day is before `today` and whose expiry was not told yet. */
export function* listExpired(
  storeId: number,
  { today, limit }: { readonly today: string; readonly limit: number },
): Script<readonly Card[]> {
  const rows = yield* all(sql<CardRow>`
    select g.*, c.email as customer_email, r.email as recipient_email
    from gift_cards g
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id
    where g.store_id = ${storeId} and g.expires_on < ${today}
      and g.expires_on is not null and (g.expiry_told is null or g.expiry_told <> g.expires_on)
    order by g.expires_on limit ${limit}`);
  return rows.map(toCard);
}

/** Cards that can be spent and whose last good day lies between two days, which was not told yet. */
export function* listExpiring(
  storeId: number,
  { today, until, limit }: { readonly today: string; readonly until: string; readonly limit: number },
): Script<readonly Card[]> {
  const rows = yield* all(sql<CardRow>`
    select g.*, c.email as customer_email, r.email as recipient_email
    from gift_cards g
    left join customers c on c.store_id = g.store_id and c.id = g.customer_id
    left join customers r on r.store_id = g.store_id and r.id = g.recipient_id
    where g.store_id = ${storeId} and g.expires_on between ${today} and ${until}
      and g.expires_on is not null and (g.expiry_told is null or g.expiry_told <> g.expires_on)
      and (g.expiring_told is null or g.expiring_told <> g.expires_on)
      and g.disabled_at is null and g.balance > 0
    order by g.expires_on limit ${limit}`);
  return rows.map(toCard);
}

/** Notes that a card's expiry is told; false if somebody else has told it, or the card has changed since it was read. */
export function* noteExpiredTold(card: Card): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set expiry_told = expires_on
    where store_id = ${card.storeId} and id = ${card.id} and version = ${card.version}
      and (expiry_told is null or expiry_told <> expires_on)
    returning id`);
  return row !== undefined;
}

/** As `noteExpiredTold`, of an expiry that is near. */
export function* noteExpiringTold(card: Card): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set expiring_told = expires_on
    where store_id = ${card.storeId} and id = ${card.id} and version = ${card.version}
      and (expiring_told is null or expiring_told <> expires_on)
    returning id`);
  return row !== undefined;
}
