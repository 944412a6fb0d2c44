/**
 * The queue of webhook deliveries: due deliveries, claims and results.
 *
 * A process owns a claimed delivery until the lease expires. Another process can then claim it, and results
 * from the previous claim are ignored.
 */

import type { WrittenEvent } from '../../../core/events/domain/event.ts';
import type { EventType } from '../../../core/events/domain/event-type.ts';
import type { Attempt } from '../domain/webhook.ts';
import { earlierAttempts, lastAttempts, type DeliveryKey, type WebhookKey } from './webhook-delivery.ts';
import {
  toWebhook,
  webhookColumns,
  type WebhookKept,
  type WebhookPlace,
  type WebhookRow,
} from './webhook.ts';
import {
  all,
  first,
  execute,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';
import { forUpdateSkipLocked } from '../../../database/sql/fragments.ts';

/** An active webhook with due deliveries, and its store's domain. */
export type DueWebhook = WebhookKept & { readonly store: string };

/** Returns active webhooks of all stores with due deliveries, ordered by store and id, after a position. */
export function* listDueWebhooks(
  after: WebhookPlace,
  { now, limit }: { readonly now: number; readonly limit: number },
): Script<readonly DueWebhook[]> {
  const rows = yield* all(sql<WebhookRow & { readonly domain: string }>`
    select ${webhookColumns}, s.domain from webhooks
    join stores s on s.id = webhooks.store_id
    where s.status = 'open' and webhooks.status = 'active' and (webhooks.store_id, webhooks.id) > (${after.storeId}, ${after.id})
      and exists (select 1 from webhook_deliveries d
        where d.store_id = webhooks.store_id and d.webhook_id = webhooks.id and d.next_at <= ${now})
    order by webhooks.store_id, webhooks.id limit ${limit}`);
  return rows.map((row) => ({ ...toWebhook(row), store: row.domain }));
}

/** Returns whether any store has an active webhook, to which events can be delivered. */
export function* hasActiveWebhook(): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`select id from webhooks where status = 'active' limit 1`);
  return row !== undefined;
}

/** A delivery that this process has claimed. */
export type ClaimedDelivery = DeliveryKey & {
  readonly lease: number;
  /** All attempts, and those since the delivery was last requested. */
  readonly attempts: number;
  readonly attemptsSince: number;
  /** The first attempt since then (ms). */
  readonly firstAt: number | null;
  readonly event: WrittenEvent;
  /** The trace that it continues; null: none. */
  readonly traceContext: Uint8Array | null;
};

type ClaimedRow = {
  readonly event_id: bigint;
  readonly attempts: bigint;
  readonly attempts_before: bigint;
  readonly first_at: bigint | null;
  readonly type: EventType;
  readonly subject_version: bigint;
  readonly event_created_at: bigint;
  readonly data: string;
  readonly trace_context: Uint8Array | null;
};

export type Claim = {
  readonly lease: number;
  readonly now: number;
  /** When the lease expires (ms). */
  readonly until: number;
};

/** Claims up to `limit` due deliveries to a webhook, the longest due first. */
export function* claimDeliveries(
  { storeId, webhookId, limit }: WebhookKey & { readonly limit: number },
  { lease, now, until }: Claim,
): Script<readonly ClaimedDelivery[]> {
  const rows = yield* all(sql<ClaimedRow>`
    with due as materialized (
      select event_id from webhook_deliveries
      where store_id = ${storeId} and webhook_id = ${webhookId} and next_at <= ${now}
      order by next_at, event_id limit ${limit} ${forUpdateSkipLocked})
    update webhook_deliveries set lease = ${lease}, next_at = ${until}
    where store_id = ${storeId} and webhook_id = ${webhookId} and event_id in (select event_id from due)
    returning event_id, attempts, attempts_before, first_at,
      (select e.type from events e where e.store_id = ${storeId} and e.id = webhook_deliveries.event_id) as type,
      (select e.subject_version from events e where e.store_id = ${storeId} and e.id = webhook_deliveries.event_id) as subject_version,
      (select e.created_at from events e where e.store_id = ${storeId} and e.id = webhook_deliveries.event_id) as event_created_at,
      (select e.data from events e where e.store_id = ${storeId} and e.id = webhook_deliveries.event_id) as data,
      (select e.trace_context from events e where e.store_id = ${storeId} and e.id = webhook_deliveries.event_id) as trace_context`);
  return rows.map((row) => ({
    storeId,
    webhookId,
    eventId: toNumber(row.event_id),
    lease,
    attempts: toNumber(row.attempts),
    attemptsSince: toNumber(row.attempts - row.attempts_before),
    firstAt: toNumberOrNull(row.first_at),
    event: {
      id: toNumber(row.event_id),
      type: row.type,
      sequence: toNumber(row.subject_version),
      createdAt: toNumber(row.event_created_at),
      data: row.data,
    },
    traceContext: row.trace_context,
  }));
}

/** The result of an attempt. */
export type SettledAttempt = Attempt & {
  /** Start of the retry period (ms), if this is the first attempt. */
  readonly firstAt: number;
  readonly status: 'delivered' | 'retrying' | 'dead';
  /** Time of the next attempt (ms); null: no further attempt. */
  readonly nextAt: number | null;
};

/** Records the result of an attempt, unless another process has claimed the delivery. */
export function* settleDelivery(claimed: ClaimedDelivery, settled: SettledAttempt): Script<void> {
  const { storeId, webhookId, eventId, lease } = claimed;
  const { firstAt, status, nextAt } = settled;
  if (claimed.attempts > 0) {
    yield* execute(sql`
      insert into webhook_attempts (store_id, webhook_id, event_id, attempt, ${earlierAttempts.names})
      select store_id, webhook_id, event_id, attempts, ${lastAttempts.names}
      from webhook_deliveries
      where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId} and lease = ${lease}`);
  }
  yield* execute(sql`
    update webhook_deliveries set status = ${status}, attempts = attempts + 1, first_at = coalesce(first_at, ${firstAt}),
      next_at = ${nextAt}, lease = null, (${lastAttempts.names}) = (${lastAttempts.values(settled)})
    where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId} and lease = ${lease}`);
}

/** Releases a claimed delivery that was not attempted. */
export function* releaseDelivery(
  { storeId, webhookId, eventId, lease }: ClaimedDelivery,
  now: number,
): Script<void> {
  yield* execute(sql`
    update webhook_deliveries set lease = null, next_at = ${now}
    where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId} and lease = ${lease}`);
}

/** Records a successful delivery: the webhook is no longer failing. */
export function* noteRecovery({ storeId, webhookId }: WebhookKey, now: number): Script<void> {
  yield* execute(sql`
    update webhooks set failing_since = null, failure = null, version = version + 1, updated_at = ${now}
    where store_id = ${storeId} and id = ${webhookId} and failing_since is not null`);
}

/** Marks the webhook as failing since `at` (ms), if it is not failing already. */
export function* noteFailure(
  { storeId, webhookId }: WebhookKey,
  { at, failure }: { readonly at: number; readonly failure: string },
): Script<void> {
  yield* execute(sql`
    update webhooks set failing_since = ${at}, failure = ${failure}, version = version + 1, updated_at = ${at}
    where store_id = ${storeId} and id = ${webhookId} and failing_since is null`);
}

/** Pauses an active webhook that has failed since `failingSince` (ms) or earlier. Otherwise returns undefined. */
export function* pauseFailing(
  { storeId, webhookId }: WebhookKey,
  {
    now,
    reason,
    failingSince,
  }: { readonly now: number; readonly reason: 'failures' | 'gone'; readonly failingSince: number },
): Script<WebhookKept | undefined> {
  const row = yield* first(sql<WebhookRow>`
    update webhooks set status = 'paused', paused_at = ${now}, pause_reason = ${reason}, version = version + 1,
      updated_at = ${now}
    where store_id = ${storeId} and id = ${webhookId} and status = 'active' and failing_since <= ${failingSince}
    returning ${webhookColumns}`);
  return row && toWebhook(row);
}
