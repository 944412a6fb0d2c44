/** Batches: many gift cards that are issued with one request. */

import type { ErrorsByField } from '../../../core/domain/fault.ts';
import { equal, formatMoney, type Money } from '../../../core/money/domain/money.ts';
import {
  newCardErrors,
  newCardFieldNames,
  newCardFields,
  newCardOf,
} from '../../../core/cards/domain/new-card.ts';
import type { CardToIssue, NewCardField, NewCardValues } from '../../../core/cards/domain/new-card.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { int64Max } from '../../../core/domain/int64.ts';
import { Steps, type Paused } from '../../../core/domain/paused.ts';

/** Maximum number of cards of a batch. */
export const batchCardsMax = 10_000;

export const tooManyCards = `is above the limit of ${batchCardsMax.toLocaleString('en')} gift cards`;

/** Maximum number of errors that one response lists. */
export const batchErrorsMax = 100;

/** The codes of a batch can be read for this time after it is complete. */
export const batchCodesMs = 24 * 60 * 60 * 1_000;

export const batchNameLengthMax = 100;

export const totalTooLarge = 'is too large: the sum of the batch must be below 2^63 in minor units';

export const batchStates = ['running', 'complete'] as const;

export type BatchState = (typeof batchStates)[number];

export type Batch = {
  readonly storeId: number;
  readonly id: number;
  readonly name: string | null;
  readonly actor: string;
  readonly apiClientId: number | null;
  /** The location at which its cards are issued; null: at no location. */
  readonly locationId: number | null;
  readonly state: BatchState;
  /** The number of cards, and the sum of their values. */
  readonly cards: number;
  readonly total: Money;
  readonly issued: number;
  readonly issuedTotal: Money;
  /** Cards that could not be issued. */
  readonly failed: number;
  /** The first part that is not issued. */
  readonly nextPart: number;
  /** Instants in ms. */
  readonly createdAt: number;
  readonly completedAt: number | null;
  /** Null: the batch runs, or the codes are erased. */
  readonly codesUntil: number | null;
};

/** The reason why a card cannot be issued. */
export type BatchError = {
  /** The place of the card in the batch, from 0. */
  readonly index: number;
  /** Null: the error does not concern one field. */
  readonly field: string | null;
  /** Reads after the name of the field. */
  readonly message: string;
  /** The place of the card that has the same value. */
  readonly first?: number;
};

/** The cards of a batch, or the first errors. */
export type ParsedBatch =
  | { readonly ok: true; readonly cards: readonly CardToIssue[]; readonly total: Money }
  | {
      readonly ok: false;
      /** The first `batchErrorsMax` of them. */
      readonly errors: readonly BatchError[];
      readonly errorCount: number;
      /** The places of all cards with errors. */
      readonly rejected: readonly number[];
    };

/** In place of a card or a value that its reader has rejected: it has no other error. */
export const unreadable: unique symbol = Symbol('unreadable');

type Place = {
  readonly store: Store;
  /** Instant in ms. */
  readonly now: number;
  /** Whether the service sends email. */
  readonly canSend: boolean;
};

type Add = (index: number, field: string | null, message: string, first?: number) => void;

const known: ReadonlySet<string> = new Set(newCardFieldNames);

/** The part of a name or of a cell that an error shows. */
export const shownNameLengthMax = 64;

/** The work of parsing a card, as a length of text. */
const cardLength = 250;

/**
 * Parses the cards of a batch: objects with the fields of a new card. The caller has limited their number.
 * @param sent the fields of each card, by name.
 */
export function* parseBatch(sent: Iterable<unknown>, place: Place): Paused<ParsedBatch> {
  const errors: BatchError[] = [];
  let errorCount = 0;
  const withErrors = new Set<number>();
  const add: Add = (index, field, message, first) => {
    errorCount += 1;
    withErrors.add(index);
    if (errors.length < batchErrorsMax)
      errors.push({ index, field, message, ...(first !== undefined && { first }) });
  };
  const cards: CardToIssue[] = [];
  const places = new Map<string, number>();
  const steps = new Steps();
  let minor = 0n;
  let index = -1;
  for (const fields of sent) {
    index += 1;
    if (steps.isDue(cardLength)) yield;
    const card = parseCard(fields, { place, index, add });
    if (!card) continue;
    const first = card.code ? places.get(card.code.code.reveal()) : undefined;
    if (first !== undefined) add(index, 'code', 'is the code of another card of the batch', first);
    else if (card.code) places.set(card.code.code.reveal(), index);
    minor += card.value.minor;
    if (minor > int64Max && minor - card.value.minor <= int64Max) add(index, 'initial_value', totalTooLarge);
    cards.push(card);
  }
  if (errorCount > 0) return { ok: false, errors, errorCount, rejected: [...withErrors] };
  return { ok: true, cards, total: { minor, currency: place.store.currency } };
}

function parseCard(
  fields: unknown,
  { place, index, add }: { readonly place: Place; readonly index: number; readonly add: Add },
): CardToIssue | undefined {
  if (fields === unreadable) return undefined;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    add(index, null, 'must be an object');
    return undefined;
  }
  const values: Partial<Record<NewCardField, unknown>> = {};
  const wrong = new Set<string>();
  const reject = (field: string, message: string): void => {
    wrong.add(field);
    add(index, field, message);
  };
  for (const [name, value] of Object.entries(fields)) {
    if (!known.has(name)) {
      if (name.length <= shownNameLengthMax) reject(name, 'is not a known parameter');
      else {
        wrong.add(name);
        add(index, null, 'has an unknown parameter');
      }
      continue;
    }
    if (value === unreadable) {
      wrong.add(name);
      continue;
    }
    // The name is one of the table.
    const field = name as NewCardField;
    const parsed = newCardFields[field](value, place);
    if (parsed.ok) values[field] = parsed.value;
    else reject(name, parsed.error);
  }
  if (!Object.hasOwn(fields, 'initial_value')) reject('initial_value', 'is required');
  // Each value was parsed by the parser of its name.
  const parsed = values as NewCardValues;
  for (const [field, message] of newCardErrors(parsed, place, (name) => wrong.has(name)))
    reject(field, message);
  const { initial_value: value } = parsed;
  return wrong.size > 0 || !value ? undefined : newCardOf({ ...parsed, initial_value: value }, place);
}

/**
 * The cards of a batch that are for the person of an earlier one: with the same address, or without one and with the same
 * name. @returns their places, and that of the first card of the person.
 */
export function repeatedRecipients(
  cards: readonly CardToIssue[],
): readonly { readonly index: number; readonly first: number }[] {
  const places = new Map<string, number>();
  return cards.flatMap(({ recipient, customer, details: { recipientName } }, index) => {
    const address = recipient ?? customer;
    const name = recipientName?.trim().toLowerCase();
    if (!address && name === undefined) return [];
    const person = address ? `address ${address.key}` : `name ${name}`;
    const first = places.get(person);
    if (first !== undefined) return [{ index, first }];
    places.set(person, index);
    return [];
  });
}

/** Cards with the same fields; undefined if their sum is too large. */
export function equalCards(
  card: CardToIssue,
  count: number,
): { readonly cards: readonly CardToIssue[]; readonly total: Money } | undefined {
  const { minor, currency } = card.value;
  const total: Money = { minor: minor * BigInt(count), currency };
  return total.minor > int64Max ? undefined : { cards: Array.from({ length: count }, () => card), total };
}

/** The errors by the names that a request has for them: `cards[12].initial_value`. */
export function errorsByName(errors: readonly BatchError[]): ErrorsByField {
  const byName = new Map<string, string[]>();
  for (const { index, field, message } of errors) {
    const name = field === null ? `cards[${index}]` : `cards[${index}].${field}`;
    byName.set(name, [...(byName.get(name) ?? []), message]);
  }
  return Object.fromEntries(byName);
}

/** The differences between a batch and its control figures; null: not given. */
export function expectationErrors(
  { cards, total }: { readonly cards: readonly CardToIssue[]; readonly total: Money },
  {
    expectedCount,
    expectedTotal,
  }: { readonly expectedCount: number | null; readonly expectedTotal: Money | null },
): readonly (readonly [field: 'expected_count' | 'expected_total', message: string])[] {
  return [
    ...(expectedCount !== null && expectedCount !== cards.length
      ? [['expected_count', `must be ${cards.length}, the number of gift cards`] as const]
      : []),
    ...(expectedTotal && !equal(expectedTotal, total)
      ? [['expected_total', `must be ${formatMoney(total)}, the sum of the values`] as const]
      : []),
  ];
}
