/** The outbox: events are written in the transaction of their cause and sent afterwards. */

import type { Context } from '../context.ts';
import type { Event, EventType, WrittenEvent } from '../domain/event.ts';
import {
  all,
  commitOrder,
  committedForGood,
  first,
  lastCommittedFirst,
  execute,
  sql,
  toNumber,
  type Script,
} from './sql.ts';

/** Inserts an event. A database trigger enqueues its deliveries to the matching webhooks. */
export function* recordEvent(ctx: Context, event: Event): Script<void> {
  yield* execute(sql`
    insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
    values (${event.storeId}, ${ctx.random.id()}, ${event.type}, ${event.subjectId}, ${event.subjectVersion},
      ${ctx.clock.earliest()}, ${JSON.stringify(event.data)})`);
}

type EventRow = {
  readonly id: bigint;
  readonly type: EventType;
  readonly subject_version: bigint;
  readonly created_at: bigint;
  readonly data: string;
};

function toWrittenEvent(row: EventRow): WrittenEvent {
  return {
    id: toNumber(row.id),
    type: row.type,
    sequence: toNumber(row.subject_version),
    createdAt: toNumber(row.created_at),
    data: row.data,
  };
}

export function* findEvent(storeId: number, id: number): Script<WrittenEvent | undefined> {
  const row = yield* first(sql<EventRow>`
    select id, type, subject_version, created_at, data from events where store_id = ${storeId} and id = ${id}`);
  return row && toWrittenEvent(row);
}

/**
 * Returns the store's first events in commit order. It excludes events that an open transaction can still
 * precede.
 */
export function* listFirstEvents(storeId: number, limit: number): Script<readonly WrittenEvent[]> {
  const rows = yield* all(sql<EventRow>`
    select id, type, subject_version, created_at, data from events
    where store_id = ${storeId} and ${committedForGood}
    order by ${commitOrder} limit ${limit}`);
  return rows.map(toWrittenEvent);
}

/** As `listFirstEvents`, after the event with the id `after`, which must exist. */
export function* listEventsAfter(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly WrittenEvent[]> {
  const rows = yield* all(sql<EventRow>`
    select id, type, subject_version, created_at, data from events
    where store_id = ${storeId} and ${committedForGood}
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
    select id from events where store_id = ${storeId} and ${committedForGood}
    order by ${lastCommittedFirst} limit 1`);
  return row && toNumber(row.id);
}
