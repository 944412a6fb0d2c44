/** Webhooks: URLs that receive a store's events. A *delivery* is one event for one webhook. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

/** `requested` by the store, every attempt failed for days, or the receiver responded that it is `gone` (410). */
export const pauseReasons = ['requested', 'failures', 'gone'] as const;

export type PauseReason = (typeof pauseReasons)[number];

export type Webhook = {
  readonly storeId: number;
  readonly id: number;
  /** Counts the changes, starting at 1. */
  readonly version: number;
  /** Normalized. */
  readonly url: string;
  /** The events that are sent: types, groups (`gift_card.*`) or all (`*`). */
  readonly patterns: readonly string[];
  /** When it was paused (ms), and why; null: active. A paused webhook does not receive events. */
  readonly paused: { readonly at: number; readonly reason: PauseReason } | null;
  /** The time (ms) and error of the first failure since the last success; null if there is none. */
  readonly failing: { readonly since: number; readonly failure: string } | null;
  /** Until when messages also carry a signature of the previous secret (ms); null: never. */
  readonly previousSecretUntil: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** The name of a webhook on pages and in the audit log: the rest of its URL can contain a secret of the receiver. */
export function hostOf({ url }: Pick<Webhook, 'url'>): string {
  return new URL(url).host;
}

/** Maximum number of webhooks of a store. */
export const webhooksMax = 20;

/** Messages also carry a signature of the previous secret for this time. */
export const secretOverlapMs = 24 * 60 * 60 * 1_000;

const patternsMax = 20;

/** The patterns that a webhook can have. `webhook.test` is not one of them: every webhook receives its own tests. */
export function eventPatterns(types: readonly string[]): readonly string[] {
  const named = types.filter((type) => type !== 'webhook.test');
  const groups = new Set(named.map((type) => `${type.split('.', 1)[0]}.*`));
  return ['*', ...groups, ...named];
}

/** Parses a list of patterns, or a comma-separated text, and removes duplicates. @param known the valid patterns. */
export function parsePatterns(value: unknown, known: readonly string[]): Parsed<readonly string[]> {
  const texts: readonly unknown[] | undefined =
    typeof value === 'string' ? value.split(',').map((text) => text.trim()) : asList(value);
  if (!texts) return rejected('must be a list of event types');
  const wrong = texts.find((text) => typeof text !== 'string' || !known.includes(text));
  if (typeof wrong === 'string')
    return rejected(`must list event types: ${JSON.stringify(wrong.slice(0, 64))} is not one`);
  if (wrong !== undefined) return rejected('must be a list of event types');
  const patterns = [...new Set(texts.filter((text) => typeof text === 'string'))];
  if (patterns.length === 0) return rejected('must list at least one event type');
  return patterns.length > patternsMax
    ? rejected(`must have at most ${patternsMax} items`)
    : accepted(patterns);
}

function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** `queued` until the first attempt, `retrying` while attempts fail, `dead` when the time for attempts is over. */
export const deliveryStatuses = ['queued', 'retrying', 'delivered', 'dead'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The result of an attempt: the receiver's response, or the reason why there was none. */
export type AttemptResult =
  | { readonly kind: 'responded'; readonly status: number; readonly body: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly detail: string };

export type Attempt = { readonly at: number; readonly durationMs: number; readonly result: AttemptResult };

export type Delivery = {
  readonly webhookId: number;
  readonly eventId: number;
  readonly eventType: string;
  readonly status: DeliveryStatus;
  readonly createdAt: number;
  readonly attempts: number;
  /** When the next attempt is due (ms), or another process can reclaim the current one; null after it has ended. */
  readonly nextAt: number | null;
  readonly last: Attempt | null;
};
