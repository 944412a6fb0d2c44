/** Publishes the expiry of cards: once for each last valid day, and once before it if the store has configured it. */

import type { Context } from '../../storage/context.ts';
import { addDays, dayOf, startOfDay } from '../../domain/day.ts';
import { cardExpiryEvent } from '../../events/domain/event.ts';
import type { Store } from '../../stores/domain/store.ts';
import { recordEvent } from '../../events/storage/event.ts';
import {
  hasExpiringCards,
  listExpired,
  listExpiring,
  markExpiredRecorded,
  markExpiringRecorded,
} from '../storage/expiry.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';

/** Whether `recordExpired` or `recordExpiringSoon` would publish an event. */
export function* hasExpiryToRecord(ctx: Context, store: Store): Script<boolean> {
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  if ((yield* listExpired(store.id, { today, limit: 1 })).length > 0) return true;
  if (store.expiringSoonDays === 0) return false;
  const until = addDays(today, store.expiringSoonDays);
  return (yield* listExpiring(store.id, { today, until, limit: 1 })).length > 0;
}

/** When the next expiry can be due (ms), unless a card changes; null: none is expected. */
export function* findNextExpiry(ctx: Context, store: Store): Script<number | null> {
  if (yield* hasExpiryToRecord(ctx, store)) return ctx.clock.earliest();
  if (!(yield* hasExpiringCards(store.id))) return null;
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  return startOfDay(addDays(today, 1), store.timeZone);
}

/** The number of events that were recorded, and whether there can be more. */
type Recorded = { readonly recorded: number; readonly hasMore: boolean };

/** Publishes `gift_card.expired` for up to `limit` cards of a store. */
export function* recordExpired(ctx: Context, store: Store, limit: number): Script<Recorded> {
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  const cards = yield* listExpired(store.id, { today, limit });
  const recorded = yield* parallel(
    ...cards.map(function* (card) {
      if (!(yield* markExpiredRecorded(card))) return 0;
      yield* recordEvent(ctx, cardExpiryEvent(ctx.keys.publicIds, 'gift_card.expired', card));
      return 1;
    }),
  );
  return { recorded: recorded.reduce<number>((sum, one) => sum + one, 0), hasMore: cards.length === limit };
}

/**
 * Publishes `gift_card.expiring_soon` for up to `limit` usable cards with a balance that expire within the store's
 * number of days.
 */
export function* recordExpiringSoon(ctx: Context, store: Store, limit: number): Script<Recorded> {
  if (store.expiringSoonDays === 0) return { recorded: 0, hasMore: false };
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  const cards = yield* listExpiring(store.id, {
    today,
    until: addDays(today, store.expiringSoonDays),
    limit,
  });
  const recorded = yield* parallel(
    ...cards.map(function* (card) {
      if (!(yield* markExpiringRecorded(card))) return 0;
      yield* recordEvent(ctx, cardExpiryEvent(ctx.keys.publicIds, 'gift_card.expiring_soon', card));
      return 1;
    }),
  );
  return { recorded: recorded.reduce<number>((sum, one) => sum + one, 0), hasMore: cards.length === limit };
}
