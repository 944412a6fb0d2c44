/** Every operation of the service, one per line, in the order of the documentation. */

import { createBatch, listBatchCards, listBatches, retrieveBatch } from '../features/batches/api/batches.ts';
import {
  createGiftCard,
  reenableGiftCard,
  retrieveGiftCard,
  searchGiftCard,
  updateGiftCard,
} from '../core/cards/api/cards.ts';
import {
  listCustomerGiftCards,
  listGiftCards,
  retrieveGiftCardDetails,
} from '../core/cards/api/card-list.ts';
import { countGiftCards } from '../features/books/api/card-count.ts';
import {
  createCheckpoint,
  listCheckpointKeys,
  listCheckpoints,
  proveConsistency,
  listLeaves,
  proveGiftCard,
} from '../features/proofs/api/checkpoints.ts';
import { listCustomers, retrieveCustomer, updateCustomer } from '../core/customers/api/customers.ts';
import {
  listGiftCardEmails,
  notifyGiftCardHolder,
  rotateGiftCardCode,
} from '../features/emails/api/emails.ts';
import { listEvents, redeliverEvent, retrieveEvent, streamEvents } from '../features/webhooks/api/events.ts';
import { listHistory } from '../core/cards/api/history.ts';
import {
  captureHold,
  createHold,
  extendHold,
  listHolds,
  listStoreHolds,
  retrieveHold,
  voidHold,
} from '../core/money/api/holds.ts';
import {
  createLocation,
  listLocations,
  retrieveLocation,
  updateLocation,
} from '../core/stores/api/locations.ts';
import {
  creditGiftCard,
  debitGiftCard,
  redeemGiftCard,
  reverseTransaction,
} from '../core/money/api/money.ts';
import { lookUpGiftCard, retrieveBalance } from '../core/cards/api/lookups.ts';
import { eraseCustomer, exportCustomer, retrieveErasure } from '../features/privacy/api/privacy.ts';
import {
  reportActivity,
  reportAging,
  reportBreakage,
  reportJournal,
  reportLiability,
} from '../features/books/api/reports.ts';
import type { Operation } from './operation-route.ts';
import {
  createStock,
  listStockCodes,
  listStocks,
  retrieveStock,
  voidStock,
} from '../features/stock/api/stocks.ts';
import { resumeGiftCard, suspendGiftCard } from '../core/cards/api/suspension.ts';
import {
  listStoreTransactions,
  listTransactions,
  retrieveTransaction,
} from '../core/money/api/transactions.ts';
import { advanceTestClock, retrieveTestClock } from '../features/sandbox/api/test-clock.ts';
import * as webhooks from '../features/webhooks/api/webhooks.ts';

export const operations = [
  createGiftCard, // POST /gift_card
  searchGiftCard, // GET /gift_card
  retrieveGiftCard, // GET /gift_card/:gift_card_id
  updateGiftCard, // PUT /gift_card/:gift_card_id

  listGiftCards, // GET /gift_cards
  countGiftCards, // GET /gift_cards/count
  retrieveGiftCardDetails, // GET /gift_cards/:gift_card_id

  createBatch, // POST /batches
  listBatches, // GET /batches
  retrieveBatch, // GET /batches/:batch_id
  listBatchCards, // GET /batches/:batch_id/cards

  createStock, // POST /stocks
  listStocks, // GET /stocks
  retrieveStock, // GET /stocks/:stock_id
  voidStock, // POST /stocks/:stock_id/void
  listStockCodes, // GET /stocks/:stock_id/codes

  lookUpGiftCard, // POST /gift_card/lookup
  retrieveBalance, // GET /gift_card/:gift_card_id/balance
  redeemGiftCard, // POST /gift_card/redeem
  debitGiftCard, // POST /gift_card/:gift_card_id/debit
  creditGiftCard, // POST /gift_card/:gift_card_id/credit
  reenableGiftCard, // POST /gift_card/:gift_card_id/undo
  suspendGiftCard, // POST /gift_card/:gift_card_id/suspend
  resumeGiftCard, // POST /gift_card/:gift_card_id/resume
  createHold, // POST /gift_card/:gift_card_id/holds
  listHolds, // GET /gift_card/:gift_card_id/holds
  listStoreHolds, // GET /holds
  retrieveHold, // GET /holds/:hold_id
  extendHold, // POST /holds/:hold_id/extend
  captureHold, // POST /holds/:hold_id/capture
  voidHold, // POST /holds/:hold_id/void
  listTransactions, // GET /gift_card/:gift_card_id/transactions
  listStoreTransactions, // GET /transactions
  retrieveTransaction, // GET /transactions/:transaction_id
  reverseTransaction, // POST /transactions/:transaction_id/reverse
  listHistory, // GET /gift_card/:gift_card_id/history
  listGiftCardEmails, // GET /gift_card/:gift_card_id/deliveries
  notifyGiftCardHolder, // POST /gift_card/:gift_card_id/notify
  rotateGiftCardCode, // POST /gift_card/:gift_card_id/rotate_code

  createLocation, // POST /locations
  listLocations, // GET /locations
  retrieveLocation, // GET /locations/:location_id
  updateLocation, // PUT /locations/:location_id

  listCustomers, // GET /customers
  retrieveCustomer, // GET /customers/:customer_id
  updateCustomer, // PUT /customers/:customer_id
  exportCustomer, // GET /customers/:customer_id/export
  eraseCustomer, // POST /customers/:customer_id/erase
  retrieveErasure, // GET /customers/:customer_id/erasure
  listCustomerGiftCards, // GET /customers/:customer_id/gift_cards

  listCheckpoints, // GET /checkpoints
  createCheckpoint, // POST /checkpoints
  proveConsistency, // GET /checkpoints/consistency
  listLeaves, // GET /checkpoints/leaves
  listCheckpointKeys, // GET /checkpoints/key
  proveGiftCard, // GET /gift_card/:gift_card_id/proof

  listEvents, // GET /events
  streamEvents, // GET /events/stream
  retrieveEvent, // GET /events/:event_id
  redeliverEvent, // POST /events/:event_id/redeliver

  reportLiability, // GET /reports/liability
  reportJournal, // GET /reports/journal
  reportAging, // GET /reports/aging
  reportActivity, // GET /reports/activity
  reportBreakage, // GET /reports/breakage

  webhooks.createWebhook, // POST /webhooks
  webhooks.listWebhooks, // GET /webhooks
  webhooks.retrieveWebhook, // GET /webhooks/:webhook_id
  webhooks.updateWebhook, // PUT /webhooks/:webhook_id
  webhooks.deleteWebhook, // DELETE /webhooks/:webhook_id
  webhooks.rotateWebhookSecret, // POST /webhooks/:webhook_id/rotate_secret
  webhooks.testWebhook, // POST /webhooks/:webhook_id/test
  webhooks.listDeliveries, // GET /webhooks/:webhook_id/deliveries
  webhooks.retrieveDelivery, // GET /webhooks/:webhook_id/deliveries/:event_id

  retrieveTestClock, // GET /test_clock
  advanceTestClock, // POST /test_clock
] as const;

/** The operations of a service. Only a sandbox has a clock that can be moved. */
export function operationsOf(isSandbox: boolean): readonly Operation[] {
  return isSandbox ? operations : operations.filter(({ documentation: { tag } }) => tag !== 'Sandbox');
}

export type OperationId = (typeof operations)[number]['id'];
