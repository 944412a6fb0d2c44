/** One row that is written to see that the database takes writes, and keeps the last time that was trusted. */

import { one, run, sql, toNumber, type Script } from './sql.ts';

/** @param at ms since 1970 UTC; null if the clock is not trusted: then the row changes and keeps its time, to the ms. */
export function* beat(at: number | null): Script<void> {
  yield* run(sql`update heartbeat set beaten_at = coalesce(${at}, beaten_at + 1) where id = 1`);
}

/** When it was last written by a process that trusted its clock, ms since 1970 UTC; 0 and a little if it never was. */
export function* lastBeat(): Script<number> {
  const { beaten_at: at } = yield* one(
    sql<{ beaten_at: bigint }>`select beaten_at from heartbeat where id = 1`,
  );
  return toNumber(at);
}
