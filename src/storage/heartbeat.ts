/** One row that is written to see that the database takes writes. */

import { run, sql, type Script } from './sql.ts';

export function* beat(at: number): Script<void> {
  yield* run(sql`update heartbeat set beaten_at = ${at} where id = 1`);
}
