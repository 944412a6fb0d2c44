/** Erases ended sessions, used links and revoked tills. The audit log stays. */

import { idsAt, instantOf } from '../../../platform/random.ts';
import { all, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

type Ended = {
  /** The instant (ms) before which ended rows are erased. */
  readonly before: number;
  readonly limit: number;
};

/**
 * Deletes sessions that ended or expired. Ids grow with time, so newer sessions are not read.
 * @returns the number of deleted rows.
 */
export function* eraseSessions(storeId: number, { before, limit }: Ended): Script<number> {
  const erased = yield* all(sql`
    delete from staff_sessions where store_id = ${storeId} and id in (
      select id from staff_sessions
      where store_id = ${storeId} and id < ${idsAt(before)} and (expires_at < ${before} or ended_at < ${before})
      order by id limit ${limit})
    returning id`);
  return erased.length;
}

/** Deletes links that were used, replaced or have expired. @returns the number of deleted rows. */
export function* eraseStaffLinks(storeId: number, { before, limit }: Ended): Script<number> {
  const erased = yield* all(sql`
    delete from staff_links where store_id = ${storeId} and id in (
      select id from staff_links
      where store_id = ${storeId} and id < ${idsAt(before)} and (expires_at < ${before} or used_at < ${before})
      order by id limit ${limit})
    returning id`);
  return erased.length;
}

/** Deletes revoked tills on which no session remains. @returns the number of deleted rows. */
export function* eraseTills(storeId: number, { before, limit }: Ended): Script<number> {
  const erased = yield* all(sql`
    delete from tills where store_id = ${storeId} and id in (
      select t.id from tills t
      where t.store_id = ${storeId} and t.id < ${idsAt(before)} and t.revoked_at < ${before}
        and not exists (select 1 as one from staff_sessions s where s.store_id = ${storeId} and s.till_id = t.id)
      order by t.id limit ${limit})
    returning id`);
  return erased.length;
}

/** Returns when the first of a store's sessions, links and tills ended or ends, or an unknown address was used (ms); null: never. */
export function* findOldestAccess(storeId: number): Script<number | null> {
  type Row = { ended: bigint | null; used: bigint | null; revoked: bigint | null; address: bigint | null };
  const row = yield* one(sql<Row>`
    select
      (select min(case when ended_at < expires_at then ended_at else expires_at end) from staff_sessions
        where store_id = ${storeId}) as ended,
      (select min(case when used_at < expires_at then used_at else expires_at end) from staff_links
        where store_id = ${storeId}) as used,
      (select min(revoked_at) from tills where store_id = ${storeId}) as revoked,
      (select min(id) from unknown_addresses where store_id = ${storeId}) as address`);
  const ends = [row.ended, row.used, row.revoked].flatMap((end) => (end === null ? [] : [toNumber(end)]));
  if (row.address !== null) ends.push(instantOf(toNumber(row.address)));
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Whether a store has something to erase. */
export function* hasEndedAccess(storeId: number, before: number): Script<boolean> {
  const rows = yield* all(sql`
    select 1 as one where exists (
        select 1 as one from staff_sessions
        where store_id = ${storeId} and id < ${idsAt(before)} and (expires_at < ${before} or ended_at < ${before}))
      or exists (
        select 1 as one from staff_links
        where store_id = ${storeId} and id < ${idsAt(before)} and (expires_at < ${before} or used_at < ${before}))
      or exists (
        select 1 as one from tills where store_id = ${storeId} and id < ${idsAt(before)} and revoked_at < ${before})
      or exists (select 1 as one from unknown_addresses where store_id = ${storeId} and id < ${idsAt(before)})`);
  return rows.length > 0;
}
