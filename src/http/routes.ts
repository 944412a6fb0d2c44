/** Every route of the service, a line each. */

import type { Scope } from '../domain/store.ts';
import type { Answer } from '../service/idempotency.ts';
import { getCard, postCard, putCard, searchCard } from './card.ts';
import { getCustomer, putCustomer } from './customer.ts';
import { getEvent, getEvents, postRedeliver, streamEvents } from './event.ts';
import type { Exchange, Streamed } from './exchange.ts';
import { getTransaction, listHolds, listTransactions } from './history.ts';
import { listDeliveries, postNotify, postRotateCode } from './mails.ts';
import {
  getBalance, getHold, postCapture, postCredit, postDebit, postHold, postLookup, postRedeem, postReverse, postUndo, postVoid,
} from './money.ts'; // prettier-ignore
import {
  deleteWebhook, getDeliveries, getDelivery, getWebhook, getWebhooks, postRotateSecret, postTest, postWebhook, putWebhook,
} from './webhook.ts'; // prettier-ignore

/** An operation on a store's data: it has a caller, who needs a scope. */
export type Operation = {
  readonly id: OperationId;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base path, in the router's notation. */
  readonly path: string;
  /** Any one of them will do. */
  readonly scopes: readonly Scope[];
  /** The query parameters it knows, besides the app proxy's. */
  readonly query: readonly string[];
  /** Whether a signed-in customer may make it without a token, where the store allows it. */
  readonly customerMaySearch: boolean;
  readonly handle: (exchange: Exchange) => Promise<Answer | Streamed>;
};

const read: readonly Scope[] = ['read_gift_cards'];
const write: readonly Scope[] = ['write_gift_cards'];
const redeem: readonly Scope[] = ['redeem_gift_cards'];
const readOrRedeem: readonly Scope[] = [...read, ...redeem];
const events: readonly Scope[] = ['read_events'];
const manage: readonly Scope[] = ['manage_webhooks'];
const redeemOrWrite: readonly Scope[] = [...redeem, ...write];

const customerMaySearch = false;
const search = ['last_characters', 'email'];
const page = ['limit', 'before', 'after'];
const dryRun = ['dry_run'];

const routes = [
  { id: 'createGiftCard', method: 'POST', path: '/gift_card', scopes: write, query: dryRun, customerMaySearch, handle: postCard },
  { id: 'searchGiftCard', method: 'GET', path: '/gift_card', scopes: read, query: search, customerMaySearch: true, handle: searchCard },
  { id: 'retrieveGiftCard', method: 'GET', path: '/gift_card/:gift_card_id', scopes: read, query: [], customerMaySearch, handle: getCard },
  { id: 'updateGiftCard', method: 'PUT', path: '/gift_card/:gift_card_id', scopes: write, query: dryRun, customerMaySearch, handle: putCard },

  { id: 'lookUpGiftCard', method: 'POST', path: '/gift_card/lookup', scopes: readOrRedeem, query: [], customerMaySearch, handle: postLookup },
  { id: 'retrieveBalance', method: 'GET', path: '/gift_card/:gift_card_id/balance', scopes: readOrRedeem, query: [], customerMaySearch, handle: getBalance },
  { id: 'redeemGiftCard', method: 'POST', path: '/gift_card/redeem', scopes: redeem, query: dryRun, customerMaySearch, handle: postRedeem },
  { id: 'debitGiftCard', method: 'POST', path: '/gift_card/:gift_card_id/debit', scopes: redeem, query: dryRun, customerMaySearch, handle: postDebit },
  { id: 'creditGiftCard', method: 'POST', path: '/gift_card/:gift_card_id/credit', scopes: write, query: dryRun, customerMaySearch, handle: postCredit },
  { id: 'undoDisabling', method: 'POST', path: '/gift_card/:gift_card_id/undo', scopes: write, query: dryRun, customerMaySearch, handle: postUndo },
  { id: 'createHold', method: 'POST', path: '/gift_card/:gift_card_id/holds', scopes: redeem, query: dryRun, customerMaySearch, handle: postHold },
  { id: 'listHolds', method: 'GET', path: '/gift_card/:gift_card_id/holds', scopes: readOrRedeem, query: page, customerMaySearch, handle: listHolds },
  { id: 'retrieveHold', method: 'GET', path: '/holds/:hold_id', scopes: readOrRedeem, query: [], customerMaySearch, handle: getHold },
  { id: 'captureHold', method: 'POST', path: '/holds/:hold_id/capture', scopes: redeem, query: dryRun, customerMaySearch, handle: postCapture },
  { id: 'voidHold', method: 'POST', path: '/holds/:hold_id/void', scopes: redeem, query: dryRun, customerMaySearch, handle: postVoid },
  { id: 'listTransactions', method: 'GET', path: '/gift_card/:gift_card_id/transactions', scopes: read, query: page, customerMaySearch, handle: listTransactions },
  { id: 'retrieveTransaction', method: 'GET', path: '/transactions/:transaction_id', scopes: read, query: [], customerMaySearch, handle: getTransaction },
  { id: 'reverseTransaction', method: 'POST', path: '/transactions/:transaction_id/reverse', scopes: redeemOrWrite, query: dryRun, customerMaySearch, handle: postReverse },
  { id: 'listGiftCardDeliveries', method: 'GET', path: '/gift_card/:gift_card_id/deliveries', scopes: read, query: page, customerMaySearch, handle: listDeliveries },
  { id: 'notifyGiftCardHolder', method: 'POST', path: '/gift_card/:gift_card_id/notify', scopes: write, query: dryRun, customerMaySearch, handle: postNotify },
  { id: 'rotateGiftCardCode', method: 'POST', path: '/gift_card/:gift_card_id/rotate_code', scopes: write, query: dryRun, customerMaySearch, handle: postRotateCode },

  { id: 'retrieveCustomer', method: 'GET', path: '/customers/:customer_id', scopes: read, query: [], customerMaySearch, handle: getCustomer },
  { id: 'updateCustomer', method: 'PUT', path: '/customers/:customer_id', scopes: write, query: dryRun, customerMaySearch, handle: putCustomer },

  { id: 'listEvents', method: 'GET', path: '/events', scopes: events, query: ['limit', 'after'], customerMaySearch, handle: getEvents },
  { id: 'streamEvents', method: 'GET', path: '/events/stream', scopes: events, query: ['after'], customerMaySearch, handle: streamEvents },
  { id: 'retrieveEvent', method: 'GET', path: '/events/:event_id', scopes: events, query: [], customerMaySearch, handle: getEvent },
  { id: 'redeliverEvent', method: 'POST', path: '/events/:event_id/redeliver', scopes: manage, query: dryRun, customerMaySearch, handle: postRedeliver },

  { id: 'createWebhook', method: 'POST', path: '/webhooks', scopes: manage, query: dryRun, customerMaySearch, handle: postWebhook },
  { id: 'listWebhooks', method: 'GET', path: '/webhooks', scopes: manage, query: [], customerMaySearch, handle: getWebhooks },
  { id: 'retrieveWebhook', method: 'GET', path: '/webhooks/:webhook_id', scopes: manage, query: [], customerMaySearch, handle: getWebhook },
  { id: 'updateWebhook', method: 'PUT', path: '/webhooks/:webhook_id', scopes: manage, query: dryRun, customerMaySearch, handle: putWebhook },
  { id: 'deleteWebhook', method: 'DELETE', path: '/webhooks/:webhook_id', scopes: manage, query: dryRun, customerMaySearch, handle: deleteWebhook },
  { id: 'rotateWebhookSecret', method: 'POST', path: '/webhooks/:webhook_id/rotate_secret', scopes: manage, query: dryRun, customerMaySearch, handle: postRotateSecret },
  { id: 'testWebhook', method: 'POST', path: '/webhooks/:webhook_id/test', scopes: manage, query: dryRun, customerMaySearch, handle: postTest },
  { id: 'listDeliveries', method: 'GET', path: '/webhooks/:webhook_id/deliveries', scopes: manage, query: page, customerMaySearch, handle: getDeliveries },
  { id: 'retrieveDelivery', method: 'GET', path: '/webhooks/:webhook_id/deliveries/:event_id', scopes: manage, query: [], customerMaySearch, handle: getDelivery },
] as const satisfies readonly (Omit<Operation, 'id'> & { readonly id: string })[]; // prettier-ignore

export type OperationId = (typeof routes)[number]['id'];

export const operations: readonly Operation[] = routes;

/** The operations that look for a card by something other than an id in their path. */
export const searches: ReadonlySet<OperationId> = new Set([
  'searchGiftCard',
  'lookUpGiftCard',
  'redeemGiftCard',
]);

/** What the service tells of itself: read with GET, no credential, at the root and below the base path. */
export const pagePaths = {
  health: '/healthz',
  readiness: '/readyz',
  metrics: '/metrics',
  openapi: '/openapi.json',
  reference: '/docs',
  referenceStyle: '/docs/reference.css',
  problem: '/docs/problems/:code',
} as const;
