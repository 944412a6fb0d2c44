/** Parses the records in events. */

import type { ParsedRecord } from './event-digests.ts';

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

/** JSON without escapes, which needs no parser. */
const plainTransaction =
  /^\{"transaction":\{"id":[1-9]\d{0,15}(?:,"[a-z_]+":(?:null|[1-9]\d{0,15}|"[^"\\\p{Cc}]*"))*\}\}$/u;

const kindStart = '"kind":"';

/** Whether details are a transaction of an event of its type, and nothing else. False also if they have to be parsed. */
export function isTransaction(type: string, details: string): boolean {
  const kinds = kindsOf[type];
  if (!kinds || !plainTransaction.test(details)) return false;
  const start = details.lastIndexOf(kindStart) + kindStart.length;
  return kinds.includes(details.slice(start, details.indexOf('"', start)));
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
