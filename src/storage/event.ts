/** The outbox: events are written in the transaction of their cause and sent afterwards. */

import type { Context } from '../context.ts';
import type { Event } from '../domain/event.ts';
import { run, sql, type Script } from './sql.ts';

/** Writes an event. */
export function* announce(ctx: Context, event: Event): Script<void> {
  yield* run(sql`
    insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
    values (${event.storeId}, ${ctx.chance.id()}, ${event.type}, ${event.subjectId}, ${event.subjectVersion},
      ${ctx.clock.now()}, ${JSON.stringify(event.data)})`);
}
