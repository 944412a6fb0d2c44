/**
 * The logs of the stores: which entries they contain, in their order, and the hashes of their complete subtrees. An
 * *entry* is a row of one of the *sources*, identified by its source and id. A *page* is 256 entries.
 */

import assert from 'node:assert/strict';
import { columns, bytes, integer, text, unchanged, type RowOf } from '../sql/columns.ts';
import {
  all,
  execute,
  first,
  lock,
  one,
  parallel,
  sql,
  Statement,
  toNumber,
  ValueList,
  type Script,
} from '../sql/sql.ts';
import {
  andEnded,
  cursorOfStore,
  cursorOwners,
  entryOrderOf,
  entryPlace,
  forUpdate,
  Fragment,
  ownedBy,
  ownerOfStore,
  type EntryOrder,
  type EntryTable,
} from '../sql/fragments.ts';

export const pageEntries = 256;

/** The tables of entries; their places in this list are stored. */
export const entrySources: readonly EntryTable[] = ['transfers', 'card_changes'];

export type EntryId = { readonly source: EntryTable; readonly id: number };
export type LogEntry = EntryId & { readonly hash: Uint8Array };

export type EntryLog = {
  readonly storeId: number;
  /** The origin of its checkpoints. */
  readonly name: string;
  /** The number of entries. */
  readonly size: number;
  readonly createdAt: number;
};

const logs = columns({
  store_id: integer('storeId'),
  name: text('name'),
  size: integer('size'),
  created_at: integer('createdAt'),
});

const pages = columns({
  store_id: integer('storeId'),
  place: integer('place'),
  lowest_id: integer('lowestId'),
  highest_id: integer('highestId'),
  entries: bytes('entries'),
});

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

/** The SQL of a table of entries. */
type EntrySql = EntryOrder & {
  readonly table: Fragment;
  /** The tag `sql`: a call site has another statement for each table. */
  readonly sql: typeof sql;
};

function entrySqlOf(table: EntryTable): EntrySql {
  const texts = new WeakMap<readonly string[], readonly string[]>();
  return {
    ...entryOrderOf(table),
    table: new Fragment(() => table),
    sql(strings, ...written) {
      const own = texts.get(strings) ?? [...strings];
      texts.set(strings, own);
      return new Statement(own, written);
    },
  };
}

const sqlOf: Readonly<Record<EntryTable, EntrySql>> = {
  transfers: entrySqlOf('transfers'),
  card_changes: entrySqlOf('card_changes'),
};

export function* findLog(storeId: number): Script<EntryLog | undefined> {
  const row = yield* first(sql<RowOf<typeof logs>>`
    select ${logs.names} from logs where store_id = ${storeId}`);
  return row && logs.read(row);
}

/** Returns a store's log and locks it until the transaction ends. */
export function* lockLog(storeId: number): Script<EntryLog | undefined> {
  const row = yield* first(sql<RowOf<typeof logs>>`
    select ${logs.names} from logs where store_id = ${storeId} ${forUpdate}`);
  return row && logs.read(row);
}

export function* insertLog(log: EntryLog): Script<void> {
  yield* execute(sql`insert into logs (${logs.names}) values (${logs.values(log)}) on conflict do nothing`);
}

export function* updateSize(storeId: number, size: number): Script<void> {
  yield* execute(sql`update logs set size = ${size} where store_id = ${storeId}`);
}

export type LogPage = {
  /** From 0. */
  readonly place: number;
  /** The lowest and the highest of the ids. */
  readonly lowestId: number;
  readonly highestId: number;
  /** At most 256, in their order in the log. */
  readonly entries: readonly EntryId[];
};

function toPage(row: RowOf<typeof pages>): LogPage {
  const { entries, ...page } = pages.read(row);
  return { ...page, entries: entriesIn(entries) };
}

export function* readLogPage(storeId: number, place: number): Script<LogPage | undefined> {
  const row = yield* first(sql<RowOf<typeof pages>>`
    select ${pages.names} from log_pages where store_id = ${storeId} and place = ${place}`);
  return row && toPage(row);
}

function entriesIn(encoded: Uint8Array): readonly EntryId[] {
  const buffer = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  const entries: EntryId[] = [];
  // Two numbers take a tenth of the time of a bigint.
  for (let at = 0; at < buffer.length; at += 8) {
    const low = buffer.readUInt32BE(at + 4);
    const source = entrySources[low & 1];
    assert(source, 'the log has an entry of an unknown source');
    entries.push({ source, id: buffer.readUInt32BE(at) * 2 ** 31 + (low >>> 1) });
  }
  return entries;
}

/** Writes a page, or replaces an incomplete one that has the same first entries. */
export function* writePage(storeId: number, place: number, entries: readonly EntryId[]): Script<void> {
  const encoded = Buffer.alloc(entries.length * 8);
  let [lowestId, highestId] = [Number.MAX_SAFE_INTEGER, 0];
  for (const [index, { source, id }] of entries.entries()) {
    encoded.writeBigUInt64BE(BigInt(id) * 2n + BigInt(entrySources.indexOf(source)), index * 8);
    lowestId = Math.min(lowestId, id);
    highestId = Math.max(highestId, id);
  }
  const page = { storeId, place, entries: encoded, lowestId, highestId };
  yield* execute(sql`
    insert into log_pages (${pages.names}) values (${pages.values(page)})
    on conflict (store_id, place) do update set ${pages.excluded}`);
}

/** Returns the place of an entry in a store's log, from 0; undefined if the log does not contain it. */
export function* findPlace(storeId: number, { source, id }: EntryId): Script<number | undefined> {
  // Pages with this id in their range: one or two, unless clocks were wrong.
  let after = { highestId: id, place: -1 };
  for (;;) {
    const rows = yield* all(sql<RowOf<typeof pages>>`
      select ${pages.names} from log_pages
      where store_id = ${storeId} and (highest_id, place) > (${after.highestId}, ${after.place})
        and lowest_id <= ${id}
      order by highest_id, place limit 8`);
    for (const page of rows.map(toPage)) {
      const index = page.entries.findIndex((entry) => entry.id === id && entry.source === source);
      if (index >= 0) return page.place * pageEntries + index;
      after = page;
    }
    if (rows.length < 8) return undefined;
  }
}

/** Returns those of a page of entries, which have the ids from `lowest` to `highest`, that a log contains. */
export function* listLogged(
  storeId: number,
  { lowest, highest }: { readonly lowest: number; readonly highest: number },
): Script<readonly EntryId[]> {
  const rows = yield* all(sql<{ entries: Uint8Array }>`
    select entries from log_pages
    where store_id = ${storeId} and highest_id >= ${lowest} and lowest_id <= ${highest}`);
  return rows.flatMap(({ entries }) => entriesIn(entries));
}

/** The hash of an entry by its source and id. */
export type EntryHashes = (entry: EntryId) => Uint8Array | undefined;

/** Returns the hashes of at most 256 entries. */
export function* readEntryHashes(storeId: number, entries: readonly EntryId[]): Script<EntryHashes> {
  const found = new Map<EntryTable, (id: number) => Uint8Array | undefined>();
  for (const source of entrySources) {
    const ids = entries.filter((entry) => entry.source === source).map(({ id }) => id);
    if (ids.length > 0) found.set(source, hashesById(yield* all(hashesOf(source, storeId, ids))));
  }
  return ({ source, id }) => found.get(source)?.(id);
}

/** Finds hashes by ids, which are mostly asked for in the order of the rows. */
function hashesById(rows: readonly HashRow[]): (id: number) => Uint8Array | undefined {
  let next = 0;
  let byId: ReadonlyMap<number, Uint8Array> | undefined;
  return (id) => {
    const row = rows[next];
    if (row && Number(row.id) === id) {
      next += 1;
      return row.hash;
    }
    byId ??= new Map(rows.map((found) => [Number(found.id), found.hash]));
    return byId.get(id);
  };
}

type HashRow = { readonly id: bigint; readonly hash: Uint8Array };

function hashesOf(source: EntryTable, storeId: number, ids: readonly number[]): Statement<HashRow> {
  assert(ids.length <= pageEntries);
  // A statement has the same number of values each time. Id 0 does not exist.
  const list = new ValueList([...ids, ...Array.from({ length: pageEntries - ids.length }, () => 0)]);
  const { sql: sqlFor, table } = sqlOf[source];
  return sqlFor<HashRow>`select id, hash from ${table} where store_id = ${storeId} and id in (${list}) order by id`;
}

export function* insertSubtree(
  storeId: number,
  { level, place, hash }: { readonly level: number; readonly place: number; readonly hash: Uint8Array },
): Script<void> {
  yield* execute(sql`
    insert into log_subtrees (store_id, level, place, hash) values (${storeId}, ${level}, ${place}, ${hash})`);
}

/** Returns the hashes of at most 256 subtrees of a level from a place on, in order, up to the first missing one. */
export function* readSubtrees(
  storeId: number,
  {
    level,
    from,
    limit = pageEntries,
  }: { readonly level: number; readonly from: number; readonly limit?: number },
): Script<readonly Uint8Array[]> {
  const rows = yield* all(sql<{ place: bigint; hash: Uint8Array }>`
    select place, hash from log_subtrees
    where store_id = ${storeId} and level = ${level} and place >= ${from} and place < ${from + limit}
    order by place`);
  const end = rows.findIndex(({ place }, index) => toNumber(place) !== from + index);
  return (end < 0 ? rows : rows.slice(0, end)).map(({ hash }) => hash);
}

/** Locks what only one process at a time does: appending to logs. */
export function* lockAppending(): Script<void> {
  yield* execute(lock`select id from log_turn where id = 1 ${forUpdate}`);
}

export type Cursor = ReturnType<typeof cursors.read>;
export type Backfill = ReturnType<typeof backfills.read>;

/**
 * Returns owners of cursors that have to begin or to move, and owners of stores with a backfill: at most `limit` of each
 * kind. An owner is a store, or 0 for all stores.
 */
export function* listOwnersToAppend(limit: number): Script<readonly number[]> {
  type Row = { owner: bigint };
  const found = yield* parallel(
    ...entrySources.flatMap((source) => {
      const { sql: sqlFor, pendingOwners, isStale } = sqlOf[source];
      return [
        all(sqlFor<Row>`select p.owner from ${pendingOwners} limit ${limit}`),
        all(sqlFor<Row>`
          select c.store_id as owner from log_cursors c where c.source = ${source} and ${isStale} limit ${limit}`),
        all(sqlFor<Row>`
          select o.id as owner from ${cursorOwners}
          where o.id not in (select store_id from log_cursors where source = ${source}) limit ${limit}`),
      ];
    }),
    all(sql<Row>`
      select distinct ${ownerOfStore} as owner from log_backfills limit ${limit}`),
  );
  return [...new Set(found.flat().map(({ owner }) => toNumber(owner)))].toSorted(
    (left, right) => left - right,
  );
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

/** Begins a cursor that is missing, or whose place is not one of this database, at the end. Earlier entries are backfilled. */
export function* beginCursor(source: EntryTable, owner: number): Script<Cursor> {
  const { sql: sqlFor, start } = sqlOf[source];
  const { place, last_id: lastId } = yield* one(sqlFor<{ place: bigint; last_id: bigint }>`
    select s.place, s.last_id from ${start} ${owner}) s`);
  const cursor = { owner, source, place, lastId: toNumber(lastId) };
  yield* execute(sql`
    insert into log_cursors (${cursors.names}) values (${cursors.values(cursor)})
    on conflict (store_id, source) do update set ${cursors.excluded}`);
  const stores = yield* all(
    sql<{
      id: bigint;
    }>`select id from stores where cast(${owner} as bigint) in (0, id) and status <> 'arriving'`,
  );
  for (const { id } of stores) {
    const backfill = { storeId: toNumber(id), source, afterId: 0, untilPlace: place };
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
    if (!last) continue;
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
