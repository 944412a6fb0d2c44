/** The outbox: events are written in the transaction of their cause and sent afterwards. */

import type { Context } from '../../storage/context.ts';
import type { Event, WrittenEvent } from '../domain/event.ts';
import type { EventType } from '../domain/event-type.ts';
import { columns, integer, unchanged, text, type RowOf } from '../../../database/sql/columns.ts';
import { all, first, execute, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { commitOrder, hasFinalOrder, lastCommittedFirst } from '../../../database/sql/fragments.ts';

const events = columns({
  id: integer('id'),
  type: unchanged<EventType>()('type'),
  subject_version: integer('sequence'),
  created_at: integer('createdAt'),
  data: text('data'),
});

type EventRow = RowOf<typeof events>;

const toWrittenEvent: (row: EventRow) => WrittenEvent = events.read;

/** Inserts an event. A database trigger enqueues its deliveries to the matching webhooks. */
export function* recordEvent(ctx: Context, event: Event): Script<void> {
  const written: WrittenEvent = {
    id: ctx.random.id(),
    type: event.type,
    sequence: event.subjectVersion,
    createdAt: ctx.clock.earliest(),
    data: JSON.stringify(event.data),
  };
  yield* execute(sql`
    insert into events (store_id, ${events.names}, subject_id, trace_context)
    values (${event.storeId}, ${events.values(written)}, ${event.subjectId}, ${ctx.messageContext?.('events') ?? null})`);
}

export function* findEvent(storeId: number, id: number): Script<WrittenEvent | undefined> {
  const row = yield* first(sql<EventRow>`
    select ${events.names} from events where store_id = ${storeId} and id = ${id}`);
  return row && toWrittenEvent(row);
}

/**
 * Returns the store's first events in commit order. It excludes events that an open transaction can still
 * precede.
 */
export function* listFirstEvents(storeId: number, limit: number): Script<readonly WrittenEvent[]> {
  const rows = yield* all(sql<EventRow>`
    select ${events.names} from events
    where store_id = ${storeId} and ${hasFinalOrder}
    order by ${commitOrder} limit ${limit}`);
  return rows.map(toWrittenEvent);
}

/** Lists events after the one with the id `after`, which must exist. */
export function* listEventsAfter(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly WrittenEvent[]> {
  const rows = yield* all(sql<EventRow>`
    select ${events.names} from events
    where store_id = ${storeId} and ${hasFinalOrder}
      and (${commitOrder}) > (select ${commitOrder} from events where store_id = ${storeId} and id = ${after})
    order by ${commitOrder} limit ${limit}`);
  return rows.map(toWrittenEvent);
}

/** Returns the highest event id of all stores, regardless of commit order; undefined if there are no events. */
export function* findNewestEventId(): Script<number | undefined> {
  const row = yield* first(sql<{ id: bigint | null }>`
    select max(newest.id) as id from
      (select (select max(e.id) from events e where e.store_id = s.id) as id from stores s) newest`);
  return row?.id === undefined || row.id === null ? undefined : toNumber(row.id);
}

/**
 * Returns the id of the last event in commit order that `listEventsAfter` can return; undefined if there is
 * none.
 */
export function* findLastEventId(storeId: number): Script<number | undefined> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from events where store_id = ${storeId} and ${hasFinalOrder}
    order by ${lastCommittedFirst} limit 1`);
  return row && toNumber(row.id);
}
