/** What events, webhooks and deliveries look like: the schemas of the documentation, which the tests hold every answer to. */

import Type, { type TSchema } from 'typebox';
import { eventTypes } from '../domain/event.ts';
import {
  giftCardSchema,
  holdSchema,
  idSchema,
  deliverySchema as mailDeliverySchema,
  timestampSchema,
  transactionSchema,
} from './schemas.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);
const nullableTimestamp = Type.Union([timestampSchema, Type.Null()]);

function closed(properties: Readonly<Record<string, TSchema>>, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}

const webhook = {
  id: idSchema,
  url: Type.String({ description: 'Where events are posted to, normalised.' }),
  events: Type.Array(Type.String(), { description: 'Which events are sent.' }),
  status: Type.Enum(['active', 'paused']),
  paused_at: nullableTimestamp,
  pause_reason: Type.Union([Type.Enum(['requested', 'failures', 'gone']), Type.Null()], {
    description:
      '`failures`: nothing could be delivered for 72 hours. `gone`: the receiver answered 410. null: not paused.',
  }),
  failing_since: Type.Union(nullableTimestamp.anyOf, {
    description: 'Since when every attempt has failed; null while none has.',
  }),
  failure: Type.Union(nullableText.anyOf, { description: 'How the first of them did.' }),
  previous_secret_until: Type.Union(nullableTimestamp.anyOf, {
    description: 'Until when the secret before this one signs along.',
  }),
  created_at: timestampSchema,
  updated_at: timestampSchema,
};

export const webhookSchema = closed(webhook, 'An address that is told of events.');

export const webhookWithSecretSchema = closed(
  {
    ...webhook,
    secret: Type.String({
      pattern: '^whsec_[A-Za-z0-9+/]+=*$',
      description: 'The signing secret. It is told here and never again.',
    }),
  },
  'A webhook with its secret.',
);

export const eventSchema = closed(
  {
    id: idSchema,
    type: Type.Enum([...eventTypes]),
    store: Type.String({ description: 'The store’s domain.' }),
    created_at: timestampSchema,
    sequence: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The version of the card that the event left; 0 of what is about no card.',
    }),
    data: closed(
      {
        gift_card: Type.Optional(giftCardSchema),
        changed: Type.Optional(
          Type.Array(Type.String(), { description: 'The fields of the record that have changed.' }),
        ),
        transaction: Type.Optional(transactionSchema),
        hold: Type.Optional(holdSchema),
        customer: Type.Optional(
          closed(
            {
              id: idSchema,
              email: Type.String(),
              storefront_customer_id: Type.Union([idSchema, Type.Null()]),
            },
            'A customer, with the address as first given.',
          ),
        ),
        webhook: Type.Optional(webhookSchema),
        delivery: Type.Optional(mailDeliverySchema),
      },
      'What it is about, as it was then.',
    ),
  },
  'Something that happened.',
);

const attempt = closed(
  {
    attempted_at: timestampSchema,
    duration_ms: Type.Integer({ minimum: 0 }),
    response: Type.Union([
      closed(
        {
          status: Type.Integer({ minimum: 100, maximum: 999 }),
          body: Type.String({ description: 'The first 4 KiB.' }),
        },
        'The receiver’s response.',
      ),
      Type.Null(),
    ]),
    failure: Type.Union([
      closed({ reason: Type.String(), detail: Type.String() }, 'Why there was no response.'),
      Type.Null(),
    ]),
  },
  'An attempt to send.',
);

const delivery = {
  event_id: idSchema,
  event_type: Type.String(),
  webhook_id: idSchema,
  status: Type.Enum(['queued', 'retrying', 'delivered', 'dead']),
  created_at: timestampSchema,
  attempts: Type.Integer({ minimum: 0 }),
  next_attempt_at: Type.Union(nullableTimestamp.anyOf, {
    description:
      'When it is due, or, while a process is sending it, when another one would; null once it has ended.',
  }),
  last_attempt: Type.Union([attempt, Type.Null()]),
};

export const deliverySchema = closed(delivery, 'One event for one webhook.');

export const loggedDeliverySchema = closed(
  { ...delivery, log: Type.Array(attempt, { description: 'Every attempt, oldest first.' }) },
  'A delivery with all its attempts.',
);
