/** Erases personal data from the data of events. A field becomes null; versions and amounts do not change. */

import { notedFields, personalFields } from '../../../core/cards/domain/fields.ts';
import { emailKey } from '../../../core/domain/email-address.ts';

/** The person who is erased. */
export type ErasedPerson = {
  /** The key of the email address. */
  readonly key: string;
  /** The public id of the customer. */
  readonly publicId: number;
};

/** Characters that continue an address to the left or to the right. */
const before = /[\p{L}\p{N}._%+-]$/u;
const after = /^(?:[\p{L}\p{N}]|[.-][\p{L}\p{N}])/u;

/** Whether a text contains an address in any spelling, also as a part of a URL; not as a part of a longer address. */
export function mentions(text: string, key: string): boolean {
  const normalized = emailKey(text.normalize('NFC'));
  if (containsWhole(normalized, key)) return true;
  return normalized.includes('%') && containsWhole(normalized, encodeURIComponent(key).toLowerCase());
}

function containsWhole(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const [left, right] = [
      text.slice(Math.max(0, at - 2), at),
      text.slice(at + part.length, at + part.length + 3),
    ];
    if (!before.test(left) && !after.test(right)) return true;
  }
  return false;
}

type Members = Record<string, unknown>;

/** Texts that a person wrote: the record and its fields. */
const texts = [
  ...notedFields.map((name) => ['gift_card', name] as const),
  ...['transaction', 'hold'].flatMap((record) =>
    (['reference', 'note', 'order_reference', 'external_id'] as const).map((name) => [record, name] as const),
  ),
] as const;

/**
 * Returns the data of an event without a person; undefined if it does not change.
 * @param data JSON. @param options.isOwn whether the event is about the person or one of the person's cards.
 * @param options.isRecipientErased whether the card no longer has a recipient, so that no earlier one stays either.
 * @throws SyntaxError if the data is not JSON.
 */
export function redacted(
  data: string,
  person: ErasedPerson,
  {
    isOwn,
    isRecipientErased = false,
    eraseNotes,
  }: { readonly isOwn: boolean; readonly isRecipientErased?: boolean; readonly eraseNotes: boolean },
): string | undefined {
  if (!isOwn && !(eraseNotes && mentions(data, person.key))) return undefined;
  const event = JSON.parse(data) as Members;
  const { gift_card: card, customer, delivery } = event;
  let isChanged = false;
  const erase = (record: Members, name: string): void => {
    if (record[name] === null || record[name] === undefined) return;
    record[name] = null;
    isChanged = true;
  };
  const isAddress = (value: unknown): boolean => typeof value === 'string' && emailKey(value) === person.key;
  if (isRecord(card)) {
    for (const role of ['customer', 'recipient']) {
      const isPerson = card[`${role}_id`] === person.publicId || isAddress(card[`${role}_email`]);
      if (!isOwn || !(isPerson || (isRecipientErased && role === 'recipient'))) continue;
      erase(card, `${role}_id`);
      erase(card, `${role}_email`);
    }
    for (const name of personalFields) {
      const text = card[name];
      if (isOwn || (eraseNotes && typeof text === 'string' && mentions(text, person.key))) erase(card, name);
    }
  }
  if (isRecord(customer) && isOwn) {
    erase(customer, 'email');
    erase(customer, 'storefront_customer_id');
  }
  const isToHolder = isRecord(delivery) && !['receipt', 'delivery_failed'].includes(String(delivery['kind']));
  if (
    isRecord(delivery) &&
    isOwn &&
    (isAddress(delivery['recipient']) ||
      mentionsIn(delivery, person.key) ||
      (isRecipientErased && isToHolder))
  ) {
    erase(delivery, 'recipient');
    erase(delivery, 'last_attempt');
  }
  if (eraseNotes) {
    for (const [record, name] of texts) {
      const members = event[record];
      if (!isRecord(members)) continue;
      const text = members[name];
      if (isOwn || (typeof text === 'string' && mentions(text, person.key))) erase(members, name);
    }
  }
  return isChanged ? JSON.stringify(event) : undefined;
}

function mentionsIn(record: Members, key: string): boolean {
  return mentions(JSON.stringify(record), key);
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
