import type { Event } from '../../../core/events/domain/event.ts';
import type { Batch } from './batch.ts';
import { batchRecordOf } from './record.ts';

/** The event of a batch whose gift cards were issued. It has no codes, and the cards have events of their own. */
export function batchCompletedEvent(batch: Batch): Event {
  const { storeId, id } = batch;
  // At its completion, its codes can still be read.
  const data = { batch: batchRecordOf(batch, Number.NEGATIVE_INFINITY) };
  return { type: 'batch.completed', storeId, subjectId: id, subjectVersion: 0, data };
}
