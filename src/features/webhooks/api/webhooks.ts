/** Webhooks and their deliveries. */

import { webhookUrlsTool } from '../service/webhook.ts';
import Type from 'typebox';
import {
  deliverySchema,
  loggedDeliverySchema,
  webhookSchema,
  webhookWithSecretSchema,
} from '../domain/webhook-schemas.ts';
import type { Webhook } from '../domain/webhook.ts';
import { attemptRecordOf, deliveryRecordOf, webhookRecordOf } from '../domain/webhook-record.ts';
import { etagOf } from '../../../http/etag.ts';
import { webhookVersionTagOf } from '../service/version.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import * as service from '../service/webhook.ts';
import { noFields } from '../../../api/documentation.ts';
import * as examples from '../../../api/examples.ts';
import { optional, type FieldContext } from '../../../api/field.ts';
import * as fields from '../../../core/cards/api/fields.ts';
import { list, recordsOf } from '../../../api/list.ts';
import { read, write, type WriteRequest } from '../../../api/operation.ts';
import { webhookEvents, webhookUrl } from './webhook-fields.ts';

const oneWebhook = {
  description: 'The webhook.',
  members: { webhook: webhookSchema },
  example: { webhook: examples.webhook },
} as const;

const withSecret = {
  members: { webhook: webhookWithSecretSchema },
  example: { webhook: { ...examples.webhook, secret: examples.signingSecret } },
} as const;

function webhookResult(webhook: Webhook) {
  return {
    body: { webhook: webhookRecordOf(webhook) },
    headers: { etag: etagOf({ id: webhook.id, version: webhookVersionTagOf(webhook) }) },
  };
}

function secretResult({ webhook, secret }: service.WebhookWithSecret) {
  const { body, headers } = webhookResult(webhook);
  return { body: { webhook: { ...body.webhook, secret: secret.reveal() } }, headers };
}

function commandOf({
  store,
  ids: { webhook_id: id },
  ifMatch,
}: WriteRequest<'/webhooks/:webhook_id', unknown>): service.WebhookCommand {
  return { storeId: store.id, id, versions: ifMatch(id) };
}

/** The allowed URLs depend on the database: development mode ends with the first real store. */
async function prepare({ tools }: RequestContext): Promise<Partial<FieldContext>> {
  return { parseWebhookUrl: await tools.of(webhookUrlsTool).urlParser() };
}

export const createWebhook = write({
  id: 'createWebhook',
  method: 'POST',
  path: '/webhooks',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'Create a webhook',
  description:
    'Posts every matching event that is committed from now on to the URL, signed by the [Standard Webhooks](https://www.standardwebhooks.com) scheme. Only this response contains the secret. A store can have 20 webhooks.',
  body: {
    name: 'CreateWebhook',
    wrapper: 'webhook',
    fields: { url: webhookUrl, events: webhookEvents },
    example: { url: examples.webhook.url, events: ['gift_card.*'] },
  },
  response: {
    ...withSecret,
    status: 201,
    description: 'The new webhook. Only this response contains its secret.',
    headers: ['ETag', 'Location'],
  },
  errors: ['too-many-webhooks'],
  prepare,
  *run({ ctx, store, body: { url, events: patterns }, requestContext }) {
    const secret = requestContext.tools.of(webhookUrlsTool).generateSecret();
    const created = yield* service.addWebhook(ctx, { storeId: store.id, url, patterns, secret });
    const { body, headers } = secretResult(created);
    return {
      body,
      headers: { ...headers, location: `${requestContext.basePath}/webhooks/${created.webhook.id}` },
    };
  },
});

export const listWebhooks = read({
  id: 'listWebhooks',
  path: '/webhooks',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'List webhooks',
  description: 'Returns all webhooks of the store, oldest first, without their secrets.',
  response: {
    description: 'The webhooks.',
    members: { webhooks: Type.Array(webhookSchema) },
    example: { webhooks: [examples.webhook] },
  },
  errors: [],
  *run({ store }) {
    const webhooks = yield* service.listStoreWebhooks(store.id);
    return { body: { webhooks: webhooks.map(webhookRecordOf) } };
  },
});

export const retrieveWebhook = read({
  id: 'retrieveWebhook',
  path: '/webhooks/:webhook_id',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'Retrieve a webhook',
  description: 'Returns the webhook, including whether it is failing or paused, and since when.',
  response: { ...oneWebhook, headers: ['ETag'] },
  isConditional: true,
  errors: ['not-found'],
  *run({ store, ids }) {
    return webhookResult(yield* service.showWebhook(store.id, ids.webhook_id));
  },
});

export const updateWebhook = write({
  id: 'updateWebhook',
  method: 'PUT',
  path: '/webhooks/:webhook_id',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'Update a webhook',
  description:
    'Absent fields keep their values. While a webhook is paused, nothing is sent and no new events are queued for it; read missed events with `GET /events` and redeliver them. Resuming it sends the queued deliveries and clears its failures.',
  body: {
    name: 'UpdateWebhook',
    wrapper: 'webhook',
    fields: { url: optional(webhookUrl), events: optional(webhookEvents), paused: fields.paused },
    example: { paused: true },
  },
  response: { ...oneWebhook, status: 200, headers: ['ETag'] },
  errors: ['not-found', 'precondition-failed'],
  sample: { body: { paused: false } },
  prepare,
  *run(request) {
    const { url, events, paused } = request.body;
    const changes = {
      ...(url !== undefined && { url }),
      ...(events !== undefined && { patterns: events }),
      ...(paused !== undefined && { paused }),
    };
    return webhookResult(yield* service.changeWebhook(request.ctx, { ...commandOf(request), changes }));
  },
});

export const deleteWebhook = write({
  id: 'deleteWebhook',
  method: 'DELETE',
  path: '/webhooks/:webhook_id',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'Delete a webhook',
  description: 'Deletes the webhook and the log of its deliveries. Queued deliveries are not sent.',
  body: noFields('webhook'),
  response: { ...oneWebhook, status: 200, description: 'The deleted webhook.' },
  errors: ['not-found', 'precondition-failed'],
  *run(request) {
    return { body: webhookResult(yield* service.removeWebhook(commandOf(request))).body };
  },
});

export const rotateWebhookSecret = write({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/:webhook_id/rotate_secret',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'Rotate a webhook’s secret',
  description:
    'Messages carry a signature of the new secret immediately, and also one of the old secret for 24 hours, so that the receiver can switch during that time.',
  body: noFields('webhook'),
  response: {
    ...withSecret,
    status: 200,
    description: 'The webhook with its new secret. Only this response contains the secret.',
    headers: ['ETag'],
  },
  errors: ['not-found', 'precondition-failed'],
  *run(request) {
    const { ctx, requestContext } = request;
    const secret = requestContext.tools.of(webhookUrlsTool).generateSecret();
    return secretResult(yield* service.replaceWebhookSecret(ctx, { ...commandOf(request), secret }));
  },
});

export const testWebhook = write({
  id: 'testWebhook',
  method: 'POST',
  path: '/webhooks/:webhook_id/test',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'Test a webhook',
  description:
    'Sends the event `webhook.test`, whether or not the webhook subscribes to it. Retrieve the delivery to see the result.',
  body: noFields('webhook'),
  response: {
    status: 202,
    description: 'The queued delivery.',
    members: { delivery: deliverySchema },
    example: { delivery: { ...examples.delivery, event_type: 'webhook.test' } },
  },
  errors: ['not-found', 'webhook-paused'],
  *run({ ctx, store, ids }) {
    const delivery = yield* service.sendTestEvent(ctx, { storeId: store.id, id: ids.webhook_id });
    return { body: { delivery: deliveryRecordOf(delivery) } };
  },
});

export const listDeliveries = list({
  id: 'listDeliveries',
  path: '/webhooks/:webhook_id/deliveries',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'List a webhook’s deliveries',
  description:
    'Returns the deliveries of the last 30 days, newest first: `queued`, `retrying`, `delivered`, or `dead` after 72 hours of attempts. `before` and `after` are ids of events.',
  member: 'deliveries',
  record: deliverySchema,
  example: examples.delivery,
  responseDescription: 'A page of deliveries.',
  cursor: { isPublic: false, of: ({ event_id: id }) => id },
  errors: ['not-found'],
  *page({ store, ids }, page) {
    return recordsOf(yield* service.listWebhookDeliveries(store.id, ids.webhook_id, page), deliveryRecordOf);
  },
});

export const retrieveDelivery = read({
  id: 'retrieveDelivery',
  path: '/webhooks/:webhook_id/deliveries/:event_id',
  scopes: ['manage_webhooks'],
  tag: 'Webhooks',
  summary: 'Retrieve a delivery',
  description: 'Returns the delivery with the log of all its attempts, oldest first.',
  response: {
    description: 'The delivery.',
    members: { delivery: loggedDeliverySchema },
    example: { delivery: examples.loggedDelivery },
  },
  errors: ['not-found'],
  *run({ store, ids: { webhook_id: webhookId, event_id: eventId } }) {
    const { delivery, attempts } = yield* service.showDelivery(store.id, { webhookId, eventId });
    return { body: { delivery: { ...deliveryRecordOf(delivery), log: attempts.map(attemptRecordOf) } } };
  },
});
