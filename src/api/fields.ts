/** Every request field, once: its schema for the documentation, and its parser. */

import Type from 'typebox';
import { codePattern, lastCharactersPattern, parseCode, parseLastCharacters } from '../domain/cards/code.ts';
import { findCurrency } from '../domain/money/currency.ts';
import { dayPattern, parseDay } from '../domain/day.ts';
import { parseEmail, type EmailAddress } from '../domain/email-address.ts';
import { eventTypes } from '../domain/events/event-type.ts';
import { externalIdLengthMax, externalIdPattern, parseExternalId } from '../domain/external-id.ts';
import { daySeconds, holdSecondsDefault, holdSecondsMax } from '../domain/money/hold.ts';
import { decimalPattern, parseAmount, type Money } from '../domain/money/money.ts';
import { flagFromText, newCardFields, orNull, parseFlag, parseId } from '../domain/cards/new-card.ts';
import { accepted, rejected } from '../platform/parsed.ts';
import type { Secret } from '../platform/secret.ts';
import { instantOrDayPattern, type SendOn } from '../domain/emails/send-on.ts';
import { parseText, referenceLengthMax, textLengthMax } from '../domain/text.ts';
import { eventPatterns, parsePatterns } from '../domain/events/webhook.ts';
import { vatKinds, vatRatePattern, type VatKind } from '../domain/money/vat.ts';
import { detailFields } from './card-fields.ts';
import { field, integerFromForm, required, type Read } from './field.ts';

/** Parses an amount that cannot be null. */
function readAmount({ zeroAllowed }: { readonly zeroAllowed: boolean }): Read<Money> {
  return (value, { store }) =>
    value === null ? rejected('is required') : parseAmount(value, { currency: store.currency, zeroAllowed });
}

const readPositive = readAmount({ zeroAllowed: false });

const amountText =
  'A JSON number or a string in plain decimal notation, in the store’s currency. No more decimals than the currency ' +
  'has (amounts are never rounded), at most 12 digits before the point, and at most the store’s own limit, if it has one.';

export const initialValue = required(
  field<Money>(
    Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern })], {
      description: `The value of the card, greater than 0. ${amountText}`,
      examples: ['25.00'],
    }),
    newCardFields.initial_value,
  ),
);

export const balance = field<Money>(
  Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: decimalPattern })], {
    description: `The new balance, 0 or more; it may exceed the initial value. ${amountText}`,
    examples: ['10.00'],
  }),
  readAmount({ zeroAllowed: true }),
);

const day = Type.Union([Type.String({ pattern: dayPattern }), Type.Null()]);

/** At creation: not in the past. */
export const expiresOnOrLater = field(
  Type.Union(day.anyOf, {
    description:
      'The last day on which the card is valid, in the store’s time zone: today or later. null: never expires.',
    examples: ['2031-12-31'],
  }),
  newCardFields.expires_on,
);

export const expiresOn = field(
  Type.Union(day.anyOf, {
    description:
      'The new last day on which the card is valid, in the store’s time zone. Any day: a past day expires the card now. null: never expires.',
    examples: ['2032-06-30'],
  }),
  orNull(parseDay),
);

const address = Type.Union([Type.String({ minLength: 1 }), Type.Null()]);

const addressText =
  'one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address.';

export const email = field<EmailAddress | null>(
  Type.Union(address.anyOf, {
    description: `The customer’s email address: ${addressText}`,
    examples: ['ada@example.com'],
  }),
  newCardFields.email,
);

export const recipientEmail = field<EmailAddress | null>(
  Type.Union(address.anyOf, {
    description: `The recipient’s email address: ${addressText}`,
    examples: ['grace@example.com'],
  }),
  newCardFields.recipient_email,
);

/** The id of a card, a transaction or a hold. */
export const { note } = detailFields;

function flag(description: string, example = true) {
  return field(Type.Boolean({ description, examples: [example] }), parseFlag, flagFromText);
}

export const sendOn = field<SendOn | null>(
  Type.Union([Type.String({ pattern: instantOrDayPattern }), Type.Null()], {
    description:
      'When the card is emailed: a date in the store’s time zone (sent at 9 o’clock, or immediately if it is later than that today), or a date and time with `Z` or an offset. Not in the past, at most a year ahead, and not after `expires_on`. null: immediately.',
    examples: ['2026-12-24', '2026-12-24T18:00:00+01:00'],
  }),
  newCardFields.send_on,
);

export const notify = field<boolean | null>(
  Type.Union([Type.Boolean(), Type.Null()], {
    description:
      'false: no email is sent, neither the card nor a receipt. By default the card is emailed to its recipient, or to its customer if it has no recipient, if the store sends email.',
    examples: [false],
  }),
  newCardFields.notify,
  flagFromText,
);

export const suspend = field<boolean | null>(
  Type.Union([Type.Boolean(), Type.Null()], {
    description:
      'true: the card is suspended until it is resumed, for example while a payment is checked. Its emails are sent when it is resumed.',
    examples: [true],
  }),
  newCardFields.suspend,
  flagFromText,
);

export const suspendReason = field<string | null>(
  Type.Union([Type.String({ maxLength: textLengthMax }), Type.Null()], {
    description:
      'Why the card is suspended: for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null: none.',
    examples: ['The payment is disputed'],
  }),
  (value) => parseText(value, textLengthMax),
);

export const code = field<Secret | null>(
  Type.Union([Type.String({ pattern: codePattern }), Type.Null()], {
    description:
      'The store’s own code: 8 to 20 letters or digits, case-insensitive; spaces and hyphens are ignored. A code that the store has ever used is rejected. By default the server generates a random code of 16 characters.',
    examples: ['SPRING-2031-0001'],
  }),
  newCardFields.code,
);

export const stockUse = field<'required' | null>(
  Type.Union([Type.Literal('required'), Type.Null()], {
    description:
      'required: `code` must be the code of a printed card in stock. By default, and with null, a code in stock is activated, and any other unused code is the code of a new card.',
    examples: ['required'],
  }),
  (value) =>
    value === null || value === 'required' ? accepted(value) : rejected('must be required or null'),
);

export const disable = flag('true disables the card permanently.');

export const eraseNotes = flag(
  'Also erases every note and reference of the customer’s gift cards, and those of other gift cards that contain the address. A note for the store can name a person in words that the service does not recognize.',
);

export const releaseHolds = flag(
  'With `disable`: releases the card’s open holds. Without it, a card with open holds cannot be disabled.',
);

export const closed = flag('Whether the location is closed.');

export const partial = flag('Debit the available amount if it is less than `amount`.');

/** An amount that is spent, added or reserved. */
export const amount = required(
  field<Money>(
    Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern })], {
      description:
        'Greater than 0, in the card’s currency, as a JSON number or a string in plain decimal notation. Amounts are never rounded.',
      examples: ['10.00'],
    }),
    readPositive,
  ),
);

export const optionalAmount = field<Money | null>(
  Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: decimalPattern }), Type.Null()], {
    description:
      'Greater than 0, as a JSON number or a string in plain decimal notation. By default, and with null, the whole amount.',
    examples: ['10.00'],
  }),
  orNull((value, { store }) => parseAmount(value, { currency: store.currency, zeroAllowed: false })),
);

export const creditKind = field<'top_up' | null>(
  Type.Union([Type.String({ enum: ['top_up'] }), Type.Null()], {
    description:
      '`top_up`: more value is sold, in the account `top_ups`. By default, and with null, the kind of the transaction is `credit`.',
    examples: ['top_up'],
  }),
  orNull((value) => (value === 'top_up' ? accepted(value) : rejected('must be top_up'))),
);

/** The new last day of a card that is topped up. */
export const laterExpiresOn = field(
  Type.Union(day.anyOf, {
    description:
      'With the kind `top_up`: a later last day on which the card is valid, in the store’s time zone. By default, and with null, the day stays.',
    examples: ['2033-12-31'],
  }),
  orNull(parseDay),
);

/** Whether a top-up sends an email. */
export const notifyHolder = field<boolean | null>(
  Type.Union([Type.Boolean(), Type.Null()], {
    description:
      'With the kind `top_up`: false sends no receipt. By default the card’s recipient, or its customer if it has no recipient, gets a receipt by email, if the store sends email.',
    examples: [false],
  }),
  newCardFields.notify,
  flagFromText,
);

export const reference = field(
  Type.Union([Type.String({ maxLength: referenceLengthMax }), Type.Null()], {
    description:
      'The caller’s own name for the transaction, such as a receipt number; at most 255 characters.',
    examples: ['receipt-1017'],
  }),
  (value) => parseText(value, referenceLengthMax),
);

export const orderReference = field(
  Type.Union([Type.String({ minLength: 1, maxLength: referenceLengthMax }), Type.Null()], {
    description: 'The order that it belongs to, as text of 1 to 255 characters.',
    examples: ['B-1017'],
  }),
  (value) =>
    value === '' ? rejected('must have 1 to 255 characters') : parseText(value, referenceLengthMax),
);

const nullableId = Type.Union([Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]);

function idField(description: string, example: number) {
  return field<number | null>(
    Type.Union(nullableId.anyOf, { description, examples: [example] }),
    orNull(parseId),
    integerFromForm,
  );
}

export const locationId = idField(
  'The location where it takes place: an open one of the store. A caller that belongs to a location can only name that one, which is the default.',
  244212380101,
);

export const orderId = idField('The order that it belongs to: an integer below 2^53.', 1001);

/** The caller’s own id of a transaction or hold. */
export const externalId = field<string | null>(
  Type.Union(
    [Type.String({ minLength: 1, maxLength: externalIdLengthMax, pattern: externalIdPattern }), Type.Null()],
    {
      description:
        'The caller’s own id of the object, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing object, for ever.',
      examples: ['order-1001-payment-1'],
    },
  ),
  parseExternalId,
);

export const storefrontCustomerId = idField(
  'The customer’s id on the storefront, as the app proxy sends it in `logged_in_customer_id`: an integer below 2^53, unique in the store. null: none.',
  7103421190,
);

/** The webhook that an event is redelivered to. */
export const webhookId = idField(
  'Only this webhook, even if it does not subscribe to such events. By default every active webhook that subscribes to them.',
  244212370001,
);

export const expiresIn = field(
  Type.Union([Type.Integer({ minimum: 1, maximum: holdSecondsMax }), Type.Null()], {
    description:
      'The duration of the hold in seconds: 900 (15 minutes) by default, at most the store’s limit (7 days by default, at most 90).',
    examples: [900],
  }),
  (value, { store, isRepetition = false }) => {
    if (value === null) return accepted(holdSecondsDefault);
    const max = isRepetition ? holdSecondsMax : store.holdLimitDays * daySeconds;
    return isSeconds(value) && value <= max
      ? accepted(value)
      : rejected(`must be a whole number of seconds from 1 to ${max}`);
  },
  integerFromForm,
);

/** The service compares it with the hold's creation. */
export const extendedExpiresIn = required(
  field<number>(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'How long the hold lasts from now, in seconds. A shorter time than it has left changes nothing.',
      examples: [86_400],
    }),
    (value) =>
      isSeconds(value) ? accepted(value) : rejected('must be a whole number of seconds, at least 1'),
    integerFromForm,
  ),
);

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

/** The full code of a card. */
export const requiredCode = required(
  field<Secret>(
    Type.String({
      pattern: codePattern,
      description: 'The full code, case-insensitive; spaces and hyphens are ignored.',
      examples: ['q2m8-xk4w-9c0d-7f3k'],
    }),
    parseCode,
  ),
);

/** The currency that a caller expects; another currency is rejected with its own error. */
export const expectedCurrency = field<string | null>(
  Type.Union([Type.String({ pattern: '^[A-Z]{3}$' }), Type.Null()], {
    description:
      'Optional; the card’s currency as an ISO 4217 code in upper case. Another currency is rejected with `currency-mismatch`.',
    examples: ['USD'],
  }),
  orNull((value, { store }) =>
    typeof value === 'string' && findCurrency(value)
      ? accepted(value)
      : rejected(`must be an ISO 4217 currency code in upper case, such as ${store.currency.code}`),
  ),
);

/** Must be the store's currency. */
export const currency = field<null>(
  Type.Union([Type.String(), Type.Null()], {
    description: 'Optional; must be the store’s currency.',
    examples: ['USD'],
  }),
  newCardFields.currency,
);

const urlLengthMax = 2_048;

export const webhookUrl = required(
  field<string>(
    Type.String({
      maxLength: urlLengthMax,
      pattern: '^[hH][tT][tT][pP][sS]?://',
      description:
        'The URL that events are posted to: https, on a host on the public internet. Development mode also accepts http and https URLs on this machine, until the database has a real store.',
      examples: ['https://shop.example.com/webhooks/gift-cards'],
    }),
    (value, { parseWebhookUrl = accepted }) => {
      if (typeof value !== 'string') return rejected('must be a string');
      if (value.length > urlLengthMax) return rejected('must have at most 2,048 characters');
      if (!/^https?:\/\//i.test(value)) return rejected('must be a URL that starts with https://');
      return parseWebhookUrl(value);
    },
  ),
);

const knownPatterns = eventPatterns(eventTypes);

export const webhookEvents = required(
  field<readonly string[]>(
    Type.Array(Type.Enum([...knownPatterns]), {
      minItems: 1,
      description:
        'The events that are sent: types (`gift_card.redeemed`), all of a group (`gift_card.*`), or all (`*`). In a form, separated by commas.',
      examples: [['gift_card.*']],
    }),
    (value) =>
      Array.isArray(value) ? parsePatterns(value, knownPatterns) : rejected('must be a list of event types'),
    (list) => list.split(',').map((pattern) => pattern.trim()),
  ),
);

export const paused = flag(
  'true: nothing is sent, and new events are not queued for this webhook. false: resumes it and sends the deliveries that are queued.',
);

export const searchedCharacters = required(
  field<string>(
    Type.String({
      pattern: lastCharactersPattern,
      description: 'The last 4 characters of the code, case-insensitive.',
      examples: ['7f3k'],
    }),
    parseLastCharacters,
  ),
);

/** The filter of the list of customers. */
export const customersEmail = field<EmailAddress>(
  Type.String({
    minLength: 1,
    description: 'Only the customer with this email address.',
    examples: ['ada@example.com'],
  }),
  parseEmail,
);

export const searchedEmail = required(
  field<EmailAddress>(
    Type.String({
      minLength: 1,
      description: 'The email address of the card’s customer or recipient.',
      examples: ['grace@example.com'],
    }),
    parseEmail,
  ),
);

export const vatKind = field<VatKind | null>(
  Type.Union([Type.String({ enum: [...vatKinds] }), Type.Null()], {
    description:
      'When VAT is due. `single_purpose`: at the sale of the card, at the rate `vat_rate`. `multi_purpose`: when the card is redeemed. Absent: the store’s default. null: none is recorded.',
    examples: ['single_purpose'],
  }),
  newCardFields.vat_kind,
);

export const vatRate = field<string | null>(
  Type.Union([Type.String({ pattern: vatRatePattern }), Type.Null()], {
    description:
      'The rate in percent of a `single_purpose` card, with at most 3 decimals: required with that kind, and not allowed without it.',
    examples: ['19'],
  }),
  newCardFields.vat_rate,
);
