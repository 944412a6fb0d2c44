/**
 * Remains of deleted rows. Connections overwrite what they delete (`secure_delete`), and a file that an earlier version
 * wrote to is rewritten once.
 */

import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { withPath } from '../../platform/system-error.ts';
import { isNotWritable, NotWritable } from './connection.ts';

/** The longest wait of rewriting for another process that writes. */
const waitMs = 30_000;

/** Whether the file can contain remains of rows that an earlier version deleted. */
export function hasRemains(database: DatabaseSync): boolean {
  return database.prepare('select 1 from file_remains where absent_since is null').get() !== undefined;
}

/**
 * Rewrites a file, so that it contains only its rows. Writes of other processes wait until it ends.
 * @throws NotWritable if the disk has not enough space for the log; an error that `isBusy` recognizes.
 */
export function vacuum(file: string, now: number): void {
  const { bsize, bavail } = statfsSync(dirname(file));
  const needed = statSync(file).size;
  if (bsize * bavail < needed)
    throw new NotWritable(
      file,
      new Error(`the disk needs ${needed} bytes of free space for that: free space on it`),
    );
  try {
    // SQLite would open a file that this account can only read.
    accessSync(file, constants.W_OK);
    using database = new DatabaseSync(file, { timeout: waitMs });
    database.exec('pragma secure_delete = on; vacuum;');
    database.prepare('update file_remains set absent_since = ?').run(now);
    database.exec('pragma wal_checkpoint(truncate)');
  } catch (error) {
    throw isNotWritable(error) ? new NotWritable(file, error) : withPath(error, file);
  }
}
