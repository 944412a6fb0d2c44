/** Digests of the parts of other rows that events repeat: a card's record, and its holds. */

import { crc32 } from 'node:zlib';
import { formatInstant } from '../../../core/domain/day.ts';
import { noDetails } from '../../../core/cards/domain/fields.ts';
import type { Card, Customer } from '../../../core/cards/domain/card.ts';
import type { Currency } from '../../../core/money/domain/currency.ts';
import type { Hold, HoldStatus } from '../../../core/money/domain/hold.ts';
import type { PublicId, PublicIds } from '../../../platform/public-id.ts';
import { holdRecordOf, recordOf } from '../../../core/cards/domain/record.ts';
import type { GiftCardRecord, HoldRecord } from '../../../core/cards/domain/schemas.ts';
import { idsAt } from '../../../platform/random.ts';
import type { ScannedCard, ScannedExtension, ScannedHold } from '../storage/ledger-scan.ts';
import type { ScannedInteger } from '../../../database/sql/sql.ts';
import { digestOfText } from './digest.ts';

/** The record of an event, as it was parsed. */
export type ParsedRecord = Readonly<Record<string, unknown>>;

/** The comparison of a field of a card's record. The balance is compared with the transfers. */
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

/**
 * The comparison of a field of a hold's record. The events of earlier versions lack *later* fields, which is every field
 * that a record gains.
 */
const partsOfHold: Readonly<
  Record<keyof HoldRecord, 'placed' | 'later placed' | 'extended' | 'ended' | 'encrypted'>
> = {
  id: 'encrypted',
  gift_card_id: 'encrypted',
  status: 'ended',
  amount: 'placed',
  captured_amount: 'ended',
  currency: 'placed',
  actor: 'later placed',
  reference: 'placed',
  note: 'placed',
  order_id: 'placed',
  order_reference: 'later placed',
  external_id: 'later placed',
  location_id: 'later placed',
  created_at: 'placed',
  expires_at: 'extended',
  closed_at: 'ended',
};

function fieldsOf<Part extends string>(
  parts: Readonly<Record<string, Part>>,
  ...wanted: readonly Part[]
): readonly string[] {
  return Object.keys(parts).filter((field) => wanted.some((part) => part === parts[field]));
}

/** The text of a card's record without its balance. `length` counts the characters after the balance. */
export type RecordText = { readonly digest: number; readonly length: number };

/** The digests of a card's record: of the fields that never change, and of those that operations change. */
export type RecordDigests = { readonly issued: number; readonly changing: number };

const eventStart = '{"gift_card":';

const none: readonly string[] = [];

/** The digests of a row that is not one that this program writes. No digest is equal. */
const unreadable: RecordDigests = { issued: Number.NaN, changing: Number.NaN };

/** Computes the digests of rows, and of the records of events. */
export class Repeated {
  readonly #currency: Currency;
  readonly #ids: PublicIds;
  readonly #areIdsCompared: boolean;
  readonly #issued: readonly string[];
  readonly #changing: readonly string[];
  /** With the later fields. */
  readonly #placed: readonly string[];
  readonly #laterPlaced: readonly string[];
  readonly #extended: readonly string[];
  readonly #ended: readonly string[];
  /** The first event that has a later field, by the field. */
  readonly #since = new Map<string, number>();
  /** The later fields that events of a hold lack, by its public id. */
  readonly #lacking = new Map<unknown, readonly string[]>();

  /** @param ids undefined: encrypted ids and later fields are not compared. */
  constructor(currency: Currency, ids: PublicIds | undefined) {
    this.#currency = currency;
    this.#ids = ids ?? { of: () => noId, read: () => undefined };
    this.#areIdsCompared = ids !== undefined;
    this.#issued = fieldsOf(partsOfCard, 'issued', ...(ids ? (['encrypted'] as const) : []));
    this.#changing = fieldsOf(partsOfCard, 'changing');
    this.#laterPlaced = ids ? fieldsOf(partsOfHold, 'later placed') : [];
    this.#placed = [
      ...fieldsOf(partsOfHold, 'placed', ...(ids ? (['encrypted'] as const) : [])),
      ...this.#laterPlaced,
    ];
    this.#extended = fieldsOf(partsOfHold, 'extended', ...(ids ? (['encrypted'] as const) : []));
    this.#ended = fieldsOf(partsOfHold, 'ended', ...(ids ? (['encrypted'] as const) : []));
  }

  /** The text of a card's record; undefined: the row is not one that this program writes. */
  ofText(card: ScannedCard): RecordText | undefined {
    const record = this.#recordOf(card);
    if (!record) return undefined;
    const text = JSON.stringify(record);
    const from = startOfBalance(text, 0);
    const to = text.indexOf('"', from);
    return {
      digest: digestOfParts(text, { start: 0, from, to, end: text.length }),
      length: text.length - to,
    };
  }

  ofCard(card: ScannedCard): RecordDigests {
    const record = this.#recordOf(card);
    return record ? this.ofRecord(record) : unreadable;
  }

  #recordOf(card: ScannedCard): GiftCardRecord | undefined {
    return readable(() => recordOf(this.#ids, cardOf(card, this.#currency)));
  }

  /** The digests of a card's record. */
  ofRecord(record: ParsedRecord): RecordDigests {
    return { issued: digestOf(record, this.#issued), changing: digestOf(record, this.#changing) };
  }

  /**
   * Reads the data of an event without parsing the record of its card.
   * @param text the record of the card at present.
   * @returns the balance, and the end of the record; undefined if the event has another one: then it has to be parsed.
   */
  readEvent(
    data: string,
    { digest, length }: RecordText,
  ): { readonly balance: string; readonly end: number } | undefined {
    if (!this.#areIdsCompared || !data.startsWith(eventStart)) return undefined;
    const start = eventStart.length;
    const from = startOfBalance(data, start);
    const to = data.indexOf('"', from);
    const end = to + length;
    if (from < start || to < 0 || digestOfParts(data, { start, from, to, end }) !== digest) return undefined;
    return { balance: data.slice(from, to), end };
  }

  /**
   * The digest of a hold: of its placement and, if it is closed, of its end. The events of its card must have been read,
   * because fields that they lack are not part of it.
   */
  ofHold(hold: ScannedHold): number {
    const record = readable(() =>
      holdRecordOf(this.#ids, holdOf(hold, this.#currency), Number.NEGATIVE_INFINITY),
    );
    if (!record) return 1;
    const isOpen = hold.status === 'open' && hold.captured === 0 && hold.closed_at === null;
    const lacking = this.#lacking.get(record.id) ?? none;
    const placed = digestOf(record, this.#placedWithout(lacking)) + digestOf(record, this.#extended);
    if (isOpen) return placed | 0;
    // Two events repeat the end of a hold of which a part was captured: the debit and the release of the rest.
    const isPartial = hold.status === 'captured' && hold.captured < hold.amount;
    return (placed + (isPartial ? 2 : 1) * digestOf(record, this.#ended)) | 0;
  }

  /** The digest of an earlier expiry of a hold, which the event of its placement or of an extension has. */
  ofExtension(extension: ScannedExtension): number {
    const record = readable(() => ({
      id: this.#ids.of(Number(extension.hold_id)),
      gift_card_id: this.#ids.of(Number(extension.card_id)),
      expires_at: formatInstant(Number(extension.previous_expires_at)),
    }));
    return record ? digestOf(record, this.#extended) : 1;
  }

  /** The digest of the hold in an event, which places, extends or ends it. */
  ofHoldInEvent(record: ParsedRecord, eventId: number, type: string): number {
    if (type === 'gift_card.hold_extended') return digestOf(record, this.#extended);
    if (type !== 'gift_card.held') return digestOf(record, this.#ended);
    const lacking = this.#laterPlaced.filter((field) => this.#mayLack(record, field, eventId));
    if (lacking.length > 0) this.#lacking.set(record['id'], lacking);
    return (digestOf(record, this.#placedWithout(lacking)) + digestOf(record, this.#extended)) | 0;
  }

  /** The fields of a hold that its placement has. */
  #placedWithout(lacking: readonly string[]): readonly string[] {
    return lacking.length === 0 ? this.#placed : this.#placed.filter((field) => !lacking.includes(field));
  }

  /** Whether an event lacks a later field, and is not much newer than the first event that has it. */
  #mayLack(record: ParsedRecord, field: string, eventId: number): boolean {
    const since = this.#since.get(field);
    if (!(field in record)) return since === undefined || eventId <= since + updateIdsMax;
    if (since === undefined) this.#since.set(field, eventId);
    return false;
  }
}

const balanceStart = ',"balance":"';

/**
 * The start of the balance of a record that begins at a place of a text: a quoted name after a comma occurs in JSON only as
 * the name of a member, because strings have their quotes escaped. -1 if there is none.
 */
function startOfBalance(text: string, record: number): number {
  const found = text.indexOf(balanceStart, record);
  return found < 0 ? -1 : found + balanceStart.length;
}

/** The digest of a text from `start` to `from`, which is short, and from `to` to `end`. */
function digestOfParts(
  text: string,
  parts: { readonly start: number; readonly from: number; readonly to: number; readonly end: number },
): number {
  let first = 0;
  for (let at = parts.start; at < parts.from; at += 1)
    first = (Math.imul(first, 31) + text.charCodeAt(at)) | 0;
  // One checksum takes half the time of two.
  return crc32(text.slice(parts.to, parts.end), first >>> 0);
}

/** The longest time that processes of two versions can share a database, as a number of ids: a week. */
const updateIdsMax = idsAt(7 * 24 * 3_600_000) - idsAt(0);

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
    // The record in an event has no names, tags, VAT and suspension.
    ...noDetails,
    suspendedAt: null,
    suspendReason: null,
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
    orderReference: hold.order_reference,
    externalId: hold.external_id,
    locationId: numberOrNull(hold.location_id),
    createdAt: Number(hold.created_at),
    expiresAt: Number(hold.expires_at),
    closedAt: numberOrNull(hold.closed_at),
  };
}

function numberOrNull(value: ScannedInteger | null): number | null {
  return value === null ? null : Number(value);
}
