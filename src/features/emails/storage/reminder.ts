/** Pages of cards by expiry day or issue day. */

import { idsAt } from '../../../platform/random.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { cardColumns, toCard, withCustomers, type CardRow } from '../../../core/cards/storage/card.ts';
import { all, sql, type Script } from '../../../database/sql/sql.ts';
import { indexedBy } from '../../../database/sql/fragments.ts';

/** Position of a card in the order of days and ids. */
export type CardPlace = { readonly day: string; readonly id: number };

export type DayRange = {
  /** First and last day, both included. */
  readonly from: string;
  readonly to: string;
  readonly after: CardPlace;
  readonly limit: number;
};

/** A card, and whether it was sold online and its page has not shown it. */
type RemindedCard = { readonly card: Card; readonly isUnopenedSale: boolean };

export type CardPage = {
  readonly cards: readonly RemindedCard[];
  /** Start of the next page; undefined after the last page. */
  readonly next: CardPlace | undefined;
};

type ReminderRow = CardRow & { readonly is_unopened_sale: bigint };

/** The ids of a burst can be ahead of the clock, and the clocks of processes differ. */
const idSlackMs = 60 * 60 * 1_000;

/**
 * Returns enabled cards with a balance that expire in the range and have no expiry event for that day. The
 * index contains only cards without that event.
 */
export function* listCardsExpiring(
  { id: storeId }: Pick<Store, 'id'>,
  { from, to, after, limit }: DayRange,
): Script<CardPage> {
  const start = after.day > from ? after.day : from;
  const rows = yield* all(sql<ReminderRow>`
    select ${cardColumns}, case when g.viewed_at is null and exists (
        select 1 from online_sales o where o.store_id = ${storeId} and o.card_id = g.id
      ) then 1 else 0 end as is_unopened_sale
    from gift_cards g ${indexedBy('gift_cards_expiring')} ${withCustomers}
    where g.store_id = ${storeId} and g.expires_on between ${start} and ${to}
      and (g.expires_on > ${after.day} or g.id > ${after.id})
      and g.expires_on is not null and (g.expired_event_day is null or g.expired_event_day <> g.expires_on)
      and g.disabled_at is null and g.balance > 0
    order by g.expires_on, g.id limit ${limit}`);
  return pageOf(rows, limit, ({ expiresOn }) => expiresOn ?? '');
}

/**
 * Returns enabled cards with a balance that were issued in the range, in the store's time zone. The query
 * selects by id, because ids grow with time.
 */
export function* listCardsIssued(
  { id: storeId, timeZone }: Pick<Store, 'id' | 'timeZone'>,
  { from, to, after, limit }: DayRange,
): Script<CardPage> {
  const [startAt, endAt] = [startOfDay(from, timeZone), startOfDay(addDays(to, 1), timeZone)];
  const rows = yield* all(sql<ReminderRow>`
    select ${cardColumns}, case when g.viewed_at is null and exists (
        select 1 from online_sales o where o.store_id = ${storeId} and o.card_id = g.id
      ) then 1 else 0 end as is_unopened_sale
    from gift_cards g ${withCustomers}
    where g.store_id = ${storeId} and g.id > ${Math.max(after.id, idsAt(startAt - idSlackMs))} and g.id <= ${idsAt(endAt + idSlackMs)}
      and g.created_at >= ${startAt} and g.created_at < ${endAt}
      and g.disabled_at is null and g.balance > 0
    order by g.id limit ${limit}`);
  return pageOf(rows, limit, ({ createdAt }) => dayOf(createdAt, timeZone));
}

function pageOf(rows: readonly ReminderRow[], limit: number, dayOfCard: (card: Card) => string): CardPage {
  const cards = rows.map((row) => ({
    card: toCard(row),
    isUnopenedSale: Number(row.is_unopened_sale) === 1,
  }));
  const last = cards.at(-1)?.card;
  return { cards, next: last && cards.length === limit ? { day: dayOfCard(last), id: last.id } : undefined };
}
