/**
 * Cards whose expiry event is due. A card records the expiry day of its last event, so each day causes one
 * event across all processes, and a changed day causes another one.
 */

import type { Card } from '../domain/card.ts';
import { cardColumns, toCard, withCustomers, type CardRow } from './card.ts';
import { all, first, sql, type Script } from '../../../database/sql/sql.ts';
import { indexedBy } from '../../../database/sql/fragments.ts';

/** Returns cards that expired before `today` and have no expiry event for that day. */
export function* listExpired(
  storeId: number,
  { today, limit }: { readonly today: string; readonly limit: number },
): Script<readonly Card[]> {
  const rows = yield* all(sql<CardRow>`
    select ${cardColumns} from gift_cards g ${indexedBy('gift_cards_expiring')} ${withCustomers}
    where g.store_id = ${storeId} and g.expires_on < ${today}
      and g.expires_on is not null and (g.expired_event_day is null or g.expired_event_day <> g.expires_on)
    order by g.expires_on limit ${limit}`);
  return rows.map(toCard);
}

/** Returns whether a store has cards that have not expired, or have no expiry event yet. */
export function* hasExpiringCards(storeId: number): Script<boolean> {
  const rows = yield* all(sql`
    select 1 as one from gift_cards g ${indexedBy('gift_cards_expiring')}
    where g.store_id = ${storeId} and g.expires_on is not null
      and (g.expired_event_day is null or g.expired_event_day <> g.expires_on)
    limit 1`);
  return rows.length > 0;
}

/** Returns usable cards with a balance that expire between two days and have no event for that day. */
export function* listExpiring(
  storeId: number,
  { today, until, limit }: { readonly today: string; readonly until: string; readonly limit: number },
): Script<readonly Card[]> {
  const rows = yield* all(sql<CardRow>`
    select ${cardColumns} from gift_cards g ${indexedBy('gift_cards_expiring')} ${withCustomers}
    where g.store_id = ${storeId} and g.expires_on between ${today} and ${until}
      and g.expires_on is not null and (g.expired_event_day is null or g.expired_event_day <> g.expires_on)
      and (g.expiring_soon_event_day is null or g.expiring_soon_event_day <> g.expires_on)
      and g.disabled_at is null and g.suspended_at is null and g.balance > 0
    order by g.expires_on limit ${limit}`);
  return rows.map(toCard);
}

/** Records the expiry event. Returns false if another process has recorded it or the card has changed since. */
export function* markExpiredRecorded(card: Card): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set expired_event_day = expires_on
    where store_id = ${card.storeId} and id = ${card.id} and version = ${card.version}
      and (expired_event_day is null or expired_event_day <> expires_on)
    returning id`);
  return row !== undefined;
}

/** Does what `markExpiredRecorded` does, for a card that expires soon. */
export function* markExpiringRecorded(card: Card): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update gift_cards set expiring_soon_event_day = expires_on
    where store_id = ${card.storeId} and id = ${card.id} and version = ${card.version}
      and (expiring_soon_event_day is null or expiring_soon_event_day <> expires_on)
    returning id`);
  return row !== undefined;
}
