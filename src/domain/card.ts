/**
 * Gift cards: their record, their states, and what may change.
 *
 * Terms: a card is *disabled* once and for all; it is *expired* when its last good day has passed
 * in the store's time zone, which moves with `expiresOn` and never touches `disabledAt`; it is
 * *usable* when it is neither. The *version* counts its changes, starting at 1.
 */

import type { FieldErrors } from './fault.ts';
import { Refusals } from './fault.ts';
import { equal, exceeds, formatMoney, subtract, type Money } from './money.ts';

export type Customer = {
  readonly id: number;
  /** As first given. */
  readonly email: string;
};

/**
 * What the issuer of a card sets and nothing else depends on; null: none. `expiresOn` is the last day on which the card
 * is valid, `YYYY-MM-DD`.
 */
export type CardDetails = { readonly [K in keyof typeof noDetails]: string | null };

export const noDetails = Object.freeze({ note: null, message: null, expiresOn: null });

export type Card = CardDetails & {
  readonly storeId: number;
  readonly id: number;
  readonly version: number;
  readonly initialValue: Money;
  readonly balance: Money;
  /** The part of the balance that open holds reserve; what is left is *available*. */
  readonly held: Money;
  readonly lastCharacters: string;
  readonly customer: Customer | null;
  readonly recipient: Customer | null;
  /** Instant in ms; null while the card is not disabled. */
  readonly disabledAt: number | null;
  /** Instant in ms. */
  readonly createdAt: number;
  readonly lineItemId: number | null;
  readonly orderId: number | null;
  readonly userId: number | null;
  readonly apiClientId: number | null;
};

/** The changes that an update names; what is absent stays. */
export type CardChanges = {
  readonly disable?: boolean;
  readonly balance?: Money;
  readonly expiresOn?: string | null;
  readonly note?: string | null;
};

/** How a card with open holds is disabled: not at all, or so that they are released first. */
export type DisableOptions = { readonly releaseHolds: boolean };

export function isDisabled(card: Card): boolean {
  return card.disabledAt !== null;
}

/** Whether the card's last good day lies before `today`, a day in the store's time zone. */
export function isExpired(card: Card, today: string): boolean {
  return card.expiresOn !== null && card.expiresOn < today;
}

export const cardStates = ['active', 'expired', 'disabled'] as const;

export type CardState = (typeof cardStates)[number];

/** The card's state on `today`, a day in the store's time zone: a disabled card is disabled, expired or not. */
export function stateOf(card: Card, today: string): CardState {
  if (isDisabled(card)) return 'disabled';
  return isExpired(card, today) ? 'expired' : 'active';
}

/** What may be spent: the balance without what is held. */
export function availableOf({ balance, held }: Pick<Card, 'balance' | 'held'>): Money {
  return subtract(balance, held);
}

/** The changes that would change something: naming a present value is allowed on every card. */
export function effectiveChanges(card: Card, changes: CardChanges): CardChanges {
  return {
    ...(changes.disable === true && !isDisabled(card) && { disable: true }),
    ...(changes.balance !== undefined &&
      !equal(changes.balance, card.balance) && { balance: changes.balance }),
    ...(changes.expiresOn !== undefined &&
      changes.expiresOn !== card.expiresOn && { expiresOn: changes.expiresOn }),
    ...(changes.note !== undefined && changes.note !== card.note && { note: changes.note }),
  };
}

/** What the card's state refuses of the named changes. */
export function refuseChanges(
  card: Card,
  changes: CardChanges,
  { releaseHolds }: DisableOptions,
): FieldErrors {
  const refusals = new Refusals();
  const isReleased = releaseHolds && changes.disable === true;
  if (card.held.minor > 0n && !isReleased) {
    if (changes.disable === true && !isDisabled(card)) {
      refusals.add('disable', 'cannot be done: the card has open holds; release_holds releases them');
    }
    if (changes.balance && exceeds(card.held, changes.balance)) {
      refusals.add('balance', `must be at least ${formatMoney(card.held)}, which is held`);
    }
  }
  if (isDisabled(card)) {
    const effective = effectiveChanges(card, changes);
    if (changes.disable === false) refusals.add('disable', 'cannot be undone');
    if (effective.balance !== undefined) refusals.add('balance', 'cannot change: the card is disabled');
    if (effective.expiresOn !== undefined) refusals.add('expires_on', 'cannot change: the card is disabled');
  }
  return refusals.toErrors();
}

/**
 * Which of several cards a search means: a usable one before a disabled or expired one, then the
 * newest. Undefined of an empty list.
 */
export function choose(cards: readonly Card[], today: string): Card | undefined {
  let best: Card | undefined;
  for (const card of cards) {
    if (!best || comesBefore(card, best, today)) best = card;
  }
  return best;
}

function comesBefore(left: Card, right: Card, today: string): boolean {
  const leftUsable = !isDisabled(left) && !isExpired(left, today);
  const rightUsable = !isDisabled(right) && !isExpired(right, today);
  if (leftUsable !== rightUsable) return leftUsable;
  return left.createdAt === right.createdAt ? left.id > right.id : left.createdAt > right.createdAt;
}
