/**
 * Makes durable what earlier processes wrote, before this process responds to anything.
 *
 * After a failed sync the system may keep pages in memory that are not on the disk, and report success for every later
 * sync (https://wiki.postgresql.org/wiki/Fsync_Errors). The next process reads such a log as if it were whole. What it
 * appends is lost with the first power failure, because SQLite's recovery stops at the gap.
 *
 * - This writes the log again, byte by byte in its place, and syncs it: a page that was written to is synced.
 *   A checkpoint alone would damage the file: if the power fails after it has written pages to the file, the log on the
 *   disk, which stops at the gap, undoes only some of them.
 * - With `andFile` it also writes the pages of the file again that a checkpoint has copied from this log. SQLite does
 *   so itself where no other process has the file open, because then a checkpoint starts with the first page.
 */

import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { checkpointing } from './sqlite-checkpoints.ts';
import { isBusy, isNotWritable } from './sqlite-connection.ts';

/** The format of the log (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). */
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const magics: ReadonlySet<number> = new Set([0x377f0682, 0x377f0683]);

/** The least number of bytes that are written at once. */
const chunkBytes = 2 ** 20;

/** How long to wait for another process that writes, or that reads what a checkpoint would overwrite. */
const waitMs = 30_000;

/** Descriptors of database files. To close one would drop the locks that SQLite has on the file. */
const databaseFiles = new Map<string, number>();

/**
 * Makes the log durable, and with `andFile` the file as well.
 * @throws Error if the disk fails: then the process must not respond. If the disk is full or read-only, the error is
 * one that `isNotWritable` accepts.
 */
export function makeDurable(
  file: string,
  writer: DatabaseSync,
  { andFile }: { readonly andFile: boolean },
): void {
  const log = `${file}-wal`;
  const deadline = performance.now() + waitMs;
  const attempt = (): boolean =>
    locked(writer, () => {
      if (!existsSync(log)) return true;
      const frames = usingFile(log, rewriteFrames);
      return !andFile || frames.pages.length === 0 || rewriteMoved(file, frames);
    });
  while (!attempt()) {
    if (performance.now() > deadline) throw new Error(waitedFor('reading'));
    sleep(100);
  }
  if (existsSync(log)) usingFile(log, fdatasyncSync);
  if (andFile) emptyLog(writer);
}

/** Makes the log of a file durable that no other process uses. */
export function makeLogDurable(file: string): void {
  if (!existsSync(`${file}-wal`)) return;
  usingFile(`${file}-wal`, (log) => {
    rewriteFrames(log);
    fdatasyncSync(log);
  });
}

function usingFile<T>(path: string, body: (file: number) => T): T {
  const file = openSync(path, 'r+');
  try {
    return body(file);
  } finally {
    closeSync(file);
  }
}

function waitedFor(what: string): string {
  return `another process has been ${what} for ${waitMs / 1_000} s: stop it, or wait until it ends`;
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** While this runs, no other process writes to the log or starts it over. */
function locked<T>(writer: DatabaseSync, body: () => T): T {
  writer.exec(`pragma busy_timeout = ${waitMs}`);
  try {
    writer.exec('begin immediate');
  } catch (error) {
    throw isBusy(error) ? new Error(waitedFor('writing'), { cause: error }) : error;
  }
  try {
    return body();
  } finally {
    writer.exec('rollback; pragma busy_timeout = 5');
  }
}

/** The page of each frame of the log. */
type Frames = { readonly pageBytes: number; readonly pages: readonly number[] };

/** Writes the frames of a log again, except those of before it last started over. */
function rewriteFrames(log: number): Frames {
  const pages: number[] = [];
  const header = Buffer.alloc(logHeaderBytes);
  if (readSync(log, header, 0, logHeaderBytes, 0) < logHeaderBytes || !magics.has(header.readUInt32BE(0)))
    return { pageBytes: 0, pages };
  writeSync(log, header, 0, logHeaderBytes, 0);
  const pageBytes = header.readUInt32BE(8);
  const salts = header.subarray(16, 24);
  const frameBytes = frameHeaderBytes + pageBytes;
  const chunk = Buffer.alloc(Math.ceil(chunkBytes / frameBytes) * frameBytes);
  for (let at = logHeaderBytes; ;) {
    const read = readSync(log, chunk, 0, chunk.length, at);
    let used = 0;
    for (; used + frameBytes <= read; used += frameBytes) {
      if (!chunk.subarray(used + 8, used + 16).equals(salts)) break;
      pages.push(chunk.readUInt32BE(used));
    }
    if (used > 0) writeSync(log, chunk, 0, used, at);
    if (used < chunk.length) return { pageBytes, pages };
    at += used;
  }
}

/**
 * Writes the pages of the log into the file again, if a running process has copied some of them: a checkpoint of SQLite
 * would start after those. Returns false while another process reads what it would overwrite.
 */
function rewriteMoved(file: string, { pageBytes, pages }: Frames): boolean {
  using mover = new DatabaseSync(file, { timeout: 5 });
  if (checkpointing(mover, 'noop')().moved === 0) return true;
  const { frames, moved } = checkpointing(mover, 'passive')();
  // Once all of the log is in the file, no other process writes to the file, because none writes to the log.
  if (moved < frames) return false;
  const target = databaseFiles.get(file) ?? openSync(file, 'r+');
  databaseFiles.set(file, target);
  const count = Number(mover.prepare('pragma page_count').get()?.['page_count']);
  const lastFrames = new Map(pages.slice(0, frames).map((page, frame) => [page, frame]));
  const bytes = Buffer.alloc(pageBytes);
  usingFile(`${file}-wal`, (log) => {
    for (const [page, frame] of lastFrames) {
      if (page > count) continue;
      const at = logHeaderBytes + frame * (frameHeaderBytes + pageBytes) + frameHeaderBytes;
      readSync(log, bytes, 0, pageBytes, at);
      writeSync(target, bytes, 0, pageBytes, (page - 1) * pageBytes);
    }
  });
  fsyncSync(target);
  return true;
}

/** Moves the log into the file, so that it starts empty. The log stays if others use it, or the disk is full. */
function emptyLog(writer: DatabaseSync): void {
  try {
    writer.exec('pragma synchronous = full; pragma wal_checkpoint(truncate)');
  } catch (error) {
    if (!isBusy(error) && !isNotWritable(error)) throw error;
  } finally {
    writer.exec('pragma synchronous = normal');
  }
}
