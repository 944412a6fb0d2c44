/**
 * Clears the unallocated space of pages. `secure_delete` overwrites the cells that it deletes, but when SQLite moves
 * cells to a neighboring page, copies of them stay in the space between the cell pointers and the cells, and in free blocks
 * (https://www.sqlite.org/fileformat.html#b_tree_pages). A copy of a row that is erased later would stay in the file.
 *
 * SQLite does not read that space. It is written while the caller has the write lock and the log is empty: then every
 * page is in the file, and no other process writes one.
 */

import { fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs';

/** Pages of one call: they block the engine for about a millisecond. */
const pagesAtOnce = 256;

/** From this page number on, a page of another kind could be taken for a B-tree page. */
const pageNumberMax = 0x0200_0000;

const headerLength = 100;
const freeBlockHeader = 4;
/** Types of B-tree pages: interior index, interior table, leaf index, leaf table. */
const interior: ReadonlySet<number> = new Set([2, 5]);
const leaf: ReadonlySet<number> = new Set([10, 13]);

/**
 * Open files. They are never closed: closing any descriptor of a file removes all locks of the process on it (POSIX),
 * including those of SQLite's connections.
 */
const opened = new Map<string, number>();

function openForever(file: string): number {
  const known = opened.get(file);
  if (known !== undefined && fstatSync(known).ino === statSync(file).ino) return known;
  const descriptor = openSync(file, 'r+');
  opened.set(file, descriptor);
  return descriptor;
}

export type ClearedPages = {
  readonly descriptor: number;
  /** The next page, from 0; undefined after the last. */
  readonly next: number | undefined;
};

/** Clears `pagesAtOnce` pages from the page `first` (from 0) on. */
export function clearGaps(file: string, first: number): ClearedPages {
  const descriptor = openForever(file);
  const header = Buffer.alloc(headerLength);
  readSync(descriptor, header, 0, headerLength, 0);
  const stored = header.readUInt16BE(16);
  const pageSize = stored === 1 ? 65_536 : stored;
  const pages = Math.min(Math.floor(fstatSync(descriptor).size / pageSize), pageNumberMax);
  const chunk = Buffer.alloc(Math.max(0, Math.min(pagesAtOnce, pages - first)) * pageSize);
  readSync(descriptor, chunk, 0, chunk.length, first * pageSize);
  for (let at = 0; at < chunk.length; at += pageSize) {
    const page = chunk.subarray(at, at + pageSize);
    for (const { start, end } of gapsOf(page, first + at / pageSize === 0 ? headerLength : 0)) {
      if (page.subarray(start, end).every((byte) => byte === 0)) continue;
      const zeros = Buffer.alloc(end - start);
      writeSync(descriptor, zeros, 0, zeros.length, first * pageSize + at + start);
    }
  }
  const next = first + pagesAtOnce;
  return { descriptor, next: next < pages ? next : undefined };
}

type Gap = { readonly start: number; readonly end: number };

/** The unallocated space of a B-tree page, and the unused bytes of its free blocks; none if it is another page. */
function gapsOf(page: Buffer, offset: number): readonly Gap[] {
  const type = page.readUInt8(offset);
  if (!interior.has(type) && !leaf.has(type)) return [];
  const cells = page.readUInt16BE(offset + 3);
  const start = offset + (leaf.has(type) ? 8 : 12) + 2 * cells;
  const stored = page.readUInt16BE(offset + 5);
  const content = stored === 0 ? 65_536 : stored;
  // A damaged page is left to "largesse verify".
  if (start > content || content > page.length) return [];
  const gaps: Gap[] = [{ start, end: content }];
  // Each free block begins with the place of the next one, which is behind it, and its own size.
  for (let at = page.readUInt16BE(offset + 1), last = content - 1; at !== 0;) {
    if (at <= last || at + freeBlockHeader > page.length) return [];
    const end = at + page.readUInt16BE(at + 2);
    if (end < at + freeBlockHeader || end > page.length) return [];
    gaps.push({ start: at + freeBlockHeader, end });
    last = at;
    at = page.readUInt16BE(at);
  }
  return gaps;
}
