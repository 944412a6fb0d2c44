/** The values of the newest cards of a store. */

import { all, sql, type Script } from './sql.ts';

/** The initial values (minor units) of a store's newest cards, newest first. */
export function* listRecentValues(storeId: number, limit: number): Script<readonly bigint[]> {
  const rows = yield* all(sql<{ initial_value: bigint }>`
    select initial_value from gift_cards where store_id = ${storeId} order by id desc limit ${limit}`);
  return rows.map((row) => row.initial_value);
}
