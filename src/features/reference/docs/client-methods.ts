/** The method of the client library for each operation: samples name it, and the library is generated with it. */

import type { OperationId } from '../../../api/index.ts';
import type { servicePages } from './service-pages.ts';

export const clientMethods = {
  createGiftCard: 'cards.create',
  searchGiftCard: 'cards.search',
  retrieveGiftCard: 'cards.retrieve',
  updateGiftCard: 'cards.update',
  listGiftCards: 'cards.list',
  countGiftCards: 'cards.count',
  retrieveGiftCardDetails: 'cards.retrieveDetails',
  lookUpGiftCard: 'cards.lookup',
  retrieveBalance: 'cards.retrieveBalance',
  redeemGiftCard: 'cards.redeem',
  debitGiftCard: 'cards.debit',
  creditGiftCard: 'cards.credit',
  reenableGiftCard: 'cards.reenable',
  suspendGiftCard: 'cards.suspend',
  resumeGiftCard: 'cards.resume',
  createHold: 'cards.hold',
  listHolds: 'cards.listHolds',
  listTransactions: 'cards.listTransactions',
  listHistory: 'cards.listHistory',
  listGiftCardEmails: 'cards.listEmails',
  notifyGiftCardHolder: 'cards.notify',
  rotateGiftCardCode: 'cards.rotateCode',
  proveGiftCard: 'cards.prove',

  listStoreHolds: 'holds.list',
  retrieveHold: 'holds.retrieve',
  extendHold: 'holds.extend',
  captureHold: 'holds.capture',
  voidHold: 'holds.void',

  listStoreTransactions: 'transactions.list',
  retrieveTransaction: 'transactions.retrieve',
  reverseTransaction: 'transactions.reverse',

  createBatch: 'batches.create',
  listBatches: 'batches.list',
  retrieveBatch: 'batches.retrieve',
  listBatchCards: 'batches.listCards',

  createStock: 'stocks.create',
  listStocks: 'stocks.list',
  retrieveStock: 'stocks.retrieve',
  voidStock: 'stocks.void',
  listStockCodes: 'stocks.listCodes',

  createLocation: 'locations.create',
  listLocations: 'locations.list',
  retrieveLocation: 'locations.retrieve',
  updateLocation: 'locations.update',

  listCustomers: 'customers.list',
  retrieveCustomer: 'customers.retrieve',
  updateCustomer: 'customers.update',
  exportCustomer: 'customers.export',
  eraseCustomer: 'customers.erase',
  retrieveErasure: 'customers.retrieveErasure',
  listCustomerGiftCards: 'customers.listCards',

  listCheckpoints: 'checkpoints.list',
  createCheckpoint: 'checkpoints.create',
  proveConsistency: 'checkpoints.proveConsistency',
  listLeaves: 'checkpoints.listLeaves',
  listCheckpointKeys: 'checkpoints.listKeys',

  listEvents: 'events.list',
  streamEvents: 'events.stream',
  retrieveEvent: 'events.retrieve',
  redeliverEvent: 'events.redeliver',

  reportLiability: 'reports.liability',
  reportJournal: 'reports.journal',
  reportAging: 'reports.aging',
  reportActivity: 'reports.activity',
  reportBreakage: 'reports.breakage',

  createWebhook: 'webhooks.create',
  listWebhooks: 'webhooks.list',
  retrieveWebhook: 'webhooks.retrieve',
  updateWebhook: 'webhooks.update',
  deleteWebhook: 'webhooks.delete',
  rotateWebhookSecret: 'webhooks.rotateSecret',
  testWebhook: 'webhooks.test',
  listDeliveries: 'webhooks.listDeliveries',
  retrieveDelivery: 'webhooks.retrieveDelivery',

  retrieveTestClock: 'testClock.retrieve',
  advanceTestClock: 'testClock.advance',

  health: 'service.health',
  readiness: 'service.readiness',
  metrics: 'service.metrics',
  openapi: 'service.openapi',
} as const satisfies Readonly<Record<OperationId | keyof typeof servicePages, `${string}.${string}`>>;
