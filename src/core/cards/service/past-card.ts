/**
 * Cards as they were at an instant. It includes everything with that time or before it, in the order of the chains.
 *
 * The balance is that of the ledger, and the held amount that of the holds. The other fields are the present ones with
 * all later changes undone. Erased texts are null. Changes from before `StorePast.changesFrom` were not recorded: earlier
 * states have the fields of that instant, except a later disabling.
 */

import type { Context } from '../../storage/context.ts';
import { meetsFieldFilters } from '../domain/field-filters.ts';
import type { Card } from '../domain/card.ts';
import { undone } from '../domain/change.ts';
import { stateOf, type EmailStatus } from '../domain/state.ts';
import { dayOf } from '../../domain/day.ts';
import { Fault } from '../../domain/fault.ts';
import type { Store } from '../../stores/domain/store.ts';
import { lowerLetters } from '../domain/tags.ts';
import { anyCard, type CardFilter } from '../storage/filter.ts';
import type { CardPosition } from '../storage/list.ts';
import { balancesAt, emailStatusesAt, heldAt, listChangesSince, undoneMax } from '../storage/past-card.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findStorePast, timeZoneAt } from '../../stores/storage/change.ts';
import { listCards, type CardListCommand } from './list.ts';
import { requireCard } from './present-card.ts';

export type PastCard = {
  readonly card: Card;
  /** The status, as far as its emails are still stored. */
  readonly emailStatus: EmailStatus;
  /** The time of its last entry in the ledger: an instant in ms. */
  readonly lastActivityAt: number;
  /** Whether all changes since the instant were recorded. Otherwise only the money is certain. */
  readonly isComplete: boolean;
};

export type PastCards = {
  /** In the order of the given cards, without those that were created later. */
  readonly cards: readonly PastCard[];
  /** The day of the instant in the time zone that the store had then. */
  readonly today: string;
  /** The instant (ms) from which all changes are recorded. */
  readonly recordedFrom: number;
};

/**
 * Returns cards as they were at an instant (ms).
 * @param cards their present states, read in the same transaction.
 * @throws Fault `invalid-query` if the cards have too many later changes.
 */
export function* cardsAt(store: Store, cards: readonly Card[], instant: number): Script<PastCards> {
  const existing = cards.filter(({ createdAt }) => createdAt <= instant);
  const ids = existing.map(({ id }) => id);
  const [past, balances, held, emails, changes] = yield* parallel(
    findStorePast(store.id),
    balancesAt(store.id, ids, instant),
    heldAt(store.id, ids, instant),
    emailStatusesAt(store.id, ids, instant),
    listChangesSince(store.id, ids, instant),
  );
  if (!changes) throw new Fault('invalid-query', { errors: { as_of: [tooFarBack] } });
  const found = existing.map((present) => {
    const { id, createdAt, balance } = present;
    const isComplete = instant >= past.changesFrom || createdAt >= past.changesFrom;
    const { currency } = balance;
    const { minor, at } = balances.get(id) ?? { minor: 0n, at: createdAt };
    const heldThen = held.get(id) ?? 0n;
    const then = (changes.get(id) ?? []).reduce(undone, present);
    const card: Card = {
      ...then,
      balance: { minor, currency },
      // The times of holds and transfers can differ by the difference of two clocks.
      held: { minor: heldThen < minor ? heldThen : minor, currency },
      disabledAt: then.disabledAt !== null && then.disabledAt > instant ? null : then.disabledAt,
    };
    return { card, emailStatus: emails.get(id) ?? ('none' as const), lastActivityAt: at, isComplete };
  });
  return {
    cards: found,
    today: dayOf(instant, timeZoneAt(store.timeZone, past, instant)),
    recordedFrom: past.changesFrom,
  };
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
): Script<PastCard & Omit<PastCards, 'cards'>> {
  const present = yield* requireCard(store.id, cardId);
  const { cards, ...moment } = yield* cardsAt(store, [present], instant);
  const [found] = cards;
  if (!found) throw new Fault('not-found');
  return { ...found, ...moment };
}

/** The most cards whose past states one request computes. */
const pastCardsMax = 150;

export type PastPage = PastCards & {
  /** The position after which the next page begins; null: this is the last page. */
  readonly next: CardPosition | null;
};

/**
 * A page of the cards that met a filter at an instant (ms), in the order of their creation. Values that never change
 * are filtered as in other lists; the other conditions are compared for at most `pastCardsMax` cards. The page can be short, or
 * empty, and still have a next page.
 * @throws Fault `invalid-query` for another order, or if the cards have too many later changes.
 */
export function* listCardsAt(ctx: Context, command: CardListCommand, instant: number): Script<PastPage> {
  const { store, filter, sort, limit } = command;
  if (sort.by !== 'created_at') throw new Fault('invalid-query', { errors: { sort: [onlyByCreation] } });
  const { min, max } = filter.createdAt ?? { min: 0, max: instant };
  const lasting: CardFilter = {
    ...anyCard,
    customerId: filter.customerId,
    orderId: filter.orderId,
    batchId: filter.batchId,
    createdAt: { min, max: Math.min(max, instant) },
  };
  const { cards, next } = yield* listCards(ctx, { ...command, filter: lasting, limit: pastCardsMax });
  const past = yield* cardsAt(
    store,
    cards.map(({ card }) => card),
    instant,
  );
  const matching = past.cards.filter((card) => isMet(card, filter, past.today));
  const page = matching.slice(0, limit);
  const last = page.at(-1)?.card;
  const position = last && { id: last.id, balance: last.balance.minor, expiresOn: last.expiresOn };
  return { ...past, cards: page, next: position && matching.length > limit ? position : next };
}

const onlyByCreation = 'must be created_at or -created_at together with as_of';

/** Whether a past state meets the conditions of a filter that can change. `core/cards/storage/list.ts` has them in SQL. */
function isMet({ card, emailStatus, lastActivityAt }: PastCard, filter: CardFilter, today: string): boolean {
  const { state, disabledAt, expiresOn, balance, lastCharacters, tag, text } = filter;
  return (
    (state === null || stateOf(card, { today, emailStatus }) === state) &&
    (filter.emailStatus === null || emailStatus === filter.emailStatus) &&
    isIn(card.disabledAt, disabledAt) &&
    isIn(lastActivityAt, filter.lastActivityAt) &&
    isIn(card.expiresOn, expiresOn) &&
    isIn(card.balance.minor, balance) &&
    (lastCharacters === null || card.lastCharacters === lastCharacters) &&
    meetsFieldFilters(card, filter) &&
    contains(card.tags, tag) &&
    (text === null || [card.recipientName, card.senderName, card.note].some((each) => contains(each, text)))
  );
}

function isIn<T extends string | number | bigint>(
  value: T | null,
  range: { readonly min: T; readonly max: T } | null,
): boolean {
  return range === null || (value !== null && value >= range.min && value <= range.max);
}

function contains(text: string | null, part: string | null): boolean {
  return part === null || (text !== null && lowerLetters(text).includes(part));
}
