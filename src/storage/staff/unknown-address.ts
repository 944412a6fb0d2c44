/**
 * Digests of the addresses without an account with which people tried to sign in. They belong to entries of the audit log,
 * which cannot change, so they are erased on their own.
 */

import { idsAt } from '../../platform/random.ts';
import { all, execute, sql, toNumber, ValueList, type Script } from '../sql/sql.ts';

export function* insertUnknownAddress(
  storeId: number,
  { actionId, digest }: { readonly actionId: number; readonly digest: Uint8Array },
): Script<void> {
  yield* execute(sql`
    insert into unknown_addresses (store_id, id, digest) values (${storeId}, ${actionId}, ${digest})`);
}

/** The number of entries on a page of the audit log. */
const actionsMax = 50;

/** The digests of up to 50 entries, by the ids of the entries. */
export function* listUnknownAddresses(
  storeId: number,
  actionIds: readonly number[],
): Script<ReadonlyMap<number, Uint8Array>> {
  if (actionIds.length === 0) return new Map();
  const ids = new ValueList(Array.from({ length: actionsMax }, (_, place) => actionIds[place] ?? 0));
  const rows = yield* all(sql<{ id: bigint; digest: Uint8Array }>`
    select id, digest from unknown_addresses where store_id = ${storeId} and id in (${ids})`);
  return new Map(rows.map((row) => [toNumber(row.id), row.digest]));
}

/** Erases up to `limit` digests of an address. @returns the number of deleted rows. */
export function* eraseUnknownAddress(storeId: number, digest: Uint8Array, limit: number): Script<number> {
  const erased = yield* all(sql`
    delete from unknown_addresses where store_id = ${storeId} and id in (
      select id from unknown_addresses where store_id = ${storeId} and digest = ${digest} order by id limit ${limit})
    returning id`);
  return erased.length;
}

/** Erases up to `limit` digests from before an instant (ms). @returns the number of deleted rows. */
export function* eraseUnknownAddresses(
  storeId: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<number> {
  const erased = yield* all(sql`
    delete from unknown_addresses where store_id = ${storeId} and id in (
      select id from unknown_addresses where store_id = ${storeId} and id < ${idsAt(before)} order by id limit ${limit})
    returning id`);
  return erased.length;
}
