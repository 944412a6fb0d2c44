/** Deliveries, one row per event and webhook, and the log of earlier attempts. */

import type { Attempt, AttemptResult, Delivery, DeliveryStatus } from '../domain/webhook.ts';
import { timeUnlessHeld } from '../../../core/domain/held.ts';
import { columns, integer, unchanged, writeOnly, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  first,
  execute,
  parallel,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';
import { fragment } from '../../../database/sql/fragments.ts';
import { instantOf } from '../../../platform/random.ts';
import type { WebhookPlace } from './webhook.ts';

type ResultRow = {
  readonly response_body: string | null;
  readonly failure_reason: string | null;
  readonly failure: string | null;
};

const responseOf = ({ result }: Attempt) => (result.kind === 'responded' ? result : null);
const failureOf = ({ result }: Attempt) => (result.kind === 'failed' ? result : null);

const result = {
  response_status: {
    field: 'result',
    read: (status: bigint | null, row: ResultRow): AttemptResult =>
      status === null
        ? { kind: 'failed', reason: row.failure_reason ?? '', detail: row.failure ?? '' }
        : { kind: 'responded', status: toNumber(status), body: row.response_body ?? '' },
    write: (attempt: Attempt) => responseOf(attempt)?.status ?? null,
  },
  response_body: writeOnly<string | null>()((attempt: Attempt) => responseOf(attempt)?.body ?? null),
  failure_reason: writeOnly<string | null>()((attempt: Attempt) => failureOf(attempt)?.reason ?? null),
  failure: writeOnly<string | null>()((attempt: Attempt) => failureOf(attempt)?.detail ?? null),
  duration_ms: integer('durationMs', (duration: bigint | null) => toNumber(duration ?? 0n)),
} as const;

/** The last attempt, in its delivery. */
export const lastAttempts = columns({ last_at: integer('at'), ...result });

/** An attempt before the last one. */
export const earlierAttempts = columns({ attempted_at: integer('at'), ...result });

const deliveries = columns({
  webhook_id: integer('webhookId'),
  event_id: integer('eventId'),
  status: unchanged<DeliveryStatus>()('status'),
  created_at: integer('createdAt'),
  attempts: integer('attempts'),
  // One that waits for an owner after a restore has no time.
  next_at: {
    field: 'nextAt',
    read: (stored: bigint | null) => timeUnlessHeld(toNumberOrNull(stored)),
    write: ({ nextAt }: { readonly nextAt: number | null }) => nextAt,
  },
});

type DeliveryRow = RowOf<typeof deliveries> &
  Omit<RowOf<typeof lastAttempts>, 'last_at'> & { readonly last_at: bigint | null; readonly type: string };

/** `select ${deliveryColumns} from webhook_deliveries d join events e …`: the columns of `DeliveryRow`. */
const deliveryColumns = fragment`${deliveries.of('d')}, ${lastAttempts.of('d')}, e.type`;

function toDelivery(row: DeliveryRow): Delivery {
  const { last_at: lastAt } = row;
  return {
    ...deliveries.read(row),
    eventType: row.type,
    last: lastAt === null ? null : lastAttempts.read({ ...row, last_at: lastAt }),
  };
}

export type WebhookKey = { readonly storeId: number; readonly webhookId: number };
export type DeliveryKey = WebhookKey & { readonly eventId: number };

export function* findDelivery({ storeId, webhookId, eventId }: DeliveryKey): Script<Delivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select ${deliveryColumns} from webhook_deliveries d
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
    select ${deliveryColumns} from webhook_deliveries d
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
    select ${deliveryColumns} from webhook_deliveries d
    join events e on e.store_id = d.store_id and e.id = d.event_id
    where d.store_id = ${storeId} and d.webhook_id = ${webhookId} and d.event_id > ${after}
    order by d.event_id limit ${limit}`);
  return rows.map(toDelivery);
}

/** With a state, so many deliveries are read at most, because there is no index of states. */
const scannedMax = 2_000;

export type FoundDeliveries = {
  readonly deliveries: readonly Delivery[];
  /** The oldest event whose delivery was read, if there can be older ones with the state; null: there are none. */
  readonly scannedTo: number | null;
};

/** A webhook's deliveries of events with ids below `before`, newest first. @param status null: every state. */
export function* searchDeliveries(
  key: WebhookKey,
  {
    before,
    limit,
    status,
  }: { readonly before: number; readonly limit: number; readonly status: DeliveryStatus | null },
): Script<FoundDeliveries> {
  if (status === null)
    return { deliveries: yield* listDeliveriesBefore(key, { before, limit }), scannedTo: null };
  const { storeId, webhookId } = key;
  const [rows, last] = yield* parallel(
    all(sql<DeliveryRow>`
      select ${deliveryColumns} from (
        select event_id from (
          select event_id, status from webhook_deliveries
          where store_id = ${storeId} and webhook_id = ${webhookId} and event_id < ${before}
          order by event_id desc limit ${scannedMax}) recent
        where recent.status = ${status} order by event_id desc limit ${limit}) found
      join webhook_deliveries d
        on d.store_id = ${storeId} and d.webhook_id = ${webhookId} and d.event_id = found.event_id
      join events e on e.store_id = d.store_id and e.id = d.event_id
      order by d.event_id desc`),
    first(sql<{ event_id: bigint }>`
      select event_id from webhook_deliveries
      where store_id = ${storeId} and webhook_id = ${webhookId} and event_id < ${before}
      order by event_id desc limit 1 offset ${scannedMax - 1}`),
  );
  return { deliveries: rows.map(toDelivery), scannedTo: last ? toNumber(last.event_id) : null };
}

/** Returns the newest delivery of an event type to a webhook. */
export function* findNewestDelivery(
  { storeId, webhookId }: WebhookKey,
  type: string,
): Script<Delivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select ${deliveryColumns} from webhook_deliveries d
    join events e on e.store_id = d.store_id and e.id = d.event_id
    where d.store_id = ${storeId} and d.webhook_id = ${webhookId} and e.type = ${type}
    order by d.event_id desc limit 1`);
  return row && toDelivery(row);
}

/** Returns the attempts of a delivery before the last one, oldest first. */
export function* listEarlierAttempts({
  storeId,
  webhookId,
  eventId,
}: DeliveryKey): Script<readonly Attempt[]> {
  const rows = yield* all(sql<RowOf<typeof earlierAttempts>>`
    select ${earlierAttempts.names} from webhook_attempts
    where store_id = ${storeId} and webhook_id = ${webhookId} and event_id = ${eventId}
    order by attempt`);
  return rows.map(earlierAttempts.read);
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

/** Returns the webhooks of a store that have ended deliveries of events with ids below `before`. */
export function* listWebhooksWithEnded(storeId: number, before: number): Script<readonly WebhookPlace[]> {
  const rows = yield* all(sql<{ id: bigint }>`
    select w.id from webhooks w where w.store_id = ${storeId} and exists (
      select 1 as one from webhook_deliveries d
      where d.store_id = ${storeId} and d.webhook_id = w.id and d.event_id < ${before} and d.next_at is null)
    order by w.id`);
  return rows.map(({ id }) => ({ storeId, id: toNumber(id) }));
}

/** Returns the age (ms) of the oldest event that a store delivers or has delivered; null: it has no deliveries. */
export function* findOldestDelivery(storeId: number): Script<number | null> {
  const rows = yield* all(sql<{ oldest: bigint | null }>`
    select (select d.event_id from webhook_deliveries d where d.store_id = ${storeId} and d.webhook_id = w.id
      order by d.event_id limit 1) as oldest
    from webhooks w where w.store_id = ${storeId}`);
  const found = rows.flatMap(({ oldest }) => (oldest === null ? [] : [instantOf(toNumber(oldest))]));
  return found.length === 0 ? null : Math.min(...found);
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
