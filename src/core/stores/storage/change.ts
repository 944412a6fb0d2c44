/** Changes of a store that past days depend on. */

import type { Context } from '../../storage/context.ts';
import { integer, columns, text, textOrNull, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  parallel,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';

export type StoreChange = {
  readonly storeId: number;
  readonly id: number;
  readonly field: 'time_zone';
  readonly old: string | null;
  readonly new: string | null;
  readonly actor: string;
  /** Instant in ms. */
  readonly createdAt: number;
};

const changes = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  field: unchanged<'time_zone'>()('field'),
  old_value: textOrNull('old'),
  new_value: textOrNull('new'),
  actor: text('actor'),
  created_at: integer('createdAt'),
});

type ChangeRow = RowOf<typeof changes>;

export function* recordStoreChange(
  ctx: Context,
  change: Omit<StoreChange, 'id' | 'createdAt'>,
): Script<void> {
  // The caller has locked the store. Its changes have ascending ids, even if the clock was set back.
  const last = yield* first(sql<{ id: bigint }>`
    select id from store_changes where store_id = ${change.storeId} order by id desc limit 1`);
  const id = Math.max(ctx.random.id(), last ? toNumber(last.id) + 1 : 0);
  const added = { ...change, id, createdAt: ctx.clock.now() };
  yield* execute(sql`insert into store_changes (${changes.names}) values (${changes.values(added)})`);
}

/** The time zone of a store until an instant (ms), at which another one replaced it. */
type PastTimeZone = { readonly until: number; readonly timeZone: string };

/** Returns the changes of a store, the latest first. They are few: a person makes them on the command line. */
export function* listStoreChanges(storeId: number): Script<readonly StoreChange[]> {
  const rows = yield* all(sql<ChangeRow>`
    select ${changes.names} from store_changes where store_id = ${storeId} order by id desc`);
  return rows.map(changes.read);
}

/** Returns the time zones that a store had before its present one, the latest first. */
function* listPastTimeZones(storeId: number): Script<readonly PastTimeZone[]> {
  const listed = yield* listStoreChanges(storeId);
  return listed.flatMap(({ old, createdAt }) => (old === null ? [] : [{ until: createdAt, timeZone: old }]));
}

/** Returns the instant (ms) from which all changes of the store and its cards are recorded; 0: since its creation. */
export function* findChangesFrom(storeId: number): Script<number> {
  const row = yield* first(sql<{ changes_from: bigint | null }>`
    select changes_from from stores where id = ${storeId}`);
  return toNumberOrNull(row?.changes_from ?? null) ?? 0;
}

/** The data of a store that its past days depend on. */
export type StorePast = { readonly zones: readonly PastTimeZone[]; readonly changesFrom: number };

export function* findStorePast(storeId: number): Script<StorePast> {
  const [zones, changesFrom] = yield* parallel(listPastTimeZones(storeId), findChangesFrom(storeId));
  return { zones, changesFrom };
}

/** The time zone that a store had at an instant (ms). @param present its present time zone. */
export function timeZoneAt(present: string, { zones }: Pick<StorePast, 'zones'>, instant: number): string {
  let timeZone = present;
  for (const past of zones) {
    if (past.until <= instant) break;
    ({ timeZone } = past);
  }
  return timeZone;
}
