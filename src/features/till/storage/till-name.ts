/** The names of tills, as the audit log and lists of sessions show them. */

import { all, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

/** The names of a store's tills by their ids, including revoked ones. */
export function* listTillNames(storeId: number): Script<ReadonlyMap<number, string>> {
  const rows = yield* all(sql<{ id: bigint; name: string }>`
    select id, name from tills where store_id = ${storeId}`);
  return new Map(rows.map(({ id, name }) => [toNumber(id), name]));
}
