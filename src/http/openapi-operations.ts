/** What the documentation says of each operation. */

import Type, { type TSchema } from 'typebox';
import type { FaultCode } from '../domain/fault.ts';
import { claimableFields, isIdField } from '../domain/record.ts';
import type { Wrapper } from './body.ts';
import * as texts from './openapi-texts.ts';
import { eventDescriptions } from './openapi-webhooks.ts';
import * as parameters from './parameters.ts';
import type { Parameter } from './parameters.ts';
import type { OperationId } from './routes.ts';

type SchemaName = keyof typeof bodySchemas;

export type Description = {
  readonly tag: (typeof texts.tags)[number]['name'];
  readonly summary: string;
  readonly description: string;
  /** Besides those of the path and those of every write. */
  readonly parameters: readonly object[];
  readonly body?: {
    readonly schema: SchemaName;
    readonly wrapper: Wrapper;
    readonly example: object;
    readonly isRequired: boolean;
  };
  readonly success: {
    readonly status: 200 | 201 | 202;
    /** JSON unless told. */
    readonly type?: string;
    readonly description: string;
    readonly schema: object;
    readonly example: object | string;
    readonly headers: readonly string[];
    /** Whether `If-None-Match` may answer 304. */
    readonly isConditional?: boolean;
  };
  /** Besides those of every operation, every body, and every write. */
  readonly faults: readonly FaultCode[];
  readonly sample: string;
};

type Property = Pick<Parameter<unknown>, 'schema' | 'isRequired'>;

function bodySchema(given: Readonly<Record<string, Property>>, description?: string): TSchema {
  const properties = Object.fromEntries(
    Object.entries(given).map(([name, { schema, isRequired }]) => [
      name,
      isRequired ? schema : Type.Optional(schema),
    ]),
  );
  return Type.Object(properties, {
    additionalProperties: false,
    ...(description !== undefined && { description }),
  });
}

const spending = {
  amount: parameters.amount,
  currency: parameters.expectedCurrency,
  reference: parameters.reference,
  note: parameters.note,
  order_id: parameters.orderId,
};

const present = {
  description: 'Its present value, if it is sent at all: a client may send back the record that it read.',
};
const echoed = Type.Unsafe({ type: ['string', 'null'], ...present });
const echoedAmount = Type.Unsafe({ type: ['string', 'number', 'null'], ...present });
const echoedId = Type.Unsafe({ type: ['integer', 'null'], ...present });

const absent = Type.Null({ description: 'null, if it is sent at all.' });

/** Fields of the record that an operation cannot set, but knows. */
function others(fields: readonly string[], schema: TSchema): Readonly<Record<string, Property>> {
  return Object.fromEntries(fields.map((field) => [field, { schema, isRequired: false }]));
}

/** The bodies that the operations take. */
export const bodySchemas = {
  CreateGiftCard: bodySchema({
    ...others(['balance', ...claimableFields], absent),
    initial_value: parameters.initialValue,
    expires_on: parameters.expiresOnOrLater,
    email: parameters.email,
    recipient_email: parameters.recipientEmail,
    note: parameters.note,
    message: parameters.message,
    send_on: parameters.sendOn,
    notify: parameters.notify,
    code: parameters.code,
    storefront_customer_id: parameters.storefrontCustomerId,
    currency: parameters.currency,
  }),
  UpdateGiftCard: bodySchema(
    {
      ...others([...claimableFields, 'code'], echoed),
      ...others(claimableFields.filter(isIdField), echoedId),
      ...others(['initial_value'], echoedAmount),
      disable: parameters.disable,
      balance: parameters.balance,
      expires_on: parameters.expiresOn,
      note: parameters.note,
      release_holds: parameters.releaseHolds,
    },
    texts.updateBody,
  ),
  LookUp: bodySchema({ code: parameters.requiredCode }),
  Redeem: bodySchema({ code: parameters.requiredCode, ...spending, partial: parameters.partial }),
  Debit: bodySchema({ ...spending, partial: parameters.partial }),
  Credit: bodySchema(spending),
  CreateHold: bodySchema({ ...spending, expires_in: parameters.expiresIn }),
  Capture: bodySchema({ amount: parameters.optionalAmount, note: parameters.note }),
  Reverse: bodySchema({ amount: parameters.optionalAmount, note: parameters.note }),
  CreateWebhook: bodySchema({ url: parameters.webhookUrl, events: parameters.webhookEvents }),
  UpdateWebhook: bodySchema({
    url: parameters.newWebhookUrl,
    events: parameters.newWebhookEvents,
    paused: parameters.paused,
  }),
  UpdateCustomer: bodySchema({
    ...others(['email', 'created_at'], echoed),
    ...others(['id'], echoedId),
    storefront_customer_id: parameters.storefrontCustomerId,
  }),
  Redeliver: bodySchema({ webhook_id: parameters.webhookId }),
  Nothing: bodySchema({}, 'Nothing is to be said; the body may be left out.'),
} as const;

function reference(name: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

function answerOf(members: Readonly<Record<string, object>>): object {
  return { type: 'object', properties: members, required: Object.keys(members), additionalProperties: false };
}

const card = { gift_card: reference('GiftCard') };
const spendable = { gift_card: { anyOf: [reference('SpendableGiftCard'), reference('TillGiftCard')] } };
const etag = ['ETag'];
const { ifMatch, ifNoneMatch, limit, before, after } = texts.parameters;

const moneyFaults: readonly FaultCode[] = [
  'not-found', 'precondition-failed', 'card-disabled', 'card-expired', 'currency-mismatch',
]; // prettier-ignore
const spendingFaults: readonly FaultCode[] = [...moneyFaults, 'insufficient-balance'];

/** An answer to what moved money. */
const movedMoney = {
  status: 201,
  schema: answerOf({ transaction: reference('Transaction'), ...spendable }),
  headers: etag,
} as const;

const shownHold = {
  schema: answerOf({ hold: reference('Hold'), ...spendable }),
  headers: etag,
} as const;

const { examples } = texts;

const descriptions: Readonly<Record<OperationId, Description>> = {
  createGiftCard: {
    tag: 'Gift cards',
    summary: 'Create a gift card',
    description:
      'Issues a card. An address that is no customer of the store yet becomes one in the same transaction. The answer is the only one that holds the code; a replay of it under its `Idempotency-Key` does too. Where the store sends mails, the card is mailed to its recipient, or else to its customer, and a customer who gave it to somebody else gets a receipt without the code: `send_on` says when, `notify: false` that nothing is sent. Without a mail server the card is issued all the same, and `Email-Status: not-configured` says that nothing was sent.',
    parameters: [],
    body: { schema: 'CreateGiftCard', wrapper: 'gift_card', example: examples.creation, isRequired: true },
    success: {
      status: 201,
      description: 'The card was issued. Only this answer holds its code.',
      schema: answerOf({ gift_card: reference('IssuedGiftCard') }),
      example: { gift_card: { ...examples.card, code: examples.code } },
      headers: ['ETag', 'Location', 'Email-Status'],
    },
    faults: [],
    sample: texts.curl('POST', '/gift_card', {
      body: '{"initial_value": "25.00", "recipient_email": "grace@example.com"}',
      key: 'order-1001-line-1',
    }),
  },
  searchGiftCard: {
    tag: 'Gift cards',
    summary: 'Search for a gift card',
    description:
      'The card whose code ends so and whose customer or recipient has the address. Of several, a usable one comes before a disabled or expired one, then the newest. In the app proxy’s signed request of a store that allows it, a signed-in customer finds cards of their own without a token: `logged_in_customer_id` is matched with the customer’s `storefront_customer_id`, and any other address is not found.',
    parameters: [
      { name: 'last_characters', in: 'query', required: true, schema: parameters.searchedCharacters.schema },
      { name: 'email', in: 'query', required: true, schema: parameters.searchedEmail.schema },
      ifNoneMatch,
    ],
    success: {
      status: 200,
      description: 'The card.',
      schema: answerOf(card),
      example: { gift_card: examples.card },
      headers: etag,
      isConditional: true,
    },
    faults: ['not-found', 'invalid-parameter'],
    sample: texts.curl('GET', '/gift_card?last_characters=7f3k&email=grace@example.com'),
  },
  retrieveGiftCard: {
    tag: 'Gift cards',
    summary: 'Retrieve a gift card',
    description:
      'The card of this store with the id. Another store’s card is answered as if there were none.',
    parameters: [ifNoneMatch],
    success: {
      status: 200,
      description: 'The card.',
      schema: answerOf(card),
      example: { gift_card: examples.card },
      headers: etag,
      isConditional: true,
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/gift_card/${texts.ids.gift_card_id}`),
  },
  updateGiftCard: {
    tag: 'Gift cards',
    summary: 'Update a gift card',
    description:
      'Changes what is named, all of it or nothing; an update that changes nothing is a success. Disabling is final, but for a store’s undo window; after it, balance and expiry cannot change any more, the note can. Every change of the balance is one entry in the ledger.',
    parameters: [ifMatch],
    body: { schema: 'UpdateGiftCard', wrapper: 'gift_card', example: examples.update, isRequired: false },
    success: {
      status: 200,
      description: 'The card.',
      schema: answerOf(card),
      example: { gift_card: examples.card },
      headers: etag,
    },
    faults: ['not-found', 'precondition-failed'],
    sample: texts.curl('PUT', `/gift_card/${texts.ids.gift_card_id}`, {
      body: '{"balance": "10.00", "note": "Paid 15.00 at the counter"}',
    }),
  },
  undoDisabling: {
    tag: 'Gift cards',
    summary: 'Withdraw a disabling',
    description:
      'Within the store’s undo window (off unless the store sets it, 60 minutes at most) a disabling may be withdrawn. The record shows `disabled_at` from the start, and the card cannot be used meanwhile. Holds that were released stay so.',
    parameters: [ifMatch],
    body: { schema: 'Nothing', wrapper: 'gift_card', example: {}, isRequired: false },
    success: {
      status: 200,
      description: 'The card.',
      schema: answerOf(card),
      example: { gift_card: examples.card },
      headers: etag,
    },
    faults: ['not-found', 'precondition-failed', 'undo-window-closed'],
    sample: texts.curl('POST', `/gift_card/${texts.ids.gift_card_id}/undo`),
  },
  lookUpGiftCard: {
    tag: 'Money',
    summary: 'Look a gift card up by its code',
    description:
      'The card that has the code, which stands in the body and never in a URL. Failed lookups are limited per token. A token without `read_gift_cards` is answered for a disabled or expired card as for an unknown code.',
    parameters: [],
    body: { schema: 'LookUp', wrapper: 'gift_card', example: { code: examples.code }, isRequired: true },
    success: {
      status: 200,
      description: 'The card.',
      schema: answerOf(spendable),
      example: { gift_card: examples.spendable },
      headers: etag,
    },
    faults: ['not-found'],
    sample: texts.curl('POST', '/gift_card/lookup', { body: `{"code": "${examples.code}"}` }),
  },
  retrieveBalance: {
    tag: 'Money',
    summary: 'Retrieve a gift card’s balance',
    description:
      'Returns what may be spent and whether the card is usable, for a till that knows the id. `available` is the balance without what open holds reserve.',
    parameters: [ifNoneMatch],
    success: {
      status: 200,
      description: 'The balance.',
      schema: answerOf({ gift_card: reference('GiftCardBalance') }),
      example: { gift_card: examples.balance },
      headers: etag,
      isConditional: true,
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/gift_card/${texts.ids.gift_card_id}/balance`),
  },
  redeemGiftCard: {
    tag: 'Money',
    summary: 'Redeem a gift card by its code',
    description: 'Looks up and debits in one step, for a counter. What holds for the two holds for it.',
    parameters: [ifMatch],
    body: {
      schema: 'Redeem',
      wrapper: 'transaction',
      example: { code: examples.code, amount: '10.00' },
      isRequired: true,
    },
    success: {
      ...movedMoney,
      description: 'The amount was taken.',
      example: { transaction: examples.transaction, gift_card: examples.spendable },
    },
    faults: [...spendingFaults],
    sample: texts.curl('POST', '/gift_card/redeem', {
      body: `{"code": "${examples.code}", "amount": "10.00"}`,
      key: 'till-7-receipt-1017',
    }),
  },
  debitGiftCard: {
    tag: 'Money',
    summary: 'Debit a gift card',
    description:
      'Spends an amount of what is available: the balance without what is held. More than that is refused, and the answer names what there is; with `partial` it is taken instead. However many tills race, nothing is spent twice.',
    parameters: [ifMatch],
    body: {
      schema: 'Debit',
      wrapper: 'transaction',
      example: { amount: '10.00', reference: 'receipt-1017' },
      isRequired: true,
    },
    success: {
      ...movedMoney,
      description: 'The amount was taken.',
      example: { transaction: examples.transaction, gift_card: examples.spendable },
    },
    faults: spendingFaults,
    sample: texts.curl('POST', `/gift_card/${texts.ids.gift_card_id}/debit`, {
      body: '{"amount": "10.00", "reference": "receipt-1017"}',
      key: 'till-7-receipt-1017',
    }),
  },
  creditGiftCard: {
    tag: 'Money',
    summary: 'Credit a gift card',
    description:
      'Adds value to a usable card, as if it were sold again. The balance may not exceed the store’s own limit.',
    parameters: [ifMatch],
    body: { schema: 'Credit', wrapper: 'transaction', example: { amount: '10.00' }, isRequired: true },
    success: {
      ...movedMoney,
      description: 'The amount was added.',
      example: {
        transaction: { ...examples.transaction, kind: 'credit', amount: '10.00', balance_after: '25.00' },
        gift_card: examples.spendable,
      },
    },
    faults: moneyFaults,
    sample: texts.curl('POST', `/gift_card/${texts.ids.gift_card_id}/credit`, {
      body: '{"amount": "10.00"}',
      key: 'top-up-204',
    }),
  },
  createHold: {
    tag: 'Holds',
    summary: 'Hold an amount',
    description:
      'Reserves an amount for a checkout: nobody else can spend it until the hold is captured, voided, or expires by itself.',
    parameters: [ifMatch],
    body: {
      schema: 'CreateHold',
      wrapper: 'hold',
      example: { amount: '10.00', expires_in: 900 },
      isRequired: true,
    },
    success: {
      ...shownHold,
      status: 201,
      description: 'The amount is held.',
      example: {
        hold: examples.hold,
        gift_card: { ...examples.spendable, held: '10.00', available: '5.00' },
      },
      headers: ['ETag', 'Location'],
    },
    faults: spendingFaults,
    sample: texts.curl('POST', `/gift_card/${texts.ids.gift_card_id}/holds`, {
      body: '{"amount": "10.00", "expires_in": 900}',
      key: 'checkout-77',
    }),
  },
  listHolds: {
    tag: 'Holds',
    summary: 'List a gift card’s holds',
    description: 'Newest first, closed ones too. `Link` leads to the neighbouring pages.',
    parameters: [limit, before, after],
    success: {
      status: 200,
      description: 'A page of holds.',
      schema: answerOf({ holds: { type: 'array', items: reference('Hold') } }),
      example: { holds: [examples.hold] },
      headers: ['Link'],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/gift_card/${texts.ids.gift_card_id}/holds`),
  },
  retrieveHold: {
    tag: 'Holds',
    summary: 'Retrieve a hold',
    description: 'The hold and its card as they stand now.',
    parameters: [],
    success: {
      ...shownHold,
      status: 200,
      description: 'The hold.',
      example: { hold: examples.hold, gift_card: examples.spendable },
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/holds/${texts.ids.hold_id}`),
  },
  captureHold: {
    tag: 'Holds',
    summary: 'Capture a hold',
    description:
      'Debits part or all of what the hold reserves; the rest is released. A hold is captured once. It may be captured after the card has expired, but not after the hold has.',
    parameters: [ifMatch],
    body: { schema: 'Capture', wrapper: 'transaction', example: { amount: '8.00' }, isRequired: false },
    success: {
      status: 201,
      description: 'The amount was taken.',
      schema: answerOf({ transaction: reference('Transaction'), hold: reference('Hold'), ...spendable }),
      example: {
        transaction: {
          ...examples.transaction,
          kind: 'capture',
          amount: '-8.00',
          balance_after: '7.00',
          hold_id: examples.hold.id,
        },
        hold: {
          ...examples.hold,
          status: 'captured',
          captured_amount: '8.00',
          closed_at: '2026-08-15T12:42:00Z',
        },
        gift_card: examples.spendable,
      },
      headers: etag,
    },
    faults: ['not-found', 'precondition-failed', 'hold-closed', 'hold-expired', 'capture-exceeds-hold'],
    sample: texts.curl('POST', `/holds/${texts.ids.hold_id}/capture`, {
      body: '{"amount": "8.00"}',
      key: 'checkout-77-capture',
    }),
  },
  voidHold: {
    tag: 'Holds',
    summary: 'Void a hold',
    description: 'Releases what the hold reserves.',
    parameters: [ifMatch],
    body: { schema: 'Nothing', wrapper: 'hold', example: {}, isRequired: false },
    success: {
      ...shownHold,
      status: 200,
      description: 'The amount is available again.',
      example: {
        hold: { ...examples.hold, status: 'voided', closed_at: '2026-08-15T12:42:00Z' },
        gift_card: examples.spendable,
      },
    },
    faults: ['not-found', 'precondition-failed', 'hold-closed', 'hold-expired'],
    sample: texts.curl('POST', `/holds/${texts.ids.hold_id}/void`),
  },
  listTransactions: {
    tag: 'History',
    summary: 'List a gift card’s transactions',
    description:
      'Every entry of the ledger for the card, newest first. `Link` leads to the neighbouring pages.',
    parameters: [limit, before, after],
    success: {
      status: 200,
      description: 'A page of transactions.',
      schema: answerOf({ transactions: { type: 'array', items: reference('Transaction') } }),
      example: { transactions: [examples.transaction] },
      headers: ['Link'],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/gift_card/${texts.ids.gift_card_id}/transactions?limit=50`),
  },
  retrieveTransaction: {
    tag: 'History',
    summary: 'Retrieve a transaction',
    description: 'One entry of the ledger.',
    parameters: [],
    success: {
      status: 200,
      description: 'The transaction.',
      schema: answerOf({ transaction: reference('Transaction') }),
      example: { transaction: examples.transaction },
      headers: [],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/transactions/${texts.ids.transaction_id}`),
  },
  reverseTransaction: {
    tag: 'Money',
    summary: 'Reverse a transaction',
    description:
      'Gives back a debit or capture, wholly or in parts, never more than was taken; or takes back a credit, never more than is available. Taking back a credit needs `write_gift_cards`, the others `redeem_gift_cards`. A card that has expired since gets its money back all the same; a disabled one does not.',
    parameters: [ifMatch],
    body: {
      schema: 'Reverse',
      wrapper: 'transaction',
      example: { amount: '4.00', note: 'Returned one item' },
      isRequired: false,
    },
    success: {
      ...movedMoney,
      description: 'The amount was given back.',
      example: {
        transaction: {
          ...examples.transaction,
          id: 7420981135700466,
          kind: 'reversal',
          amount: '4.00',
          balance_after: '19.00',
          reverses: examples.transaction.id,
        },
        gift_card: examples.spendable,
      },
    },
    faults: [
      'not-found',
      'precondition-failed',
      'card-disabled',
      'not-reversible',
      'reversal-exceeds-transaction',
      'insufficient-balance',
    ],
    sample: texts.curl('POST', `/transactions/${texts.ids.transaction_id}/reverse`, {
      body: '{"amount": "4.00"}',
      key: 'return-55',
    }),
  },
  listGiftCardDeliveries: {
    tag: 'Mails',
    summary: 'List the mails of a gift card',
    description:
      'What was mailed about the card, or waits to be, newest first. A mail is `scheduled`, `queued` or `deferred` (it is tried again) until it ends as `sent` (a mail server took it), `bounced` (a mail server never will), `dead` (72 hours of attempts are over) or `cancelled` (it has nothing true to say any more: the card has another code, is disabled, has expired).',
    parameters: [limit, before, after],
    success: {
      status: 200,
      description: 'A page of mails.',
      schema: answerOf({ deliveries: { type: 'array', items: reference('MailDelivery') } }),
      example: { deliveries: [examples.mail] },
      headers: ['Link'],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/gift_card/${texts.ids.gift_card_id}/deliveries`),
  },
  notifyGiftCardHolder: {
    tag: 'Mails',
    summary: 'Mail a gift card again, with a new code',
    description:
      'No code is kept in clear, so the card gets a new one, which is mailed to its recipient, or else to its customer. The old code dies at once: it is answered like an unknown one, and its use is told as the event `gift_card.retired_code_used`. Id, balance, holds and history stay. A card can be emailed again to the same address once a minute, and at most 10 times within 24 hours; an earlier request is a 429 with `Retry-After` and changes nothing, so the code stays. The email of the creation does not count.',
    parameters: [ifMatch],
    body: { schema: 'Nothing', wrapper: 'gift_card', example: {}, isRequired: false },
    success: {
      status: 201,
      description: 'The card has a new code, and its mail waits to be sent.',
      schema: answerOf({ delivery: reference('MailDelivery'), ...card }),
      example: { delivery: examples.mail, gift_card: examples.card },
      headers: etag,
    },
    faults: ['not-found', 'precondition-failed', 'card-disabled', 'card-expired', 'no-address', 'no-mail'],
    sample: texts.curl('POST', `/gift_card/${texts.ids.gift_card_id}/notify`, { key: 'notify-1' }),
  },
  rotateGiftCardCode: {
    tag: 'Mails',
    summary: 'Give a gift card a new code',
    description:
      'As mailing it again, but nothing is sent: the answer holds the new code, this once. What waited to be mailed with the old one is cancelled.',
    parameters: [ifMatch],
    body: { schema: 'Nothing', wrapper: 'gift_card', example: {}, isRequired: false },
    success: {
      status: 200,
      description: 'The card has a new code. Only this answer holds it.',
      schema: answerOf({ gift_card: reference('IssuedGiftCard') }),
      example: { gift_card: { ...examples.card, code: examples.code } },
      headers: etag,
    },
    faults: ['not-found', 'precondition-failed', 'card-disabled', 'card-expired'],
    sample: texts.curl('POST', `/gift_card/${texts.ids.gift_card_id}/rotate_code`, { key: 'rotate-1' }),
  },
  retrieveCustomer: {
    tag: 'Customers',
    summary: 'Retrieve a customer',
    description: 'Returns the customer of this store with the id.',
    parameters: [],
    success: {
      status: 200,
      description: 'The customer.',
      schema: answerOf({ customer: reference('Customer') }),
      example: { customer: examples.customer },
      headers: [],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/customers/${texts.ids.customer_id}`),
  },
  updateCustomer: {
    tag: 'Customers',
    summary: 'Link a customer to the storefront',
    description:
      'Sets the customer’s id on the storefront, or clears it with null. The app proxy signs that id as `logged_in_customer_id`: it lets the signed-in customer search for their own cards, where the store allows it. An id belongs to one customer of the store.',
    parameters: [],
    body: {
      schema: 'UpdateCustomer',
      wrapper: 'customer',
      example: { storefront_customer_id: examples.customer.storefront_customer_id },
      isRequired: false,
    },
    success: {
      status: 200,
      description: 'The customer.',
      schema: answerOf({ customer: reference('Customer') }),
      example: { customer: examples.customer },
      headers: [],
    },
    faults: ['not-found'],
    sample: texts.curl('PUT', `/customers/${texts.ids.customer_id}`, {
      body: `{"storefront_customer_id": ${examples.customer.storefront_customer_id}}`,
    }),
  },
  ...eventDescriptions,
};

/** What the documentation says of an operation. */
export function describe(id: OperationId): Description {
  return descriptions[id];
}
