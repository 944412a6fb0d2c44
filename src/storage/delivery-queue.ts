/**
 * The queue of deliveries: which are due, which process has them, and what came of them.
 *
 * A process has what it has claimed until the claim's end: then whoever comes may claim it, and what the first one
 * still has to say of it does not count any more.
 */

import type { EventType, WrittenEvent } from '../domain/event.ts';
import type { AttemptResult } from '../domain/webhook.ts';
import type { DeliveryKey, WebhookKey } from './webhook-delivery.ts';
import { toWebhook, type WebhookKept, type WebhookPlace, type WebhookRow } from './webhook.ts';
import { all, first, forUpdateSkipLocked, run, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

/** An active webhook for which something is due, with its store's domain. */
export type DueWebhook = WebhookKept & { readonly store: string };

/** Active webhooks of all stores behind a place, for which something is due. */
export function* listDueWebhooks(
  after: WebhookPlace,
  { now, limit }: { readonly now: number; readonly limit: number },
): Script<readonly DueWebhook[]> {
  const rows = yield* all(sql<WebhookRow & { readonly domain: string }>`
    select w.*, s.domain from webhooks w
    join stores s on s.id = w.store_id
    where w.status = 'active' and (w.store_id, w.id) > (${after.storeId}, ${after.id})
      and exists (select 1 from webhook_deliveries d
        where d.store_id = w.store_id and d.webhook_id = w.id and d.next_at <= ${now})
    order by w.store_id, w.id limit ${limit}`);
  return rows.map((row) => ({ ...toWebhook(row), store: row.domain }));
}

/** A delivery that this process has. */
export type ClaimedDelivery = DeliveryKey & {
  readonly lease: number;
  /** Attempts made so far, and of them those since it was last asked for. */
  readonly attempts: number;
  readonly attemptsSince: number;
  /** The first of the latter (ms). */
  readonly firstAt: number | null;
  readonly event: WrittenEvent;
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
};

export type Claim = {
  /** The id of the claim. */
  readonly lease: number;
  readonly now: number;
  /** When it ends. */
  readonly until: number;
};

/** Claims up to `limit` deliveries to a webhook that are due, those of the oldest events first. */
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
      (select e.data from events e where e.store_id = ${storeId} and e.id = webhook_deliveries.event_id) as data`);
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
  }));
}

/** What came of an attempt at a delivery. */
export type SettledAttempt = {
  readonly at: number;
  /** From when on the time for attempts is counted, if this was the first one. */
  readonly firstAt: number;
  readonly durationMs: number;
  readonly result: AttemptResult;
  readonly status: 'delivered' | 'retrying' | 'dead';
  /** When it is tried again; null if it has ended. */
  readonly nextAt: number | null;
};

/** Records what came of an attempt, unless somebody else has the delivery by now. */
export function* settleDelivery(claimed: ClaimedDelivery, settled: SettledAttempt): Script<void> {
  const { storeId, webhookId, eventId, lease } = claimed;
  const { at, firstAt, durationMs, result, status, nextAt } = settled;
  const answer = result.kind === 'answered' ? result : null;
  const failure = result.kind === 'failed' ? result : null;
  if (claimed.attempts > 0) {
    yield* run(sql`
      insert into webhook_attempts (store_id, webhook_id, event_id, attempt, attempted_at, duration_ms,
        answer_status, answer_body, failure_reason, failure)
      select store_id, webhook_id, event_id, attempts, last_at, duration_ms,
        answer_status, answer_body, failure_reason, failure
      from webhook_deliveries
      where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId} and lease = ${lease}`);
  }
  yield* run(sql`
    update webhook_deliveries set status = ${status}, attempts = attempts + 1, first_at = coalesce(first_at, ${firstAt}),
      last_at = ${at}, next_at = ${nextAt}, lease = null, duration_ms = ${durationMs},
      answer_status = ${answer?.status ?? null}, answer_body = ${answer?.body ?? null},
      failure_reason = ${failure?.reason ?? null}, failure = ${failure?.detail ?? null}
    where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId} and lease = ${lease}`);
}

/** Gives back a delivery that was claimed and not attempted. */
export function* releaseDelivery(
  { storeId, webhookId, eventId, lease }: ClaimedDelivery,
  now: number,
): Script<void> {
  yield* run(sql`
    update webhook_deliveries set lease = null, next_at = ${now}
    where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId} and lease = ${lease}`);
}

/** Something was delivered: the webhook is not failing any more. */
export function* noteRecovery({ storeId, webhookId }: WebhookKey, now: number): Script<void> {
  yield* run(sql`
    update webhooks set failing_since = null, failure = null, version = version + 1, updated_at = ${now}
    where store_id = ${storeId} and id = ${webhookId} and failing_since is not null`);
}

/** An attempt has failed: from now on the webhook is failing, unless it was before. */
export function* noteFailure(
  { storeId, webhookId }: WebhookKey,
  { at, failure }: { readonly at: number; readonly failure: string },
): Script<void> {
  yield* run(sql`
    update webhooks set failing_since = ${at}, failure = ${failure}, version = version + 1, updated_at = ${at}
    where store_id = ${storeId} and id = ${webhookId} and failing_since is null`);
}

/** Pauses a webhook that is active and has failed since `failingSince` or longer; undefined if it is not so. */
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
    returning *`);
  return row && toWebhook(row);
}
