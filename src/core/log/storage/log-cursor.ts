/** Entries that the stores' logs do not contain yet: cursors in commit order, and backfills of earlier entries. */

import { columns, integer, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  lock,
  one,
  parallel,
  sql,
  toNumber,
  type Script,
} from '../../../database/sql/sql.ts';
import {
  andEnded,
  cursorOfStore,
  cursorOwners,
  entryPlace,
  forUpdate,
  ownedBy,
  ownerOfStore,
  quietPlace,
  type EntryTable,
} from '../../../database/sql/fragments.ts';
import { findLog } from './log.ts';
import { entrySources, sqlOf, type HashRow, type LogEntry } from './log-entry.ts';

const cursors = columns({
  store_id: integer('owner'),
  source: unchanged<EntryTable>()('source'),
  place: unchanged<bigint>()('place'),
  last_id: integer('lastId'),
});

const backfills = columns({
  store_id: integer('storeId'),
  source: unchanged<EntryTable>()('source'),
  after_id: integer('afterId'),
  until_place: unchanged<bigint>()('untilPlace'),
});

/** Locks what only one process at a time does: appending to logs. */
export function* lockAppending(): Script<void> {
  yield* execute(lock`select id from log_turn where id = 1 ${forUpdate}`);
}

export type Cursor = ReturnType<typeof cursors.read>;
export type Backfill = ReturnType<typeof backfills.read>;

type OwnerRow = { readonly owner: bigint };

function ownersOf(rows: readonly (readonly OwnerRow[])[]): readonly number[] {
  return [...new Set(rows.flat().map(({ owner }) => toNumber(owner)))].toSorted(
    (left, right) => left - right,
  );
}

/**
 * Returns owners of cursors that have to begin: at most `limit` of each kind. An owner is a store, or 0 for all stores. It
 * reads each store, and is needed only once in each process: a new store has its cursors from the start.
 */
export function* listOwnersToBegin(limit: number): Script<readonly number[]> {
  const found = yield* parallel(
    ...entrySources.flatMap((source) => {
      const { sql: sqlFor, isStale } = sqlOf[source];
      return [
        all(sqlFor<OwnerRow>`
          select c.store_id as owner from log_cursors c where c.source = ${source} and ${isStale} limit ${limit}`),
        all(sqlFor<OwnerRow>`
          select o.id as owner from ${cursorOwners}
          where o.id not in (select store_id from log_cursors where source = ${source}) limit ${limit}`),
      ];
    }),
  );
  return ownersOf(found);
}

/** Returns owners of cursors that have to move, and owners of stores with a backfill: at most `limit` of each kind. */
export function* listOwnersToAppend(limit: number): Script<readonly number[]> {
  const found = yield* parallel(
    ...entrySources.map((source) => {
      const { sql: sqlFor, pendingOwners } = sqlOf[source];
      return all(sqlFor<OwnerRow>`select p.owner from ${pendingOwners} limit ${limit}`);
    }),
    all(sql<OwnerRow>`
      select distinct ${ownerOfStore} as owner from log_backfills limit ${limit}`),
  );
  return ownersOf(found);
}

/** Returns a number that every later commit changes. Null: it is not known. */
export function* findQuietPlace(): Script<bigint | null> {
  const { place } = yield* one(sql<{ place: bigint | null }>`select ${quietPlace} as place`);
  return place;
}

/** Returns the owner of a store's cursors. */
export function* findCursorOwner(storeId: number): Script<number> {
  const { owner } = yield* one(sql<{ owner: bigint }>`
    select o.id as owner from ${cursorOwners} where o.id in (0, ${storeId})`);
  return toNumber(owner);
}

/** Returns the cursors of owners for a source, and locks them. Undefined: it has to begin. */
export function* lockCursors(
  source: EntryTable,
  owners: readonly number[],
): Script<readonly (Cursor | undefined)[]> {
  const { sql: sqlFor, isStale } = sqlOf[source];
  type Row = RowOf<typeof cursors> & { readonly is_stale: bigint };
  const found = yield* parallel(
    ...owners.map((owner) =>
      first(sqlFor<Row>`
        select ${cursors.of('c')}, cast(case when ${isStale} then 1 else 0 end as bigint) as is_stale from log_cursors c
        where c.store_id = ${owner} and c.source = ${source} ${forUpdate}`),
    ),
  );
  return found.map((row) => (row && row.is_stale === 0n ? cursors.read(row) : undefined));
}

/** Begins a cursor at the end, or begins it again. */
function* insertCursor(source: EntryTable, owner: number): Script<Cursor> {
  const { sql: sqlFor, start } = sqlOf[source];
  const { place, last_id: lastId } = yield* one(sqlFor<{ place: bigint; last_id: bigint }>`
    select s.place, s.last_id from ${start} ${owner}) s`);
  const cursor = { owner, source, place, lastId: toNumber(lastId) };
  yield* execute(sql`
    insert into log_cursors (${cursors.names}) values (${cursors.values(cursor)})
    on conflict (store_id, source) do update set ${cursors.excluded}`);
  return cursor;
}

/** Begins the cursors of a new store, which has no entries. */
export function* beginCursors(storeId: number): Script<void> {
  const owner = yield* findCursorOwner(storeId);
  if (owner === storeId) for (const source of entrySources) yield* insertCursor(source, owner);
}

/** Begins a cursor that is missing, or whose place is not one of this database, at the end. Earlier entries are backfilled. */
export function* beginCursor(source: EntryTable, owner: number): Script<Cursor> {
  const cursor = yield* insertCursor(source, owner);
  const stores = yield* all(
    sql<{
      id: bigint;
    }>`select id from stores where cast(${owner} as bigint) in (0, id) and status <> 'arriving'`,
  );
  for (const { id } of stores) {
    const backfill = { storeId: toNumber(id), source, afterId: 0, untilPlace: cursor.place };
    yield* execute(sql`
      insert into log_backfills (${backfills.names}) values (${backfills.values(backfill)})
      on conflict (store_id, source) do update set ${backfills.excluded}`);
  }
  return cursor;
}

export function* moveCursor(cursor: Cursor): Script<void> {
  yield* execute(sql`
    update log_cursors set place = ${cursor.place}, last_id = ${cursor.lastId}
    where store_id = ${cursor.owner} and source = ${cursor.source}`);
}

/** Returns a backfill of a store whose cursors have this owner. */
export function* findBackfill(owner: number): Script<Backfill | undefined> {
  const row = yield* first(sql<RowOf<typeof backfills>>`
    select ${backfills.names} from log_backfills where ${ownedBy} ${owner} order by store_id, source limit 1`);
  return row && backfills.read(row);
}

/** Ends a backfill, or continues it after an id. */
export function* moveBackfill({ storeId, source }: Backfill, afterId: number | null): Script<void> {
  if (afterId === null)
    yield* execute(sql`delete from log_backfills where store_id = ${storeId} and source = ${source}`);
  else
    yield* execute(sql`
      update log_backfills set after_id = ${afterId} where store_id = ${storeId} and source = ${source}`);
}

/** An entry that a log does not contain yet. `place` is that of its cursor. */
export type NewEntry = LogEntry & { readonly storeId: number; readonly place: bigint };

type NewRow = HashRow & { readonly store_id: bigint; readonly place: bigint };

/** Returns the next entries after a cursor in commit order, at most `limit`. */
export function* listNewEntries(
  { owner, source, place, lastId }: Cursor,
  limit: number,
): Script<readonly NewEntry[]> {
  const { sql: sqlFor, table } = sqlOf[source];
  const rows = yield* all(sqlFor<NewRow>`
    select store_id, id, hash, ${entryPlace} as place from ${table}
    where ${ownedBy} ${owner} and (${entryPlace}, id) > (${place}, ${lastId}) ${andEnded}
    order by ${entryPlace}, id limit ${limit}`);
  return rows.map((row) => ({
    storeId: toNumber(row.store_id),
    source,
    id: toNumber(row.id),
    hash: row.hash,
    place: row.place,
  }));
}

/** Returns the next rows of a backfill by id, including those that the log contains. */
export function* listBackfilled(
  { storeId, source, afterId, untilPlace }: Backfill,
  limit: number,
): Script<readonly LogEntry[]> {
  const { sql: sqlFor, table } = sqlOf[source];
  const rows = yield* all(sqlFor<HashRow>`
    select id, hash from ${table}
    where store_id = ${storeId} and id > ${afterId} and ${entryPlace} <= ${untilPlace}
    order by id limit ${limit}`);
  return rows.map(({ id, hash }) => ({ source, id: toNumber(id), hash }));
}

/**
 * Counts the entries of a store that its log should contain: those up to the cursor. Null: unknown, because the cursor
 * has not begun in this database or a backfill is not finished.
 */
export function* countEntries(storeId: number, source: EntryTable): Script<number | null> {
  const { sql: sqlFor, table, isStale } = sqlOf[source];
  const cursor = yield* first(sqlFor<{ found: bigint }>`
    select 1 as found from log_cursors c
    where ${cursorOfStore} ${storeId} and c.source = ${source} and not (${isStale})
      and not exists (select 1 from log_backfills b where b.store_id = ${storeId} and b.source = ${source})`);
  if (!cursor) return null;
  const { entries } = yield* one(sqlFor<{ entries: bigint }>`
    select count(*) as entries from ${table} t cross join log_cursors c
    where t.store_id = ${storeId} and ${cursorOfStore} ${storeId} and c.source = ${source} and (t.${entryPlace}, t.id) <= (c.place, c.last_id)`);
  return toNumber(entries);
}

/** Returns the ids of entries of a store that its log should contain, in order. */
export function* listAppended(
  storeId: number,
  { source, after, limit }: { readonly source: EntryTable; readonly after: number; readonly limit: number },
): Script<readonly number[]> {
  const { sql: sqlFor, table } = sqlOf[source];
  const rows = yield* all(sqlFor<{ id: bigint }>`
    select t.id from ${table} t cross join log_cursors c
    where t.store_id = ${storeId} and ${cursorOfStore} ${storeId} and t.id > ${after} and c.source = ${source}
      and (t.${entryPlace}, t.id) <= (c.place, c.last_id)
    order by t.id limit ${limit}`);
  return rows.map(({ id }) => toNumber(id));
}

/** Returns whether a store's log contains every entry of the store. */
export function* isLogComplete(storeId: number): Script<boolean> {
  const [log, transfers, changes] = yield* parallel(
    findLog(storeId),
    one(sql<{ entries: bigint }>`select count(*) as entries from transfers where store_id = ${storeId}`),
    one(sql<{ entries: bigint }>`select count(*) as entries from card_changes where store_id = ${storeId}`),
  );
  return (log?.size ?? 0) === toNumber(transfers.entries + changes.entries);
}

/**
 * After a store was copied with its log: lets its cursors begin after its last entries.
 * @returns false if the cursors are those of all stores, and have not passed its entries yet.
 */
export function* passCopiedEntries(storeId: number): Script<boolean> {
  const owner = yield* findCursorOwner(storeId);
  for (const source of entrySources) {
    const { sql: sqlFor, table } = sqlOf[source];
    const last = yield* first(sqlFor<{ place: bigint; id: bigint }>`
      select ${entryPlace} as place, id from ${table} where store_id = ${storeId}
      order by ${entryPlace} desc, id desc limit 1`);
    if (!last) {
      if (owner !== 0) yield* insertCursor(source, owner);
      continue;
    }
    if (owner === 0) {
      const [cursor] = yield* lockCursors(source, [owner]);
      if (!cursor || cursor.place < last.place) return false;
      continue;
    }
    const cursor: Cursor = { owner, source, place: last.place, lastId: toNumber(last.id) };
    yield* execute(sql`
      insert into log_cursors (${cursors.names}) values (${cursors.values(cursor)})
      on conflict (store_id, source) do update set ${cursors.excluded}`);
  }
  return true;
}
