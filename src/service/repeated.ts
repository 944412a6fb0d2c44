/**
 * What events repeat of other rows, as digests of 32 bits: of a card's record, and of its holds. A digest detects
 * accidental errors only; someone who can change a card can also change its events.
 */

import { noDetails, type Card, type Customer } from '../domain/card.ts';
import type { Currency } from '../domain/currency.ts';
import type { Hold, HoldStatus } from '../domain/hold.ts';
import type { PublicId, PublicIds } from '../domain/public-id.ts';
import { holdRecordOf, recordOf } from '../domain/record.ts';
import type { GiftCardRecord, HoldRecord } from '../domain/schemas.ts';
import type { ScannedCard, ScannedHold } from '../storage/ledger-scan.ts';
import type { ScannedInteger } from '../storage/sql.ts';

/** The record of an event, as it was parsed. */
export type ParsedRecord = Readonly<Record<string, unknown>>;

/** How a field of a card's record is compared. The balance is compared with the transfers. */
const partsOfCard: Readonly<Record<keyof GiftCardRecord, 'issued' | 'changing' | 'encrypted' | 'balance'>> = {
  id: 'encrypted',
  balance: 'balance',
  created_at: 'issued',
  currency: 'issued',
  initial_value: 'issued',
  disabled_at: 'changing',
  line_item_id: 'issued',
  api_client_id: 'issued',
  user_id: 'issued',
  customer_id: 'encrypted',
  customer_email: 'issued',
  recipient_id: 'encrypted',
  recipient_email: 'issued',
  note: 'changing',
  expires_on: 'changing',
  message: 'issued',
  last_characters: 'changing',
  order_id: 'issued',
};

/** How a field of a hold's record is compared. */
const partsOfHold: Readonly<Record<keyof HoldRecord, 'placed' | 'ended' | 'encrypted'>> = {
  id: 'encrypted',
  gift_card_id: 'encrypted',
  status: 'ended',
  amount: 'placed',
  captured_amount: 'ended',
  currency: 'placed',
  actor: 'placed',
  reference: 'placed',
  note: 'placed',
  order_id: 'placed',
  created_at: 'placed',
  expires_at: 'placed',
  closed_at: 'ended',
};

function fieldsOf<Part extends string>(
  parts: Readonly<Record<string, Part>>,
  ...wanted: readonly Part[]
): readonly string[] {
  return Object.keys(parts).filter((field) => wanted.some((part) => part === parts[field]));
}

/** The digests of a card's record: of the fields that never change, and of those that operations change. */
export type CardDigests = { readonly issued: number; readonly changing: number };

/** The digests of a row that is not one that this program writes. No digest is equal. */
const unreadable: CardDigests = { issued: Number.NaN, changing: Number.NaN };

/** Computes the digests of rows, and of the records of events. */
export class Repeated {
  readonly #currency: Currency;
  readonly #ids: PublicIds;
  readonly #issued: readonly string[];
  readonly #changing: readonly string[];
  readonly #placed: readonly string[];
  readonly #ended: readonly string[];

  /** @param ids undefined: encrypted ids are not compared. */
  constructor(currency: Currency, ids: PublicIds | undefined) {
    this.#currency = currency;
    this.#ids = ids ?? { of: () => noId, read: () => undefined };
    this.#issued = fieldsOf(partsOfCard, 'issued', ...(ids ? (['encrypted'] as const) : []));
    this.#changing = fieldsOf(partsOfCard, 'changing');
    this.#placed = fieldsOf(partsOfHold, 'placed', ...(ids ? (['encrypted'] as const) : []));
    this.#ended = fieldsOf(partsOfHold, 'ended', ...(ids ? (['encrypted'] as const) : []));
  }

  ofCard(card: ScannedCard): CardDigests {
    const record = readable(() => recordOf(this.#ids, cardOf(card, this.#currency)));
    if (!record) return unreadable;
    return { issued: this.ofIssued(record), changing: this.ofChanging(record) };
  }

  /** The digest of the fields of a card's record that never change. */
  ofIssued(record: ParsedRecord): number {
    return digestOf(record, this.#issued);
  }

  /** The digest of the fields of a card's record that operations change. */
  ofChanging(record: ParsedRecord): number {
    return digestOf(record, this.#changing);
  }

  /** The digest of a hold: of its placement and, if it is closed, of its end. */
  ofHold(hold: ScannedHold): number {
    const record = readable(() =>
      holdRecordOf(this.#ids, holdOf(hold, this.#currency), Number.NEGATIVE_INFINITY),
    );
    if (!record) return 1;
    const isOpen = hold.status === 'open' && hold.captured === 0 && hold.closed_at === null;
    const placed = this.ofPlacedHold(record);
    if (isOpen) return placed;
    // Two events repeat the end of a hold of which a part was captured: the debit and the release of the rest.
    const isPartial = hold.status === 'captured' && hold.captured < hold.amount;
    return (placed + (isPartial ? 2 : 1) * this.ofEndedHold(record)) | 0;
  }

  ofPlacedHold(record: ParsedRecord): number {
    return digestOf(record, this.#placed);
  }

  ofEndedHold(record: ParsedRecord): number {
    return digestOf(record, this.#ended);
  }
}

const noId = 0 as PublicId;

/** In place of a field that a record lacks. No field has this value. */
const missing: readonly unknown[] = [];

function digestOf(record: ParsedRecord, fields: readonly string[]): number {
  return digestOfText(
    JSON.stringify(fields.map((field) => record[field] ?? (field in record ? null : missing))),
  );
}

/** Returns undefined if a value of the row, such as a time, is not one that this program writes. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function cardOf(card: ScannedCard, currency: Currency): Card {
  return {
    // The record in an event has no names, tags and VAT.
    ...noDetails,
    storeId: 0,
    id: Number(card.id),
    version: Number(card.version),
    initialValue: { minor: BigInt(card.initial_value), currency },
    balance: { minor: BigInt(card.balance), currency },
    held: { minor: BigInt(card.held), currency },
    lastCharacters: card.last_characters,
    customer: customerOf(card.customer_id, card.customer_email),
    recipient: customerOf(card.recipient_id, card.recipient_email),
    note: card.note,
    message: card.message,
    expiresOn: card.expires_on,
    disabledAt: numberOrNull(card.disabled_at),
    vat: null,
    createdAt: Number(card.created_at),
    lineItemId: numberOrNull(card.line_item_id),
    orderId: numberOrNull(card.order_id),
    userId: numberOrNull(card.user_id),
    apiClientId: numberOrNull(card.api_client_id),
  };
}

function customerOf(id: ScannedInteger | null, email: string | null): Customer | null {
  return id === null || email === null ? null : { id: Number(id), email };
}

function holdOf(hold: ScannedHold, currency: Currency): Hold {
  return {
    storeId: 0,
    id: Number(hold.id),
    cardId: Number(hold.card_id),
    // Any other text differs from the status in the event.
    status: hold.status as HoldStatus,
    amount: { minor: BigInt(hold.amount), currency },
    captured: { minor: BigInt(hold.captured), currency },
    actor: hold.actor,
    reference: hold.reference,
    note: hold.note,
    orderId: numberOrNull(hold.order_id),
    createdAt: Number(hold.created_at),
    expiresAt: Number(hold.expires_at),
    closedAt: numberOrNull(hold.closed_at),
  };
}

function numberOrNull(value: ScannedInteger | null): number | null {
  return value === null ? null : Number(value);
}

/** A digest of a text in 32 bits. */
function digestOfText(text: string): number {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
  return hash ^ (hash >>> 15);
}
