/**
 * Parameters: one declaration gives each its documentation, its schema and its reading.
 *
 * The schema is what the API documentation shows and what a value has to satisfy; the reading
 * (from the domain) adds what a schema cannot say (a day that exists, the currency's decimals)
 * and finds the words of a refusal.
 */

import Type, { type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { codePattern, lastCharactersPattern, parseCode, parseLastCharacters } from '../domain/code.ts';
import { dayOf, dayPattern, parseDay } from '../domain/day.ts';
import { parseEmail, type EmailAddress } from '../domain/email.ts';
import { decimalPattern, exceeds, formatMoney, parseAmount, type Money } from '../domain/money.ts';
import { accepted, refused, type Parsed } from '../domain/parsed.ts';
import type { Secret } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import { parseText, textLengthMax } from '../domain/text.ts';

/** What the reading of a value depends on. */
export type Reading = {
  readonly store: Store;
  /** Instant in ms. */
  readonly now: number;
  readonly isForm: boolean;
};

export type Parameter<T> = {
  readonly schema: TSchema;
  /** Whether its absence is refused. */
  readonly isRequired: boolean;
  /** Reads a value that was sent, null too. */
  readonly read: (value: unknown, reading: Reading) => Parsed<T>;
};

function parameter<T>(
  schema: TSchema,
  read: (value: unknown, reading: Reading) => Parsed<T>,
  { isRequired = false } = {},
): Parameter<T> {
  const validator = Compile(schema);
  return {
    schema,
    isRequired,
    read(value, reading) {
      const parsed = read(value, reading);
      if (!parsed.ok || validator.Check(value)) return parsed;
      return refused('is not of the documented form');
    },
  };
}

/** Reads null as none, and anything else with the given reading. */
function orNull<T>(read: (value: unknown, reading: Reading) => Parsed<T>) {
  return (value: unknown, reading: Reading): Parsed<T | null> =>
    value === null ? accepted(null) : read(value, reading);
}

const required = 'is required';

function readAmount(zeroAllowed: boolean) {
  return (value: unknown, { store }: Reading): Parsed<Money> => {
    if (value === null) return refused(required);
    const amount = parseAmount(value, { currency: store.currency, zeroAllowed });
    if (amount.ok && store.issueLimit && exceeds(amount.value, store.issueLimit)) {
      return refused(`must be at most ${formatMoney(store.issueLimit)}, the store's limit`);
    }
    return amount;
  };
}

const amountText =
  'A JSON number, taken by its value, or a string in plain decimal notation, in the store’s currency. ' +
  'No more decimals than the currency has (nothing is ever rounded), at most 12 digits before the point, ' +
  'and at most the store’s own limit, if it has one.';

export const initialValue = parameter(
  Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern })], {
    description: `The value of the card, greater than 0. ${amountText}`,
    examples: ['25.00'],
  }),
  readAmount(false),
  { isRequired: true },
);

export const balance = parameter(
  Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: decimalPattern })], {
    description: `The new balance, 0 or more; it may exceed the initial value. ${amountText}`,
    examples: ['10.00'],
  }),
  readAmount(true),
);

const day = Type.Union([Type.String({ pattern: dayPattern }), Type.Null()]);

/** On creation the last good day may not have passed yet. */
export const expiresOnOrLater = parameter(
  Type.Union(day.anyOf, {
    description:
      'The last day on which the card is good, in the store’s time zone: today or later. null: never expires.',
    examples: ['2031-12-31'],
  }),
  orNull((value, { store, now }): Parsed<string> => {
    const read = parseDay(value);
    return read.ok && read.value < dayOf(now, store.timeZone) ? refused('must be today or later') : read;
  }),
);

export const expiresOn = parameter(
  Type.Union(day.anyOf, {
    description:
      'The new last good day, in the store’s time zone: any day; a past one expires the card now. null: never expires.',
    examples: ['2032-06-30'],
  }),
  orNull(parseDay),
);

const address = Type.Union([Type.String({ minLength: 1 }), Type.Null()]);

export const email = parameter<EmailAddress | null>(
  Type.Union(address.anyOf, {
    description:
      'The customer’s e-mail address, at most 254 characters. An address that is no customer yet becomes one.',
    examples: ['ada@example.com'],
  }),
  orNull(parseEmail),
);

export const recipientEmail = parameter<EmailAddress | null>(
  Type.Union(address.anyOf, {
    description:
      'The recipient’s e-mail address, at most 254 characters. An address that is no customer yet becomes one.',
    examples: ['grace@example.com'],
  }),
  orNull(parseEmail),
);

const text = Type.Union([Type.String({ maxLength: textLengthMax }), Type.Null()]);

export const note = parameter(
  Type.Union(text.anyOf, {
    description:
      'A note for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null clear it.',
    examples: ['Sold at the counter'],
  }),
  parseText,
);

export const message = parameter(
  Type.Union(text.anyOf, {
    description:
      'The message in the gift card e-mail. Newlines and tabs are the only control characters. "" and null: none.',
    examples: ['Happy birthday!'],
  }),
  parseText,
);

export const code = parameter<Secret | null>(
  Type.Union([Type.String({ pattern: codePattern }), Type.Null()], {
    description:
      'A code of the store’s own: 8 to 20 letters or digits, in which spaces, hyphens and case do not count. A code that the store has ever used is taken. Absent: a random one of 16.',
    examples: ['SPRING-2031-0001'],
  }),
  orNull(parseCode),
);

const truths: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

export const disable = parameter(
  Type.Union([Type.Boolean(), Type.Enum(['true', 'false', '1', '0'])], {
    description: 'true disables the card, for good. In a form also true, false, 1 and 0 as text.',
    examples: [true],
  }),
  (value, { isForm }): Parsed<boolean> => {
    const read = isForm ? truths.get(value) : value;
    return typeof read === 'boolean' ? accepted(read) : refused('must be true or false');
  },
);

/** Echoes the store's own currency; nothing else can be asked for. */
export const currency = parameter<null>(
  Type.Union([Type.String(), Type.Null()], {
    description: 'The store’s own currency, if it is sent at all.',
    examples: ['USD'],
  }),
  (value, { store }) =>
    value === null || value === store.currency.code
      ? accepted(null)
      : refused(`must be ${store.currency.code}, the store’s currency`),
);

export const searchedCharacters = parameter(
  Type.String({
    pattern: lastCharactersPattern,
    description: 'The last 4 characters of the code, in either case.',
    examples: ['7f3k'],
  }),
  parseLastCharacters,
  { isRequired: true },
);

export const searchedEmail = parameter<EmailAddress>(
  Type.String({
    minLength: 1,
    description: 'The e-mail address of the card’s customer or recipient.',
    examples: ['grace@example.com'],
  }),
  parseEmail,
  { isRequired: true },
);

export { required };
