/** The clock of a PostgreSQL server. SQLite has no server clock. */

import { one, sql, toNumber, type Script } from './sql.ts';

/** Returns the server's time in ms since 1970 UTC. */
export function* findServerTime(): Script<number> {
  const { now } = yield* one(
    sql<{ now: bigint }>`select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now`,
  );
  return toNumber(now);
}
