/** Every request field, once: its schema for the documentation, and its parser. */

import {
  givenCodeLengthMax,
  readChosenCode,
  readGivenCode,
  readLastCharacters,
  type ChosenCode,
  type Readings,
} from '../domain/given-code.ts';
import { findCurrency } from '../../money/domain/currency.ts';
import { dayPattern, parseDay } from '../../domain/day.ts';
import { parseEmail, type EmailAddress } from '../../domain/email-address.ts';
import { externalIdLengthMax, externalIdPattern, parseExternalId } from '../../domain/external-id.ts';
import { daySeconds, holdSecondsDefault, holdSecondsMax } from '../../money/domain/hold.ts';
import { decimalPattern, parseAmount, type Money } from '../../money/domain/money.ts';
import { flagFromText, newCardFields, orNull, parseFlag, parseId } from '../domain/new-card.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import { instantOrDayPattern, type SendOn } from '../../emails/domain/send-on.ts';
import { parseText, referenceLengthMax, textLengthMax } from '../../domain/text.ts';
import { vatKinds, vatRatePattern, type VatKind } from '../../money/domain/vat.ts';
import { detailFields } from './card-fields.ts';
import { field, integerFromForm, required, type Read } from '../../../api/field.ts';

import Type, { type TSchema } from 'typebox';

/** Parses an amount that cannot be null. */
function readAmount({ zeroAllowed }: { readonly zeroAllowed: boolean }): Read<Money> {
  return (value, { store }) =>
    value === null ? rejected('is required') : parseAmount(value, { currency: store.currency, zeroAllowed });
}

const readPositive = readAmount({ zeroAllowed: false });

/** A field that can be null. */
function nullable<Value>(
  schema: TSchema,
  description: string,
  example: unknown,
  parse: Read<Value>,
  fromForm?: (text: string) => unknown,
) {
  return field<Value>(
    Type.Union([schema, Type.Null()], { description, examples: [example] }),
    parse,
    fromForm,
  );
}

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

const day = Type.String({ pattern: dayPattern });

/** At creation: not in the past. */
export const expiresOnOrLater = nullable(
  day,
  'The last day on which the card is valid, in the store’s time zone: today or later. null: never expires.',
  '2031-12-31',
  newCardFields.expires_on,
);

export const expiresOn = nullable(
  day,
  'The new last day on which the card is valid, in the store’s time zone. Any day: a past day expires the card now. null: never expires.',
  '2032-06-30',
  orNull(parseDay),
);

const address = Type.String({ minLength: 1 });

const addressText =
  'one valid address, at most 254 characters, normalized to NFC. Invisible, bidirectional and space characters are rejected; surrounding spaces are removed. The server creates a customer for an unknown address.';

export const email = nullable<EmailAddress | null>(
  address,
  `The customer’s email address: ${addressText}`,
  'ada@example.com',
  newCardFields.email,
);

export const recipientEmail = nullable<EmailAddress | null>(
  address,
  `The recipient’s email address: ${addressText}`,
  'grace@example.com',
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

export const notify = nullable<boolean | null>(
  Type.Boolean(),
  'false: no email is sent, neither the card nor a receipt. By default the card is emailed to its recipient, or to its customer if it has no recipient, if the store sends email.',
  false,
  newCardFields.notify,
  flagFromText,
);

export const suspend = nullable<boolean | null>(
  Type.Boolean(),
  'true: the card is suspended until it is resumed, for example while a payment is checked. Its emails are sent when it is resumed.',
  true,
  newCardFields.suspend,
  flagFromText,
);

export const suspendReason = nullable<string | null>(
  Type.String({ maxLength: textLengthMax }),
  'Why the card is suspended: for the store, never visible to customers. Newlines and tabs are the only control characters. "" and null: none.',
  'The payment is disputed',
  (value) => parseText(value, textLengthMax),
);

/** The other content of a text with a code. */
const aroundCodes =
  'A link to the page of the card is its code; what scanners and magnetic stripes add, quotation marks and a label such as `Code:` are removed, and all other characters are ignored.';

export const code = nullable<ChosenCode | null>(
  Type.String({ minLength: 1, maxLength: givenCodeLengthMax }),
  `The store’s own code, or that of a printed card in stock: 8 to 20 letters or digits, case-insensitive; other characters are ignored. A code that the store has ever used is rejected, and as the code of a new card also a link, a masked code (\`xxxx-xxxx-xxxx-9012\`), one symbol repeated, a run such as \`12345678\`, fewer than 4 different symbols, and a code that can be read as that of a printed card. By default the server generates a random code of 16 characters.`,
  'SPRING-2031-0001',
  orNull(readChosenCode),
);

/** The code of a record that is sent back. */
export const echoedCode = nullable<Readings | null>(
  Type.String(),
  'The code of the card.',
  'SPRING-2031-0001',
  orNull(readGivenCode),
);

export const stockUse = nullable<'required' | null>(
  Type.Literal('required'),
  'required: `code` must be the code of a printed card in stock. By default, and with null, a code in stock is activated, and any other unused code is the code of a new card.',
  'required',
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
  orNull(readPositive),
);

export const creditKind = nullable<'top_up' | null>(
  Type.String({ enum: ['top_up'] }),
  '`top_up`: more value is sold, in the account `top_ups`. By default, and with null, the kind of the transaction is `credit`.',
  'top_up',
  orNull((value) => (value === 'top_up' ? accepted(value) : rejected('must be top_up'))),
);

/** The new last day of a card that is topped up. */
export const laterExpiresOn = nullable(
  day,
  'With the kind `top_up`: a later last day on which the card is valid, in the store’s time zone. By default, and with null, the day stays.',
  '2033-12-31',
  orNull(parseDay),
);

/** Whether a top-up sends an email. */
export const notifyHolder = nullable<boolean | null>(
  Type.Boolean(),
  'With the kind `top_up`: false sends no receipt. By default the card’s recipient, or its customer if it has no recipient, gets a receipt by email, if the store sends email.',
  false,
  newCardFields.notify,
  flagFromText,
);

export const reference = nullable(
  Type.String({ maxLength: referenceLengthMax }),
  'The caller’s own name for the transaction, such as a receipt number; at most 255 characters.',
  'receipt-1017',
  (value) => parseText(value, referenceLengthMax),
);

export const orderReference = nullable(
  Type.String({ minLength: 1, maxLength: referenceLengthMax }),
  'The order that it belongs to, as text of 1 to 255 characters.',
  'B-1017',
  (value) =>
    value === '' ? rejected('must have 1 to 255 characters') : parseText(value, referenceLengthMax),
);

function idField(description: string, example: number) {
  return nullable<number | null>(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    description,
    example,
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
export const externalId = nullable<string | null>(
  Type.String({ minLength: 1, maxLength: externalIdLengthMax, pattern: externalIdPattern }),
  'The caller’s own id of the object, of visible ASCII characters. It is used only once: a repetition that asks for the same responds 200 with the existing object, for ever.',
  'order-1001-payment-1',
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

export const expiresIn = nullable(
  Type.Integer({ minimum: 1, maximum: holdSecondsMax }),
  'The duration of the hold in seconds: 900 (15 minutes) by default, at most the store’s limit (7 days by default, at most 90).',
  900,
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
  field<Readings>(
    Type.String({
      minLength: 1,
      maxLength: givenCodeLengthMax,
      description: `The full code of 8 to 20 letters or digits, as a person typed or a scanner read it. ${aroundCodes} If the store has never used the code as it is, its other readings are tried in the same lookup, and the first that the store has used counts: O for 0, I and L for 1; the same keys on a German, Swiss, French or Belgian keyboard; of digits, one leading zero more or less.`,
      examples: ['q2m8-xk4w-9c0d-7f3k'],
    }),
    readGivenCode,
  ),
);

/** The currency that a caller expects; another currency is rejected with its own error. */
export const expectedCurrency = nullable<string | null>(
  Type.String({ pattern: '^[A-Z]{3}$' }),
  'Optional; the card’s currency as an ISO 4217 code in upper case. Another currency is rejected with `currency-mismatch`.',
  'USD',
  orNull((value, { store }) =>
    typeof value === 'string' && findCurrency(value)
      ? accepted(value)
      : rejected(`must be an ISO 4217 currency code in upper case, such as ${store.currency.code}`),
  ),
);

/** Must be the store's currency. */
export const currency = nullable<null>(
  Type.String(),
  'Optional; must be the store’s currency.',
  'USD',
  newCardFields.currency,
);

export const paused = flag(
  'true: nothing is sent, and new events are not queued for this webhook. false: resumes it and sends the deliveries that are queued.',
);

export const searchedCharacters = required(
  field<readonly string[]>(
    Type.String({
      minLength: 4,
      maxLength: givenCodeLengthMax,
      description:
        'The last 4 characters of the code, case-insensitive. Letters that look like digits, and the keys of a German, Swiss, French or Belgian keyboard, are other readings; a card that matches as given precedes theirs.',
      examples: ['7f3k'],
    }),
    readLastCharacters,
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

export const holderEmail = nullable<EmailAddress | null>(
  address,
  'The email address of the card’s customer or recipient. It is compared only while the failed lookups of all visitors are used up: then a code that the store chose is not found without it.',
  'grace@example.com',
  newCardFields.email,
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

export const vatKind = nullable<VatKind | null>(
  Type.String({ enum: [...vatKinds] }),
  'When VAT is due. `single_purpose`: at the sale of the card, at the rate `vat_rate`. `multi_purpose`: when the card is redeemed. Absent: the store’s default. null: none is recorded.',
  'single_purpose',
  newCardFields.vat_kind,
);

export const vatRate = nullable<string | null>(
  Type.String({ pattern: vatRatePattern }),
  'The rate in percent of a `single_purpose` card, with at most 3 decimals: required with that kind, and not allowed without it.',
  '19',
  newCardFields.vat_rate,
);
