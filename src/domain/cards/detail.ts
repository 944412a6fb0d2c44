/**
 * The states of a card in lists and in its details, and the status of its email.
 *
 * A card has exactly one *state*. The first one that applies counts: `disabled`, then `expired` (its last valid day has
 * passed), `empty` (its balance is 0), `scheduled` (its email is sent at a later time), and otherwise `active`. Only the
 * last two can be spent. `storage/cards/list.ts` has the same rule in SQL.
 */

import { stateOf, type Card } from './card.ts';
import { deliveryStates } from '../emails/email.ts';

export const detailStates = ['active', 'scheduled', 'empty', 'expired', 'disabled'] as const;

export type DetailState = (typeof detailStates)[number];

/** The state of the newest email with the card's code; `none` if there is no such email. */
export const emailStatuses = ['none', ...deliveryStates] as const;

export type EmailStatus = (typeof emailStatuses)[number];

/** The day on which a card has a state, and the status of its email then. */
export type CardMoment = {
  /** A day in the store's time zone. */
  readonly today: string;
  readonly emailStatus: EmailStatus;
};

export function detailStateOf(card: Card, { today, emailStatus }: CardMoment): DetailState {
  const state = stateOf(card, today);
  if (state !== 'active') return state;
  if (card.balance.minor === 0n) return 'empty';
  return emailStatus === 'scheduled' ? 'scheduled' : 'active';
}
