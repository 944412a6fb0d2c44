import type { Event } from '../../../core/events/domain/event.ts';
import { checkpointRecordOf, type Checkpoint } from './checkpoint.ts';

/** The event of a new checkpoint. It does not have a sequence. */
export function checkpointCreatedEvent(storeId: number, checkpoint: Checkpoint): Event {
  return {
    type: 'checkpoint.created',
    storeId,
    subjectId: checkpoint.id,
    subjectVersion: 0,
    data: { checkpoint: checkpointRecordOf(checkpoint) },
  };
}
