/** Erases expired data in small transactions. While the clock is not trusted, nothing is erased. */

import { idsAt } from '../random.ts';
import type { Context } from '../context.ts';
import { eraseIdempotencyRecords } from '../storage/idempotency.ts';
import { eraseRefilled } from '../storage/lookup-throttle.ts';
import { parallel, type Script } from '../storage/sql.ts';
import { eraseDeliveries } from '../storage/webhook-delivery.ts';
import type { WebhookPlace } from '../storage/webhook.ts';
import { idempotencyPeriodMs } from './idempotency.ts';

/**
 * Erases up to `limit` expired idempotency records, and up to `limit` refilled lookup budgets.
 * @returns whether there can be more.
 */
export function* eraseOutdated(ctx: Context, limit: number): Script<boolean> {
  const [records, budgets] = yield* parallel(
    eraseIdempotencyRecords(ctx.clock.retainFrom(idempotencyPeriodMs), limit),
    eraseRefilled(ctx.clock.earliest(), limit),
  );
  return records === limit || budgets === limit;
}

/** How long the deliveries of an event are stored. */
const deliveryPeriodMs = 30 * 24 * 60 * 60 * 1_000;

/**
 * Erases up to `limit` ended deliveries to a webhook, of events from more than 30 days ago.
 * @returns whether there can be more.
 */
export function* eraseDeliveriesOf(
  ctx: Context,
  { storeId, id }: WebhookPlace,
  limit: number,
): Script<boolean> {
  const before = idsAt(ctx.clock.retainFrom(deliveryPeriodMs));
  return (yield* eraseDeliveries({ storeId, webhookId: id }, { before, limit })) === limit;
}
