/** The webhooks of a store, and their deliveries. */

import { ToolKey } from '../../../platform/tools.ts';
import type { Context } from '../../../core/storage/context.ts';
import { webhookEvent } from '../domain/webhook-event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import type { Secret } from '../../../platform/secret.ts';
import {
  secretOverlapMs,
  webhooksMax,
  type Attempt,
  type Delivery,
  type Webhook,
} from '../domain/webhook.ts';
import { webhookVersionTagOf } from './version.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { RetryTransaction, type Script } from '../../../database/sql/sql.ts';
import {
  findDelivery,
  findNewestDelivery,
  listDeliveriesAfter,
  listDeliveriesBefore,
  listEarlierAttempts,
} from '../storage/webhook-delivery.ts';
import {
  eraseWebhook,
  findWebhook,
  insertWebhook,
  findWebhooks,
  openWebhookSecret,
  replaceWebhook,
  sealWebhookSecret,
  takeTurn,
  type WebhookKept,
} from '../storage/webhook.ts';
import {
  newerPage,
  olderPage,
  type ListPage,
  type PageRequest,
} from '../../../core/money/service/movements.ts';

export { findDelivery, searchDeliveries } from '../storage/webhook-delivery.ts';

/** Functions of `delivery/`, which this layer does not import. `main.ts` provides them. */
export type WebhookUrls = {
  /** Returns a parser that accepts the URLs that are allowed now, and normalizes them. */
  urlParser(): Promise<(value: unknown) => Parsed<string>>;
  generateSecret(): Secret;
};

export const webhookUrlsTool = new ToolKey<WebhookUrls>('webhook URLs');

export type WebhookWithSecret = { readonly webhook: Webhook; readonly secret: Secret };

/**
 * Creates a webhook. The secret is returned only once.
 * @throws Fault `too-many-webhooks`.
 */
export function* addWebhook(
  ctx: Context,
  options: {
    readonly storeId: number;
    readonly url: string;
    readonly patterns: readonly string[];
    readonly secret: Secret;
  },
): Script<WebhookWithSecret> {
  const { storeId, url, patterns, secret } = options;
  const now = ctx.clock.now();
  yield* takeTurn(storeId, now);
  if ((yield* findWebhooks(storeId)).length >= webhooksMax) throw new Fault('too-many-webhooks');
  const webhook: Webhook = {
    storeId,
    id: ctx.random.id(),
    version: 1,
    url,
    patterns,
    paused: null,
    failing: null,
    previousSecretUntil: null,
    createdAt: now,
    updatedAt: now,
  };
  const sealedSecret = sealWebhookSecret(ctx, webhook, secret);
  yield* insertWebhook({ webhook, sealedSecret, sealedPrevious: null });
  return { webhook, secret };
}

export function* listStoreWebhooks(storeId: number): Script<readonly Webhook[]> {
  return (yield* findWebhooks(storeId)).map(({ webhook }) => webhook);
}

/** @throws Fault `not-found`. */
export function* showWebhook(storeId: number, id: number): Script<Webhook> {
  return (yield* requireWebhook({ storeId, id, versions: null })).webhook;
}

/** A webhook while it has a secret; undefined: it was deleted, or its secret was replaced. */
export function* findWebhookWith(
  ctx: Context,
  { storeId, id, secret }: Pick<Webhook, 'storeId' | 'id'> & { readonly secret: Secret },
): Script<Webhook | undefined> {
  const kept = yield* findWebhook(storeId, id);
  if (!kept) return undefined;
  const present = openWebhookSecret(ctx, kept.webhook, kept.sealedSecret);
  return present.reveal() === secret.reveal() ? kept.webhook : undefined;
}

export type WebhookCommand = {
  readonly storeId: number;
  readonly id: number;
  /** The versions that the request accepts (`If-Match`); null: any. */
  readonly versions: readonly string[] | null;
};

/** @throws Fault `not-found`, `precondition-failed`. */
function* requireWebhook({ storeId, id, versions }: WebhookCommand): Script<WebhookKept> {
  const kept = yield* findWebhook(storeId, id);
  if (!kept) throw new Fault('not-found');
  if (versions && !versions.includes(webhookVersionTagOf(kept.webhook)))
    throw new Fault('precondition-failed');
  return kept;
}

/** The changes of a webhook. Absent fields keep their values. */
export type WebhookChanges = {
  readonly url?: string;
  readonly patterns?: readonly string[];
  readonly paused?: boolean;
};

/**
 * Changes a webhook. Resuming it clears its failures, and its waiting deliveries are sent.
 * @throws Fault `not-found`, `precondition-failed`.
 */
export function* changeWebhook(
  ctx: Context,
  command: WebhookCommand & { readonly changes: WebhookChanges },
): Script<Webhook> {
  const kept = yield* requireWebhook(command);
  const { webhook } = kept;
  const { url = webhook.url, patterns = webhook.patterns, paused } = command.changes;
  const now = ctx.clock.now();
  const isPaused = paused ?? webhook.paused !== null;
  const isSame =
    url === webhook.url &&
    patterns.join(' ') === webhook.patterns.join(' ') &&
    isPaused === (webhook.paused !== null);
  if (isSame) return webhook;
  return yield* replace(ctx, kept, {
    url,
    patterns,
    paused: isPaused ? (webhook.paused ?? { at: now, reason: 'requested' }) : null,
    ...(webhook.paused && !isPaused && { failing: null }),
  });
}

function* replace(
  ctx: Context,
  read: WebhookKept,
  { sealedSecret, sealedPrevious, ...changes }: Partial<Webhook> & Partial<WebhookKept>,
): Script<Webhook> {
  const webhook: Webhook = {
    ...read.webhook,
    ...changes,
    version: read.webhook.version + 1,
    updatedAt: ctx.clock.now(),
  };
  const changed: WebhookKept = {
    webhook,
    sealedSecret: sealedSecret ?? read.sealedSecret,
    sealedPrevious: sealedPrevious === undefined ? read.sealedPrevious : sealedPrevious,
  };
  if (!(yield* replaceWebhook(read.webhook, changed)))
    throw new RetryTransaction('the webhook has changed since it was read');
  return webhook;
}

/**
 * Deletes a webhook and the log of its deliveries. Waiting deliveries are not sent.
 * @returns the webhook as it was. @throws Fault `not-found`, `precondition-failed`.
 */
export function* removeWebhook(command: WebhookCommand): Script<Webhook> {
  const { webhook } = yield* requireWebhook(command);
  if (!(yield* eraseWebhook(webhook)))
    throw new RetryTransaction('the webhook has changed since it was read');
  return webhook;
}

/**
 * Replaces the secret of a webhook. The new one is returned only once. For 24 hours, messages also carry a signature of
 * the previous one.
 * @throws Fault `not-found`, `precondition-failed`.
 */
export function* replaceWebhookSecret(
  ctx: Context,
  command: WebhookCommand & { readonly secret: Secret },
): Script<WebhookWithSecret> {
  const { secret } = command;
  const kept = yield* requireWebhook(command);
  const webhook = yield* replace(ctx, kept, {
    sealedSecret: sealWebhookSecret(ctx, kept.webhook, secret),
    sealedPrevious: kept.sealedSecret,
    previousSecretUntil: ctx.clock.latest() + secretOverlapMs,
  });
  return { webhook, secret };
}

/** Enqueues a test event for a webhook. @throws Fault `not-found`, `webhook-paused`. */
export function* sendTestEvent(
  ctx: Context,
  { storeId, id }: Omit<WebhookCommand, 'versions'>,
): Script<Delivery> {
  const { webhook } = yield* requireWebhook({ storeId, id, versions: null });
  if (webhook.paused) throw new Fault('webhook-paused');
  yield* recordEvent(ctx, webhookEvent('webhook.test', webhook));
  const delivery = yield* findNewestDelivery({ storeId, webhookId: id }, 'webhook.test');
  // The webhook was paused concurrently.
  if (!delivery) throw new RetryTransaction('the webhook has changed since it was read');
  return delivery;
}

/** A webhook's deliveries, newest events first. @throws Fault `not-found`. */
export function* listWebhookDeliveries(
  storeId: number,
  webhookId: number,
  { limit, before, after }: PageRequest,
): Script<ListPage<Delivery>> {
  yield* requireWebhook({ storeId, id: webhookId, versions: null });
  const key = { storeId, webhookId };
  if (after !== null) return newerPage(yield* listDeliveriesAfter(key, { after, limit: limit + 1 }), limit);
  const older = yield* listDeliveriesBefore(key, {
    before: before ?? Number.MAX_SAFE_INTEGER,
    limit: limit + 1,
  });
  return olderPage(older, { limit, isFirst: before === null });
}

/** A delivery with all its attempts, oldest first. @throws Fault `not-found`. */
export function* showDelivery(
  storeId: number,
  { webhookId, eventId }: { readonly webhookId: number; readonly eventId: number },
): Script<{ readonly delivery: Delivery; readonly attempts: readonly Attempt[] }> {
  const key = { storeId, webhookId, eventId };
  const delivery = yield* findDelivery(key);
  if (!delivery) throw new Fault('not-found');
  const earlier = yield* listEarlierAttempts(key);
  return { delivery, attempts: delivery.last ? [...earlier, delivery.last] : earlier };
}
