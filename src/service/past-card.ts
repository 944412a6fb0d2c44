/**
 * Cards as they were at an instant. It includes everything with that time or before it, in the order of the chains.
 *
 * The balance is that of the ledger, and the held amount that of the holds. The other fields are the present ones with
 * all later changes undone. Erased texts are null. Changes from before `StorePast.changesFrom` were not recorded: earlier
 * states have the fields of that instant, except a later disabling.
 */

import type { Card } from '../domain/card.ts';
import { undone } from '../domain/card-change.ts';
import { dayOf } from '../domain/day.ts';
import { Fault } from '../domain/fault.ts';
import type { Store } from '../domain/store.ts';
import { balancesAt, heldAt, listChangesSince, undoneMax } from '../storage/past-card.ts';
import { parallel, type Script } from '../storage/sql.ts';
import { findStorePast, timeZoneAt } from '../storage/store-change.ts';
import { requireCard } from './money.ts';

export type PastCard = {
  readonly card: Card;
  /** Whether all changes since the instant were recorded. Otherwise only the money is certain. */
  readonly isComplete: boolean;
};

export type PastCards = {
  /** In the order of the given cards, without those that were created later. */
  readonly cards: readonly PastCard[];
  /** The day of the instant in the time zone that the store had then. */
  readonly today: string;
};

/**
 * Returns cards as they were at an instant (ms).
 * @param cards their present states, read in the same transaction.
 * @throws Fault `invalid-query` if the cards have too many later changes.
 */
export function* cardsAt(store: Store, cards: readonly Card[], instant: number): Script<PastCards> {
  const existing = cards.filter(({ createdAt }) => createdAt <= instant);
  const ids = existing.map(({ id }) => id);
  const [past, balances, held, changes] = yield* parallel(
    findStorePast(store.id),
    balancesAt(store.id, ids, instant),
    heldAt(store.id, ids, instant),
    listChangesSince(store.id, ids, instant),
  );
  if (!changes) throw new Fault('invalid-query', { errors: { as_of: [tooFarBack] } });
  const found = existing.map((present) => {
    const { id, createdAt, balance } = present;
    const isComplete = instant >= past.changesFrom || createdAt >= past.changesFrom;
    const { currency } = balance;
    const minor = balances.get(id) ?? 0n;
    const heldThen = held.get(id) ?? 0n;
    const then = (changes.get(id) ?? []).reduce(undone, present);
    const card: Card = {
      ...then,
      balance: { minor, currency },
      // The times of holds and transfers can differ by the difference of two clocks.
      held: { minor: heldThen < minor ? heldThen : minor, currency },
      disabledAt: then.disabledAt !== null && then.disabledAt > instant ? null : then.disabledAt,
    };
    return { card, isComplete };
  });
  return { cards: found, today: dayOf(instant, timeZoneAt(store.timeZone, past, instant)) };
}

const tooFarBack = `must be later: the cards have more than ${undoneMax} changes since then`;

/**
 * Returns a card as it was at an instant (ms), and the day of the store then.
 * @throws Fault `not-found` if the card did not exist then.
 */
export function* cardAt(
  store: Store,
  cardId: number,
  instant: number,
): Script<PastCard & Pick<PastCards, 'today'>> {
  const present = yield* requireCard(store.id, cardId);
  const { cards, today } = yield* cardsAt(store, [present], instant);
  const [found] = cards;
  if (!found) throw new Fault('not-found');
  return { ...found, today };
}
