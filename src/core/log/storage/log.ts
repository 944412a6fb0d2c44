/**
 * The logs of the stores: which entries they contain, in their order, and the hashes of their complete subtrees. A *page*
 * is 256 entries.
 */

import assert from 'node:assert/strict';
import { columns, bytes, integer, text, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  one,
  sql,
  toNumber,
  ValueList,
  type Statement,
  type Script,
} from '../../../database/sql/sql.ts';
import { endOfHex, forUpdate, hex, type EntryTable } from '../../../database/sql/fragments.ts';
import { entrySources, sqlOf, type EntryId, type HashRow } from './log-entry.ts';

export const pageEntries = 256;

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
    if (ids.length > 0)
      found.set(
        source,
        (yield* readHashesOfRange(source, storeId, ids)) ?? (yield* readHashesByIds(source, storeId, ids)),
      );
  }
  return ({ source, id }) => found.get(source)?.(id);
}

/** Rows between the lowest and the highest id of a page of entries that are read with them. */
const rangeMax = 2 * pageEntries;

/**
 * Returns the hashes of entries that are mostly all between two ids: one row with all hashes takes a third of the time of
 * a row for each. Undefined: too many other entries are between them, or a hash has another length.
 */
function* readHashesOfRange(
  source: EntryTable,
  storeId: number,
  ids: readonly number[],
): Script<((id: number) => Uint8Array | undefined) | undefined> {
  const [lowest, highest] = [Math.min(...ids), Math.max(...ids)];
  const { sql: sqlFor, table } = sqlOf[source];
  const row = yield* one(sqlFor<{ readonly ids: string | null; readonly hashes: string | null }>`
    select string_agg(cast(r.id as text), ' ') as ids, string_agg(${hex} r.hash ${endOfHex}, '') as hashes
    from (
      select id, hash from ${table} where store_id = ${storeId} and id >= ${lowest} and id <= ${highest}
      order by id limit ${rangeMax}
    ) r`);
  const listed = row.ids?.split(' ').map(Number) ?? [];
  const hashes = Buffer.from(row.hashes ?? '', 'hex');
  if (listed.length === rangeMax || hashes.length !== listed.length * hashLength) return undefined;
  return inOrder(listed, (place) => hashes.subarray(place * hashLength, (place + 1) * hashLength));
}

const hashLength = 32;

function* readHashesByIds(
  source: EntryTable,
  storeId: number,
  ids: readonly number[],
): Script<(id: number) => Uint8Array | undefined> {
  const rows = yield* all(hashesOf(source, storeId, ids));
  return inOrder(
    rows.map(({ id }) => Number(id)),
    (place) => rows[place]?.hash,
  );
}

/** Finds values by ids, which are mostly asked for in the order of the list. */
function inOrder<T>(
  ids: readonly number[],
  valueAt: (place: number) => T | undefined,
): (id: number) => T | undefined {
  let next = 0;
  let places: ReadonlyMap<number, number> | undefined;
  return (id) => {
    if (ids[next] === id) return valueAt(next++);
    places ??= new Map(ids.map((listed, place) => [listed, place]));
    const place = places.get(id);
    return place === undefined ? undefined : valueAt(place);
  };
}

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
