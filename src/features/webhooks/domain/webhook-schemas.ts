/** Schemas of webhooks and their deliveries. */

import Type, { type Static } from 'typebox';
import { deliveryStatuses, pauseReasons } from './webhook.ts';
import { closedObject, nullable, id, timestamp } from '../../../core/cards/domain/schemas.ts';

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
