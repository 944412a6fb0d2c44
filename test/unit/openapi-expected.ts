/** The documentation of each operation. The compiler requires an entry for every operation. */

import { filteredFields } from '../../src/core/cards/domain/field-filters.ts';
import type { FaultCode } from '../../src/core/domain/fault.ts';
import { operations, type OperationId } from '../../src/api/index.ts';

/** Statuses of any operation: rejected before the handler, or failed. */
const anywhere = ['400', '401', '403', '408', '417', '429', '431', '500', '503'];
const ofBodies = ['413', '415', '422'];
/** A write has a body, and its key can be in use. */
const ofWrites = ['409', ...ofBodies];

export const codesAnywhere: readonly FaultCode[] = [
  'invalid-request', 'invalid-query', 'unauthenticated', 'invalid-signature', 'insufficient-scope', 'cross-site-request',
  'invalid-visitor', 'request-timeout', 'expectation-failed', 'too-many-requests', 'headers-too-large', 'internal-error', 'overloaded', 'unavailable',
  'not-writable', 'store-closed', 'closing',
]; // prettier-ignore
export const codesOfBodies: readonly FaultCode[] = ['invalid-body', 'body-too-large', 'unsupported-media-type', 'invalid-parameter']; // prettier-ignore
export const codesOfKeys: readonly FaultCode[] = ['invalid-idempotency-key', 'idempotency-key-in-use', 'idempotency-key-reused']; // prettier-ignore
const codesOfMoney: readonly FaultCode[] = ['not-found', 'precondition-failed', 'card-disabled', 'card-expired', 'card-suspended', 'currency-mismatch', 'external-id-used']; // prettier-ignore
const codesOfSpending: readonly FaultCode[] = [...codesOfMoney, 'insufficient-balance'];
const codesOfHolds: readonly FaultCode[] = ['not-found', 'precondition-failed', 'hold-closed', 'hold-expired']; // prettier-ignore

const [read, write, redeem] = ['read_gift_cards', 'write_gift_cards', 'redeem_gift_cards'] as const;

const cardId = 'path gift_card_id required';
const holdId = 'path hold_id required';
const events = 'read_events';
const webhooks = 'manage_webhooks';
const reports = 'read_reports';
const transactionId = 'path transaction_id required';
const customerId = 'path customer_id required';
const webhookId = 'path webhook_id required';
/** The fields of a page of cards and its filters. */
const cardFilters = [
  'state', 'email_status', 'created_at_min', 'created_at_max', 'disabled_at_min', 'disabled_at_max', 'last_activity_at_min',
  'last_activity_at_max', 'expires_on_min', 'expires_on_max', 'balance_min', 'balance_max', 'order_id', 'batch_id', 'last_characters', ...filteredFields, 'tag',
].map((name) => `query ${name}`); // prettier-ignore
const cardPage = ['query sort', 'query limit', 'query cursor', 'query fields'];
const movementFilters = [
  'reference', 'order_reference', 'external_id', 'order_id', 'location_id', 'actor', 'created_at_min', 'created_at_max', 'limit', 'cursor',
].map((name) => `query ${name}`); // prettier-ignore
const eventId = 'path event_id required';
const page = ['query limit', 'query before', 'query after'];
const ifMatch = 'header If-Match';
const ifNoneMatch = 'header If-None-Match';
const inWrites = ['query dry_run', 'header Idempotency-Key'];

/** Operations with limited failed lookups: by an id, a code, or the last characters of a code. */
export function isThrottled(id: string, known: readonly string[]): boolean {
  const byCode = [
    'createGiftCard',
    'createBatch',
    'createStock',
    'voidStock',
    'searchGiftCard',
    'lookUpGiftCard',
    'redeemGiftCard',
  ];
  const ids = [cardId, holdId, transactionId, customerId];
  return byCode.includes(id) || ids.some((name) => known.includes(name));
}

/** Operations that an exhausted budget of failed lookups never rejects. */
const unlimited = new Set(['captureHold', 'voidHold', 'extendHold', 'reverseTransaction']);

export function isRejectedByBudget(id: string, known: readonly string[]): boolean {
  return isThrottled(id, known) && !unlimited.has(id);
}

export type Expected = {
  readonly scopes: readonly string[];
  readonly statuses: readonly string[];
  /** In addition to those of every operation, body and key. */
  readonly codes: readonly FaultCode[];
  /** In addition to X-Request-Id of every operation. */
  readonly parameters: readonly string[];
  readonly body?: {
    readonly schema: string;
    readonly wrapper:
      | 'gift_card'
      | 'transaction'
      | 'hold'
      | 'webhook'
      | 'event'
      | 'customer'
      | 'checkpoint'
      | 'batch'
      | 'stock'
      | 'location'
      | 'test_clock';
    readonly required: boolean;
  };
  readonly response: Readonly<Record<string, string>>;
  /** The headers of a success, in addition to those of every success. */
  readonly headers: readonly string[];
};

const issued = { gift_card: 'IssuedGiftCard' };
const retrieved = { gift_card: 'GiftCard' };
const spendable = { gift_card: 'SpendableGiftCard or TillGiftCard' };
const moved = { transaction: 'Transaction', ...spendable };
const held = { hold: 'Hold', ...spendable };

export const expectations: Readonly<Record<OperationId, Expected>> = {
  createGiftCard: {
    scopes: [write],
    statuses: ['201', '200', ...anywhere, ...ofWrites],
    codes: ['already-activated', 'external-id-used'],
    parameters: [...inWrites],
    body: { schema: 'CreateGiftCard', wrapper: 'gift_card', required: true },
    response: issued,
    headers: ['ETag', 'Location', 'Email-Status', 'Code-Tried-At'],
  },
  searchGiftCard: {
    scopes: [read],
    statuses: ['200', '304', ...anywhere, '404', '422'],
    codes: ['not-found', 'invalid-parameter'],
    parameters: ['query last_characters required', 'query email required', ifNoneMatch],
    response: retrieved,
    headers: ['ETag'],
  },
  retrieveGiftCard: {
    scopes: [read],
    statuses: ['200', '304', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ifNoneMatch],
    response: retrieved,
    headers: ['ETag'],
  },
  updateGiftCard: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'UpdateGiftCard', wrapper: 'gift_card', required: false },
    response: retrieved,
    headers: ['ETag'],
  },
  listGiftCards: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: [...cardFilters, 'query email', ...cardPage, 'query as_of'],
    response: { gift_cards: 'ListedGiftCard', next_cursor: 'Cursor' },
    headers: ['Link', 'Recorded-From'],
  },
  countGiftCards: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: [...cardFilters, 'query email'],
    response: { count: 'Count', precision: 'Precision' },
    headers: [],
  },
  retrieveGiftCardDetails: {
    scopes: [read],
    statuses: ['200', '304', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, 'query as_of', ifNoneMatch],
    response: { gift_card: 'DetailedGiftCard' },
    headers: ['ETag', 'Recorded-From'],
  },
  createBatch: {
    scopes: [write],
    statuses: ['202', ...anywhere, ...ofWrites],
    codes: [],
    parameters: inWrites,
    body: { schema: 'CreateBatch', wrapper: 'batch', required: false },
    response: { batch: 'Batch' },
    headers: ['Location'],
  },
  listBatches: {
    scopes: [read, write],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query limit', 'query before', 'query after'],
    response: { batches: 'Batch' },
    headers: ['Link'],
  },
  retrieveBatch: {
    scopes: [read, write],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: ['path batch_id required'],
    response: { batch: 'Batch', failures: 'BatchFailure' },
    headers: [],
  },
  listBatchCards: {
    scopes: [read, write],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: ['path batch_id required', 'query limit', 'query from', 'query format'],
    response: { cards: 'BatchGiftCard' },
    headers: ['Link'],
  },
  createStock: {
    scopes: [write],
    statuses: ['202', ...anywhere, ...ofWrites],
    codes: [],
    parameters: inWrites,
    body: { schema: 'CreateStock', wrapper: 'stock', required: false },
    response: { stock: 'Stock' },
    headers: ['Location'],
  },
  listStocks: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query limit', 'query before', 'query after'],
    response: { stocks: 'Stock' },
    headers: ['Link'],
  },
  retrieveStock: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: ['path stock_id required'],
    response: { stock: 'Stock', failures: 'StockFailure' },
    headers: [],
  },
  voidStock: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', ...ofWrites],
    codes: ['not-found'],
    parameters: ['path stock_id required', ...inWrites],
    body: { schema: 'VoidStock', wrapper: 'stock', required: false },
    response: { stock: 'Stock' },
    headers: [],
  },
  listStockCodes: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: ['path stock_id required', 'query limit', 'query from', 'query format'],
    response: { codes: 'StockCode' },
    headers: ['Link'],
  },
  lookUpGiftCard: {
    scopes: [read, redeem],
    statuses: ['200', ...anywhere, '404', ...ofBodies],
    codes: ['not-found', 'not-activated'],
    parameters: [],
    body: { schema: 'LookUp', wrapper: 'gift_card', required: true },
    response: spendable,
    headers: ['ETag'],
  },
  retrieveBalance: {
    scopes: [read, redeem],
    statuses: ['200', '304', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ifNoneMatch],
    response: { gift_card: 'GiftCardBalance' },
    headers: ['ETag'],
  },
  redeemGiftCard: {
    scopes: [redeem],
    statuses: ['201', '200', ...anywhere, '404', '412', ...ofWrites],
    codes: [...codesOfSpending, 'not-activated'],
    parameters: [ifMatch, ...inWrites],
    body: { schema: 'Redeem', wrapper: 'transaction', required: true },
    response: moved,
    headers: ['ETag'],
  },
  debitGiftCard: {
    scopes: [redeem],
    statuses: ['201', '200', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfSpending,
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Debit', wrapper: 'transaction', required: true },
    response: moved,
    headers: ['ETag'],
  },
  creditGiftCard: {
    scopes: [write],
    statuses: ['201', '200', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfMoney,
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Credit', wrapper: 'transaction', required: true },
    response: moved,
    headers: ['ETag'],
  },
  reenableGiftCard: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed', 'undo-window-closed'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'gift_card', required: false },
    response: retrieved,
    headers: ['ETag'],
  },
  suspendGiftCard: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed', 'card-disabled'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Suspend', wrapper: 'gift_card', required: false },
    response: { gift_card: 'SpendableGiftCard' },
    headers: ['ETag'],
  },
  resumeGiftCard: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed', 'card-disabled'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'gift_card', required: false },
    response: { gift_card: 'SpendableGiftCard' },
    headers: ['ETag'],
  },
  createHold: {
    scopes: [redeem],
    statuses: ['201', '200', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfSpending,
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'CreateHold', wrapper: 'hold', required: true },
    response: held,
    headers: ['ETag', 'Location'],
  },
  listHolds: {
    scopes: [read, redeem],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ...page],
    response: { holds: 'Hold' },
    headers: ['Link'],
  },
  listStoreHolds: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query status', ...movementFilters],
    response: { holds: 'Hold', next_cursor: 'Cursor' },
    headers: ['Link'],
  },
  retrieveHold: {
    scopes: [read, redeem],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [holdId],
    response: held,
    headers: ['ETag'],
  },
  extendHold: {
    scopes: [redeem],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfHolds,
    parameters: [holdId, ifMatch, ...inWrites],
    body: { schema: 'ExtendHold', wrapper: 'hold', required: true },
    response: held,
    headers: ['ETag'],
  },
  captureHold: {
    scopes: [redeem],
    statuses: ['201', '200', ...anywhere, '404', '412', ...ofWrites],
    codes: [...codesOfHolds, 'capture-exceeds-hold', 'external-id-used'],
    parameters: [holdId, ifMatch, ...inWrites],
    body: { schema: 'Capture', wrapper: 'transaction', required: false },
    response: { transaction: 'Transaction', ...held },
    headers: ['ETag'],
  },
  voidHold: {
    scopes: [redeem],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfHolds,
    parameters: [holdId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'hold', required: false },
    response: held,
    headers: ['ETag'],
  },
  listTransactions: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ...page],
    response: { transactions: 'Transaction' },
    headers: ['Link'],
  },
  listStoreTransactions: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query kind', ...movementFilters],
    response: { transactions: 'Transaction', next_cursor: 'Cursor' },
    headers: ['Link'],
  },
  retrieveTransaction: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [transactionId],
    response: { transaction: 'Transaction' },
    headers: [],
  },
  reverseTransaction: {
    scopes: [redeem, write],
    statuses: ['201', '200', ...anywhere, '404', '412', ...ofWrites],
    codes: [
      'not-found', 'precondition-failed', 'card-disabled', 'not-reversible', 'reversal-exceeds-transaction', 'insufficient-balance', 'external-id-used',
    ], // prettier-ignore
    parameters: [transactionId, ifMatch, ...inWrites],
    body: { schema: 'Reverse', wrapper: 'transaction', required: false },
    response: moved,
    headers: ['ETag'],
  },
  listHistory: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ...page],
    response: { history: 'HistoryEntry' },
    headers: ['Link'],
  },
  listGiftCardEmails: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ...page],
    response: { deliveries: 'EmailDelivery' },
    headers: ['Link'],
  },
  notifyGiftCardHolder: {
    scopes: [write],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: [
      'not-found',
      'precondition-failed',
      'card-disabled',
      'card-expired',
      'card-suspended',
      'no-address',
      'no-mail',
    ],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'gift_card', required: false },
    response: { delivery: 'EmailDelivery', ...retrieved },
    headers: ['ETag'],
  },
  rotateGiftCardCode: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed', 'card-disabled', 'card-expired'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'gift_card', required: false },
    response: issued,
    headers: ['ETag'],
  },
  createLocation: {
    scopes: [write],
    statuses: ['201', ...anywhere, ...ofWrites],
    codes: [],
    parameters: [...inWrites],
    body: { schema: 'CreateLocation', wrapper: 'location', required: true },
    response: { location: 'Location' },
    headers: [],
  },
  listLocations: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: page,
    response: { locations: 'Location' },
    headers: ['Link'],
  },
  retrieveLocation: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: ['path location_id required'],
    response: { location: 'Location' },
    headers: [],
  },
  updateLocation: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', ...ofWrites],
    codes: ['not-found'],
    parameters: ['path location_id required', ...inWrites],
    body: { schema: 'UpdateLocation', wrapper: 'location', required: false },
    response: { location: 'Location' },
    headers: [],
  },
  listCustomers: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query email', 'query limit', 'query cursor'],
    response: { customers: 'Customer', next_cursor: 'Cursor' },
    headers: ['Link'],
  },
  retrieveCustomer: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [customerId],
    response: { customer: 'Customer' },
    headers: [],
  },
  updateCustomer: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', ...ofWrites],
    codes: ['not-found'],
    parameters: [customerId, ...inWrites],
    body: { schema: 'UpdateCustomer', wrapper: 'customer', required: false },
    response: { customer: 'Customer' },
    headers: [],
  },
  exportCustomer: {
    scopes: ['manage_customers'],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [customerId],
    response: {},
    headers: [],
  },
  eraseCustomer: {
    scopes: ['manage_customers'],
    statuses: ['202', ...anywhere, '404', ...ofWrites],
    codes: ['not-found'],
    parameters: [customerId, ...inWrites],
    body: { schema: 'EraseCustomer', wrapper: 'customer', required: false },
    response: { erasure: 'Erasure' },
    headers: [],
  },
  retrieveErasure: {
    scopes: ['manage_customers'],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [customerId],
    response: { erasure: 'Erasure' },
    headers: [],
  },
  listCustomerGiftCards: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [customerId, ...cardFilters, ...cardPage, 'query as_of'],
    response: { gift_cards: 'ListedGiftCard', next_cursor: 'Cursor' },
    headers: ['Link', 'Recorded-From'],
  },
  listCheckpoints: {
    scopes: [reports],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: [...page],
    response: { checkpoints: 'Checkpoint' },
    headers: ['Link'],
  },
  createCheckpoint: {
    scopes: [reports],
    statuses: ['201', ...anywhere, ...ofWrites],
    codes: [],
    parameters: [...inWrites],
    body: { schema: 'Nothing', wrapper: 'checkpoint', required: false },
    response: { checkpoint: 'Checkpoint' },
    headers: [],
  },
  proveConsistency: {
    scopes: [reports],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query from required', 'query to required'],
    response: { consistency: 'Consistency' },
    headers: [],
  },
  listLeaves: {
    scopes: [reports],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query after', 'query limit'],
    response: { leaf_range: 'LeafRange' },
    headers: [],
  },
  listCheckpointKeys: {
    scopes: [reports],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [],
    response: { log: 'Log' },
    headers: [],
  },
  proveGiftCard: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, 'query limit', 'query after', 'query changes_after'],
    response: { gift_card_proof: 'GiftCardProof' },
    headers: [],
  },
  listEvents: {
    scopes: [events],
    statuses: ['200', ...anywhere, '410'],
    codes: ['events-erased'],
    parameters: ['query limit', 'query after'],
    response: { events: 'Event' },
    headers: ['Link'],
  },
  streamEvents: {
    scopes: [events],
    statuses: ['200', ...anywhere, '410'],
    codes: ['events-erased'],
    parameters: ['query after', 'header Last-Event-ID'],
    response: {},
    headers: [],
  },
  retrieveEvent: {
    scopes: [events],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [eventId],
    response: { event: 'Event' },
    headers: [],
  },
  redeliverEvent: {
    scopes: [webhooks],
    statuses: ['202', ...anywhere, '404', ...ofWrites],
    codes: ['not-found', 'webhook-paused'],
    parameters: [eventId, ...inWrites],
    body: { schema: 'Redeliver', wrapper: 'event', required: false },
    response: { deliveries: 'Delivery' },
    headers: [],
  },
  reportLiability: {
    scopes: ['read_reports'],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query as_of', 'query format'],
    response: { liability: 'Liability' },
    headers: [],
  },
  reportJournal: {
    scopes: ['read_reports'],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query from required', 'query to required', 'query by', 'query format'],
    response: { journal: 'Journal' },
    headers: [],
  },
  reportAging: {
    scopes: ['read_reports'],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query as_of', 'query format'],
    response: { aging: 'Aging' },
    headers: [],
  },
  reportActivity: {
    scopes: ['read_reports'],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: [
      'query by required',
      'query from required',
      'query to required',
      'query location_id',
      'query format',
    ],
    response: { activity: 'Activity' },
    headers: [],
  },
  reportBreakage: {
    scopes: ['read_reports'],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query from required', 'query to required', 'query format'],
    response: { breakage: 'Breakage' },
    headers: [],
  },
  createWebhook: {
    scopes: [webhooks],
    statuses: ['201', ...anywhere, ...ofWrites],
    codes: ['too-many-webhooks'],
    parameters: [...inWrites],
    body: { schema: 'CreateWebhook', wrapper: 'webhook', required: true },
    response: { webhook: 'WebhookWithSecret' },
    headers: ['ETag', 'Location'],
  },
  listWebhooks: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: [],
    response: { webhooks: 'Webhook' },
    headers: [],
  },
  retrieveWebhook: {
    scopes: [webhooks],
    statuses: ['200', '304', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [webhookId, ifNoneMatch],
    response: { webhook: 'Webhook' },
    headers: ['ETag'],
  },
  updateWebhook: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [webhookId, ifMatch, ...inWrites],
    body: { schema: 'UpdateWebhook', wrapper: 'webhook', required: false },
    response: { webhook: 'Webhook' },
    headers: ['ETag'],
  },
  deleteWebhook: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [webhookId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'webhook', required: false },
    response: { webhook: 'Webhook' },
    headers: [],
  },
  rotateWebhookSecret: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [webhookId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'webhook', required: false },
    response: { webhook: 'WebhookWithSecret' },
    headers: ['ETag'],
  },
  testWebhook: {
    scopes: [webhooks],
    statuses: ['202', ...anywhere, '404', ...ofWrites],
    codes: ['not-found', 'webhook-paused'],
    parameters: [webhookId, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'webhook', required: false },
    response: { delivery: 'Delivery' },
    headers: [],
  },
  listDeliveries: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [webhookId, ...page],
    response: { deliveries: 'Delivery' },
    headers: ['Link'],
  },
  retrieveDelivery: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [webhookId, eventId],
    response: { delivery: 'LoggedDelivery' },
    headers: [],
  },
  retrieveTestClock: {
    scopes: [read],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: [],
    response: { test_clock: 'TestClock' },
    headers: [],
  },
  advanceTestClock: {
    scopes: [write],
    statuses: ['200', ...anywhere, ...ofWrites],
    codes: ['test-clock-in-use'],
    parameters: [...inWrites],
    body: { schema: 'TestClockAdvance', wrapper: 'test_clock', required: false },
    response: { test_clock: 'TestClock' },
    headers: [],
  },
};

/** Whether a request supports keys and dry runs. */
export function isWrite({ parameters: listed }: Expected): boolean {
  return listed.includes('header Idempotency-Key');
}

export const expectedOperations = operations.map(({ id }) => ({ id, ...expectations[id] }));
