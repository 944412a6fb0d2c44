/**
 * Makes writes of earlier processes durable before this process responds to requests.
 *
 * After a failed sync the system can keep pages in memory that are not on the disk, and report success for
 * later syncs (https://wiki.postgresql.org/wiki/Fsync_Errors). The next process reads such a log as complete.
 * Its own commits are lost at the next power failure, because SQLite's recovery stops at the gap.
 *
 * - The log is rewritten in place and synced, because a sync covers pages that were written to. A checkpoint
 *   alone could damage the file: after a power failure the log on the disk, which ends at the gap, undoes only
 *   some of its pages.
 * - With `andFile`, pages that a checkpoint has copied are rewritten as well. SQLite does so itself if no other
 *   process has the file open, because a checkpoint then starts with the first page.
 */

import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { checkpointing } from './checkpoints.ts';
import { isBusy, isNotWritable, lockAttemptMs } from './connection.ts';

/** Format of the log (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). */
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const magics: ReadonlySet<number> = new Set([0x377f0682, 0x377f0683]);

/** Minimum number of bytes per write. */
const chunkBytes = 2 ** 20;

/** The longest wait for another process that writes, or that reads pages that a checkpoint would overwrite. */
const waitMs = 30_000;

/** Descriptors of database files, which stay open: closing one would drop SQLite's locks on the file. */
const databaseFiles = new Map<string, number>();

/**
 * Makes the log durable, and with `andFile` the file as well.
 * @throws Error if the disk fails: the process must not respond to requests. `isNotWritable` accepts the error
 * of a full or read-only disk.
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

/** Makes the log of a file durable. The file must not be in use by another process. */
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

/** Runs a body while other processes can neither write to the log nor restart it. */
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
    writer.exec(`rollback; pragma busy_timeout = ${lockAttemptMs}`);
  }
}

/** Page size, and page number of each frame. */
type Frames = { readonly pageBytes: number; readonly pages: readonly number[] };

/** Rewrites the frames of a log, except those from before its last restart. */
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
 * Rewrites the pages of the log in the file if a running process has copied some of them: a checkpoint of
 * SQLite would skip those. Returns false while another process reads pages that it would overwrite.
 */
function rewriteMoved(file: string, { pageBytes, pages }: Frames): boolean {
  using mover = new DatabaseSync(file, { timeout: 5 });
  if (checkpointing(mover, 'noop')().moved === 0) return true;
  const { frames, moved } = checkpointing(mover, 'passive')();
  // Once all of the log is in the file, other processes do not write to the file, because they cannot write to
  // the log.
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

/** Moves the log into the file and truncates it. The log stays if others use it, or if the disk is full. */
function emptyLog(writer: DatabaseSync): void {
  try {
    writer.exec('pragma synchronous = full; pragma wal_checkpoint(truncate)');
  } catch (error) {
    if (!isBusy(error) && !isNotWritable(error)) throw error;
  } finally {
    writer.exec('pragma synchronous = normal');
  }
}
