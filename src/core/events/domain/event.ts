/**
 * Events, which the service publishes to the store's other systems. An event is written in the transaction of its cause.
 * It contains its *subject* (a card, customer or webhook) as it was at that time, but never a code.
 */

import { isSuspended, type Card, type CardChanges } from '../../cards/domain/card.ts';
import type { CustomerAccount } from '../../customers/domain/customer.ts';
import { formatInstant } from '../../domain/day.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import { recordOf } from '../../cards/domain/record.ts';
import type { EventType } from './event-type.ts';
import type { HoldRecord, TransactionRecord } from '../../cards/domain/schemas.ts';
import type { EmailRecord } from '../../customers/domain/customer-schemas.ts';

type CardEventType = Extract<EventType, `gift_card.${string}`>;

export type Event = {
  readonly type: EventType;
  readonly storeId: number;
  readonly subjectId: number;
  /**
   * The *sequence* in the API: the version of the card after the event; 0 for other subjects. Every change adds one, so
   * a gap is a missed event. Events of one change, and events without a change (an expiry), have the same version.
   */
  readonly subjectVersion: number;
  /** The payload, ready for JSON. */
  readonly data: Readonly<Record<string, unknown>>;
};

export function cardCreatedEvent(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.created', card, { gift_card: recordOf(ids, card) });
}

/** The events of an update. Disabling has its own event, in addition to the event of the other changes. */
export function cardUpdateEvents(ids: PublicIds, card: Card, effective: CardChanges): readonly Event[] {
  const { disable, ...others } = effective;
  const changed = Object.keys(others).map((name) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  const gift_card = recordOf(ids, card);
  return [
    ...(changed.length > 0 ? [cardEvent('gift_card.updated', card, { gift_card, changed })] : []),
    ...(disable ? [cardEvent('gift_card.disabled', card, { gift_card, changed: ['disabled_at'] })] : []),
  ];
}

function cardEvent(type: CardEventType, card: Card, data: Event['data']): Event {
  return { type, storeId: card.storeId, subjectId: card.id, subjectVersion: card.version, data };
}

/** The event of a movement or a hold, with the record of its cause. */
export function movementEvent(
  ids: PublicIds,
  type: CardEventType,
  card: Card,
  cause: { readonly transaction?: TransactionRecord; readonly hold?: HoldRecord },
): Event {
  return cardEvent(type, card, { gift_card: recordOf(ids, card), ...cause });
}

/** The event of a card whose last valid day has passed, or is near. The card itself has not changed. */
export function cardExpiryEvent(
  ids: PublicIds,
  type: 'gift_card.expired' | 'gift_card.expiring_soon',
  card: Card,
): Event {
  return cardEvent(type, card, { gift_card: recordOf(ids, card) });
}

/** The event of a card that was re-enabled. */
export function cardReenabledEvent(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.updated', card, { gift_card: recordOf(ids, card), changed: ['disabled_at'] });
}

/** The event of a card that was suspended or resumed. It does not contain the reason. */
export function cardSuspensionEvent(ids: PublicIds, card: Card): Event {
  const type = isSuspended(card) ? 'gift_card.suspended' : 'gift_card.resumed';
  return cardEvent(type, card, { gift_card: recordOf(ids, card) });
}

/** The event of a card whose recipient has another address. */
export function recipientCorrectedEvent(ids: PublicIds, card: Card): Event {
  const changed = ['recipient_id', 'recipient_email'];
  return cardEvent('gift_card.updated', card, { gift_card: recordOf(ids, card), changed });
}

/** The event of a card with a new code. It contains neither code. */
export function codeRotatedEvent(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.code_rotated', card, { gift_card: recordOf(ids, card) });
}

/** The event of a card whose replaced code was presented. The card itself has not changed. */
export function retiredCodeUsedEvent(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.retired_code_used', card, { gift_card: recordOf(ids, card) });
}

/** The event of a card with an email that could not be delivered. */
export function deliveryFailedEvent(ids: PublicIds, card: Card, delivery: EmailRecord): Event {
  return cardEvent('gift_card.delivery_failed', card, { gift_card: recordOf(ids, card), delivery });
}

export function customerCreatedEvent(
  ids: PublicIds,
  storeId: number,
  { id, email, storefrontCustomerId }: CustomerAccount,
): Event {
  const customer = { id: ids.of(id), email, storefront_customer_id: storefrontCustomerId };
  return { type: 'customer.created', storeId, subjectId: id, subjectVersion: 0, data: { customer } };
}

/** The event of a customer whose personal data was erased. Cards have events of their own. */
export function customerErasedEvent(ids: PublicIds, storeId: number, customerId: number): Event {
  const customer = { id: ids.of(customerId), email: null, storefront_customer_id: null };
  return { type: 'customer.erased', storeId, subjectId: customerId, subjectVersion: 0, data: { customer } };
}

/** The event of a card whose customer or recipient was erased. */
export function cardPersonErasedEvent(ids: PublicIds, card: Card, changed: readonly string[]): Event {
  return cardEvent('gift_card.updated', card, { gift_card: recordOf(ids, card), changed });
}

/** A stored event. */
export type WrittenEvent = {
  readonly id: number;
  readonly type: EventType;
  readonly sequence: number;
  /** Instant in ms. */
  readonly createdAt: number;
  /** JSON. */
  readonly data: string;
};

/**
 * The JSON of an event, as webhooks and the API send it. It has the same bytes in every attempt.
 * @param store the store's domain.
 */
export function eventJson({ id, type, sequence, createdAt, data }: WrittenEvent, store: string): string {
  const head = JSON.stringify({ id, type, store, created_at: formatInstant(createdAt), sequence });
  // The data is an object from JSON.stringify, which for an update already contains `changed`.
  const changed = changedBy[type];
  const eventData = changed ? `{"changed":${JSON.stringify(changed)},${data.slice(1)}` : data;
  return `${head.slice(0, -1)},"data":${eventData}}`;
}

/** The changed fields of the record, for the types that determine them. */
const changedBy: Readonly<Partial<Record<EventType, readonly string[]>>> = {
  'gift_card.created': [],
  'gift_card.redeemed': ['balance'],
  'gift_card.credited': ['balance'],
  'gift_card.reversed': ['balance'],
  'gift_card.suspended': [],
  'gift_card.resumed': [],
  'gift_card.held': [],
  'gift_card.hold_extended': [],
  'gift_card.hold_released': [],
  'gift_card.expired': [],
  'gift_card.expiring_soon': [],
  'gift_card.code_rotated': ['last_characters'],
  'gift_card.retired_code_used': [],
  'gift_card.delivery_failed': [],
};
