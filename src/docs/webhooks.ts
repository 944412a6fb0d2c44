/** The webhooks of the OpenAPI document: one schema for each type of event, which the type selects. */

import { eventTypes, type EventType } from '../domain/events/event-type.ts';

/** The name of the schema of an event: `GiftCardCreatedEvent`. */
function nameOf(type: EventType): string {
  const words = type.split(/[._]/).map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Event`;
}

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

/** The schemas of the body of a webhook, by their names. */
export function eventSchemas(): Readonly<Record<string, object>> {
  const ofTypes = eventTypes.map((type): readonly [string, object] => [
    nameOf(type),
    {
      description: `The event \`${type}\`.`,
      allOf: [
        { $ref: referenceTo('Event') },
        { type: 'object', properties: { type: { type: 'string', const: type } }, required: ['type'] },
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
