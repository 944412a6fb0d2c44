/** Events about stocks. None contains a code. */

import { stockRecordOf } from './record.ts';
import type { CountedStock } from '../../../core/stocks/domain/stock.ts';
import type { Event } from '../../../core/events/domain/event.ts';
import type { EventType } from '../../../core/events/domain/event-type.ts';

type StockEventType = Extract<EventType, `stock.${string}`>;

function stockEvent(
  type: StockEventType,
  counted: CountedStock,
  { now, ...data }: { readonly now: number } & Event['data'],
): Event {
  const { storeId, id } = counted.stock;
  const record = { stock: stockRecordOf(counted, now), ...data };
  return { type, storeId, subjectId: id, subjectVersion: 0, data: record };
}

/** All codes of a stock were added. */
export function stockCompletedEvent(counted: CountedStock): Event {
  // At its completion, its codes can still be read.
  return stockEvent('stock.completed', counted, { now: Number.NEGATIVE_INFINITY });
}

/** @param by who reads the codes, at `now` (ms). */
export function stockCodesReadEvent(
  counted: CountedStock,
  by: { readonly actor: string; readonly now: number },
): Event {
  return stockEvent('stock.codes_read', counted, by);
}

/** @param by who voided how many codes, at `now` (ms). */
export function stockVoidedEvent(
  counted: CountedStock,
  by: { readonly actor: string; readonly codes: number; readonly now: number },
): Event {
  return stockEvent('stock.voided', counted, by);
}

/** A code in stock was looked for by a caller who cannot activate it, shortly before `now` (ms). */
export function stockCodeTriedEvent(counted: CountedStock, now: number): Event {
  return stockEvent('stock.code_tried', counted, { now });
}
