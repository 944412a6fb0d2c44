/** Overwrites what deleted rows left in the pages of a file. */

import { fsync, statSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startCheckpointThread } from './checkpoint-thread.ts';
import { isBusy, type Connection } from './connection.ts';
import { clearGaps, type ClearedPages } from './gaps.ts';
import { writeNothing } from './open-file.ts';

/** Writes wait for a checkpoint and so many calls of `clearGaps`: about 30 ms. */
const chunksInPause = 16;

const syncFile = promisify(fsync);

/** The engine's part in clearing the file. */
export type Writes = {
  /** Whether the engine has ended, so that nothing must be changed. */
  readonly hasEnded: boolean;
  /** Lets writes wait, also those of the other processes of the service. */
  readonly pause: () => Promise<void>;
  readonly resume: () => void;
};

/** Clears the whole file in steps. Returns false if other processes write, so that it must be tried again. */
export async function clearDeleted(file: string, writer: Connection, writes: Writes): Promise<boolean> {
  await using thread = startCheckpointThread(file);
  let descriptor: number | undefined;
  try {
    for (let page: number | undefined = 0; page !== undefined;) {
      // A process that is not part of the service can put pages into the log.
      await writes.pause();
      if (writes.hasEnded || (await thread.truncate()).frames !== 0) return false;
      for (let chunk = 0; chunk < chunksInPause && page !== undefined; chunk += 1) {
        const cleared = clearPages(file, writer, page);
        if (!cleared) return false;
        ({ descriptor, next: page } = cleared);
        await nextTurn();
      }
      if (!renewCaches(file, writer)) return false;
      writes.resume();
      await wait(1);
    }
    if (descriptor !== undefined) await syncFile(descriptor);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  } finally {
    writes.resume();
  }
}

/**
 * Clears pages while no one writes; undefined if the log is not empty.
 * @throws an error that `isBusy` recognizes.
 */
function clearPages(file: string, writer: Connection, page: number): ClearedPages | undefined {
  writer.beginImmediate();
  try {
    if (!isLogEmpty(file)) return undefined;
    const cleared = clearGaps(file, page);
    // A page in the cache still has what was cleared, and would be written with it after its next change.
    writer.database.exec('pragma shrink_memory');
    return cleared;
  } finally {
    writer.abandon();
  }
}

/**
 * Commits, so that every other connection reads its pages again. A connection that has read a page before it was cleared, in a
 * transaction that changed nothing, would write it with what was cleared. @returns false if the log is not empty.
 */
function renewCaches(file: string, writer: Connection): boolean {
  writer.beginImmediate();
  try {
    if (!isLogEmpty(file)) return false;
    writeNothing(writer.database);
    writer.commit();
    return true;
  } finally {
    writer.abandon();
  }
}

function isLogEmpty(file: string): boolean {
  const status = statSync(`${file}-wal`, { throwIfNoEntry: false });
  return (status?.size ?? 0) === 0;
}
