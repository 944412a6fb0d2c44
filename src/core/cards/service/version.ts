/** Versions of records as texts, which differ from those of all other states that the record can have had. */

import { crc32 } from 'node:zlib';
import { editableFields, fixedFields, propertyOf, type CardDetails } from '../domain/fields.ts';
import type { Card } from '../domain/card.ts';
import { compileLiteral } from '../../domain/literal.ts';

/**
 * The number of a version, after a checksum of what a change can change. After a restore to an earlier time, a record
 * continues from its earlier version and repeats its numbers; the checksum differs if the record does.
 */
export function stateTagOf(state: readonly unknown[], version: number): string {
  return `${crc32(JSON.stringify(state))}-${version}`;
}

/** The properties of a card that no change changes, and its version. */
type Lasting =
  | 'storeId'
  | 'id'
  | 'version'
  | 'initialValue'
  | 'createdAt'
  | 'lineItemId'
  | 'orderId'
  | 'userId'
  | 'apiClientId'
  | 'vat';

/** The part of a property in a tag; null: its value. */
type Part = ((card: Card) => unknown) | null;

function byProperty<P extends keyof CardDetails>(
  properties: readonly P[],
  part: (property: P) => Part,
): Readonly<Record<P, Part>> {
  return Object.fromEntries(properties.map((property) => [property, part(property)])) as Record<P, Part>;
}

/** The parts of a card that a change can change. The order is part of each tag. */
const changing: Readonly<Record<Exclude<keyof Card, Lasting>, Part>> = {
  balance: ({ balance }) => String(balance.minor),
  held: ({ held }) => String(held.minor),
  disabledAt: null,
  recipient: ({ recipient }) => recipient?.id,
  // The customer and the fields that no update changes can only be erased.
  customer: ({ customer }) => customer === null,
  ...byProperty(fixedFields.map(propertyOf), (property) => (card) => card[property] === null),
  lastCharacters: null,
  suspendedAt: null,
  // Without another suspension, the reason can only be erased.
  suspendReason: ({ suspendReason }) => suspendReason === null,
  ...byProperty(editableFields.map(propertyOf), () => null),
};

const parts = Object.entries(changing).map(([property, part], place) =>
  part === null ? `card[${JSON.stringify(property)}]` : `f${place}(card)`,
);
const stateOf = compileLiteral(
  'card',
  `[${parts.join(', ')}]`,
  Object.values(changing).map((part) => part ?? Object),
) as (card: Card) => readonly unknown[];

export function versionTagOf(card: Card): string {
  return stateTagOf(stateOf(card), card.version);
}
