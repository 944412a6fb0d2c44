/**
 * Events: what the rest of the store's systems may hear of.
 *
 * An event is written in the transaction of its cause and carries the record as it was then,
 * never the code. Its *subject* is the card or customer that it is about.
 */

import type { Card, CardChanges } from './card.ts';

export type EventType = 'gift_card.created' | 'gift_card.updated' | 'gift_card.disabled' | 'customer.created';

/** The events of an update: a disabling is told by a name of its own, beside whatever else changed. */
export function eventsOfUpdate(effective: CardChanges): EventType[] {
  const { disable, ...others } = effective;
  const types: EventType[] = [];
  if (Object.keys(others).length > 0) types.push('gift_card.updated');
  if (disable) types.push('gift_card.disabled');
  return types;
}

export type CardEvent = {
  readonly type: EventType;
  readonly card: Card;
  /** The record's fields that changed, by their wire names; empty for a creation. */
  readonly changed: readonly string[];
};
