/**
 * Webhooks: addresses that are told of a store's events, and what became of each.
 *
 * Terms: a *pattern* says which events an endpoint wants: one type, all of a group (`gift_card.*`), or all (`*`).
 * A *delivery* is one event for one webhook: *queued* until its first attempt, *retrying* while attempts fail,
 * and in the end *delivered*, or *dead* when the time for attempts is over. A webhook that is *paused* is told
 * nothing: the store asked for it, or every attempt has failed for days, or its receiver said that it is gone.
 */

import { formatInstant } from './day.ts';
import { accepted, refused, type Parsed } from './parsed.ts';
import type { AttemptRecord, DeliveryRecord, WebhookRecord } from './schemas.ts';

export const pauseReasons = ['requested', 'failures', 'gone'] as const;

export type PauseReason = (typeof pauseReasons)[number];

export type Webhook = {
  readonly storeId: number;
  readonly id: number;
  /** Counts its changes, starting at 1. */
  readonly version: number;
  /** As the rules for addresses have normalised it. */
  readonly url: string;
  readonly patterns: readonly string[];
  /** When it was paused (ms), and why; null while it is active. */
  readonly paused: { readonly at: number; readonly reason: PauseReason } | null;
  /** Since when every attempt has failed (ms), and how the first of them did; null while none has. */
  readonly failing: { readonly since: number; readonly failure: string } | null;
  /** Until when the secret before this one signs along (ms); null: there is none. */
  readonly previousSecretUntil: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** How many webhooks a store may have. */
export const webhooksMax = 20;

/** How long the secret before the present one signs along. */
export const secretOverlapMs = 24 * 60 * 60 * 1_000;

const patternsMax = 20;

/** The groups and types that may be asked for. Tests go to the webhook that they are for, whatever it asks for. */
export function eventPatterns(types: readonly string[]): readonly string[] {
  const named = types.filter((type) => type !== 'webhook.test');
  const groups = new Set(named.map((type) => `${type.split('.', 1)[0]}.*`));
  return ['*', ...groups, ...named];
}

/** Reads a list of patterns, each once; a text names several between commas. */
export function parsePatterns(value: unknown, known: readonly string[]): Parsed<readonly string[]> {
  const listed: readonly unknown[] | undefined = typeof value === 'string' ? value.split(',') : asList(value);
  if (!listed) return refused('must be a list of event types');
  const texts = listed.map((text) => (typeof text === 'string' ? text.trim() : text));
  const wrong = texts.find((text) => typeof text !== 'string' || !known.includes(text));
  if (typeof wrong === 'string')
    return refused(`must list event types: ${JSON.stringify(wrong.slice(0, 64))} is none`);
  if (wrong !== undefined) return refused('must be a list of event types');
  const patterns = [...new Set(texts.filter((text) => typeof text === 'string'))];
  if (patterns.length === 0) return refused('must name at least one event type');
  return patterns.length > patternsMax
    ? refused(`must have at most ${patternsMax} items`)
    : accepted(patterns);
}

function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** A webhook as the world reads it. Its secret is no part of it. */
export function webhookRecordOf(webhook: Webhook): WebhookRecord {
  const { paused, failing } = webhook;
  return {
    id: webhook.id,
    url: webhook.url,
    events: [...webhook.patterns],
    status: paused ? 'paused' : 'active',
    paused_at: formatOrNull(paused?.at),
    pause_reason: paused?.reason ?? null,
    failing_since: formatOrNull(failing?.since),
    failure: failing?.failure ?? null,
    previous_secret_until: formatOrNull(webhook.previousSecretUntil),
    created_at: formatInstant(webhook.createdAt),
    updated_at: formatInstant(webhook.updatedAt),
  };
}

export const deliveryStatuses = ['queued', 'retrying', 'delivered', 'dead'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** What came of an attempt: the receiver's answer, or why there was none. */
export type AttemptResult =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly detail: string };

export type Attempt = {
  readonly at: number;
  readonly durationMs: number;
  readonly result: AttemptResult;
};

export type Delivery = {
  readonly webhookId: number;
  readonly eventId: number;
  readonly eventType: string;
  readonly status: DeliveryStatus;
  readonly createdAt: number;
  readonly attempts: number;
  /** When it is due, or taken back from the process that has it; null once it has ended. */
  readonly nextAt: number | null;
  readonly last: Attempt | null;
};

export function attemptRecordOf({ at, durationMs, result }: Attempt): AttemptRecord {
  return {
    attempted_at: formatInstant(at),
    duration_ms: durationMs,
    response: result.kind === 'answered' ? { status: result.status, body: result.body } : null,
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
    next_attempt_at: formatOrNull(delivery.nextAt),
    last_attempt: delivery.last && attemptRecordOf(delivery.last),
  };
}

function formatOrNull(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : formatInstant(at);
}
