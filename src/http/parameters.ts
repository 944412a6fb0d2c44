/**
 * Parameters: one declaration gives each its documentation, its schema and its reading.
 *
 * The schema describes JSON: it is what the API documentation shows and what a value has to satisfy. The
 * reading (from the domain) adds what a schema cannot say (a day that exists, the currency's decimals) and
 * finds the words of a refusal. In a form every value is text: booleans, integers and lists are first made
 * of it, so that JSON never accepts them as text.
 */

import Type, { type TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { codePattern, lastCharactersPattern, parseCode, parseLastCharacters } from '../domain/code.ts';
import { findCurrency } from '../domain/currency.ts';
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
  /** The JSON value that a form's text means; the text itself where it means none. */
  readonly fromForm: FromForm;
  /** Reads a value that was sent, null too. */
  readonly read: (value: unknown, reading: Reading) => Parsed<T>;
};

type Read<T> = (value: unknown, reading: Reading) => Parsed<T>;
type FromForm = (text: string) => unknown;

/** @param fromForm absent: JSON has the value as a string, too. */
function parameter<T>(schema: TSchema, read: Read<T>, fromForm?: FromForm): Parameter<T, false> {
  return { ...validated(schema, read, fromForm), isRequired: false };
}

function requiredParameter<T>(schema: TSchema, read: Read<T>, fromForm?: FromForm): Parameter<T, true> {
  return { ...validated(schema, read, fromForm), isRequired: true };
}

function validated<T>(
  schema: TSchema,
  read: Read<T>,
  fromForm: FromForm = (text) => text,
): Pick<Parameter<T>, 'schema' | 'fromForm' | 'read'> {
  const validator = Compile(schema);
  return {
    schema,
    fromForm,
    read(value, reading) {
      const json = reading.isForm && typeof value === 'string' ? fromForm(value) : value;
      const parsed = read(json, reading);
      if (!parsed.ok || validator.Check(json)) return parsed;
      return refused('is not of the documented form');
    },
  };
}

const integerText = /^[1-9][0-9]{0,15}$/;

/** The integer that a form's text means: digits, the first of them not 0. */
export function integerFromForm(text: string): unknown {
  return integerText.test(text) ? Number(text) : text;
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
      'The customer’s e-mail address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; blanks around it are removed. An address that is no customer yet becomes one.',
    examples: ['ada@example.com'],
  }),
  orNull(parseEmail),
);

export const recipientEmail = parameter<EmailAddress | null>(
  Type.Union(address.anyOf, {
    description:
      'The recipient’s e-mail address: one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; blanks around it are removed. An address that is no customer yet becomes one.',
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

const truths: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function flagFromForm(sent: string): unknown {
  return truths.get(sent) ?? sent;
}

function readFlag(value: unknown): Parsed<boolean> {
  return typeof value === 'boolean' ? accepted(value) : refused('must be true or false');
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
  Type.Union([Type.Boolean(), Type.Null()], {
    description:
      'false: no mail is sent, neither the card nor a receipt. Otherwise the card is mailed to its recipient, or else to its customer, if there is one and the store sends mails.',
    examples: [false],
  }),
  orNull(readFlag),
  flagFromForm,
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
  Type.Boolean({
    description: 'true disables the card, for good.',
    examples: [true],
  }),
  readFlag,
  flagFromForm,
);

export const releaseHolds = parameter(
  Type.Boolean({
    description:
      'Beside `disable`: releases the card’s open holds. Without it, a card with open holds is not disabled.',
    examples: [true],
  }),
  readFlag,
  flagFromForm,
);

export const partial = parameter(
  Type.Boolean({
    description: 'Take what is available if it is less than the amount.',
    examples: [true],
  }),
  readFlag,
  flagFromForm,
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

const nullableId = Type.Union([Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]);

const readId = orNull((value): Parsed<number> => {
  const isId = typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
  return isId ? accepted(value) : refused('must be an integer from 1 to 2^53 - 1');
});

export const orderId = parameter<number | null>(
  Type.Union(nullableId.anyOf, {
    description: 'The order that it belongs to: an integer below 2^53.',
    examples: [1001],
  }),
  readId,
  integerFromForm,
);

export const storefrontCustomerId = parameter<number | null>(
  Type.Union(nullableId.anyOf, {
    description:
      'The customer’s id on the storefront, as the app proxy sends it in `logged_in_customer_id`: an integer below 2^53, unique in the store. null: none.',
    examples: [7103421190],
  }),
  readId,
  integerFromForm,
);

export const expiresIn = parameter(
  Type.Union([Type.Integer({ minimum: 1, maximum: holdSecondsMax }), Type.Null()], {
    description: 'Seconds that the hold lasts: 900 (15 minutes) by default, at most 604800 (7 days).',
    examples: [900],
  }),
  (value) => {
    if (value === null) return accepted(holdSecondsDefault);
    const isAllowed =
      typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= holdSecondsMax;
    return isAllowed
      ? accepted(value)
      : refused(`must be a whole number of seconds from 1 to ${holdSecondsMax}`);
  },
  integerFromForm,
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
      'The card’s currency, if it is sent at all, as an ISO 4217 code in upper case: another currency is refused with `currency-mismatch`.',
    examples: ['USD'],
  }),
  orNull((value, { store }) =>
    typeof value === 'string' && findCurrency(value)
      ? accepted(value)
      : refused(`must be an ISO 4217 currency code in upper case, such as ${store.currency.code}`),
  ),
);

/** Echoes the store's own currency; nothing else can be asked for. */
export const currency = parameter<null>(
  Type.Union([Type.String(), Type.Null()], {
    description: 'The store’s own currency, if it is sent at all.',
    examples: ['USD'],
  }),
  orNull((value, { store }) => {
    const { code: own } = store.currency;
    if (value === own) return accepted(null);
    return typeof value === 'string' && findCurrency(value)
      ? refused(`must be ${own}, the store’s currency`)
      : refused(`must be an ISO 4217 currency code in upper case: ${own}, the store’s currency`);
  }),
);

const webhookUrlSchema = Type.String({
  maxLength: 2_048,
  pattern: '^[hH][tT][tT][pP][sS]?://',
  description:
    'The address that events are posted to: https, to a host on the public internet. In development mode, until there is a real store, also http and https to this machine.',
  examples: ['https://shop.example.com/webhooks/gift-cards'],
});

/** Whether it may be posted to is judged by whoever posts. */
function readUrl(value: unknown): Parsed<string> {
  if (typeof value !== 'string') return refused('must be a string');
  if (value.length > 2_048) return refused('must have at most 2,048 characters');
  return /^https?:\/\//i.test(value) ? accepted(value) : refused('must be a URL that starts with https://');
}

const knownPatterns = eventPatterns(eventTypes);

const webhookEventsSchema = Type.Array(Type.Enum([...knownPatterns]), {
  minItems: 1,
  description:
    'Which events are sent: types (`gift_card.redeemed`), all of a group (`gift_card.*`), or all (`*`). In a form, separated by commas.',
  examples: [['gift_card.*']],
});

function patternsFromForm(list: string): unknown {
  return list.split(',').map((pattern) => pattern.trim());
}

function readPatterns(value: unknown): Parsed<readonly string[]> {
  return Array.isArray(value)
    ? parsePatterns(value, knownPatterns)
    : refused('must be a list of event types');
}

export const webhookUrl = requiredParameter(webhookUrlSchema, readUrl);
export const newWebhookUrl = parameter(webhookUrlSchema, readUrl);
export const webhookEvents = requiredParameter(webhookEventsSchema, readPatterns, patternsFromForm);
export const newWebhookEvents = parameter(webhookEventsSchema, readPatterns, patternsFromForm);

export const paused = parameter(
  Type.Boolean({
    description:
      'true: nothing is sent, and what happens meanwhile is not booked for it. false: resumes it; what waited goes out.',
    examples: [true],
  }),
  readFlag,
  flagFromForm,
);

/** The webhook that an event is sent to once more. */
export const webhookId = parameter<number | null>(
  Type.Union(nullableId.anyOf, {
    description:
      'Only to this webhook, whatever it asks for. Absent: to every active one that asks for such events.',
    examples: [244212370001],
  }),
  readId,
  integerFromForm,
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
