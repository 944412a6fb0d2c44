/** What has run out is erased, in small transactions. */

import { idsAt } from '../clock-and-chance.ts';
import type { Context } from '../context.ts';
import { eraseIdempotencyRecords } from '../storage/idempotency.ts';
import { eraseMisses } from '../storage/miss.ts';
import { together, type Script } from '../storage/sql.ts';
import { eraseDeliveries } from '../storage/webhook-delivery.ts';
import type { WebhookPlace } from '../storage/webhook.ts';
import { idempotencyPeriodMs } from './idempotency.ts';
import { missPeriodMs } from './miss-budget.ts';

/**
 * Erases up to `limit` idempotency records and as many misses that have run out.
 * @returns whether there may be more.
 */
export function* eraseOutdated(ctx: Context, limit: number): Script<boolean> {
  const now = ctx.clock.now();
  const [records, misses] = yield* together(
    eraseIdempotencyRecords(now - idempotencyPeriodMs, limit),
    eraseMisses(now - missPeriodMs, limit),
  );
  return records === limit || misses === limit;
}

/** How long what became of deliveries can be looked up. */
const deliveryPeriodMs = 30 * 24 * 60 * 60 * 1_000;

/**
 * Erases up to `limit` deliveries to a webhook that have ended, of events from more than 30 days ago.
 * @returns whether there may be more.
 */
export function* eraseDeliveriesOf(
  ctx: Context,
  { storeId, id }: WebhookPlace,
  limit: number,
): Script<boolean> {
  const before = idsAt(ctx.clock.now() - deliveryPeriodMs);
  return (yield* eraseDeliveries({ storeId, webhookId: id }, { before, limit })) === limit;
}
