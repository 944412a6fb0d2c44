/** Reads the records in events, and their details: the data in addition to the record of a card. */

import { eventTypes } from '../../../core/events/domain/event-type.ts';
import type { ParsedRecord } from './event-digests.ts';

export const knownTypes: ReadonlySet<string> = new Set(eventTypes);

/** Types of events about a card that has not changed. */
export const keepingVersion: ReadonlySet<string> = new Set([
  'gift_card.expired',
  'gift_card.expiring_soon',
  'gift_card.retired_code_used',
  'gift_card.delivery_failed',
]);

/** A card's record of one of its versions. */
export type VersionRecord = {
  /** In minor units. */
  readonly balance: number;
  /** The digest of the balance and of what operations change. */
  readonly digest: number;
};

/** The parts of an event that are compared. */
export type ReadEvent = VersionRecord & {
  /** The index of its card. */
  readonly place: number;
  /** With what is beyond the record of the card. */
  readonly data: ParsedRecord;
  /** The record of the card; empty if only a card that changed needs it. */
  readonly record: ParsedRecord;
};

export const noObject: ParsedRecord = {};

/** The data of an event in addition to the record of the card. */
const detailsOf: Readonly<Record<string, readonly string[]>> = {
  'gift_card.updated': ['changed'],
  'gift_card.disabled': ['changed'],
  'gift_card.redeemed': ['transaction'],
  'gift_card.credited': ['transaction'],
  'gift_card.reversed': ['transaction'],
  'gift_card.held': ['hold'],
  'gift_card.hold_extended': ['hold'],
  'gift_card.hold_released': ['hold'],
  'gift_card.delivery_failed': ['delivery'],
};

const kindsOf: Readonly<Record<string, readonly unknown[]>> = {
  'gift_card.redeemed': ['debit', 'capture'],
  'gift_card.credited': ['credit', 'top_up'],
  'gift_card.reversed': ['reversal'],
};

/** Whether the data of an event is that of its type. */
export function hasDetails(type: string, data: ParsedRecord): boolean {
  if (!type.startsWith('gift_card.')) return true;
  const { gift_card: _, ...details } = data;
  const expected = detailsOf[type] ?? [];
  const kinds = kindsOf[type];
  if (!expected.every((name) => name in details)) return false;
  const isCapture = type === 'gift_card.redeemed' && 'hold' in details;
  if (Object.keys(details).length !== expected.length + (isCapture ? 1 : 0)) return false;
  const { transaction } = details;
  return !kinds || (isObject(transaction) && kinds.includes(transaction['kind']));
}

/** Patterns of JSON without escapes, which needs no parser. */
const plainId = String.raw`[1-9]\d{0,15}`;
const plainValue = String.raw`(?:null|${plainId}|"[^"\\\u0000-\u001f]*")`;

/** The transaction after the record of a card, by the type of the event. */
const plainTransactions: ReadonlyMap<string, RegExp> = new Map(
  Object.entries(kindsOf).map(([type, kinds]) => [
    type,
    new RegExp(
      String.raw`,"transaction":\{"id":${plainId},"gift_card_id":${plainId},"kind":"(?:${kinds.join('|')})"(?:,"(?!kind")[a-z_]+":${plainValue})*\}`,
      'y',
    ),
  ]),
);

const holdStart = ',"hold":';

/**
 * Reads the details of an event, which follow the record of its card. A transaction is not parsed, because it is not
 * compared.
 * @param start the end of the record in the text.
 * @returns the hold, if there is one; undefined if the event has to be parsed.
 */
export function readDetails(type: string, data: string, start: number): ParsedRecord | undefined {
  const transaction = plainTransactions.get(type);
  if (transaction) {
    transaction.lastIndex = start;
    const end = transaction.test(data) ? transaction.lastIndex : 0;
    if (end > 0 && data.length === end + 1 && data.endsWith('}')) return noObject;
    if (end > 0 && type === 'gift_card.redeemed' && data.startsWith(holdStart, end)) {
      const hold = parseAfterComma(data, end);
      if (hold && Object.keys(hold).length === 1) return hold;
    }
  }
  const details = data.length === start + 1 && data.endsWith('}') ? noObject : parseAfterComma(data, start);
  return details && hasDetails(type, details) ? details : undefined;
}

/** Parses the members of an object that follow a comma at a place of a text. */
function parseAfterComma(data: string, comma: number): ParsedRecord | undefined {
  return data.startsWith(',"', comma) ? parseObject(`{${data.slice(comma + 1)}`) : undefined;
}

export function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(json);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
