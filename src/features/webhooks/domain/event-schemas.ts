/** The schema of events. */

import Type from 'typebox';
import { eventTypes } from '../../../core/events/domain/event-type.ts';
import { webhookSchema } from './webhook-schemas.ts';
import { checkpointSchema } from '../../proofs/domain/proof-schemas.ts';
import { batchSchema, stockSchema } from '../../batches/domain/batch-schemas.ts';
import { emailDeliverySchema } from '../../../core/customers/domain/customer-schemas.ts';
import {
  closedObject,
  nullable,
  id,
  publicIdSchema,
  timestamp,
  giftCardSchema,
  transactionSchema,
  holdSchema,
} from '../../../core/cards/domain/schemas.ts';

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
            { id: publicIdSchema(), email: nullable(Type.String()), storefront_customer_id: nullable(id) },
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
