/** Deliveries, one row per event and webhook, and the log of earlier attempts. */

import type { Attempt, AttemptResult, Delivery, DeliveryStatus } from '../domain/webhook.ts';
import { all, first, execute, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

type ResultColumns = {
  readonly answer_status: bigint | null;
  readonly answer_body: string | null;
  readonly failure_reason: string | null;
  readonly failure: string | null;
};

type DeliveryRow = ResultColumns & {
  readonly webhook_id: bigint;
  readonly event_id: bigint;
  readonly type: string;
  readonly status: DeliveryStatus;
  readonly created_at: bigint;
  readonly attempts: bigint;
  readonly last_at: bigint | null;
  readonly next_at: bigint | null;
  readonly duration_ms: bigint | null;
};

function toResult(row: ResultColumns): AttemptResult {
  if (row.answer_status !== null)
    return { kind: 'responded', status: toNumber(row.answer_status), body: row.answer_body ?? '' };
  return { kind: 'failed', reason: row.failure_reason ?? '', detail: row.failure ?? '' };
}

function toDelivery(row: DeliveryRow): Delivery {
  const { last_at: lastAt, duration_ms: duration } = row;
  return {
    webhookId: toNumber(row.webhook_id),
    eventId: toNumber(row.event_id),
    eventType: row.type,
    status: row.status,
    createdAt: toNumber(row.created_at),
    attempts: toNumber(row.attempts),
    nextAt: toNumberOrNull(row.next_at),
    last:
      lastAt === null
        ? null
        : { at: toNumber(lastAt), durationMs: toNumber(duration ?? 0n), result: toResult(row) },
  };
}

export type WebhookKey = { readonly storeId: number; readonly webhookId: number };
export type DeliveryKey = WebhookKey & { readonly eventId: number };

export function* findDelivery({ storeId, webhookId, eventId }: DeliveryKey): Script<Delivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select d.*, e.type from webhook_deliveries d
    join events e on e.store_id = d.store_id and e.id = d.event_id
    where d.store_id = ${storeId} and d.webhook_id = ${webhookId} and d.event_id = ${eventId}`);
  return row && toDelivery(row);
}

/** Returns a webhook's deliveries of events with ids below `before`, newest first. */
export function* listDeliveriesBefore(
  { storeId, webhookId }: WebhookKey,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly Delivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select d.*, e.type from webhook_deliveries d
    join events e on e.store_id = d.store_id and e.id = d.event_id
    where d.store_id = ${storeId} and d.webhook_id = ${webhookId} and d.event_id < ${before}
    order by d.event_id desc limit ${limit}`);
  return rows.map(toDelivery);
}

/** Returns a webhook's deliveries of events with ids above `after`, oldest first. */
export function* listDeliveriesAfter(
  { storeId, webhookId }: WebhookKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Delivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select d.*, e.type from webhook_deliveries d
    join events e on e.store_id = d.store_id and e.id = d.event_id
    where d.store_id = ${storeId} and d.webhook_id = ${webhookId} and d.event_id > ${after}
    order by d.event_id limit ${limit}`);
  return rows.map(toDelivery);
}

/** Returns the newest delivery of an event type to a webhook. */
export function* findNewestDelivery(
  { storeId, webhookId }: WebhookKey,
  type: string,
): Script<Delivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select d.*, e.type from webhook_deliveries d
    join events e on e.store_id = d.store_id and e.id = d.event_id
    where d.store_id = ${storeId} and d.webhook_id = ${webhookId} and e.type = ${type}
    order by d.event_id desc limit 1`);
  return row && toDelivery(row);
}

type AttemptRow = ResultColumns & { readonly attempted_at: bigint; readonly duration_ms: bigint };

/** Returns the attempts of a delivery before the last one, oldest first. */
export function* listEarlierAttempts({
  storeId,
  webhookId,
  eventId,
}: DeliveryKey): Script<readonly Attempt[]> {
  const rows = yield* all(sql<AttemptRow>`
    select * from webhook_attempts
    where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId}
    order by attempt`);
  return rows.map((row) => ({
    at: toNumber(row.attempted_at),
    durationMs: toNumber(row.duration_ms),
    result: toResult(row),
  }));
}

/**
 * Enqueues an event for a webhook, or enqueues it again with a new retry period. A delivery that a process has
 * claimed is not changed.
 */
export function* requeueDelivery({ storeId, webhookId, eventId }: DeliveryKey, now: number): Script<void> {
  yield* execute(sql`
    insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, next_at)
    values (${storeId}, ${webhookId}, ${eventId}, 'queued', ${now}, ${now})
    on conflict (store_id, webhook_id, event_id) do update
    set status = 'queued', next_at = ${now}, attempts_before = webhook_deliveries.attempts, first_at = null
    where webhook_deliveries.lease is null`);
}

/**
 * Deletes up to `limit` finished deliveries of a webhook, of events with ids below `before`. Returns their
 * number.
 */
export function* eraseDeliveries(
  { storeId, webhookId }: WebhookKey,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<number> {
  const erased = yield* all(sql`
    delete from webhook_deliveries where store_id = ${storeId} and webhook_id = ${webhookId} and event_id in (
      select event_id from webhook_deliveries
      where store_id = ${storeId} and webhook_id = ${webhookId} and event_id < ${before} and next_at is null
      order by event_id limit ${limit})
    returning event_id`);
  return erased.length;
}
