/**
 * JSON Schemas of the records in responses and events. The type of each record is derived from its schema. The functions
 * that build records import only the types, so commands without validation do not load TypeBox.
 */

import type { AddedRecord, RecordValue } from './field-values.ts';
import {
  byField,
  cardFields,
  fieldsWith,
  type CardField,
  type CardFieldName,
  type FieldKind,
  type FieldsWith,
} from './fields.ts';
import { trackedFieldNames } from './change.ts';
import { historyKinds } from './history.ts';
import { cardStates, emailStatuses } from './state.ts';
import { holdStatuses } from '../../money/domain/hold.ts';
import { transferKinds } from '../../money/domain/ledger.ts';
import { decimalPattern } from '../../money/domain/money.ts';
import type { PublicId } from '../../../platform/public-id.ts';

import Type, {
  type Static,
  type TNull,
  type TObject,
  type TSchema,
  type TString,
  type TUnion,
  type TUnsafe,
} from 'typebox';

const idRange = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

export function closedObject<T extends Readonly<Record<string, TSchema>>>(
  properties: T,
  description: string,
): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, description });
}

/** A nullable field with an optional description and examples. */
export function nullable<T extends TSchema>(
  schema: T,
  description?: string,
  ...examples: readonly unknown[]
): TUnion<[T, TNull]> {
  return Type.Union([schema, Type.Null()], {
    ...(description !== undefined && { description }),
    ...(examples.length > 0 && { examples: [...examples] }),
  });
}

/** An id that the API returns as it is stored: of events, webhooks and emails. */
export const id = Type.Integer(idRange);

/** A public id: of gift cards, customers, holds and transactions. The type excludes internal ids. */
export function publicIdSchema(
  options: { readonly description?: string; readonly examples?: number[] } = {},
): TUnsafe<PublicId> {
  return Type.Unsafe<PublicId>(Type.Integer({ ...idRange, ...options }));
}

export function decimal(
  options: { readonly description?: string; readonly examples?: string[] } = {},
): TString {
  return Type.String({ pattern: decimalPattern, ...options });
}

export function timestamp(
  options: { readonly description?: string; readonly examples?: string[] } = {},
): TString {
  return Type.String({
    format: 'date-time',
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$',
    ...options,
  });
}

const detailKinds: Readonly<Record<FieldKind, (about: string, example: unknown) => TSchema>> = {
  day: (about, example) => nullable(Type.String({ format: 'date' }), `${about}.`, example),
  line: (about, example) => nullable(Type.String(), `${about}.`, example),
  text: (about, example) => nullable(Type.String(), `${about}.`, example),
  id: (about, example) => nullable(Type.String(), `${about}.`, example),
  choice: (about, example) => nullable(Type.String(), `${about}.`, example),
  tags: (about, example) =>
    Type.Array(Type.String(), {
      description: `${about}, in the order in which they were sent.`,
      examples: [example],
    }),
};

/** The schema of a field in records. */
function detail<N extends CardFieldName>(name: N) {
  const { kind, about, example }: CardField = cardFields[name];
  return Type.Unsafe<RecordValue<N>>(detailKinds[kind](about, example));
}

// Each name has the schema of its field.
const addedDetails = byField(fieldsWith({ record: 'added' }), detail) as {
  readonly [N in keyof AddedRecord]: TUnsafe<AddedRecord[N]>;
};

/** Every field is always present, in this order. The examples together form one card. */
export const giftCardRecord = {
  id: publicIdSchema({
    description: 'Identifier of the gift card, below 2^53.',
    examples: [5966927867000173],
  }),
  balance: decimal({
    description: 'Current balance, with exactly the currency’s decimals.',
    examples: ['25.00'],
  }),
  created_at: timestamp({
    description: 'When the card was issued, UTC.',
    examples: ['2026-08-15T12:37:38Z'],
  }),
  currency: Type.String({
    pattern: '^[A-Z]{3}$',
    description: 'ISO 4217 code: the store’s currency.',
    examples: ['USD'],
  }),
  initial_value: decimal({ description: 'Value at creation; never changes.', examples: ['25.00'] }),
  disabled_at: nullable(timestamp(), 'When the card was disabled; null if it is not disabled.', null),
  line_item_id: nullable(id, 'The order line that the card was sold with.', null),
  api_client_id: nullable(id, 'The API client that created the card.', 7103421182),
  user_id: nullable(id, 'The staff user who created the card.', null),
  customer_id: nullable(publicIdSchema(), 'The customer assigned through `email`.', 7764160887464011),
  customer_email: nullable(Type.String(), 'The email address of that customer.', 'ada@example.com'),
  recipient_id: nullable(
    publicIdSchema(),
    'The customer assigned through `recipient_email`.',
    8576577282002687,
  ),
  recipient_email: nullable(Type.String(), 'The email address of that customer.', 'grace@example.com'),
  note: detail('note'),
  expires_on: detail('expires_on'),
  message: detail('message'),
  last_characters: Type.String({
    pattern: '^[0-9a-z]{4}$',
    description: 'The last four characters of the code.',
    examples: ['7f3k'],
  }),
  order_id: nullable(id, 'The order that the card was sold with.', null),
} satisfies Readonly<Record<FieldsWith<{ readonly record: 'specified' }>, TSchema> & Record<string, TSchema>>;

export const giftCardSchema = closedObject(giftCardRecord, 'A gift card.');
export type GiftCardRecord = Readonly<Static<typeof giftCardSchema>>;

export const issuedGiftCardSchema = closedObject(
  {
    ...giftCardRecord,
    code: Type.String({
      pattern: '^[0-9a-z]{8,20}$',
      description: 'The full code. It is returned only once.',
      examples: ['q2m8xk4w9c0d7f3k'],
    }),
  },
  'A new gift card, with its code.',
);

const stateText =
  'The first that applies of `disabled`, `expired` (`expires_on` has passed), `suspended`, `empty` (the balance is 0), `scheduled` (the card is emailed at a later time), and `active`.';

function state(description: string) {
  return Type.Enum([...cardStates], { description: `${stateText} ${description}`, examples: ['active'] });
}

const spendState = state(
  'Operations on money return `active` for an empty or scheduled card: only an `active` card can be spent.',
);
const available = decimal({
  description: 'The amount that can be spent: the balance minus open holds; 0 unless the card can be spent.',
  examples: ['15.00'],
});

export const spendableGiftCardSchema = closedObject(
  {
    ...giftCardRecord,
    held: decimal({ description: 'The part of the balance that open holds reserve.', examples: ['0.00'] }),
    available,
    state: spendState,
  },
  'A gift card, with the amount that can be spent.',
);
/** A card in the responses of operations that are not in the specification. */
export type SpendableRecord = Readonly<Static<typeof spendableGiftCardSchema>>;

export const detailGiftCardSchema = closedObject(
  {
    ...spendableGiftCardSchema.properties,
    state: state('An empty or scheduled card can be used like an `active` one.'),
    suspended_at: nullable(timestamp(), 'When the card was suspended; null if it is not suspended.', null),
    suspend_reason: nullable(
      Type.String(),
      'Why the card is suspended, for the store only; null: no reason, or it is not suspended.',
      null,
    ),
    email_status: Type.Enum([...emailStatuses], {
      description:
        'The status of the newest email with the card’s code. `none`: there is no such email. `scheduled` until it is due, `queued` until the first attempt, `deferred` until the next one. `sent`: a mail server accepted it. `kept`: the service has no mail server, so the email is on its machine and was not sent. `bounced`: rejected permanently. `dead`: not delivered in 72 hours. `cancelled`: obsolete.',
      examples: ['sent'],
    }),
    ...addedDetails,
  },
  'A gift card with everything that the store can read, except its code.',
);
export type DetailRecord = Readonly<Static<typeof detailGiftCardSchema>>;

export const listedGiftCardSchema = Type.Partial(detailGiftCardSchema, {
  additionalProperties: false,
  description: 'A gift card in a list: all fields, or those that `fields` lists.',
});

const balance = {
  balance: giftCardRecord.balance,
  held: decimal({ description: 'The part of the balance that open holds reserve.' }),
  available,
  currency: giftCardRecord.currency,
  expires_on: giftCardRecord.expires_on,
  state: spendState,
};

export const balanceSchema = closedObject(balance, 'The amount of a gift card that can be spent.');
export type BalanceRecord = Readonly<Static<typeof balanceSchema>>;

export const tillGiftCardSchema = closedObject(
  { id: giftCardRecord.id, ...balance, last_characters: giftCardRecord.last_characters },
  'A gift card for a caller without `read_gift_cards`.',
);
/** A card for a caller who can redeem but not read it: no email addresses, note or message. */
export type TillRecord = Readonly<Static<typeof tillGiftCardSchema>>;

const text = nullable(Type.String());

const callerText = 'The caller: `api_client:<id>`, `mcp:<id>` (an agent of that client), or `development`.';

export const transactionSchema = closedObject(
  {
    id: publicIdSchema(),
    gift_card_id: publicIdSchema(),
    kind: Type.Enum([...transferKinds], {
      description:
        '`adjustment`: an update of the balance. `capture`: a debit of an amount that a hold reserved. `top_up`: a credit that is a sale.',
    }),
    amount: Type.String({
      pattern: `^-?${decimalPattern.slice(1)}`,
      description: 'The change of the balance: negative if it decreased.',
    }),
    currency: giftCardRecord.currency,
    balance_after: decimal(),
    actor: Type.String({ description: callerText }),
    reference: text,
    note: text,
    order_id: nullable(id),
    order_reference: nullable(Type.String(), 'The order, as text.'),
    external_id: nullable(Type.String(), 'The caller’s own id of it.'),
    location_id: nullable(id, 'The location where it took place.'),
    hold_id: nullable(publicIdSchema()),
    reverses: nullable(publicIdSchema(), 'The transaction that this one reverses, in whole or in part.'),
    created_at: timestamp(),
  },
  'One entry of the ledger.',
);
export type TransactionRecord = Readonly<Static<typeof transactionSchema>>;

/** A list of texts for `tags`. */
const trackedValue = Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()]);

export const historySchema = closedObject(
  {
    id: publicIdSchema({ description: 'The id of the change, or of the first transaction for `created`.' }),
    kind: Type.Enum([...historyKinds], {
      description:
        '`expired`: the last valid day has passed. `recording_began`: the card is older than the record of changes, so changes between its creation and this entry are unknown.',
    }),
    created_at: timestamp(),
    actor: nullable(Type.String(), `${callerText.slice(0, -1)}; null if it was not a request.`),
    state: Type.Enum([...cardStates], {
      description: 'The state of the card after the entry; `active` for an empty or scheduled card.',
    }),
    changes: Type.Array(
      closedObject(
        {
          field: Type.Enum([...trackedFieldNames], {
            description: '`code`: the card has another code. The values are the last characters of both.',
          }),
          old: trackedValue,
          new: trackedValue,
          is_erased: Type.Boolean({
            description: 'Whether the values were erased for privacy, and are null for that reason.',
          }),
        },
        'A changed field.',
      ),
    ),
  },
  'An entry of a gift card’s history.',
);
export type HistoryRecord = Readonly<Static<typeof historySchema>>;

export const holdSchema = closedObject(
  {
    id: publicIdSchema(),
    gift_card_id: publicIdSchema(),
    status: Type.Enum([...holdStatuses]),
    amount: decimal(),
    captured_amount: decimal(),
    currency: giftCardRecord.currency,
    actor: Type.String({ description: callerText }),
    reference: text,
    note: text,
    order_id: nullable(id),
    order_reference: nullable(Type.String(), 'The order, as text.'),
    external_id: nullable(Type.String(), 'The caller’s own id of it.'),
    location_id: nullable(id, 'The location where it took place.'),
    created_at: timestamp(),
    expires_at: timestamp(),
    closed_at: nullable(timestamp()),
  },
  'A reserved amount of a gift card.',
);
export type HoldRecord = Readonly<Static<typeof holdSchema>>;

export const locationSchema = closedObject(
  {
    id,
    name: Type.String(),
    address: nullable(Type.String()),
    time_zone: nullable(Type.String(), 'The time zone of its receipts; null: the store’s.'),
    closed: Type.Boolean({ description: 'Whether it accepts no new movements.' }),
    closed_at: nullable(timestamp()),
    created_at: timestamp(),
  },
  'A shop of the store.',
);
export type LocationRecord = Readonly<Static<typeof locationSchema>>;

export const value = (description: string): TUnion<[TString, TNull]> => nullable(decimal({}), description);
