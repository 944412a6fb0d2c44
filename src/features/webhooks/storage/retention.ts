/** Erases old events. The newest event of a store always stays. */

import { instantOf } from '../../../platform/random.ts';
import { all, execute, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

export type OldEvent = {
  readonly id: number;
  readonly isAboutCard: boolean;
  readonly subjectId: number;
  readonly version: number;
};

export type EventPage = {
  readonly storeId: number;
  /** Ids above `after` and below `before`. */
  readonly after: number;
  readonly before: number;
};

/** Returns up to `limit` events of a store, in the order of their ids, without the store's newest one. */
export function* listOldEvents(
  { storeId, after, before }: EventPage,
  limit: number,
): Script<readonly OldEvent[]> {
  const rows = yield* all(sql<{ id: bigint; type: string; subject_id: bigint; subject_version: bigint }>`
    select id, type, subject_id, subject_version from events
    where store_id = ${storeId} and id > ${after} and id < ${before}
      and id < (select max(e.id) from events e where e.store_id = ${storeId})
    order by id limit ${limit}`);
  return rows.map((row) => ({
    id: toNumber(row.id),
    isAboutCard: row.type.startsWith('gift_card.'),
    subjectId: toNumber(row.subject_id),
    version: toNumber(row.subject_version),
  }));
}

/** Returns the age (ms) of the oldest event of a store that can be erased; null: there is none. */
export function* findOldestEvent(storeId: number): Script<number | null> {
  const [oldest, newer] = yield* all(sql<{ id: bigint }>`
    select id from events where store_id = ${storeId} order by id limit 2`);
  return oldest && newer ? instantOf(toNumber(oldest.id)) : null;
}

type EventRange = { readonly storeId: number; readonly after: number; readonly upTo: number };

/** Returns the ids of events in a range that a webhook still has to deliver. */
export function* listUndelivered({ storeId, after, upTo }: EventRange): Script<ReadonlySet<number>> {
  const rows = yield* all(sql<{ event_id: bigint }>`
    select d.event_id from webhooks w
    join webhook_deliveries d on d.store_id = w.store_id and d.webhook_id = w.id
    where w.store_id = ${storeId} and d.store_id = ${storeId} and d.event_id > ${after} and d.event_id <= ${upTo}
      and d.next_at is not null`);
  return new Set(rows.map((row) => toNumber(row.event_id)));
}

/** Deletes the ended deliveries of the events in a range. */
export function* eraseDeliveriesIn({ storeId, after, upTo }: EventRange): Script<void> {
  yield* execute(sql`
    delete from webhook_deliveries
    where store_id = ${storeId} and webhook_id in (select w.id from webhooks w where w.store_id = ${storeId})
      and event_id > ${after} and event_id <= ${upTo} and next_at is null`);
}

export function* eraseEventsIn({ storeId, after, upTo }: EventRange): Script<void> {
  yield* execute(sql`delete from events where store_id = ${storeId} and id > ${after} and id <= ${upTo}`);
}

export function* eraseEvent(storeId: number, id: number): Script<void> {
  yield* execute(sql`delete from events where store_id = ${storeId} and id = ${id}`);
}

/** Records that the events of a card up to a version were erased. */
export function* recordErasedVersion(
  storeId: number,
  { cardId, version }: { readonly cardId: number; readonly version: number },
): Script<void> {
  yield* execute(sql`
    update gift_cards set erased_event_version = ${version}
    where store_id = ${storeId} and id = ${cardId}
      and (erased_event_version is null or erased_event_version < ${version})`);
}

/** Records that events up to an id were erased. */
export function* recordErasedThrough(storeId: number, id: number): Script<void> {
  yield* execute(sql`
    insert into erased_events (store_id, last_id) values (${storeId}, ${id})
    on conflict (store_id) do update set last_id = excluded.last_id
    where erased_events.last_id < excluded.last_id`);
}

/** Returns the id of the newest event that was erased; 0: none was. */
export function* findErasedThrough(storeId: number): Script<number> {
  const row = yield* first(sql<{ last_id: bigint }>`
    select last_id from erased_events where store_id = ${storeId}`);
  return row ? toNumber(row.last_id) : 0;
}
