/** What has run out is erased, in small transactions. */

import type { Context } from '../context.ts';
import { eraseIdempotencyRecords } from '../storage/idempotency.ts';
import { eraseSearchMisses } from '../storage/search-miss.ts';
import type { Script } from '../storage/sql.ts';
import { idempotencyPeriodMs } from './idempotency.ts';
import type { SearchBudget } from './search-budget.ts';

/** Erases up to `limit` idempotency records and as many search misses that have run out. */
export function* eraseOutdated(
  ctx: Context,
  { budget, limit }: { readonly budget: SearchBudget; readonly limit: number },
): Script<void> {
  const now = ctx.clock.now();
  yield* eraseIdempotencyRecords(now - idempotencyPeriodMs, limit);
  yield* eraseSearchMisses(now - budget.periodMs, limit);
}
