/**
 * Events: what the rest of the store's systems may hear of.
 *
 * An event is written in the transaction of its cause and carries what it is about as it was then,
 * never a code. Its *subject* is the card, customer or webhook that it is about.
 *
 * Its *sequence* is the version of the card that it left: of two events of one card, the one with the
 * higher sequence is the later, however they arrive. Every change raises the version by one and is told,
 * so a sequence that is missing is an event that was missed. Events of one change share theirs, and so
 * do those that change nothing (an expiry): they carry the same record.
 */

import type { Card, CardChanges } from './card.ts';
import type { CustomerAccount } from './customer.ts';
import { formatInstant } from './day.ts';
import type { PublicIds } from './public-id.ts';
import { recordOf } from './record.ts';
import type { HoldRecord, MailDeliveryRecord, TransactionRecord } from './schemas.ts';
import { webhookRecordOf, type Webhook } from './webhook.ts';

export const eventTypes = [
  'gift_card.created',
  'gift_card.updated',
  'gift_card.disabled',
  'gift_card.redeemed',
  'gift_card.credited',
  'gift_card.reversed',
  'gift_card.held',
  'gift_card.hold_released',
  'gift_card.expired',
  'gift_card.expiring_soon',
  'gift_card.code_rotated',
  'gift_card.retired_code_used',
  'gift_card.delivery_failed',
  'customer.created',
  // About a webhook itself: the store asked for a test, or nothing could be delivered to it for days.
  'webhook.test',
  'webhook.paused',
] as const;

export type EventType = (typeof eventTypes)[number];

type CardEventType = Extract<EventType, `gift_card.${string}`>;

export type Event = {
  readonly type: EventType;
  readonly storeId: number;
  readonly subjectId: number;
  /** The version that the event left the card in; 0 where the subject has no versions. */
  readonly subjectVersion: number;
  /** What is told, ready for JSON. */
  readonly data: Readonly<Record<string, unknown>>;
};

export function cardCreated(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.created', card, { gift_card: recordOf(ids, card) });
}

/** The events of an update: a disabling is told by a name of its own, beside whatever else changed. */
export function cardUpdated(ids: PublicIds, card: Card, effective: CardChanges): readonly Event[] {
  const { disable, ...others } = effective;
  const changed = Object.keys(others).map((name) => (name === 'expiresOn' ? 'expires_on' : name));
  const gift_card = recordOf(ids, card);
  return [
    ...(changed.length > 0 ? [cardEvent('gift_card.updated', card, { gift_card, changed })] : []),
    ...(disable ? [cardEvent('gift_card.disabled', card, { gift_card, changed: ['disabled_at'] })] : []),
  ];
}

function cardEvent(type: CardEventType, card: Card, data: Event['data']): Event {
  return { type, storeId: card.storeId, subjectId: card.id, subjectVersion: card.version, data };
}

/** What happened to a card's money beyond an update, with what explains it. */
export function cardMoved(
  ids: PublicIds,
  type: CardEventType,
  card: Card,
  cause: { readonly transaction?: TransactionRecord; readonly hold?: HoldRecord },
): Event {
  return cardEvent(type, card, { gift_card: recordOf(ids, card), ...cause });
}

/** A card's last good day has passed, or is near. Nothing of the card has changed. */
export function cardExpiry(
  ids: PublicIds,
  type: 'gift_card.expired' | 'gift_card.expiring_soon',
  card: Card,
): Event {
  return cardEvent(type, card, { gift_card: recordOf(ids, card) });
}

/** A disabling was withdrawn within the store's window. */
export function cardEnabled(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.updated', card, { gift_card: recordOf(ids, card), changed: ['disabled_at'] });
}

/** The card has another code; neither is told. */
export function codeRotated(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.code_rotated', card, { gift_card: recordOf(ids, card) });
}

/** Somebody presented a code that the card had before. Nothing of the card has changed. */
export function retiredCodeUsed(ids: PublicIds, card: Card): Event {
  return cardEvent('gift_card.retired_code_used', card, { gift_card: recordOf(ids, card) });
}

/** A mail about the card will not arrive. */
export function deliveryFailed(ids: PublicIds, card: Card, delivery: MailDeliveryRecord): Event {
  return cardEvent('gift_card.delivery_failed', card, { gift_card: recordOf(ids, card), delivery });
}

export function customerCreated(
  ids: PublicIds,
  storeId: number,
  { id, email, storefrontCustomerId }: CustomerAccount,
): Event {
  const customer = { id: ids.of(id), email, storefront_customer_id: storefrontCustomerId };
  return { type: 'customer.created', storeId, subjectId: id, subjectVersion: 0, data: { customer } };
}

/** What happened to a webhook. It has no sequence. */
export function webhookEvent(type: 'webhook.test' | 'webhook.paused', webhook: Webhook): Event {
  return {
    type,
    storeId: webhook.storeId,
    subjectId: webhook.id,
    subjectVersion: 0,
    data: { webhook: webhookRecordOf(webhook) },
  };
}

/** An event as it was written. */
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
 * An event as the world reads it, JSON: what webhooks carry, byte for byte the same in every attempt.
 * @param store the store's domain.
 */
export function eventJson({ id, type, sequence, createdAt, data }: WrittenEvent, store: string): string {
  const head = JSON.stringify({ id, type, store, created_at: formatInstant(createdAt), sequence });
  // The data is an object that JSON.stringify has written. What an update has changed stands in it already.
  const changed = changedBy[type];
  const told = changed ? `{"changed":${JSON.stringify(changed)},${data.slice(1)}` : data;
  return `${head.slice(0, -1)},"data":${told}}`;
}

/** The fields of the record that an event of a card has changed, where its type says so. */
const changedBy: Readonly<Partial<Record<EventType, readonly string[]>>> = {
  'gift_card.created': [],
  'gift_card.redeemed': ['balance'],
  'gift_card.credited': ['balance'],
  'gift_card.reversed': ['balance'],
  'gift_card.held': [],
  'gift_card.hold_released': [],
  'gift_card.expired': [],
  'gift_card.expiring_soon': [],
  'gift_card.code_rotated': ['last_characters'],
  'gift_card.retired_code_used': [],
  'gift_card.delivery_failed': [],
};
