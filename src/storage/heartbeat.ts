/** One row that is written to see that the database accepts writes. */

import { one, run, sql, toNumber, type Script } from './sql.ts';

export function* beat(at: number): Script<void> {
  yield* run(sql`update heartbeat set beaten_at = ${at} where id = 1`);
}

/** When it was last written, ms since 1970 UTC. */
export function* lastBeat(): Script<number> {
  const { beaten_at: at } = yield* one(
    sql<{ beaten_at: bigint }>`select beaten_at from heartbeat where id = 1`,
  );
  return toNumber(at);
}
