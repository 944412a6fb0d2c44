/** Searches and lookups that found nothing, counted so that codes cannot be guessed. */

import { all, run, sql, toNumber, type Script } from './sql.ts';

/** Instants (ms) of a subject's misses since `since`, oldest first. */
export function* listMisses(
  storeId: number,
  subjectDigest: Uint8Array,
  since: number,
): Script<readonly number[]> {
  const rows = yield* all(sql<{ missed_at: bigint }>`
    select missed_at from misses
    where store_id = ${storeId} and subject_digest = ${subjectDigest} and missed_at > ${since}
    order by missed_at`);
  return rows.map((row) => toNumber(row.missed_at));
}

export function* insertMiss(
  storeId: number,
  subjectDigest: Uint8Array,
  { id, missedAt }: { readonly id: number; readonly missedAt: number },
): Script<void> {
  yield* run(sql`
    insert into misses (store_id, subject_digest, id, missed_at)
    values (${storeId}, ${subjectDigest}, ${id}, ${missedAt})`);
}

/** Erases up to `limit` misses from before `since`, and answers how many. */
export function* eraseMisses(since: number, limit: number): Script<number> {
  const erased = yield* all(sql`
    delete from misses where (store_id, subject_digest, id) in (
      select store_id, subject_digest, id from misses
      where missed_at <= ${since} order by missed_at limit ${limit})
    returning id`);
  return erased.length;
}
