/** Verifies the logs: each entry of the chains is in its store's log once, and the stored hashes are those of the entries. */

import { sameBytes } from '../../../platform/keys.ts';
import { listPublicKeys, listCheckpointsAfter } from '../storage/checkpoint.ts';
import {
  findLog,
  pageEntries,
  readEntryHashes,
  readLogPage,
  readSubtrees,
  type EntryLog,
} from '../../../core/log/storage/log.ts';
import { countEntries, listAppended } from '../../../core/log/storage/log-cursor.ts';
import { entrySources, type EntryId } from '../../../core/log/storage/log-entry.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { EntryTable } from '../../../database/sql/fragments.ts';
import type { StoreVerifying } from './row-check.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { isSignedNote } from './checkpoint.ts';
import { leafHash, nodeHash, rootOf } from './log.ts';

const names: Readonly<Record<EntryTable, string>> = { transfers: 'transfer', card_changes: 'change' };

/** Verifies a store's log. Entries that the log is still to append are correct. */
export function* checkLog({ id: storeId }: Store, { found, read }: StoreVerifying): Script<void> {
  const report = (problem: string): void => found({ cardId: null, problem: `log: ${problem}` });
  const log = yield* findLog(storeId);
  if (!log) return;
  const checkpoints = checkpointWalk(log);
  const tree = new GrowingTree();
  const seen = new SeenEntries();
  yield* checkpoints.compare(tree, [], report);
  let pages = 0;
  for (; ; pages += 1) {
    const page = yield* readLogPage(storeId, pages);
    if (!page) break;
    const { entries } = page;
    read(1);
    const ids = entries.map(({ id }) => id);
    if (page.lowestId !== Math.min(...ids) || page.highestId !== Math.max(...ids))
      report(`the range of ids of page ${pages} does not match its entries`);
    const hashOf = yield* readEntryHashes(storeId, entries);
    const leaves: Uint8Array[] = [];
    for (const entry of entries) {
      const hash = hashOf(entry);
      if (hash) {
        seen.add(entry);
        leaves.push(leafHash(hash));
      } else {
        report(
          `entry ${tree.size + leaves.length} is the ${names[entry.source]} ${entry.id}, which does not exist`,
        );
        // The hashes of other pages can still be compared.
        leaves.push(new Uint8Array(32));
      }
    }
    yield* checkpoints.compare(tree, leaves, report);
    if (entries.length < pageEntries) {
      tree.size += entries.length;
      break;
    }
    yield* compareSubtrees(storeId, tree.add(rootOf(leaves)), report);
  }
  if (tree.size !== log.size) report(`has ${tree.size} entries in its pages, but the size ${log.size}`);
  yield* compareSubtreeCounts(log, report);
  checkpoints.end(report);
  for (const { source, id } of seen.duplicates()) report(`contains the ${names[source]} ${id} twice`);
  yield* compareMissing(storeId, seen, report);
}

type Report = (problem: string) => void;

/** The complete subtrees of a log so far, by level. */
class GrowingTree {
  /** The number of entries. */
  size = 0;
  /** The hashes of the complete subtrees of each level, from level 1, that are not part of one of the next level. */
  readonly levels: Uint8Array[][] = [];

  /** Adds a complete page, and returns the subtrees that are complete with it. */
  add(
    hash: Uint8Array,
  ): readonly { readonly level: number; readonly place: number; readonly hash: Uint8Array }[] {
    this.size += pageEntries;
    const completed = [];
    let added = hash;
    for (let level = 1, place = this.size / pageEntries - 1; ; level += 1) {
      completed.push({ level, place, hash: added });
      const hashes = [...(this.levels[level - 1] ?? []), added];
      this.levels[level - 1] = hashes;
      if (hashes.length < pageEntries) return completed;
      added = rootOf(hashes);
      this.levels[level - 1] = [];
      place = Math.floor(place / pageEntries);
    }
  }

  /** The root with further leaves, fewer than a page. */
  root(leaves: readonly Uint8Array[]): Uint8Array {
    const parts: Uint8Array[] = [];
    for (const hashes of [...this.levels].toReversed()) parts.push(...completeParts(hashes));
    parts.push(...completeParts(leaves));
    return parts.length === 0 ? rootOf([]) : parts.reduceRight((right, left) => nodeHash(left, right));
  }
}

/** The roots of the largest complete subtrees, from left to right. */
function completeParts(hashes: readonly Uint8Array[]): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let from = 0; from < hashes.length;) {
    let width = 1;
    while (width * 2 <= hashes.length - from) width *= 2;
    parts.push(rootOf(hashes.slice(from, from + width)));
    from += width;
  }
  return parts;
}

function* compareSubtrees(
  storeId: number,
  completed: ReturnType<GrowingTree['add']>,
  report: Report,
): Script<void> {
  for (const { level, place, hash } of completed) {
    const [stored] = yield* readSubtrees(storeId, { level, from: place, limit: 1 });
    if (!stored) report(`the subtree ${place} of level ${level} is missing`);
    else if (!sameBytes(stored, hash))
      report(`the hash of the subtree ${place} of level ${level} does not match its entries`);
  }
}

/** A proof must not use a subtree that the log does not have yet. */
function* compareSubtreeCounts({ storeId, size }: EntryLog, report: Report): Script<void> {
  const first = Math.floor(size / pageEntries);
  for (let level = 1, place = first; place > 0 || level === 1; level += 1) {
    const [beyond] = yield* readSubtrees(storeId, { level, from: place, limit: 1 });
    if (beyond) report(`has the subtree ${place} of level ${level}, which is not complete`);
    place = Math.floor(place / pageEntries);
  }
}

const checkpointsInPage = 250;

/** Compares checkpoints with the log while it is read. Their sizes rise with their ids. */
function checkpointWalk({ storeId, name }: EntryLog) {
  let loaded: {
    readonly id: number;
    readonly size: number;
    readonly root: Uint8Array;
    readonly note: string;
  }[] = [];
  let after = 0;
  let isLast = false;
  let highest = 0;
  let keys: readonly Uint8Array[] | undefined;
  function* next(): Script<(typeof loaded)[number] | undefined> {
    if (loaded.length === 0 && !isLast) {
      loaded = [...(yield* listCheckpointsAfter(storeId, { after, limit: checkpointsInPage }))];
      isLast = loaded.length < checkpointsInPage;
      after = loaded.at(-1)?.id ?? after;
    }
    return loaded[0];
  }
  return {
    /** Compares the checkpoints of sizes up to that of the tree with some leaves more. */
    *compare(tree: GrowingTree, leaves: readonly Uint8Array[], report: Report): Script<void> {
      keys ??= (yield* listPublicKeys(storeId)).map(({ publicKey }) => publicKey);
      for (;;) {
        const checkpoint = yield* next();
        if (!checkpoint || checkpoint.size > tree.size + leaves.length) return;
        const { id, size, root, note } = checkpoint;
        loaded.shift();
        if (size < highest) report(`the checkpoint ${id} has fewer entries than an earlier one`);
        else if (!sameBytes(root, tree.root(leaves.slice(0, size - tree.size))))
          report(`the root of the checkpoint ${id} does not match the first ${size} entries`);
        if (!isSignedNote(note, { name, size, root, keys }))
          report(
            `the note of the checkpoint ${id} is not signed with a key of the log, or says something else`,
          );
        highest = Math.max(highest, size);
      }
    },
    end(report: Report): void {
      for (const { id, size } of loaded)
        report(`the checkpoint ${id} has ${size} entries, more than the log`);
    },
  };
}

/** The ids of a log's entries that exist. */
class SeenEntries {
  readonly #ids: Record<EntryTable, Float64Array> = {
    transfers: new Float64Array(0),
    card_changes: new Float64Array(0),
  };
  readonly #counts: Record<EntryTable, number> = { transfers: 0, card_changes: 0 };
  #isSorted = false;

  add({ source, id }: EntryId): void {
    const count = this.#counts[source];
    if (count === this.#ids[source].length) {
      const larger = new Float64Array(Math.max(1_024, count * 2));
      larger.set(this.#ids[source]);
      this.#ids[source] = larger;
    }
    this.#ids[source][count] = id;
    this.#counts[source] = count + 1;
  }

  #sorted(source: EntryTable): Float64Array {
    if (!this.#isSorted) {
      for (const one of entrySources) this.#ids[one] = this.#ids[one].slice(0, this.#counts[one]).toSorted();
      this.#isSorted = true;
    }
    return this.#ids[source];
  }

  /** The number of different entries. */
  distinct(source: EntryTable): number {
    return this.#sorted(source).reduce((count, id, index, ids) => count + (id === ids[index - 1] ? 0 : 1), 0);
  }

  *duplicates(): Generator<EntryId> {
    for (const source of entrySources) {
      const ids = this.#sorted(source);
      for (let index = 1; index < ids.length; index += 1) {
        const id = ids[index];
        if (id !== undefined && id === ids[index - 1]) yield { source, id };
      }
    }
  }

  has({ source, id }: EntryId): boolean {
    const ids = this.#sorted(source);
    let [low, high] = [0, ids.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = ids[middle] ?? 0;
      if (found === id) return true;
      if (found < id) low = middle + 1;
      else high = middle - 1;
    }
    return false;
  }
}

/** Entries behind the cursor must be in the log. They are listed only if their number is wrong. */
function* compareMissing(storeId: number, seen: SeenEntries, report: Report): Script<void> {
  for (const source of entrySources) {
    const appended = yield* countEntries(storeId, source);
    if (appended === null || appended <= seen.distinct(source)) continue;
    for (let after = 0; ;) {
      const ids = yield* listAppended(storeId, { source, after, limit: 500 });
      for (const id of ids) if (!seen.has({ source, id })) report(`the ${names[source]} ${id} is missing`);
      const last = ids.at(-1);
      if (last === undefined || ids.length < 500) break;
      after = last;
    }
  }
}
