/** The outbox: events are written in the transaction of their cause and sent afterwards. */

import type { Context } from '../context.ts';
import type { Event } from '../domain/event.ts';
import { first, Rerun, sql, type Script } from './sql.ts';

/** Writes an event. @throws Rerun if its id is taken. */
export function* announce(ctx: Context, event: Event): Script<void> {
  const row = yield* first(sql<{ id: bigint }>`
    insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
    values (${event.storeId}, ${ctx.chance.id()}, ${event.type}, ${event.subjectId}, ${event.subjectVersion},
      ${ctx.clock.now()}, ${JSON.stringify(event.data)})
    on conflict (store_id, id) do nothing
    returning id`);
  if (!row) throw new Rerun('the id of an event was taken');
}
