/** What answers look like: the schemas of the documentation, which the tests hold every answer to. */

import Type, { type TSchema } from 'typebox';
import { cardStates } from '../domain/card.ts';
import { deliveryStates, mailKinds } from '../domain/mail.ts';

function nullable<T extends TSchema>(schema: T, description: string, example: unknown) {
  return Type.Union([schema, Type.Null()], { description, examples: [example] });
}

export const idSchema = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const decimalSchema = Type.String({ pattern: '^(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$' });
export const timestampSchema = Type.String({
  format: 'date-time',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$',
});

/** Every field is always present, in this order. */
const record = {
  id: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Identifier of the gift card, below 2^53.',
    examples: [5966927867000173],
  }),
  balance: Type.String({
    ...decimalSchema,
    description: 'Current balance, with exactly the currency’s decimals.',
    examples: ['25.00'],
  }),
  created_at: Type.String({
    ...timestampSchema,
    description: 'When the card was issued, UTC.',
    examples: ['2026-08-15T12:37:38Z'],
  }),
  currency: Type.String({
    pattern: '^[A-Z]{3}$',
    description: 'ISO 4217 code: the store’s currency.',
    examples: ['USD'],
  }),
  initial_value: Type.String({
    ...decimalSchema,
    description: 'Value at creation; never changes.',
    examples: ['25.00'],
  }),
  disabled_at: nullable(timestampSchema, 'When the card was disabled, for good; null while it is not.', null),
  line_item_id: nullable(idSchema, 'The order line that the card was sold with.', null),
  api_client_id: nullable(idSchema, 'The API client that created the card.', 7103421182),
  user_id: nullable(idSchema, 'The staff user who created the card.', null),
  customer_id: nullable(idSchema, 'The customer assigned through `email`.', 7764160887464011),
  customer_email: nullable(Type.String(), 'That customer’s address.', 'ada@example.com'),
  recipient_id: nullable(idSchema, 'The customer assigned through `recipient_email`.', 8576577282002687),
  recipient_email: nullable(Type.String(), 'That customer’s address.', 'grace@example.com'),
  note: nullable(Type.String(), 'A note for the store, never visible to customers.', 'Sold at the counter'),
  expires_on: nullable(
    Type.String({ format: 'date' }),
    'The last good day, in the store’s time zone; null: never expires.',
    '2031-12-31',
  ),
  message: nullable(Type.String(), 'The message in the gift card e-mail.', 'Happy birthday!'),
  last_characters: Type.String({
    pattern: '^[0-9a-z]{4}$',
    description: 'The last four characters of the code.',
    examples: ['7f3k'],
  }),
  order_id: nullable(idSchema, 'The order that the card was sold with.', null),
};

export const giftCardSchema = Type.Object(record, {
  additionalProperties: false,
  description: 'A gift card.',
});

export const issuedGiftCardSchema = Type.Object(
  {
    ...record,
    code: Type.String({
      pattern: '^[0-9a-z]{8,20}$',
      description: 'The full code. It is told here and never again.',
      examples: ['q2m8xk4w9c0d7f3k'],
    }),
  },
  { additionalProperties: false, description: 'A gift card that was just issued, with its code.' },
);

export const problemSchema = Type.Object(
  {
    type: Type.String({
      format: 'uri-reference',
      description: 'Ends in the problem’s stable code, and leads to its explanation.',
    }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String(),
    errors: Type.Union(
      [Type.String(), Type.Record(Type.String(), Type.Array(Type.String(), { minItems: 1 }))],
      {
        description:
          'For a refused parameter: its name and messages, each of which reads after the name. Otherwise the title.',
      },
    ),
    available: Type.Optional(Type.String({ description: 'With `insufficient-balance`: what may be spent.' })),
    held: Type.Optional(Type.String({ description: 'With `capture-exceeds-hold`: what the hold reserves.' })),
    reversible: Type.Optional(
      Type.String({ description: 'With `reversal-exceeds-transaction`: what may still be given back.' }),
    ),
    request_id: Type.String({ description: 'As in X-Request-Id: what to look for in the log.' }),
  },
  { additionalProperties: false, description: 'A refusal or failure (RFC 9457).' },
);

export const customerSchema = Type.Object(
  {
    id: idSchema,
    email: Type.String({ description: 'The address, as first given.' }),
    storefront_customer_id: nullable(idSchema, 'The customer’s id on the storefront.', 7103421190),
    created_at: timestampSchema,
  },
  { additionalProperties: false, description: 'A customer of the store.' },
);

/** A card on the resources beyond the four operations. */
export const spendableGiftCardSchema = Type.Object(
  {
    ...record,
    held: Type.String({
      ...decimalSchema,
      description: 'What open holds reserve of the balance.',
      examples: ['0.00'],
    }),
    available: Type.String({
      ...decimalSchema,
      description: 'What may be spent: the balance without what is held.',
      examples: ['15.00'],
    }),
  },
  { additionalProperties: false, description: 'A gift card, with what may be spent of it.' },
);

const balanceFields = {
  balance: record.balance,
  held: Type.String({ ...decimalSchema, description: 'The part of the balance that open holds reserve.' }),
  available: Type.String({ ...decimalSchema, description: 'The balance without what is held.' }),
  currency: record.currency,
  expires_on: record.expires_on,
  state: Type.Enum([...cardStates], { description: 'Only an `active` card can be spent.' }),
};

export const balanceSchema = Type.Object(balanceFields, {
  additionalProperties: false,
  description: 'What of a gift card may be spent.',
});

/** A card for a caller who may redeem but not read it. */
export const tillGiftCardSchema = Type.Object(
  { id: record.id, ...balanceFields, last_characters: record.last_characters },
  { additionalProperties: false, description: 'A gift card for a caller without `read_gift_cards`.' },
);

const nullableText = Type.Union([Type.String(), Type.Null()]);
const nullableId = Type.Union([idSchema, Type.Null()]);

export const transactionSchema = Type.Object(
  {
    id: idSchema,
    gift_card_id: idSchema,
    kind: Type.Enum(['issue', 'adjustment', 'debit', 'credit', 'capture', 'reversal'], {
      description: '`adjustment` is an update of the balance, `capture` a debit of what a hold reserved.',
    }),
    amount: Type.String({
      pattern: '^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$',
      description: 'What it did to the balance: negative where it took something.',
    }),
    currency: record.currency,
    balance_after: decimalSchema,
    actor: Type.String({ description: 'Who did it: `api_client:<id>`, or `development`.' }),
    reference: nullableText,
    note: nullableText,
    order_id: nullableId,
    hold_id: nullableId,
    reverses: Type.Union(nullableId.anyOf, {
      description: 'The transaction that this one gives back, wholly or in part.',
    }),
    created_at: timestampSchema,
  },
  { additionalProperties: false, description: 'One entry of the ledger.' },
);

export const holdSchema = Type.Object(
  {
    id: idSchema,
    gift_card_id: idSchema,
    status: Type.Enum(['open', 'captured', 'voided', 'expired']),
    amount: decimalSchema,
    captured_amount: decimalSchema,
    currency: record.currency,
    actor: Type.String({ description: 'Who placed it: `api_client:<id>`, or `development`.' }),
    reference: nullableText,
    note: nullableText,
    order_id: nullableId,
    created_at: timestampSchema,
    expires_at: timestampSchema,
    closed_at: Type.Union([timestampSchema, Type.Null()]),
  },
  { additionalProperties: false, description: 'An amount of a card that is reserved.' },
);

const nullableTimestamp = Type.Union([timestampSchema, Type.Null()]);

const mailAttempt = Type.Object(
  {
    attempted_at: timestampSchema,
    response: Type.Union(nullableText.anyOf, {
      description: 'The mail server’s last response, on one line; null if it sent none.',
    }),
    failure: Type.Union([
      Type.Object(
        { reason: Type.Enum(['no-response']), detail: Type.String() },
        { additionalProperties: false, description: 'Why there was no response.' },
      ),
      Type.Null(),
    ]),
  },
  { additionalProperties: false, description: 'An attempt to send.' },
);

export const deliverySchema = Type.Object(
  {
    id: idSchema,
    gift_card_id: idSchema,
    kind: Type.Enum([...mailKinds], {
      description:
        'The card itself, the receipt of whoever bought it for somebody else, a reminder, or the news that the mail to the recipient did not arrive.',
    }),
    recipient: Type.String({ description: 'The address that it goes to.' }),
    status: Type.Enum([...deliveryStates]),
    message_id: Type.String({ description: 'Its Message-ID, the same on every attempt.' }),
    send_at: Type.String({ ...timestampSchema, description: 'When it is, or was, due.' }),
    created_at: timestampSchema,
    attempts: Type.Integer({ minimum: 0, description: 'Attempts that were begun.' }),
    next_attempt_at: Type.Union(nullableTimestamp.anyOf, { description: 'null once it has ended.' }),
    last_attempt: Type.Union([mailAttempt, Type.Null()]),
    cancel_reason: Type.Union(nullableText.anyOf, {
      description: 'Why it was cancelled; null unless it was.',
    }),
    ended_at: nullableTimestamp,
  },
  { additionalProperties: false, description: 'A mail about a card, and what became of it.' },
);
