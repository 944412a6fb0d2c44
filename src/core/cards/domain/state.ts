/**
 * The states of a card, and what can be spent in them.
 *
 * A card has exactly one state: the first one that applies of `cardStates`. A card that is `empty` (its balance is 0) or
 * `scheduled` (its email is sent at a later time) can be used like an `active` one, so operations on money return `active`
 * for it. `core/cards/storage/list.ts` has the same rule in SQL.
 */

import { isDisabled, isExpired, isSuspended, unheldOf, type Card } from './card.ts';
import { deliveryStates } from '../../emails/domain/email.ts';
import type { Money } from '../../money/domain/money.ts';

/** In the order of their precedence. */
export const cardStates = ['disabled', 'expired', 'suspended', 'empty', 'scheduled', 'active'] as const;

export type CardState = (typeof cardStates)[number];

/** The states of a card for a caller who spends it. Only `active` can be spent. */
export type SpendState = Exclude<CardState, 'empty' | 'scheduled'>;

/** The card's state on `today`, a day in the store's time zone, as operations on money return it. */
export function spendStateOf(card: Card, today: string): SpendState {
  if (isDisabled(card)) return 'disabled';
  if (isExpired(card, today)) return 'expired';
  return isSuspended(card) ? 'suspended' : 'active';
}

/** The state of the newest email with the card's code; `none` if there is no such email. */
export const emailStatuses = ['none', ...deliveryStates] as const;

export type EmailStatus = (typeof emailStatuses)[number];

/** The day on which a card has a state, and the status of its email then. */
export type CardMoment = {
  /** A day in the store's time zone. */
  readonly today: string;
  readonly emailStatus: EmailStatus;
};

export function stateOf(card: Card, { today, emailStatus }: CardMoment): CardState {
  const state = spendStateOf(card, today);
  if (state !== 'active') return state;
  if (card.balance.minor === 0n) return 'empty';
  return emailStatus === 'scheduled' ? 'scheduled' : 'active';
}

/** The amount that can be spent on `today`: the balance minus open holds, or 0 if the card cannot be spent. */
export function availableOf(card: Card, today: string): Money {
  if (spendStateOf(card, today) === 'active') return unheldOf(card);
  return { minor: 0n, currency: card.balance.currency };
}
