/**
 * What an earlier process wrote is made durable before this one responds to anything.
 *
 * After a sync that failed, the system may keep pages that are not on the disk, take them for clean, and report
 * success for every later sync (https://www.postgresql.org/docs/current/wal-reliability.html tells of the same on
 * Linux). The log of a process that ended because of such a sync is read as if it were whole, and what is appended to
 * it is lost with the first power failure, because recovery ends at the gap.
 *
 * - The log is written again, byte by byte in its place, and then synced: pages that are written to are dirty again.
 *   A checkpoint does not do: it writes pages to the file while the log on the disk still has the gap, and a power
 *   failure at that moment leaves a file of which the log undoes a part.
 * - The pages of the file that a checkpoint has moved are written again as long as the log has them. SQLite does so by
 *   itself where no other process has the file open, because then it moves the log from its start.
 */

import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { checkpointing } from './sqlite-checkpoints.ts';
import { isBusy, isNotWritable } from './sqlite-connection.ts';

/** The format of the log (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). */
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const magics: ReadonlySet<number> = new Set([0x377f0682, 0x377f0683]);

/** So many bytes are written again at once, at least. */
const chunkBytes = 2 ** 20;

/** How long this may wait for another process that writes, or that reads what a checkpoint would replace. */
const waitMs = 30_000;

/** Files that were written to beside SQLite. Closing one would drop the locks that SQLite has on it. */
const rewritten = new Map<string, number>();

/**
 * Makes the log durable, and with `andFile` the file as well.
 * @throws Error if the disk does not do it: then nothing may be responded. An error that `isNotWritable` knows if the
 * disk is full or read-only.
 */
export function makeDurable(
  file: string,
  writer: DatabaseSync,
  { andFile }: { readonly andFile: boolean },
): void {
  let log: number | undefined;
  try {
    // Nobody else writes to the log meanwhile, and nobody starts it over.
    locked(writer, () => {
      if (!existsSync(`${file}-wal`)) return;
      log = openSync(`${file}-wal`, 'r+');
      const frames = rewriteLog(log);
      if (andFile && frames.pages.length > 0) rewriteMoved(file, log, frames);
    });
    if (log !== undefined) fdatasyncSync(log);
  } finally {
    if (log !== undefined) closeSync(log);
  }
  if (andFile) emptyLog(writer);
}

function locked(writer: DatabaseSync, body: () => void): void {
  writer.exec(`pragma busy_timeout = ${waitMs}`);
  try {
    writer.exec('begin immediate');
  } catch (error) {
    if (!isBusy(error)) throw error;
    throw new Error(
      `another process has been writing for ${waitMs / 1_000} s: stop it, or wait until it ends`,
      {
        cause: error,
      },
    );
  }
  try {
    body();
  } finally {
    writer.exec('rollback; pragma busy_timeout = 5');
  }
}

/** The page of each frame of the log. */
type Frames = { readonly pageBytes: number; readonly pages: readonly number[] };

/** Writes the frames of the log again, up to those that are left of its earlier use. */
function rewriteLog(log: number): Frames {
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
 * Writes the pages of the log into the file again, if a process that still runs has moved some of them: SQLite would
 * begin after those.
 */
function rewriteMoved(file: string, log: number, { pageBytes, pages }: Frames): void {
  using mover = new DatabaseSync(file, { timeout: 5 });
  if (checkpointing(mover, 'noop')().moved === 0) return;
  const checkpoint = checkpointing(mover, 'passive');
  const deadline = performance.now() + waitMs;
  let state = checkpoint();
  // Once all of the log is in the file, no other process writes to the file, because none writes to the log.
  for (; state.moved < state.frames; state = checkpoint()) {
    if (performance.now() > deadline) {
      throw new Error(
        `another process has been reading ${file} for ${waitMs / 1_000} s: stop it, or wait until it ends`,
      );
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  const target = rewritten.get(file) ?? openSync(file, 'r+');
  rewritten.set(file, target);
  const count = Number(mover.prepare('pragma page_count').get()?.['page_count']);
  const last = new Map(pages.slice(0, state.frames).map((page, frame) => [page, frame]));
  const bytes = Buffer.alloc(pageBytes);
  for (const [page, frame] of last) {
    if (page > count) continue;
    readSync(
      log,
      bytes,
      0,
      pageBytes,
      logHeaderBytes + frame * (frameHeaderBytes + pageBytes) + frameHeaderBytes,
    );
    writeSync(target, bytes, 0, pageBytes, (page - 1) * pageBytes);
  }
  fsyncSync(target);
}

/** Moves the log into the file, so that it starts empty. Where others use it, or the disk is full, it stays. */
function emptyLog(writer: DatabaseSync): void {
  try {
    writer.exec('pragma synchronous = full; pragma wal_checkpoint(truncate)');
  } catch (error) {
    if (!isBusy(error) && !isNotWritable(error)) throw error;
  } finally {
    writer.exec('pragma synchronous = normal');
  }
}
