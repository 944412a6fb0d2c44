/** What has run out is erased, in small transactions, and nothing while the clock cannot be trusted. */

import { idsAt } from '../clock-and-chance.ts';
import type { Context } from '../context.ts';
import { eraseIdempotencyRecords } from '../storage/idempotency.ts';
import { eraseRefilled } from '../storage/lookup-throttle.ts';
import { together, type Script } from '../storage/sql.ts';
import { eraseDeliveries } from '../storage/webhook-delivery.ts';
import type { WebhookPlace } from '../storage/webhook.ts';
import { idempotencyPeriodMs } from './idempotency.ts';

/**
 * Erases up to `limit` idempotency records that have run out, and as many lookup budgets that have refilled.
 * @returns whether there may be more.
 */
export function* eraseOutdated(ctx: Context, limit: number): Script<boolean> {
  const [records, budgets] = yield* together(
    eraseIdempotencyRecords(ctx.clock.retainFrom(idempotencyPeriodMs), limit),
    eraseRefilled(ctx.clock.earliest(), limit),
  );
  return records === limit || budgets === limit;
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
  const before = idsAt(ctx.clock.retainFrom(deliveryPeriodMs));
  return (yield* eraseDeliveries({ storeId, webhookId: id }, { before, limit })) === limit;
}
