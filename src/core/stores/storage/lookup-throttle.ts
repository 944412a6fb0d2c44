/**
 * Failed lookups, one row per caller.
 *
 * A row stores only the instant at which the caller's whole budget is available again (generic cell rate
 * algorithm, GCRA). The instant never decreases, so the later of two readings is the current one.
 */

import { inChunks, padded } from '../../../database/sql/chunks.ts';
import { all, execute, first, parallel, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { ofOpenStore } from './store.ts';

/** A caller with a budget of failed lookups. */
export type LookupCaller = {
  readonly storeId: number;
  /** Unique in the store: `token:7`, `development`, `customer:1001`. */
  readonly caller: string;
};

/** Returns when the caller's whole budget is available again (ms); undefined without recent failures. */
export function* findRefilledAt({ storeId, caller }: LookupCaller): Script<number | undefined> {
  const row = yield* first(sql<{ refilled_at: bigint }>`
    select refilled_at from lookup_throttle where store_id = ${storeId} and caller = ${caller}`);
  return row && toNumber(row.refilled_at);
}

/**
 * Records a failed lookup at `now` (ms), unless the budget is exhausted. It uses `shareMs` of a budget of
 * `periodMs`. A row whose instant is more than `aheadMaxMs` ahead is ignored.
 * @returns when the whole budget is available again (ms); undefined if it is exhausted.
 */
export function* insertFailedLookup(
  { storeId, caller }: LookupCaller,
  {
    now,
    shareMs,
    periodMs,
    aheadMaxMs,
  }: {
    readonly now: number;
    readonly shareMs: number;
    readonly periodMs: number;
    readonly aheadMaxMs: number;
  },
): Script<number | undefined> {
  const row = yield* first(sql<{ refilled_at: bigint }>`
    insert into lookup_throttle (store_id, caller, refilled_at)
    values (${storeId}, ${caller}, ${now + shareMs})
    on conflict (store_id, caller) do update
    set refilled_at = ${shareMs} + case
      when lookup_throttle.refilled_at between ${now} and ${now + aheadMaxMs}
      then lookup_throttle.refilled_at else ${now} end
    where lookup_throttle.refilled_at <= ${now + periodMs - shareMs}
      or lookup_throttle.refilled_at > ${now + aheadMaxMs}
    returning refilled_at`);
  return row && toNumber(row.refilled_at);
}

/** Returns a share (ms) that was used. */
export function* returnShare({ storeId, caller }: LookupCaller, shareMs: number): Script<void> {
  yield* execute(sql`
    update lookup_throttle set refilled_at = refilled_at - ${shareMs}
    where store_id = ${storeId} and caller = ${caller}`);
}

/** Returns up to `limit` callers of all stores whose budget is available again. */
export function* listRefilled(now: number, limit: number): Script<readonly LookupCaller[]> {
  const rows = yield* all(sql<{ store_id: bigint; caller: string }>`
    select store_id, caller from lookup_throttle where refilled_at <= ${now} and ${ofOpenStore}
    order by refilled_at limit ${limit}`);
  return rows.map((row) => ({ storeId: toNumber(row.store_id), caller: row.caller }));
}

/**
 * Deletes the rows of those callers whose budget is available again, except those that another transaction has locked.
 * @returns the number of deleted rows.
 */
export function* eraseRefilled(found: readonly LookupCaller[], now: number): Script<number> {
  const erased = yield* parallel(
    ...inChunks(found).map(({ storeId, chunk }) => {
      const callers = padded(
        chunk.map(({ caller }) => caller),
        '',
      );
      return all(sql`
        delete from lookup_throttle where store_id = ${storeId} and caller in (
          select caller from lookup_throttle
          where store_id = ${storeId} and caller in (${callers}) and refilled_at <= ${now} ${forUpdateSkipLocked})
        returning caller`);
    }),
  );
  return erased.flat().length;
}
