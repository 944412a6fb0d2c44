/** Lookups of codes in stock by callers who cannot activate them. */

import type { Context } from '../../../core/storage/context.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { recordTry, type LookupKey } from '../../../core/stocks/storage/code.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { stockCodeTriedEvent } from '../domain/stock-event.ts';
import { showStock } from './stock.ts';

/** Records that callers who cannot activate them looked for codes in stock: one `stock.code_tried` for each. */
export function* recordTries(ctx: Context, tries: readonly LookupKey[]): Script<void> {
  const now = ctx.clock.now();
  for (const key of tries) {
    const stockKey = yield* recordTry(key, now);
    if (stockKey) yield* recordEvent(ctx, stockCodeTriedEvent(yield* showStock(stockKey), now));
  }
}
