/** Webhooks over HTTP: made, changed, tried out, and what became of what was sent to them. */

import type { Parsed } from '../domain/parsed.ts';
import { attemptRecordOf, deliveryRecordOf, webhookRecordOf, type Webhook } from '../domain/webhook.ts';
import type { Answer } from '../service/idempotency.ts';
import {
  changeWebhook,
  createWebhook,
  listDeliveries,
  listStoreWebhooks,
  removeWebhook,
  rotateWebhookSecret,
  showDelivery,
  showWebhook,
  testWebhook,
  type WebhookCommand,
  type WebhookWithSecret,
} from '../service/webhook.ts';
import { etagOf, isKnown, matchedVersions, notModified } from './etag.ts';
import type { Exchange } from './exchange.ts';
import { jsonHeaders, listed, pageRequestOf } from './history.ts';
import { readBody } from './money.ts';
import * as parameters from './parameters.ts';
import type { Parameter } from './parameters.ts';
import { idOf } from './reading.ts';

/** `POST /webhooks` */
export async function postWebhook(exchange: Exchange): Promise<Answer> {
  const { ctx, caller, basePath, webhookUrls } = exchange;
  const parseUrl = await webhookUrls.urlParser();
  const { body, values } = readBody(exchange, 'webhook', {
    url: validated(parseUrl, parameters.webhookUrl),
    events: parameters.webhookEvents,
  });
  return exchange.write(body, function* () {
    const { url, events: patterns } = values();
    const secret = webhookUrls.drawSecret();
    const made = yield* createWebhook(ctx, { storeId: caller.store.id, url, patterns, secret });
    const { status, headers, body: text } = shownOnce(201, made);
    return {
      status,
      headers: { ...headers, location: `${basePath}/webhooks/${made.webhook.id}` },
      body: text,
    };
  });
}

/** `GET /webhooks` */
export async function getWebhooks({ storage, caller }: Exchange): Promise<Answer> {
  const webhooks = await storage.read(() => listStoreWebhooks(caller.store.id));
  return {
    status: 200,
    headers: jsonHeaders,
    body: JSON.stringify({ webhooks: webhooks.map(webhookRecordOf) }),
  };
}

/** `GET /webhooks/{webhook_id}` */
export async function getWebhook(exchange: Exchange): Promise<Answer> {
  const { storage, caller, request } = exchange;
  const webhook = await storage.read(() => showWebhook(caller.store.id, idOf(exchange, 'webhook_id')));
  const etag = etagOf(webhook);
  if (isKnown(request.headers['if-none-match'], etag)) return notModified(etag);
  return shown(webhook);
}

/** `PUT /webhooks/{webhook_id}` */
export async function putWebhook(exchange: Exchange): Promise<Answer> {
  const { ctx, webhookUrls } = exchange;
  const parseUrl = await webhookUrls.urlParser();
  const { body, values } = readBody(exchange, 'webhook', {
    url: validated(parseUrl, parameters.newWebhookUrl),
    events: parameters.newWebhookEvents,
    paused: parameters.paused,
  });
  return exchange.write(body, function* () {
    const command = webhookCommand(exchange);
    const { url, events, paused } = values();
    const changes = {
      ...(url !== undefined && { url }),
      ...(events !== undefined && { patterns: events }),
      ...(paused !== undefined && { paused }),
    };
    return shown(yield* changeWebhook(ctx, { ...command, changes }));
  });
}

/** `DELETE /webhooks/{webhook_id}` */
export async function deleteWebhook(exchange: Exchange): Promise<Answer> {
  const { body, values } = readBody(exchange, 'webhook', {});
  return exchange.write(body, function* () {
    values();
    const webhook = yield* removeWebhook(webhookCommand(exchange));
    return { status: 200, headers: jsonHeaders, body: JSON.stringify({ webhook: webhookRecordOf(webhook) }) };
  });
}

/** `POST /webhooks/{webhook_id}/rotate_secret` */
export async function postRotateSecret(exchange: Exchange): Promise<Answer> {
  const { ctx, webhookUrls } = exchange;
  const { body, values } = readBody(exchange, 'webhook', {});
  return exchange.write(body, function* () {
    values();
    const secret = webhookUrls.drawSecret();
    return shownOnce(200, yield* rotateWebhookSecret(ctx, { ...webhookCommand(exchange), secret }));
  });
}

/** `POST /webhooks/{webhook_id}/test` */
export async function postTest(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { body, values } = readBody(exchange, 'webhook', {});
  return exchange.write(body, function* () {
    values();
    const id = idOf(exchange, 'webhook_id');
    const delivery = yield* testWebhook(ctx, { storeId: caller.store.id, id });
    return {
      status: 202,
      headers: jsonHeaders,
      body: JSON.stringify({ delivery: deliveryRecordOf(delivery) }),
    };
  });
}

/** `GET /webhooks/{webhook_id}/deliveries` */
export async function getDeliveries(exchange: Exchange): Promise<Answer> {
  const { storage, caller } = exchange;
  const webhookId = idOf(exchange, 'webhook_id');
  const request = pageRequestOf(exchange);
  const page = await storage.read(() => listDeliveries(caller.store.id, webhookId, request));
  const items = page.items.map((delivery) => ({ id: delivery.eventId }));
  return listed(exchange, { ...page, items }, { deliveries: page.items.map(deliveryRecordOf) });
}

/** `GET /webhooks/{webhook_id}/deliveries/{event_id}` */
export async function getDelivery(exchange: Exchange): Promise<Answer> {
  const { storage, caller } = exchange;
  const key = { webhookId: idOf(exchange, 'webhook_id'), eventId: idOf(exchange, 'event_id') };
  const { delivery, attempts } = await storage.read(() => showDelivery(caller.store.id, key));
  return {
    status: 200,
    headers: jsonHeaders,
    body: JSON.stringify({
      delivery: { ...deliveryRecordOf(delivery), log: attempts.map(attemptRecordOf) },
    }),
  };
}

/** The parameter with the validation of a webhook URL. */
function validated<Required extends boolean>(
  parseUrl: (value: unknown) => Parsed<string>,
  parameter: Parameter<string, Required>,
): Parameter<string, Required> {
  return {
    ...parameter,
    read(value, reading) {
      const parsed = parameter.read(value, reading);
      return parsed.ok ? parseUrl(parsed.value) : parsed;
    },
  };
}

function webhookCommand(exchange: Exchange): WebhookCommand {
  const { caller, request } = exchange;
  const id = idOf(exchange, 'webhook_id');
  return { storeId: caller.store.id, id, versions: matchedVersions(request.headers['if-match'], id) };
}

function shown(webhook: Webhook): Answer {
  return {
    status: 200,
    headers: { ...jsonHeaders, etag: etagOf(webhook) },
    body: JSON.stringify({ webhook: webhookRecordOf(webhook) }),
  };
}

function shownOnce(status: number, { webhook, secret }: WebhookWithSecret): Answer {
  return {
    status,
    headers: { ...jsonHeaders, etag: etagOf(webhook) },
    body: JSON.stringify({ webhook: { ...webhookRecordOf(webhook), secret: secret.reveal() } }),
  };
}
