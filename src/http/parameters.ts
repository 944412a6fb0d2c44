/**
 * Parameters: one declaration gives each its documentation, its schema and its reading.
 *
 * The schema is what the API documentation shows and what a value has to satisfy; the reading
 * (from the domain) adds what a schema cannot say (a day that exists, the currency's decimals)
 * and finds the words of a refusal.
 */

import Type, { type TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { codePattern, lastCharactersPattern, parseCode, parseLastCharacters } from '../domain/code.ts';
import { dayOf, dayPattern, parseDay } from '../domain/day.ts';
import { parseEmail, type EmailAddress } from '../domain/email.ts';
import { eventTypes } from '../domain/event.ts';
import { holdSecondsDefault, holdSecondsMax } from '../domain/hold.ts';
import { decimalPattern, parseAmount, type Money } from '../domain/money.ts';
import { accepted, refused, type Parsed } from '../domain/parsed.ts';
import type { Secret } from '../domain/secret.ts';
import { parseSendOn, sendOnPattern, type SendOn } from '../domain/send-on.ts';
import { aboveLimit, isAbove, type Store } from '../domain/store.ts';
import { parseText, referenceLengthMax, textLengthMax } from '../domain/text.ts';
import { eventPatterns, parsePatterns } from '../domain/webhook.ts';

/** What the reading of a value depends on. */
export type Reading = {
  readonly store: Store;
  /** Instant in ms. */
  readonly now: number;
  readonly isForm: boolean;
};

export type Parameter<T, Required extends boolean = boolean> = {
  readonly schema: TSchema;
  /** Whether its absence is refused. */
  readonly isRequired: Required;
  /** Reads a value that was sent, null too. */
  readonly read: (value: unknown, reading: Reading) => Parsed<T>;
};

type Read<T> = (value: unknown, reading: Reading) => Parsed<T>;

function parameter<T>(schema: TSchema, read: Read<T>): Parameter<T, false> {
  return { ...validated(schema, read), isRequired: false };
}

function requiredParameter<T>(schema: TSchema, read: Read<T>): Parameter<T, true> {
  return { ...validated(schema, read), isRequired: true };
}

function validated<T>(schema: TSchema, read: Read<T>): Pick<Parameter<T>, 'schema' | 'read'> {
  const validator = Compile(schema);
  return {
    schema,
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

/** Reads an amount that must be there. */
function readAmount({ zeroAllowed }: { readonly zeroAllowed: boolean }): Read<Money> {
  return (value, { store }) =>
    value === null ? refused(required) : parseAmount(value, { currency: store.currency, zeroAllowed });
}

function readIssuedAmount(value: unknown, reading: Reading): Parsed<Money> {
  const amount = readAmount({ zeroAllowed: false })(value, reading);
  const { issueLimit } = reading.store;
  return amount.ok && isAbove(issueLimit, amount.value) ? refused(aboveLimit(issueLimit)) : amount;
}

const amountText =
  'A JSON number, taken by its value, or a string in plain decimal notation, in the store’s currency. ' +
  'No more decimals than the currency has (nothing is ever rounded), at most 12 digits before the point, ' +
  'and at most the store’s own limit, if it has one.';

export const initialValue = requiredParameter(
  Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern })], {
    description: `The value of the card, greater than 0. ${amountText}`,
    examples: ['25.00'],
  }),
  readIssuedAmount,
);

export const balance = parameter(
  Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: decimalPattern })], {
    description: `The new balance, 0 or more; it may exceed the initial value. ${amountText}`,
    examples: ['10.00'],
  }),
  readAmount({ zeroAllowed: true }),
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
  (value) => parseText(value),
);

export const message = parameter(
  Type.Union(text.anyOf, {
    description:
      'The message in the gift card e-mail. Newlines and tabs are the only control characters. "" and null: none.',
    examples: ['Happy birthday!'],
  }),
  (value) => parseText(value),
);

const truths: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

const flag = Type.Union([Type.Boolean(), Type.Enum(['true', 'false', '1', '0'])]);

function readFlag(value: unknown, { isForm }: Reading): Parsed<boolean> {
  const read = isForm ? truths.get(value) : value;
  return typeof read === 'boolean' ? accepted(read) : refused('must be true or false');
}

export const sendOn = parameter<SendOn | null>(
  Type.Union([Type.String({ pattern: sendOnPattern }), Type.Null()], {
    description:
      'When the card is mailed: a date in the store’s time zone (sent at 9 o’clock there, or at once if that is over today), or a date and time with `Z` or an offset. Not in the past, at most a year ahead, and not after `expires_on`. null: at once.',
    examples: ['2026-12-24', '2026-12-24T18:00:00+01:00'],
  }),
  orNull((value, { store, now }) => parseSendOn(value, { now, timeZone: store.timeZone })),
);

export const notify = parameter<boolean | null>(
  Type.Union([...flag.anyOf, Type.Null()], {
    description:
      'false: no mail is sent, neither the card nor a receipt. Otherwise the card is mailed to its recipient, or else to its customer, if there is one and the store sends mails.',
    examples: [false],
  }),
  orNull(readFlag),
);

export const code = parameter<Secret | null>(
  Type.Union([Type.String({ pattern: codePattern }), Type.Null()], {
    description:
      'A code of the store’s own: 8 to 20 letters or digits, in which spaces, hyphens and case do not count. A code that the store has ever used is taken. Absent: a random one of 16.',
    examples: ['SPRING-2031-0001'],
  }),
  orNull(parseCode),
);

export const disable = parameter(
  Type.Union(flag.anyOf, {
    description: 'true disables the card, for good. In a form also true, false, 1 and 0 as text.',
    examples: [true],
  }),
  readFlag,
);

export const releaseHolds = parameter(
  Type.Union(flag.anyOf, {
    description:
      'Beside `disable`: releases the card’s open holds. Without it, a card with open holds is not disabled.',
    examples: [true],
  }),
  readFlag,
);

export const partial = parameter(
  Type.Union(flag.anyOf, {
    description: 'Take what is available if it is less than the amount.',
    examples: [true],
  }),
  readFlag,
);

/** An amount that moves: greater than 0, and no more than any amount may be. */
export const amount = requiredParameter(
  Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern })], {
    description:
      'Greater than 0, in the card’s currency, as a JSON number or a string in plain decimal notation. Nothing is ever rounded.',
    examples: ['10.00'],
  }),
  readAmount({ zeroAllowed: false }),
);

export const optionalAmount = parameter<Money | null>(
  Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern }), Type.Null()], {
    description:
      'Greater than 0, as a JSON number or a string in plain decimal notation. Absent or null: all of it.',
    examples: ['10.00'],
  }),
  orNull((value, { store }) => parseAmount(value, { currency: store.currency, zeroAllowed: false })),
);

export const reference = parameter(
  Type.Union([Type.String({ maxLength: referenceLengthMax }), Type.Null()], {
    description: 'The caller’s own name for the transaction, at most 255 characters: a receipt number, say.',
    examples: ['receipt-1017'],
  }),
  (value) => parseText(value, referenceLengthMax),
);

const nullableId = Type.Union([
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  Type.String({ pattern: '^[1-9][0-9]{0,15}$' }),
  Type.Null(),
]);

const readId = orNull((value): Parsed<number> => {
  const number = typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : value;
  const isId = typeof number === 'number' && Number.isSafeInteger(number) && number > 0;
  return isId ? accepted(number) : refused('must be an integer from 1 to 2^53 - 1');
});

export const orderId = parameter<number | null>(
  Type.Union(nullableId.anyOf, {
    description: 'The order that it belongs to: an integer below 2^53.',
    examples: [1001],
  }),
  readId,
);

export const storefrontCustomerId = parameter<number | null>(
  Type.Union(nullableId.anyOf, {
    description:
      'The customer’s id on the storefront, as the app proxy sends it in `logged_in_customer_id`: an integer below 2^53, unique in the store. null: none.',
    examples: [7103421190],
  }),
  readId,
);

export const expiresIn = parameter(
  Type.Union(
    [
      Type.Integer({ minimum: 1, maximum: holdSecondsMax }),
      Type.String({ pattern: '^[1-9][0-9]{0,5}$' }),
      Type.Null(),
    ],
    {
      description: 'Seconds that the hold lasts: 900 (15 minutes) unless told, at most 604800 (7 days).',
      examples: [900],
    },
  ),
  (value) => {
    if (value === null) return accepted(holdSecondsDefault);
    const number = typeof value === 'string' && /^[1-9]\d{0,5}$/.test(value) ? Number(value) : value;
    const isAllowed =
      typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= holdSecondsMax;
    return isAllowed
      ? accepted(number)
      : refused(`must be a whole number of seconds from 1 to ${holdSecondsMax}`);
  },
);

/** The full code of a card that is looked up or redeemed. */
export const requiredCode = requiredParameter<Secret>(
  Type.String({
    pattern: codePattern,
    description: 'The full code; spaces, hyphens and case do not count.',
    examples: ['q2m8-xk4w-9c0d-7f3k'],
  }),
  parseCode,
);

/** The currency that a caller believes the card has; another one is refused by a code of its own. */
export const expectedCurrency = parameter<string | null>(
  Type.Union([Type.String({ pattern: '^[A-Z]{3}$' }), Type.Null()], {
    description:
      'The card’s currency, if it is sent at all: another one is refused with `currency-mismatch`.',
    examples: ['USD'],
  }),
  orNull((value) =>
    typeof value === 'string' && /^[A-Z]{3}$/.test(value)
      ? accepted(value)
      : refused('must be an ISO 4217 code'),
  ),
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

const webhookUrlSchema = Type.String({
  maxLength: 2_048,
  pattern: '^[hH][tT][tT][pP][sS]?://',
  description:
    'The address that events are posted to: https, to a host on the public internet. In development also http and https to this machine.',
  examples: ['https://shop.example.com/webhooks/gift-cards'],
});

/** Whether it may be posted to is judged by whoever posts. */
function readUrl(value: unknown): Parsed<string> {
  if (typeof value !== 'string') return refused('must be a string');
  if (value.length > 2_048) return refused('must have at most 2,048 characters');
  return /^https?:\/\//i.test(value)
    ? accepted(value)
    : refused('must be an address that starts with https://');
}

const knownPatterns = eventPatterns(eventTypes);

const webhookEventsSchema = Type.Union(
  [
    Type.Array(Type.Enum([...knownPatterns]), { minItems: 1 }),
    Type.String({ pattern: '^[a-z_.* ]+(?:,[a-z_.* ]+)*$' }),
  ],
  {
    description:
      'Which events are sent: types (`gift_card.redeemed`), all of a group (`gift_card.*`), or all (`*`). As text, separated by commas.',
    examples: [['gift_card.*']],
  },
);

function readPatterns(value: unknown): Parsed<readonly string[]> {
  return parsePatterns(value, knownPatterns);
}

export const webhookUrl = requiredParameter(webhookUrlSchema, readUrl);
export const newWebhookUrl = parameter(webhookUrlSchema, readUrl);
export const webhookEvents = requiredParameter(webhookEventsSchema, readPatterns);
export const newWebhookEvents = parameter(webhookEventsSchema, readPatterns);

export const paused = parameter(
  Type.Union(flag.anyOf, {
    description:
      'true: nothing is sent, and what happens meanwhile is not booked for it. false: resumes it; what waited goes out.',
    examples: [true],
  }),
  readFlag,
);

/** The webhook that an event is sent to once more. */
export const webhookId = parameter<number | null>(
  Type.Union(nullableId.anyOf, {
    description:
      'Only to this webhook, whatever it asks for. Absent: to every active one that asks for such events.',
    examples: [244212370001],
  }),
  readId,
);

export const searchedCharacters = requiredParameter(
  Type.String({
    pattern: lastCharactersPattern,
    description: 'The last 4 characters of the code, in either case.',
    examples: ['7f3k'],
  }),
  parseLastCharacters,
);

export const searchedEmail = requiredParameter<EmailAddress>(
  Type.String({
    minLength: 1,
    description: 'The e-mail address of the card’s customer or recipient.',
    examples: ['grace@example.com'],
  }),
  parseEmail,
);

export { required };
