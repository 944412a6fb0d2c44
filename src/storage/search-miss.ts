/** Searches that found nothing, counted per store and address so that four characters cannot be guessed. */

import { all, run, sql, toNumber, type Script } from './sql.ts';

/** Instants (ms) of the misses since `since`, oldest first. */
export function* listSearchMisses(
  storeId: number,
  addressDigest: Uint8Array,
  since: number,
): Script<readonly number[]> {
  const rows = yield* all(sql<{ missed_at: bigint }>`
    select missed_at from search_misses
    where store_id = ${storeId} and address_digest = ${addressDigest} and missed_at > ${since}
    order by missed_at`);
  return rows.map((row) => toNumber(row.missed_at));
}

export function* insertSearchMiss(
  storeId: number,
  addressDigest: Uint8Array,
  { id, missedAt }: { readonly id: number; readonly missedAt: number },
): Script<void> {
  yield* run(sql`
    insert into search_misses (store_id, address_digest, id, missed_at)
    values (${storeId}, ${addressDigest}, ${id}, ${missedAt})`);
}

/** Erases up to `limit` misses from before `since`, and answers how many. */
export function* eraseSearchMisses(since: number, limit: number): Script<number> {
  const erased = yield* all(sql`
    delete from search_misses where (store_id, address_digest, id) in (
      select store_id, address_digest, id from search_misses
      where missed_at <= ${since} order by missed_at limit ${limit})
    returning id`);
  return erased.length;
}
