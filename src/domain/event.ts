/**
 * Events: what the rest of the store's systems may hear of.
 *
 * An event is written in the transaction of its cause and carries what it is about as it was then,
 * never a code. Its *subject* is the card or customer that it is about.
 */

import type { Card, CardChanges, Customer } from './card.ts';
import type { MailDeliveryRecord } from './mail.ts';
import { recordOf, type HoldRecord, type TransactionRecord } from './record.ts';

export type EventType =
  | 'gift_card.created'
  | 'gift_card.updated'
  | 'gift_card.disabled'
  | 'gift_card.redeemed'
  | 'gift_card.credited'
  | 'gift_card.reversed'
  | 'gift_card.held'
  | 'gift_card.hold_released'
  | 'gift_card.code_rotated'
  | 'gift_card.retired_code_used'
  | 'gift_card.delivery_failed'
  | 'customer.created';

export type Event = {
  readonly type: EventType;
  readonly storeId: number;
  readonly subjectId: number;
  /** The version that the event left the card in; 0 where the subject has no versions. */
  readonly subjectVersion: number;
  /** What is told, ready for JSON. */
  readonly data: Readonly<Record<string, unknown>>;
};

export function cardCreated(card: Card): Event {
  return cardEvent('gift_card.created', card, { gift_card: recordOf(card) });
}

/** The events of an update: a disabling is told by a name of its own, beside whatever else changed. */
export function cardUpdated(card: Card, effective: CardChanges): readonly Event[] {
  const { disable, ...others } = effective;
  const changed = Object.keys(others).map((name) => (name === 'expiresOn' ? 'expires_on' : name));
  const gift_card = recordOf(card);
  return [
    ...(changed.length > 0 ? [cardEvent('gift_card.updated', card, { gift_card, changed })] : []),
    ...(disable ? [cardEvent('gift_card.disabled', card, { gift_card, changed: ['disabled_at'] })] : []),
  ];
}

function cardEvent(type: EventType, card: Card, data: Event['data']): Event {
  return { type, storeId: card.storeId, subjectId: card.id, subjectVersion: card.version, data };
}

/** What happened to a card's money beyond an update, with what explains it. */
export function cardMoved(
  type: Exclude<EventType, 'customer.created'>,
  card: Card,
  cause: { readonly transaction?: TransactionRecord; readonly hold?: HoldRecord },
): Event {
  return cardEvent(type, card, { gift_card: recordOf(card), ...cause });
}

/** A disabling was withdrawn within the store's window. */
export function cardEnabled(card: Card): Event {
  return cardEvent('gift_card.updated', card, { gift_card: recordOf(card), changed: ['disabled_at'] });
}

/** The card has another code; neither is told. */
export function codeRotated(card: Card): Event {
  return cardEvent('gift_card.code_rotated', card, {
    gift_card: recordOf(card),
    changed: ['last_characters'],
  });
}

/** Somebody presented a code that the card had before. Nothing of the card has changed. */
export function retiredCodeUsed(card: Card): Event {
  return cardEvent('gift_card.retired_code_used', card, { gift_card: recordOf(card), changed: [] });
}

/** A mail about the card will not arrive. */
export function deliveryFailed(card: Card, delivery: MailDeliveryRecord): Event {
  return cardEvent('gift_card.delivery_failed', card, { gift_card: recordOf(card), changed: [], delivery });
}

export function customerCreated(storeId: number, customer: Customer): Event {
  return { type: 'customer.created', storeId, subjectId: customer.id, subjectVersion: 0, data: { customer } };
}
