/** The records of webhooks and their deliveries in the API. */

import { formatInstant, formatInstantOrNull } from '../../../core/domain/day.ts';
import type { AttemptRecord, DeliveryRecord, WebhookRecord } from './webhook-schemas.ts';
import type { Attempt, Delivery, Webhook } from './webhook.ts';

/** The record of a webhook, without its secret. */
export function webhookRecordOf(webhook: Webhook): WebhookRecord {
  const { paused, failing } = webhook;
  return {
    id: webhook.id,
    url: webhook.url,
    events: [...webhook.patterns],
    status: paused ? 'paused' : 'active',
    paused_at: formatInstantOrNull(paused?.at ?? null),
    pause_reason: paused?.reason ?? null,
    failing_since: formatInstantOrNull(failing?.since ?? null),
    failure: failing?.failure ?? null,
    previous_secret_until: formatInstantOrNull(webhook.previousSecretUntil),
    created_at: formatInstant(webhook.createdAt),
    updated_at: formatInstant(webhook.updatedAt),
  };
}

export function attemptRecordOf({ at, durationMs, result }: Attempt): AttemptRecord {
  return {
    attempted_at: formatInstant(at),
    duration_ms: durationMs,
    response: result.kind === 'responded' ? { status: result.status, body: result.body } : null,
    failure: result.kind === 'failed' ? { reason: result.reason, detail: result.detail } : null,
  };
}

export function deliveryRecordOf(delivery: Delivery): DeliveryRecord {
  return {
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    webhook_id: delivery.webhookId,
    status: delivery.status,
    created_at: formatInstant(delivery.createdAt),
    attempts: delivery.attempts,
    next_attempt_at: formatInstantOrNull(delivery.nextAt),
    last_attempt: delivery.last && attemptRecordOf(delivery.last),
  };
}
