/**
 * JSON Schemas of the records in responses and events. The type of each record is derived from its schema. The functions
 * that build records import only the types, so commands without validation do not load TypeBox.
 */

import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';
import { batchNameLengthMax, batchStates } from './batches/batch.ts';
import { stockNameLengthMax, stockStates, validMonthsMax } from './stocks/stock.ts';
import type { AddedRecord, RecordValue } from './cards/field-values.ts';
import {
  byField,
  cardFields,
  fieldsWith,
  type CardField,
  type CardFieldName,
  type FieldKind,
  type FieldsWith,
} from './cards/fields.ts';
import { trackedFieldNames } from './cards/change.ts';
import { historyKinds } from './cards/history.ts';
import { cardStates, emailStatuses } from './cards/state.ts';
import { eventTypes } from './events/event-type.ts';
import { holdStatuses } from './money/hold.ts';
import { transferKinds } from './money/ledger.ts';
import { deliveryStates, emailKinds } from './emails/email.ts';
import { decimalPattern } from './money/money.ts';
import type { PublicId } from '../platform/public-id.ts';
import { deliveryStatuses, pauseReasons } from './events/webhook.ts';

const idRange = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

function closedObject<T extends Readonly<Record<string, TSchema>>>(properties: T, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}

/** A nullable field with an optional description and examples. */
function nullable<T extends TSchema>(schema: T, description?: string, ...examples: readonly unknown[]) {
  return Type.Union([schema, Type.Null()], {
    ...(description !== undefined && { description }),
    ...(examples.length > 0 && { examples: [...examples] }),
  });
}

/** An id that the API returns as it is stored: of events, webhooks and emails. */
const id = Type.Integer(idRange);

/** A public id: of gift cards, customers, holds and transactions. The type excludes internal ids. */
function publicId(options: { readonly description?: string; readonly examples?: number[] } = {}) {
  return Type.Unsafe<PublicId>(Type.Integer({ ...idRange, ...options }));
}

function decimal(options: { readonly description?: string; readonly examples?: string[] } = {}) {
  return Type.String({ pattern: decimalPattern, ...options });
}

function timestamp(options: { readonly description?: string; readonly examples?: string[] } = {}) {
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
const record = {
  id: publicId({
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
  customer_id: nullable(publicId(), 'The customer assigned through `email`.', 7764160887464011),
  customer_email: nullable(Type.String(), 'The email address of that customer.', 'ada@example.com'),
  recipient_id: nullable(publicId(), 'The customer assigned through `recipient_email`.', 8576577282002687),
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

export const giftCardSchema = closedObject(record, 'A gift card.');
export type GiftCardRecord = Readonly<Static<typeof giftCardSchema>>;

export const issuedGiftCardSchema = closedObject(
  {
    ...record,
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
    ...record,
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
  balance: record.balance,
  held: decimal({ description: 'The part of the balance that open holds reserve.' }),
  available,
  currency: record.currency,
  expires_on: record.expires_on,
  state: spendState,
};

export const balanceSchema = closedObject(balance, 'The amount of a gift card that can be spent.');
export type BalanceRecord = Readonly<Static<typeof balanceSchema>>;

export const tillGiftCardSchema = closedObject(
  { id: record.id, ...balance, last_characters: record.last_characters },
  'A gift card for a caller without `read_gift_cards`.',
);
/** A card for a caller who can redeem but not read it: no email addresses, note or message. */
export type TillRecord = Readonly<Static<typeof tillGiftCardSchema>>;

const text = nullable(Type.String());

export const transactionSchema = closedObject(
  {
    id: publicId(),
    gift_card_id: publicId(),
    kind: Type.Enum([...transferKinds], {
      description:
        '`adjustment`: an update of the balance. `capture`: a debit of an amount that a hold reserved. `top_up`: a credit that is a sale.',
    }),
    amount: Type.String({
      pattern: `^-?${decimalPattern.slice(1)}`,
      description: 'The change of the balance: negative if it decreased.',
    }),
    currency: record.currency,
    balance_after: decimal(),
    actor: Type.String({ description: 'The caller: `api_client:<id>`, or `development`.' }),
    reference: text,
    note: text,
    order_id: nullable(id),
    order_reference: nullable(Type.String(), 'The order, as text.'),
    external_id: nullable(Type.String(), 'The caller’s own id of it.'),
    location_id: nullable(id, 'The location where it took place.'),
    hold_id: nullable(publicId()),
    reverses: nullable(publicId(), 'The transaction that this one reverses, in whole or in part.'),
    created_at: timestamp(),
  },
  'One entry of the ledger.',
);
export type TransactionRecord = Readonly<Static<typeof transactionSchema>>;

/** A list of texts for `tags`. */
const trackedValue = Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()]);

export const historySchema = closedObject(
  {
    id: publicId({ description: 'The id of the change, or of the first transaction for `created`.' }),
    kind: Type.Enum([...historyKinds], {
      description:
        '`expired`: the last valid day has passed. `recording_began`: the card is older than the record of changes, so changes between its creation and this entry are unknown.',
    }),
    created_at: timestamp(),
    actor: nullable(
      Type.String(),
      'The caller: `api_client:<id>`, or `development`; null if it was not a request.',
    ),
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
    id: publicId(),
    gift_card_id: publicId(),
    status: Type.Enum([...holdStatuses]),
    amount: decimal(),
    captured_amount: decimal(),
    currency: record.currency,
    actor: Type.String({ description: 'The caller that created it: `api_client:<id>`, or `development`.' }),
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

export const customerSchema = closedObject(
  {
    id: publicId(),
    email: Type.String({ description: 'The email address, as first received.' }),
    storefront_customer_id: nullable(id, 'The customer’s id on the storefront.', 7103421190),
    created_at: timestamp(),
  },
  'A customer of the store.',
);
export type CustomerRecord = Readonly<Static<typeof customerSchema>>;

export const batchSchema = closedObject(
  {
    id,
    name: nullable(
      Type.String({ maxLength: batchNameLengthMax }),
      'The caller’s name of the batch.',
      'Spring campaign',
    ),
    state: Type.Enum([...batchStates], {
      description:
        '`running`: its gift cards are being issued. `complete`: all of them were issued, except `failed`.',
    }),
    count: Type.Integer({ minimum: 1, description: 'The number of gift cards.' }),
    issued: Type.Integer({ minimum: 0, description: 'Gift cards that were issued so far.' }),
    failed: Type.Integer({
      minimum: 0,
      description:
        'Gift cards that could not be issued, because a parameter became invalid after the request, such as a code that another request used first.',
    }),
    currency: Type.String({ description: 'The store’s currency.' }),
    total: decimal({ description: 'The sum of the values of all gift cards.' }),
    issued_total: decimal({ description: 'The sum of the values of those that were issued so far.' }),
    created_at: timestamp(),
    completed_at: nullable(timestamp()),
    codes_until: nullable(
      timestamp(),
      'Until when the codes can be read. null: the batch is running, and they can be read; or they were erased; or all gift cards were emailed.',
    ),
  },
  'Gift cards that are issued with one request.',
);
export type BatchRecord = Readonly<Static<typeof batchSchema>>;

export const batchFailureSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the gift card in the batch, from 0.' }),
    field: nullable(Type.String(), 'The parameter that the error concerns.', 'code'),
    message: Type.String({ description: 'Reads after the name of the parameter.' }),
  },
  'Why a gift card of a batch was not issued.',
);

export const batchCardSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the gift card in the batch, from 0.' }),
    ...record,
    code: nullable(
      Type.String({ pattern: '^[0-9a-z]{8,20}$' }),
      'The full code. null: the gift card was emailed, `codes_until` has passed, or the caller lacks `write_gift_cards`.',
      'q2m8xk4w9c0d7f3k',
    ),
  },
  'A gift card of a batch.',
);
export type BatchCardRecord = Readonly<Static<typeof batchCardSchema>>;

const value = (description: string) => nullable(decimal({}), description);

export const stockSchema = closedObject(
  {
    id,
    name: nullable(
      Type.String({ maxLength: stockNameLengthMax }),
      'The caller’s name of the stock.',
      'Cards at the counter',
    ),
    state: Type.Enum([...stockStates], {
      description:
        '`running`: its codes are being added. `complete`: all of them were added, except `failed`.',
    }),
    count: Type.Integer({ minimum: 1, description: 'The number of codes.' }),
    printed: Type.Integer({
      minimum: 0,
      description: 'Codes that were added so far: the sum of the next three.',
    }),
    sold: Type.Integer({ minimum: 0, description: 'Codes that were activated.' }),
    left: Type.Integer({ minimum: 0, description: 'Codes that can be activated.' }),
    voided: Type.Integer({ minimum: 0, description: 'Codes that were voided.' }),
    failed: Type.Integer({
      minimum: 0,
      description: 'Codes that could not be added, because the store used them after the request.',
    }),
    currency: Type.String({ description: 'The store’s currency.' }),
    fixed_value: value('The value of each gift card. null: it is open.'),
    minimum_value: value('The lowest value of a gift card. null: the value is fixed.'),
    maximum_value: value('The highest value of a gift card. null: the value is fixed.'),
    valid_months: nullable(
      Type.Integer({ minimum: 1, maximum: validMonthsMax }),
      'How many months a gift card is valid after its activation. null: it never expires.',
      36,
    ),
    created_at: timestamp(),
    completed_at: nullable(timestamp()),
    codes_until: nullable(
      timestamp(),
      'Until when the codes can be downloaded. null: they are being added, and can be downloaded; or they were erased.',
    ),
  },
  'Printed codes without money.',
);
export type StockRecord = Readonly<Static<typeof stockSchema>>;

export const stockFailureSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the code in the stock, from 0.' }),
    message: Type.String({ description: 'Reads after the name of the parameter.' }),
  },
  'Why a code was not added to its stock.',
);

export const stockCodeSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the code in the stock, from 0.' }),
    code: Type.String({
      pattern: '^[0-9a-z]{8,20}$',
      description: 'The code.',
      examples: ['q2m8xk4w9c0d7f3k'],
    }),
  },
  'A code that is left.',
);
export type StockCodeRecord = Readonly<Static<typeof stockCodeSchema>>;

export const erasureSchema = closedObject(
  {
    customer_id: publicId(),
    status: Type.Enum(['running', 'complete'], {
      description: '`running`: the personal data is being erased, in small steps.',
    }),
    erase_notes: Type.Boolean({ description: 'Whether notes and references are erased.' }),
    requested_at: timestamp(),
    completed_at: nullable(timestamp()),
    gift_cards: Type.Integer({ minimum: 0, description: 'Gift cards from which the customer was removed.' }),
    emails: Type.Integer({ minimum: 0, description: 'Emails from which the address was removed.' }),
    events: Type.Integer({ minimum: 0, description: 'Events that were redacted.' }),
    texts_erased: Type.Integer({ minimum: 0, description: 'Notes and references that were erased.' }),
    texts_left: Type.Integer({
      minimum: 0,
      description:
        'Without `erase_notes`: records with a note or reference that contains the address, which was not erased.',
    }),
    unsent_gift_cards: Type.Integer({
      minimum: 0,
      description: 'Gift cards whose email with the code was cancelled: their codes were not sent.',
    }),
    unsent_gift_card_ids: Type.Array(publicId(), { description: 'The first 100 of them.' }),
  },
  'The erasure of a customer.',
);
export type ErasureRecord = Readonly<Static<typeof erasureSchema>>;

const emailAttempt = closedObject(
  {
    attempted_at: timestamp(),
    response: nullable(Type.String(), 'The mail server’s last response, on one line; null if it sent none.'),
    failure: Type.Union([
      closedObject(
        { reason: Type.Enum(['no-response']), detail: Type.String() },
        'Why the mail server did not respond.',
      ),
      Type.Null(),
    ]),
  },
  'An attempt to send.',
);

export const emailDeliverySchema = closedObject(
  {
    id,
    gift_card_id: publicId(),
    kind: Type.Enum([...emailKinds], {
      description:
        '`gift_card`: the card itself. `receipt`: for a customer who bought the card for another recipient. `top_up`: for the holder of a card to which money was added. `expiry_reminder`, `balance_reminder`: reminders. `delivery_failed`: a notice to the customer that the email to the recipient did not arrive.',
    }),
    recipient: nullable(
      Type.String(),
      'The email address that it is sent to; null if the person was erased.',
    ),
    status: Type.Enum([...deliveryStates]),
    message_id: Type.String({ description: 'Its Message-ID, the same on every attempt.' }),
    send_at: timestamp({ description: 'When it is or was due.' }),
    created_at: timestamp(),
    attempts: Type.Integer({ minimum: 0, description: 'The number of attempts started.' }),
    next_attempt_at: nullable(timestamp(), 'null after the last attempt.'),
    last_attempt: Type.Union([emailAttempt, Type.Null()]),
    cancel_reason: nullable(Type.String(), 'Why it was cancelled; null if it was not.'),
    ended_at: nullable(timestamp()),
  },
  'An email about a gift card, and its delivery.',
);
export type EmailRecord = Readonly<Static<typeof emailDeliverySchema>>;

const webhook = {
  id,
  url: Type.String({ description: 'The URL that events are posted to, normalized.' }),
  events: Type.Array(Type.String(), { description: 'The events that are sent.' }),
  status: Type.Enum(['active', 'paused']),
  paused_at: nullable(timestamp()),
  pause_reason: Type.Union([Type.Enum([...pauseReasons]), Type.Null()], {
    description:
      '`requested`: by the store. `failures`: every attempt failed for 72 hours. `gone`: the receiver responded with 410. null: not paused.',
  }),
  failing_since: nullable(
    timestamp(),
    'The time of the first failure since the last success; null if there is none.',
  ),
  failure: nullable(Type.String(), 'How that attempt failed.'),
  previous_secret_until: nullable(
    timestamp(),
    'Until when messages also carry a signature of the previous secret.',
  ),
  created_at: timestamp(),
  updated_at: timestamp(),
};

export const webhookSchema = closedObject(webhook, 'A URL that receives events.');
export type WebhookRecord = Readonly<Static<typeof webhookSchema>>;

export const webhookWithSecretSchema = closedObject(
  {
    ...webhook,
    secret: Type.String({
      pattern: '^whsec_[A-Za-z0-9+/]+=*$',
      description: 'The signing secret. It is returned only once.',
    }),
  },
  'A webhook with its secret.',
);

const attempt = closedObject(
  {
    attempted_at: timestamp(),
    duration_ms: Type.Integer({ minimum: 0 }),
    response: Type.Union([
      closedObject(
        {
          status: Type.Integer({ minimum: 100, maximum: 999 }),
          body: Type.String({ description: 'The first 4 KiB.' }),
        },
        'The receiver’s response.',
      ),
      Type.Null(),
    ]),
    failure: Type.Union([
      closedObject({ reason: Type.String(), detail: Type.String() }, 'Why there was no response.'),
      Type.Null(),
    ]),
  },
  'An attempt to deliver.',
);
export type AttemptRecord = Readonly<Static<typeof attempt>>;

const delivery = {
  event_id: id,
  event_type: Type.String(),
  webhook_id: id,
  status: Type.Enum([...deliveryStatuses]),
  created_at: timestamp(),
  attempts: Type.Integer({ minimum: 0 }),
  next_attempt_at: nullable(
    timestamp(),
    'When the next attempt is due. During an attempt: when another process retries if this one does not finish. null after the last attempt.',
  ),
  last_attempt: Type.Union([attempt, Type.Null()]),
};

export const deliverySchema = closedObject(delivery, 'One event for one webhook.');
export type DeliveryRecord = Readonly<Static<typeof deliverySchema>>;

export const loggedDeliverySchema = closedObject(
  { ...delivery, log: Type.Array(attempt, { description: 'Every attempt, oldest first.' }) },
  'A delivery with all its attempts.',
);

const base64Hash = '^[A-Za-z0-9+/]{43}=$';

export const checkpointSchema = closedObject(
  {
    id,
    size: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The number of entries in the log.',
    }),
    root: Type.String({ pattern: base64Hash, description: 'The root of the log’s tree, base64.' }),
    created_at: timestamp(),
    day: nullable(
      Type.String({ format: 'date' }),
      'The day that ended before a daily checkpoint, in the store’s time zone; null: created on demand.',
    ),
    note: Type.String({
      description:
        'The checkpoint as a signed note (c2sp.org/tlog-checkpoint): name of the log, size, root, and signatures.',
    }),
  },
  'A signed statement of the size and the root of the store’s log. A client that keeps it detects a later change of an entry that it covers.',
);
export type CheckpointRecord = Readonly<Static<typeof checkpointSchema>>;

const checkpointKey = closedObject(
  {
    key: Type.String({
      description: 'The verifier key (c2sp.org/signed-note): name of the log, key id and public key.',
    }),
    created_at: nullable(timestamp(), 'When it first signed a checkpoint; null: it has signed none yet.'),
    is_current: Type.Boolean({ description: 'Whether new checkpoints are signed with it.' }),
  },
  'A public key of the store’s checkpoints.',
);
export type CheckpointKeyRecord = Readonly<Static<typeof checkpointKey>>;

export const logSchema = closedObject(
  {
    name: Type.String({ description: 'The first line of each checkpoint.' }),
    size: Type.Integer({ minimum: 0, description: 'The number of entries at present.' }),
    keys: Type.Array(checkpointKey, { description: 'The current key, and then those before it.' }),
  },
  'The store’s log and its public keys.',
);
export type LogRecord = Readonly<Static<typeof logSchema>>;

const treeSize = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const consistencySchema = closedObject(
  {
    from: treeSize,
    to: treeSize,
    hashes: Type.Array(Type.String({ pattern: base64Hash }), {
      description: 'The hashes of the proof, base64.',
    }),
  },
  'A proof that the log with `to` entries begins with the log with `from` entries (RFC 9162, section 2.1.4).',
);

export const leafRangeSchema = closedObject(
  {
    after: Type.Integer({ minimum: 0, description: 'The number of leaves before these.' }),
    size: Type.Integer({ minimum: 0, description: 'The present number of entries in the log.' }),
    hashes: Type.Array(Type.String({ pattern: base64Hash }), {
      description: 'The leaves in their order: SHA-256 of a zero byte and the hash of the entry, base64.',
    }),
  },
  'A part of the leaves of the log.',
);

const chainEntry = closedObject(
  {
    content: Type.String({ description: 'The text that was hashed.' }),
    hash: Type.String({
      pattern: base64Hash,
      description:
        'SHA-256 of the hash of the entry before (32 zero bytes before the first) and the content, base64.',
    }),
  },
  'An entry of a card’s chain.',
);
export type ChainEntryRecord = Readonly<Static<typeof chainEntry>>;

const chainLength = Type.Integer({
  minimum: 0,
  description: 'The number of entries of the whole chain.',
});
const proven = Type.Integer({
  minimum: 0,
  description: 'The number of the proven entry in the chain, from 1; 0: none.',
});
const inclusionProof = nullable(
  Type.String(),
  'Proves that the log contains the entry that `proven` counts (c2sp.org/tlog-proof@v1), with a checkpoint of the log as it is now. The leaf is SHA-256 of a zero byte and the hash of the entry. null: the log contains none of the newest entries yet, or there are none.',
);

export const giftCardProofSchema = closedObject(
  {
    entries: Type.Array(chainEntry, { description: 'The card’s transactions, oldest first.' }),
    length: chainLength,
    proven,
    proof: inclusionProof,
    changes: Type.Array(chainEntry, { description: 'The card’s other changes, oldest first.' }),
    changes_length: chainLength,
    changes_proven: proven,
    changes_proof: inclusionProof,
  },
  'The two chains of a gift card, and proofs that the log contains them.',
);
export type GiftCardProofRecord = Readonly<Static<typeof giftCardProofSchema>>;

export const eventSchema = closedObject(
  {
    id,
    type: Type.Enum([...eventTypes]),
    store: Type.String({ description: 'The store’s domain.' }),
    created_at: timestamp(),
    sequence: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The version of the card after the event; 0 for an event that is not about a card.',
    }),
    data: closedObject(
      {
        gift_card: Type.Optional(giftCardSchema),
        changed: Type.Optional(
          Type.Array(Type.String(), { description: 'The fields of the record that changed.' }),
        ),
        transaction: Type.Optional(transactionSchema),
        hold: Type.Optional(holdSchema),
        customer: Type.Optional(
          closedObject(
            {
              id: publicId(),
              email: nullable(Type.String()),
              storefront_customer_id: nullable(id),
            },
            'A customer, with the email address as first received; null if the customer was erased.',
          ),
        ),
        webhook: Type.Optional(webhookSchema),
        delivery: Type.Optional(emailDeliverySchema),
        checkpoint: Type.Optional(checkpointSchema),
        batch: Type.Optional(batchSchema),
        stock: Type.Optional(stockSchema),
        actor: Type.Optional(
          Type.String({ description: 'The caller that read or voided the codes of a stock.' }),
        ),
        codes: Type.Optional(
          Type.Integer({ minimum: 1, description: 'How many codes of a stock were voided.' }),
        ),
      },
      'The records concerned, as they were at that time.',
    ),
  },
  'A change in the store.',
);
