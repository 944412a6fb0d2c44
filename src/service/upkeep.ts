/** What has run out is erased, in small transactions. */

import type { Context } from '../context.ts';
import { eraseIdempotencyRecords } from '../storage/idempotency.ts';
import { eraseMisses } from '../storage/miss.ts';
import { together, type Script } from '../storage/sql.ts';
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
