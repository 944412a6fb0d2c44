/** The webhooks of the OpenAPI document: one schema for each type of event, which the type selects. */

import { eventSchema } from '../../webhooks/domain/event-schemas.ts';
import { eventTypes, type EventType } from '../../../core/events/domain/event-type.ts';
import { published } from './published.ts';
import { objectNameOf } from './schema.ts';

/** The name of the schema of an event: `GiftCardCreatedEvent`. */
function nameOf(type: EventType): string {
  const words = type.split(/[._]/).map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Event`;
}

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

const { properties: members } = eventSchema.properties.data;

type Member = keyof typeof members;

/** The members that the data of an event of a type always has. */
const dataOf: Readonly<Record<EventType, readonly Member[]>> = {
  'gift_card.created': ['gift_card', 'changed'],
  'gift_card.updated': ['gift_card', 'changed'],
  'gift_card.disabled': ['gift_card', 'changed'],
  'gift_card.suspended': ['gift_card', 'changed'],
  'gift_card.resumed': ['gift_card', 'changed'],
  'gift_card.redeemed': ['gift_card', 'changed', 'transaction'],
  'gift_card.credited': ['gift_card', 'changed', 'transaction'],
  'gift_card.reversed': ['gift_card', 'changed', 'transaction'],
  'gift_card.held': ['gift_card', 'changed', 'hold'],
  'gift_card.hold_extended': ['gift_card', 'changed', 'hold'],
  'gift_card.hold_released': ['gift_card', 'changed', 'hold'],
  'gift_card.expired': ['gift_card', 'changed'],
  'gift_card.expiring_soon': ['gift_card', 'changed'],
  'gift_card.code_rotated': ['gift_card', 'changed'],
  'gift_card.retired_code_used': ['gift_card', 'changed'],
  'gift_card.delivery_failed': ['gift_card', 'changed', 'delivery'],
  'customer.created': ['customer'],
  'checkpoint.created': ['checkpoint'],
  'customer.erased': ['customer'],
  'batch.completed': ['batch'],
  'stock.completed': ['stock'],
  'stock.codes_read': ['stock', 'actor'],
  'stock.voided': ['stock', 'actor', 'codes'],
  'stock.code_tried': ['stock'],
  'webhook.test': ['webhook'],
  'webhook.paused': ['webhook'],
};

function memberSchema(name: Member): object {
  const object = objectNameOf(members[name]);
  return object === undefined ? published(members[name], 'response') : { $ref: referenceTo(object) };
}

function dataSchema(type: EventType): object {
  const required = dataOf[type];
  const properties = Object.fromEntries(required.map((name) => [name, memberSchema(name)]));
  return { type: 'object', properties, required };
}

/** The schemas of the body of a webhook, by their names. */
export function eventSchemas(): Readonly<Record<string, object>> {
  const ofTypes = eventTypes.map((type): readonly [string, object] => [
    nameOf(type),
    {
      description: `The event \`${type}\`.`,
      allOf: [
        { $ref: referenceTo('Event') },
        {
          type: 'object',
          properties: { type: { type: 'string', const: type }, data: dataSchema(type) },
          required: ['type', 'data'],
        },
      ],
    },
  ]);
  const mapping = eventTypes.map((type) => [type, referenceTo(nameOf(type))] as const);
  const any = {
    description: 'An event, by its type.',
    oneOf: mapping.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) },
  };
  return { ...Object.fromEntries(ofTypes), WebhookEvent: any };
}

/** The requests that the service sends to the URL of a webhook. */
export const webhooks = {
  event: {
    post: {
      operationId: 'receiveEvent',
      summary: 'Receive an event',
      description:
        'Sent to the URL of each webhook that subscribes to the type of the event, signed as Standard Webhooks defines.',
      tags: ['Webhooks'],
      security: [],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: referenceTo('WebhookEvent') } } },
      },
      responses: { '2XX': { description: 'The event was received.' } },
    },
  },
} as const;
