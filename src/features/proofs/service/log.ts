/**
 * The logs of the stores: appends new entries, and computes roots and proofs. A log contains every entry of the store's
 * chains once, so a card's last entry proves all of its past, because each hash covers the one before.
 */

import assert from 'node:assert/strict';
import { hash as digest } from 'node:crypto';
import type { Context } from '../../../core/storage/context.ts';
import { logNameOf } from '../domain/checkpoint.ts';
import { subtreesOf, type LeafRange, type Subtree } from '../domain/log-tree.ts';
import {
  insertLog,
  insertSubtree,
  listLogged,
  lockLog,
  pageEntries,
  readEntryHashes,
  readLogPage,
  readSubtrees,
  updateSize,
  writePage,
  type EntryLog,
} from '../../../core/log/storage/log.ts';
import {
  listBackfilled,
  listNewEntries,
  type NewEntry,
  beginCursor,
  findBackfill,
  findQuietPlace,
  listOwnersToAppend,
  listOwnersToBegin,
  lockCursors,
  moveBackfill,
  moveCursor,
  lockAppending,
  type Backfill,
  type Cursor,
} from '../../../core/log/storage/log-cursor.ts';
import { entrySources, type EntryId, type LogEntry } from '../../../core/log/storage/log-entry.ts';
import { writeByStore } from '../../../database/sql/by-store.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import type { EntryTable } from '../../../database/sql/fragments.ts';
import type { Storage } from '../../../database/storage.ts';
import { makeWorkDue } from '../../../core/stores/storage/work.ts';
import { findStore, listArrivingStores } from '../../../core/stores/storage/store.ts';

/** Entries that are appended in one transaction: they hold the thread for about a millisecond. */
const batchEntries = 500;
/** Each of these stores costs as much as about 20 entries. */
const batchStores = 32;
/** Entries of one cursor that are appended in one transaction, however many cursors it moves. */
const entriesOfOwnerMin = 16;

const hashLength = 32;
/** A byte for the kind of the node and its hashes, of which a leaf has one: a new buffer each time would take twice the time. */
const [leaf, node] = [Buffer.alloc(1 + hashLength, 0), Buffer.alloc(1 + 2 * hashLength, 1)];

/** The hash of a leaf, from the hash of an entry (RFC 9162, section 2.1.1). */
export function leafHash(entryHash: Uint8Array): Uint8Array {
  if (entryHash.length !== hashLength)
    return digest('sha256', Buffer.concat([Buffer.of(0), entryHash]), 'buffer');
  leaf.set(entryHash, 1);
  return Buffer.from(digest('sha256', leaf, 'latin1'), 'latin1');
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + hashLength);
  return Buffer.from(digest('sha256', node, 'latin1'), 'latin1');
}

/** The root of the tree of these hashes, which are leaves or roots of complete subtrees of equal size. */
export function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 0) return digest('sha256', '', 'buffer');
  let level = hashes;
  while (level.length > 1) {
    const next: Uint8Array[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = [level[index], level[index + 1]];
      assert(left);
      // A node without a sibling is the last one, and moves up.
      next.push(right ? nodeHash(left, right) : left);
    }
    level = next;
  }
  const [root] = level;
  assert(root);
  return root;
}

/** Returns a store's log, which is created for its first entry or checkpoint, and locks it. */
export function* openLog(ctx: Context, storeId: number): Script<EntryLog> {
  const found = yield* lockLog(storeId);
  if (found) return found;
  const record = yield* findStore(storeId);
  assert(record);
  yield* insertLog({
    storeId,
    name: logNameOf(record.store.domain, ctx.random.bytes(4)),
    size: 0,
    createdAt: ctx.clock.now(),
  });
  // The store has its first entry.
  yield* makeWorkDue(ctx, storeId, ['closing']);
  const log = yield* lockLog(storeId);
  assert(log);
  return log;
}

type Database = { readonly ctx: Context; readonly storage: Storage };

/**
 * Appends the entries to the logs that are final when it starts. Several processes can do it at the same time. It does
 * not look for entries that are added later, because that would never end under load.
 */
export async function appendEntries(database: Database): Promise<void> {
  await createAppending(database)();
}

/**
 * Returns a task that does it. Only its first run looks for cursors that have to begin, and a run reads no cursor if nothing
 * was committed since one that found nothing.
 */
export function createAppending({ ctx, storage }: Database): () => Promise<void> {
  let hasBegun = false;
  let quietAt: bigint | null = null;
  const appendAll = async (list: () => Script<readonly number[]>): Promise<void> => {
    while (await appendListed({ ctx, storage }, list));
  };
  return async () => {
    if (!hasBegun) await appendAll(() => listOwnersToBegin(batchStores));
    hasBegun = true;
    await appendAll(function* listOwners() {
      const place = yield* findQuietPlace();
      if (place !== null && place === quietAt) return [];
      const owners = yield* listOwnersToAppend(batchStores);
      quietAt = owners.length === 0 ? place : null;
      return owners;
    });
  };
}

/** Appends entries of the owners that a script finds. @returns whether there are more. */
async function appendListed(
  { ctx, storage }: Database,
  list: () => Script<readonly number[]>,
): Promise<boolean> {
  // Reads first, because an idle service writes nothing.
  const owners = await storage.read(list);
  let hasMore = false;
  const isFull = owners.length >= batchStores;
  const committed = (done: Appended): void =>
    void (hasMore ||= done === 'a part' || (isFull && done === 'everything'));
  await writeByStore(
    { storage, committed },
    owners.map((storeId) => ({ storeId })),
    (some) =>
      appendNewEntries(
        ctx,
        some.map(({ storeId }) => storeId),
      ),
  );
  return hasMore;
}

/** The result of an append: whether there can be more to append. */
export type Appended = 'nothing' | 'everything' | 'a part';

/**
 * Appends new entries of stores to their logs: about 500 for all cursors together.
 * @param owners at most 32 owners of cursors.
 */
export function* appendNewEntries(ctx: Context, owners: readonly number[]): Script<Appended> {
  yield* lockAppending();
  const cursors: Cursor[] = [];
  for (const source of entrySources) {
    for (const [place, found] of (yield* lockCursors(source, owners)).entries()) {
      const owner = owners[place];
      assert(owner !== undefined);
      cursors.push(found ?? (yield* beginCursor(source, owner)));
    }
  }
  const backfills = yield* parallel(...owners.map((owner) => findBackfill(owner)));
  // The copy of a store contains its log.
  const arriving = new Set(owners.includes(0) ? yield* listArrivingStores() : []);
  const limit = Math.max(entriesOfOwnerMin, Math.floor(batchEntries / owners.length));
  let done: Appended = 'nothing';
  for (const [place, owner] of owners.entries()) {
    const backfill = backfills[place];
    if (backfill) {
      yield* continueBackfill(ctx, backfill);
      done = 'a part';
      continue;
    }
    for (const cursor of cursors.filter((each) => each.owner === owner)) {
      const found = yield* listNewEntries(cursor, limit);
      const entries = ofFewStores(found);
      const last = entries.at(-1);
      if (!last) continue;
      for (const [storeId, ofStore] of Map.groupBy(entries, (entry) => entry.storeId))
        if (!arriving.has(storeId)) yield* append(ctx, yield* openLog(ctx, storeId), ofStore);
      yield* moveCursor({ ...cursor, place: last.place, lastId: last.id });
      const isFull = entries.length < found.length || found.length === limit;
      done = isFull || done === 'a part' ? 'a part' : 'everything';
    }
  }
  return done;
}

function ofFewStores(entries: readonly NewEntry[]): readonly NewEntry[] {
  const stores = new Set<number>();
  const end = entries.findIndex(({ storeId }) => stores.add(storeId).size > batchStores);
  return end < 0 ? entries : entries.slice(0, end);
}

/** Appends entries that were written before the cursor began, except those that the log contains already. */
function* continueBackfill(ctx: Context, backfill: Backfill): Script<void> {
  const { storeId } = backfill;
  const found = yield* listBackfilled(backfill, batchEntries);
  const [lowest, last] = [found.at(0), found.at(-1)];
  if (!lowest || !last) {
    yield* moveBackfill(backfill, null);
    return;
  }
  const known = new Map<EntryTable, Set<number>>(entrySources.map((source) => [source, new Set()]));
  for (const { source, id } of yield* listLogged(storeId, { lowest: lowest.id, highest: last.id }))
    known.get(source)?.add(id);
  const missing = found.filter(({ source, id }) => !known.get(source)?.has(id));
  if (missing.length > 0) yield* append(ctx, yield* openLog(ctx, storeId), missing);
  yield* moveBackfill(backfill, found.length < batchEntries ? null : last.id);
}

/** Appends entries to a log that the transaction has locked. */
function* append(ctx: Context, { storeId, size }: EntryLog, entries: readonly LogEntry[]): Script<void> {
  // Every change that can make a card expire, or expire soon, is an entry. The newest event stays until there is another one.
  yield* makeWorkDue(ctx, storeId, ['checkpoint', 'expiry', 'events']);
  let page = Math.floor(size / pageEntries);
  let onPage: EntryId[] = [];
  let leaves: Uint8Array[] = [];
  if (size % pageEntries > 0) {
    onPage = [...((yield* readLogPage(storeId, page))?.entries ?? [])];
    if (onPage.length + entries.length >= pageEntries)
      leaves = leavesOf(onPage, yield* readEntryHashes(storeId, onPage));
  }
  assert(onPage.length === size % pageEntries, 'the log has another size than its pages');
  for (const { source, id, hash } of entries) {
    onPage.push({ source, id });
    leaves.push(leafHash(hash));
    if (onPage.length < pageEntries) continue;
    yield* writePage(storeId, page, onPage);
    yield* completeSubtrees(storeId, page, rootOf(leaves));
    page += 1;
    onPage = [];
    leaves = [];
  }
  if (onPage.length > 0) yield* writePage(storeId, page, onPage);
  yield* updateSize(storeId, size + entries.length);
}

function leavesOf(
  entries: readonly EntryId[],
  hashOf: (entry: EntryId) => Uint8Array | undefined,
): Uint8Array[] {
  return entries.map((entry) => {
    const hash = hashOf(entry);
    assert(hash, `the log has an entry that does not exist: ${entry.source} ${entry.id}`);
    return leafHash(hash);
  });
}

/** Stores the hash of a complete page, and of each larger subtree that is complete with it. */
function* completeSubtrees(storeId: number, page: number, pageHash: Uint8Array): Script<void> {
  let [level, place, hash] = [1, page, pageHash];
  yield* insertSubtree(storeId, { level, place, hash });
  while ((place + 1) % pageEntries === 0) {
    hash = rootOf(yield* readSubtrees(storeId, { level, from: place + 1 - pageEntries }));
    [level, place] = [level + 1, Math.floor(place / pageEntries)];
    yield* insertSubtree(storeId, { level, place, hash });
  }
}

/** Reads hashes of a log's tree. Each page and each 256 subtrees are read once. */
export class TreeReader {
  readonly #storeId: number;
  readonly #groups = new Map<string, readonly Uint8Array[]>();

  constructor(storeId: number) {
    this.#storeId = storeId;
  }

  /** Returns the root of a range of leaves that the log contains. */
  *root(range: LeafRange): Script<Uint8Array> {
    const hashes: Uint8Array[] = [];
    for (const subtree of subtreesOf(range)) hashes.push(yield* this.#subtree(subtree));
    return hashes.length === 0 ? rootOf([]) : hashes.reduceRight((right, left) => nodeHash(left, right));
  }

  *roots(ranges: readonly LeafRange[]): Script<readonly Uint8Array[]> {
    const roots: Uint8Array[] = [];
    for (const range of ranges) roots.push(yield* this.root(range));
    return roots;
  }

  /** Returns the hashes of a range of leaves that the log contains. */
  *leaves({ from, to }: LeafRange): Script<readonly Uint8Array[]> {
    const leaves: Uint8Array[] = [];
    for (let page = Math.floor(from / pageEntries); page * pageEntries < to; page += 1) {
      const first = page * pageEntries;
      const group = yield* this.#group(0, page);
      leaves.push(...group.slice(Math.max(0, from - first), to - first));
    }
    assert(leaves.length === Math.max(0, to - from), 'the log has fewer entries than its size');
    return leaves;
  }

  *#subtree({ height, place }: Subtree): Script<Uint8Array> {
    // The hashes of every eighth level are stored; those of level 0 are computed from the entries.
    const level = Math.floor(height / 8);
    const width = 2 ** (height % 8);
    const from = place * width;
    const group = yield* this.#group(level, Math.floor(from / pageEntries));
    const hashes = group.slice(from % pageEntries, (from % pageEntries) + width);
    assert(hashes.length === width, 'the log has fewer entries than its size');
    return rootOf(hashes);
  }

  *#group(level: number, place: number): Script<readonly Uint8Array[]> {
    const name = `${level} ${place}`;
    let found = this.#groups.get(name);
    if (!found) {
      if (level === 0) {
        const entries = (yield* readLogPage(this.#storeId, place))?.entries ?? [];
        found = leavesOf(entries, yield* readEntryHashes(this.#storeId, entries));
      } else found = yield* readSubtrees(this.#storeId, { level, from: place * pageEntries });
      this.#groups.set(name, found);
    }
    return found;
  }
}
