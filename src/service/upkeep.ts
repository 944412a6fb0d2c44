/** What has run out is erased, in small transactions. */

import type { Context } from '../context.ts';
import { eraseIdempotencyRecords } from '../storage/idempotency.ts';
import { eraseSearchMisses } from '../storage/search-miss.ts';
import type { Script } from '../storage/sql.ts';
import { idempotencyPeriodMs } from './idempotency.ts';
import type { SearchBudget } from './search-budget.ts';

/**
 * Erases up to `limit` idempotency records and as many search misses that have run out.
 * @returns whether there may be more.
 */
export function* eraseOutdated(
  ctx: Context,
  { budget, limit }: { readonly budget: SearchBudget; readonly limit: number },
): Script<boolean> {
  const now = ctx.clock.now();
  const records = yield* eraseIdempotencyRecords(now - idempotencyPeriodMs, limit);
  const misses = yield* eraseSearchMisses(now - budget.periodMs, limit);
  return records === limit || misses === limit;
}
