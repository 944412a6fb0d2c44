/** One row that is updated to check that the database accepts writes. It stores the last trusted time. */

import { one, execute, sql, toNumber, type Script } from './sql/sql.ts';

/** @param at ms since 1970 UTC; null if the clock is not trusted: the stored time then increases by 1 ms. */
export function* beat(at: number | null): Script<void> {
  yield* execute(sql`update heartbeat set beaten_at = coalesce(${at}, beaten_at + 1) where id = 1`);
}

/** Returns the last time from a trusted clock, in ms since 1970 UTC; close to 0 if there was none. */
export function* lastBeat(): Script<number> {
  const { beaten_at: at } = yield* one(
    sql<{ beaten_at: bigint }>`select beaten_at from heartbeat where id = 1`,
  );
  return toNumber(at);
}
