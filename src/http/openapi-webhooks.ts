/** What the documentation says of events and webhooks. */

import type { Description } from './openapi-operations.ts';
import * as texts from './openapi-texts.ts';

function reference(name: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

function answerOf(members: Readonly<Record<string, object>>): object {
  return { type: 'object', properties: members, required: Object.keys(members), additionalProperties: false };
}

const { examples, ids } = texts;
const { ifMatch, ifNoneMatch, limit, before, after, afterEvent, lastEventId } = texts.parameters;
const webhook = { webhook: reference('Webhook') };
const webhookPath = `/webhooks/${ids.webhook_id}`;
const versioned = ['not-found', 'precondition-failed'] as const;

export const eventDescriptions = {
  listEvents: {
    tag: 'Events',
    summary: 'List events',
    description:
      'In the order in which they were committed, oldest first. `Link` leads to what comes behind the last one, now or later: a client that follows it gets every event once, in order. `after=latest` returns no events and a `Link` to what is committed from now on, also for a store without events: a client that does not need the past starts there. An event may appear a moment after its change was answered, while an earlier change is still being committed.',
    parameters: [limit, afterEvent],
    success: {
      status: 200,
      description: 'A page of events.',
      schema: answerOf({ events: { type: 'array', items: reference('Event') } }),
      example: { events: [examples.event] },
      headers: ['Link'],
    },
    faults: [],
    sample: texts.curl('GET', `/events?after=${ids.event_id}&limit=100`),
  },
  streamEvents: {
    tag: 'Events',
    summary: 'Follow events as they happen',
    description:
      'Server-sent events: `id` is the event’s id, `event` its type, `data` the event as JSON. A client that comes back with `Last-Event-ID` goes on behind that event and misses nothing; without it, it is told what happens from now on. Comments every 15 seconds keep the connection open. The stream ends when the service stops, and within a second or so when the token is revoked: it returns no event that was written after that. It is cut off if nothing is read from it for half a minute. A store may have 16 streams at once from one process, and a token 8 of them; at the limit, a stream whose client reads nothing is cut off for a new one.',
    parameters: [afterEvent, lastEventId],
    success: {
      status: 200,
      description: 'The stream.',
      type: 'text/event-stream',
      schema: { type: 'string' },
      example: `id: ${ids.event_id}\nevent: gift_card.redeemed\ndata: {"id":${ids.event_id},"type":"gift_card.redeemed",…}\n\n`,
      headers: [],
    },
    faults: [],
    sample: texts.curl('GET', '/events/stream'),
  },
  retrieveEvent: {
    tag: 'Events',
    summary: 'Retrieve an event',
    description: 'An event as webhooks are told it.',
    parameters: [],
    success: {
      status: 200,
      description: 'The event.',
      schema: answerOf({ event: reference('Event') }),
      example: { event: examples.event },
      headers: [],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `/events/${ids.event_id}`),
  },
  redeliverEvent: {
    tag: 'Events',
    summary: 'Send an event once more',
    description:
      'To one webhook, or to every active one that asks for such events, whether it was delivered before or not. It is the same message with the same `webhook-id`. The attempts start over.',
    parameters: [],
    body: {
      schema: 'Redeliver',
      wrapper: 'event',
      example: { webhook_id: ids.webhook_id },
      isRequired: false,
    },
    success: {
      status: 202,
      description: 'It will be sent. `deliveries` names to which webhooks.',
      schema: answerOf({ deliveries: { type: 'array', items: reference('Delivery') } }),
      example: { deliveries: [examples.delivery] },
      headers: [],
    },
    faults: ['not-found', 'webhook-paused'],
    sample: texts.curl('POST', `/events/${ids.event_id}/redeliver`),
  },
  createWebhook: {
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description:
      'Every event that is committed from now on and is asked for is posted to the address, signed by the [Standard Webhooks](https://www.standardwebhooks.com) scheme with the secret that only this answer holds. A store may have 20.',
    parameters: [],
    body: {
      schema: 'CreateWebhook',
      wrapper: 'webhook',
      example: { url: examples.webhook.url, events: ['gift_card.*'] },
      isRequired: true,
    },
    success: {
      status: 201,
      description: 'The webhook, with its secret: it is told here and never again.',
      schema: answerOf({ webhook: reference('WebhookWithSecret') }),
      example: { webhook: { ...examples.webhook, secret: examples.signingSecret } },
      headers: ['ETag', 'Location'],
    },
    faults: ['too-many-webhooks'],
    sample: texts.curl('POST', '/webhooks', {
      body: `{"url": "${examples.webhook.url}", "events": ["gift_card.*"]}`,
    }),
  },
  listWebhooks: {
    tag: 'Webhooks',
    summary: 'List webhooks',
    description: 'All of the store’s, oldest first, without their secrets.',
    parameters: [],
    success: {
      status: 200,
      description: 'The webhooks.',
      schema: answerOf({ webhooks: { type: 'array', items: reference('Webhook') } }),
      example: { webhooks: [examples.webhook] },
      headers: [],
    },
    faults: [],
    sample: texts.curl('GET', '/webhooks'),
  },
  retrieveWebhook: {
    tag: 'Webhooks',
    summary: 'Retrieve a webhook',
    description: 'With whether it is failing or paused, and since when.',
    parameters: [ifNoneMatch],
    success: {
      status: 200,
      description: 'The webhook.',
      schema: answerOf(webhook),
      example: { webhook: examples.webhook },
      headers: ['ETag'],
      isConditional: true,
    },
    faults: ['not-found'],
    sample: texts.curl('GET', webhookPath),
  },
  updateWebhook: {
    tag: 'Webhooks',
    summary: 'Update a webhook',
    description:
      'What is absent stays. While it is paused nothing is sent and nothing new is booked for it; what was missed can be read from `GET /events` and sent with redeliver. Resuming it sends what waited, and forgets its failures.',
    parameters: [ifMatch],
    body: { schema: 'UpdateWebhook', wrapper: 'webhook', example: { paused: true }, isRequired: false },
    success: {
      status: 200,
      description: 'The webhook.',
      schema: answerOf(webhook),
      example: { webhook: examples.webhook },
      headers: ['ETag'],
    },
    faults: versioned,
    sample: texts.curl('PUT', webhookPath, { body: '{"paused": false}' }),
  },
  deleteWebhook: {
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'With the log of its deliveries. What waits for it is not sent any more.',
    parameters: [ifMatch],
    body: { schema: 'Nothing', wrapper: 'webhook', example: {}, isRequired: false },
    success: {
      status: 200,
      description: 'The webhook as it was.',
      schema: answerOf(webhook),
      example: { webhook: examples.webhook },
      headers: [],
    },
    faults: versioned,
    sample: texts.curl('DELETE', webhookPath),
  },
  rotateWebhookSecret: {
    tag: 'Webhooks',
    summary: 'Rotate a webhook’s secret',
    description:
      'Every message carries a signature of the new secret at once, and one of the old secret for 24 hours more, so that the receiver can change over in between.',
    parameters: [ifMatch],
    body: { schema: 'Nothing', wrapper: 'webhook', example: {}, isRequired: false },
    success: {
      status: 200,
      description: 'The webhook, with its new secret: it is told here and never again.',
      schema: answerOf({ webhook: reference('WebhookWithSecret') }),
      example: { webhook: { ...examples.webhook, secret: examples.signingSecret } },
      headers: ['ETag'],
    },
    faults: versioned,
    sample: texts.curl('POST', `${webhookPath}/rotate_secret`),
  },
  testWebhook: {
    tag: 'Webhooks',
    summary: 'Send a test to a webhook',
    description:
      'Sends an event `webhook.test`, whatever the webhook asks for. The delivery tells what became of it.',
    parameters: [],
    body: { schema: 'Nothing', wrapper: 'webhook', example: {}, isRequired: false },
    success: {
      status: 202,
      description: 'It will be sent.',
      schema: answerOf({ delivery: reference('Delivery') }),
      example: { delivery: { ...examples.delivery, event_type: 'webhook.test' } },
      headers: [],
    },
    faults: ['not-found', 'webhook-paused'],
    sample: texts.curl('POST', `${webhookPath}/test`),
  },
  listDeliveries: {
    tag: 'Webhooks',
    summary: 'List a webhook’s deliveries',
    description:
      'What became of each event, newest first, for 30 days: `queued`, `retrying`, `delivered`, or `dead` after 72 hours of attempts. `before` and `after` name events.',
    parameters: [limit, before, after],
    success: {
      status: 200,
      description: 'A page of deliveries.',
      schema: answerOf({ deliveries: { type: 'array', items: reference('Delivery') } }),
      example: { deliveries: [examples.delivery] },
      headers: ['Link'],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `${webhookPath}/deliveries`),
  },
  retrieveDelivery: {
    tag: 'Webhooks',
    summary: 'Retrieve a delivery',
    description: 'With the log of all its attempts, oldest first.',
    parameters: [],
    success: {
      status: 200,
      description: 'The delivery.',
      schema: answerOf({ delivery: reference('LoggedDelivery') }),
      example: { delivery: { ...examples.delivery, log: [examples.delivery.last_attempt] } },
      headers: [],
    },
    faults: ['not-found'],
    sample: texts.curl('GET', `${webhookPath}/deliveries/${ids.event_id}`),
  },
} as const satisfies Readonly<Record<string, Description>>;
