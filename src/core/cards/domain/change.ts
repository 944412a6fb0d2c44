/**
 * Changes of cards that are not money. Each card's changes form a hash chain of their own, from which its past states
 * are derived by undoing them backwards from the card.
 */

import { byField, cardFieldNames, propertyOf, type CardDetails, type CardFieldName } from './fields.ts';
import type { Card } from './card.ts';

/** A value as JSON has it. */
export type FieldValue = string | number | null;

/** The names of the fields whose changes are recorded. `code` has the last characters of the code. */
export type FieldName = CardFieldName | 'disabled_at' | 'code' | 'suspended_at' | 'suspend_reason';

const { expires_on: expiresOn, ...otherDetails } = byField(cardFieldNames, propertyOf);

type TrackedProperty = keyof CardDetails | 'disabledAt' | 'lastCharacters' | 'suspendedAt' | 'suspendReason';

/** The properties of a card that have the tracked fields, by their names in the API and in the table. */
const trackedProperties: Readonly<Record<FieldName, TrackedProperty>> = Object.freeze({
  expires_on: expiresOn,
  disabled_at: 'disabledAt',
  ...otherDetails,
  code: 'lastCharacters',
  suspended_at: 'suspendedAt',
  suspend_reason: 'suspendReason',
});

/** The names of all tracked fields. */
export const trackedFieldNames = Object.keys(trackedProperties) as readonly FieldName[];

export function isFieldName(name: unknown): name is FieldName {
  return typeof name === 'string' && Object.hasOwn(trackedProperties, name);
}

/** A changed field with its values before and after the change. */
export type FieldChange = {
  readonly field: FieldName;
  readonly old: FieldValue;
  readonly new: FieldValue;
  /** Whether the values are unknown because they were erased. They are null then. */
  readonly isErased?: boolean;
};

/** A change of a card: one or more fields at the same time. */
export type CardChange = {
  readonly storeId: number;
  readonly cardId: number;
  /** Counts the changes of the card, starting at 1. */
  readonly sequence: number;
  readonly id: number;
  /** Instant in ms. */
  readonly createdAt: number;
  /** The caller: `api_client:7`, `development`, … */
  readonly actor: string;
  readonly fields: readonly FieldChange[];
};

/** The value of a tracked field of a card. */
export function valueOf(card: Card, field: FieldName): FieldValue {
  return card[trackedProperties[field]];
}

/**
 * Returns the tracked fields that differ between two states of a card.
 * @param isCodeReplaced whether the card has another code, which can have the same last characters.
 */
export function changesBetween(
  before: Card,
  after: Card,
  { isCodeReplaced }: { readonly isCodeReplaced: boolean },
): readonly FieldChange[] {
  return trackedFieldNames
    .map((field) => ({ field, old: valueOf(before, field), new: valueOf(after, field) }))
    .filter((change) => change.old !== change.new || (isCodeReplaced && change.field === 'code'));
}

/** The card before a change. */
export function undone(card: Card, { fields }: Pick<CardChange, 'fields'>): Card {
  const before = fields.map((change) => [trackedProperties[change.field], change.old] as const);
  return { ...card, ...Object.fromEntries(before) };
}

/**
 * The content of an entry that its hash covers: a JSON array in a fixed order without spaces. A change of this format
 * needs another name than `change/1`, and breaks every existing chain.
 * @param fields the JSON of `[[field, old, new], …]`, with commitments instead of personal values.
 * @param salt 16 random bytes in the first entry of a chain, otherwise null.
 */
export function changeContent(
  { storeId, cardId, sequence, id, createdAt, actor }: Omit<CardChange, 'fields'>,
  { fields, salt }: { readonly fields: string; readonly salt: Uint8Array | null },
): string {
  const head = JSON.stringify(['change/1', storeId, cardId, sequence, id, createdAt, actor]);
  return `${head.slice(0, -1)},${fields},${JSON.stringify(salt && salt.toBase64())}]`;
}

/** The text that a salt and SHA-256 commit to. */
export function committedValue(value: FieldValue): string {
  return JSON.stringify(value);
}
