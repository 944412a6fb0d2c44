/** The objects of responses, by their names in the documentation. */

import Type, { type TSchema } from 'typebox';
import * as batches from '../features/batches/domain/batch-schemas.ts';
import * as customers from '../core/customers/domain/customer-schemas.ts';
import { eventSchema } from '../features/webhooks/domain/event-schemas.ts';
import { testClockSchema } from '../features/sandbox/domain/test-clock-schemas.ts';
import * as proofs from '../features/proofs/domain/proof-schemas.ts';
import * as records from '../core/cards/domain/schemas.ts';
import * as webhooks from '../features/webhooks/domain/webhook-schemas.ts';
import * as reports from '../features/books/api/report-schemas.ts';

export const problemSchema = Type.Object(
  {
    type: Type.String({
      format: 'uri-reference',
      description: 'Ends in the stable code of the error; its documentation is at this path.',
    }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String(),
    errors: Type.Union(
      [Type.String(), Type.Record(Type.String(), Type.Array(Type.String(), { minItems: 1 }))],
      {
        description:
          'For invalid parameters: their names and messages, each of which reads after the name. Otherwise the title.',
      },
    ),
    available: Type.Optional(
      Type.String({ description: 'With `insufficient-balance`: the amount that can be spent.' }),
    ),
    held: Type.Optional(
      Type.String({ description: 'With `capture-exceeds-hold`: the amount that the hold reserves.' }),
    ),
    reversible: Type.Optional(
      Type.String({ description: 'With `reversal-exceeds-transaction`: the amount that can be reversed.' }),
    ),
    fixed_value: Type.Optional(Type.String({ description: 'The value that a printed card is sold for.' })),
    minimum_value: Type.Optional(
      Type.String({ description: 'The lowest value that a printed card is sold for.' }),
    ),
    maximum_value: Type.Optional(
      Type.String({ description: 'The highest value that a printed card is sold for.' }),
    ),
    tried_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'With `not-activated`: when a caller who cannot activate the code last looked for it.',
      }),
    ),
    activated_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'With `already-activated`: when the printed card was activated.',
      }),
    ),
    request_id: Type.String({ description: 'The same as X-Request-Id: find the request in the log by it.' }),
  },
  { additionalProperties: false, description: 'An error (RFC 9457).' },
);

export const components: Readonly<Record<string, TSchema>> = {
  GiftCard: records.giftCardSchema,
  IssuedGiftCard: records.issuedGiftCardSchema,
  SpendableGiftCard: records.spendableGiftCardSchema,
  DetailedGiftCard: records.detailGiftCardSchema,
  ListedGiftCard: records.listedGiftCardSchema,
  TillGiftCard: records.tillGiftCardSchema,
  GiftCardBalance: records.balanceSchema,
  Transaction: records.transactionSchema,
  HistoryEntry: records.historySchema,
  Hold: records.holdSchema,
  Customer: customers.customerSchema,
  Erasure: customers.erasureSchema,
  Batch: batches.batchSchema,
  BatchFailure: batches.batchFailureSchema,
  BatchGiftCard: batches.batchCardSchema,
  Stock: batches.stockSchema,
  StockFailure: batches.stockFailureSchema,
  StockCode: batches.stockCodeSchema,
  EmailDelivery: customers.emailDeliverySchema,
  Checkpoint: proofs.checkpointSchema,
  TestClock: testClockSchema,
  Log: proofs.logSchema,
  Consistency: proofs.consistencySchema,
  LeafRange: proofs.leafRangeSchema,
  GiftCardProof: proofs.giftCardProofSchema,
  Event: eventSchema,
  Webhook: webhooks.webhookSchema,
  Location: records.locationSchema,
  WebhookWithSecret: webhooks.webhookWithSecretSchema,
  Delivery: webhooks.deliverySchema,
  LoggedDelivery: webhooks.loggedDeliverySchema,
  Liability: reports.liabilitySchema,
  Journal: reports.journalSchema,
  Aging: reports.agingSchema,
  Activity: reports.activitySchema,
  Breakage: reports.breakageSchema,
};

/**
 * A card in responses of operations that the specification does not have. Callers without `read_gift_cards` get only the fields that a
 * till needs.
 */
export const spendableCard = Type.Union([records.spendableGiftCardSchema, records.tillGiftCardSchema]);
