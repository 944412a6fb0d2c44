/** Searches and lookups that found nothing, counted so that codes cannot be guessed. */

import { all, forUpdateSkipLocked, run, sql, toNumber, type Script } from './sql.ts';

/** A miss; those of one subject are numbered. */
export type Miss = { readonly id: number; readonly missedAt: number };

/** A subject's misses that are not erased yet, oldest first. */
export function* listMisses(storeId: number, subjectDigest: Uint8Array): Script<readonly Miss[]> {
  const rows = yield* all(sql<{ id: bigint; missed_at: bigint }>`
    select id, missed_at from misses
    where store_id = ${storeId} and subject_digest = ${subjectDigest} order by id`);
  return rows.map((row) => ({ id: toNumber(row.id), missedAt: toNumber(row.missed_at) }));
}

/** Notes a miss. If another transaction noted one with its number meanwhile, the number is taken. */
export function* insertMiss(
  storeId: number,
  subjectDigest: Uint8Array,
  { id, missedAt }: Miss,
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
      where missed_at <= ${since} order by missed_at limit ${limit} ${forUpdateSkipLocked})
    returning id`);
  return erased.length;
}
