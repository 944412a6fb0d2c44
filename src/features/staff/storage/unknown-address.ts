/**
 * Attempts to sign in without an account: digests of the addresses, and how often each was used on a day. They belong to entries
 * of the audit log, which cannot change, so they are counted and erased on their own.
 */

import { idsAt } from '../../../platform/random.ts';
import {
  all,
  first,
  sql,
  toNumber,
  toNumberOrNull,
  ValueList,
  type Script,
} from '../../../database/sql/sql.ts';

/** The attempts with one address on one day of the store, `YYYY-MM-DD`. */
export type AttemptsKey = { readonly storeId: number; readonly day: string; readonly digest: Uint8Array };

/** Counts one more attempt at an instant (ms). @returns false: it is the first one of the day. */
export function* countAttempt({ storeId, day, digest }: AttemptsKey, at: number): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update unknown_addresses set attempts = attempts + 1, last_at = ${at}
    where store_id = ${storeId} and day = ${day} and digest = ${digest} returning id`);
  return row !== undefined;
}

/** Whether a day has the attempts of `most` addresses. */
export function* hasManyAddresses(
  { storeId, day }: Pick<AttemptsKey, 'storeId' | 'day'>,
  most: number,
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from unknown_addresses where store_id = ${storeId} and day = ${day} limit 1 offset ${most - 1}`);
  return row !== undefined;
}

/** Inserts the first attempt of a day. @returns false: another transaction has inserted it. */
export function* insertUnknownAddress(
  { storeId, day, digest }: AttemptsKey,
  { actionId, at }: { readonly actionId: number; readonly at: number },
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    insert into unknown_addresses (store_id, id, digest, day, last_at)
    values (${storeId}, ${actionId}, ${digest}, ${day}, ${at}) on conflict do nothing returning id`);
  return row !== undefined;
}

/** The uses of an address. */
export type UnknownAddress = {
  readonly digest: Uint8Array;
  readonly attempts: number;
  /** The last attempt (ms); null: it is that of the entry. */
  readonly lastAt: number | null;
};

/** The number of entries on a page of the audit log. */
const actionsMax = 50;

/** The addresses of up to 50 entries, by the ids of the entries. */
export function* listUnknownAddresses(
  storeId: number,
  actionIds: readonly number[],
): Script<ReadonlyMap<number, UnknownAddress>> {
  if (actionIds.length === 0) return new Map();
  const ids = new ValueList(Array.from({ length: actionsMax }, (_, place) => actionIds[place] ?? 0));
  const rows = yield* all(sql<{ id: bigint; digest: Uint8Array; attempts: bigint; last_at: bigint | null }>`
    select id, digest, attempts, last_at from unknown_addresses where store_id = ${storeId} and id in (${ids})`);
  return new Map(
    rows.map(({ id, digest, attempts, last_at: lastAt }) => [
      toNumber(id),
      { digest, attempts: toNumber(attempts), lastAt: toNumberOrNull(lastAt) },
    ]),
  );
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
