/**
 * Replaces an SQLite file with a copy of a database.
 *
 * SQLite applies a log (-wal) to any file with the database's name. So the removal of the previous log must be
 * durable before the rename. The name always refers to a complete database, the previous or the new one.
 */

import {
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { syncFolder } from '../../folders.ts';
import { isBusy, isDamaged } from './connection.ts';
import { makeLogDurable } from './recovery.ts';

/** Another process uses the file, or possibly uses it. */
export class InUseError extends Error {
  override readonly name = 'InUseError';
}

/** A file that other processes cannot open until it is disposed. */
export type Exclusive = Disposable & {
  /** Whether SQLite cannot read the file. */
  readonly isDamaged: boolean;
};

/**
 * Locks the file against other processes and moves its log into it.
 * @throws InUseError if another process uses the file.
 */
export function lockFile(file: string): Exclusive {
  const damaged: Exclusive = { isDamaged: true, [Symbol.dispose]() {} };
  if (statSync(file).size > 0 && !isSqliteFile(file)) {
    assertUnlocked(file);
    return damaged;
  }
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // In this mode SQLite uses no shared memory and excludes all other connections.
    database.exec('pragma locking_mode = exclusive; begin exclusive; rollback');
    makeLogDurable(file);
    // At close SQLite removes a log by name, which can be another file's by then.
    database.exec('pragma journal_mode = delete');
    rmSync(`${file}-journal`, { force: true });
    return { isDamaged: false, [Symbol.dispose]: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) throw new InUseError(inUse(file), { cause: error });
    if (!isDamaged(error)) throw new Error(`${file}: ${String(error)}`, { cause: error });
    assertUnlocked(file);
    return damaged;
  }
}

function inUse(file: string): string {
  return `a process has ${file} open: stop the service first`;
}

/**
 * @throws InUseError if a process has a lock on a file that SQLite cannot read, or if the system does not list
 * locks.
 */
function assertUnlocked(file: string): void {
  if (!existsSync('/proc/locks')) throw new InUseError(`${file} may be in use: move it away first`);
  const locks = readFileSync('/proc/locks', 'utf8');
  for (const path of [file, `${file}-shm`]) {
    const inode = statSync(path, { throwIfNoEntry: false })?.ino;
    if (inode !== undefined && locks.includes(`:${inode} `)) throw new InUseError(inUse(file));
  }
}

/** The first bytes of every SQLite file. */
const magic = 'SQLite format 3\0';

/** Returns whether the file has the header of an SQLite database. */
export function isSqliteFile(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(magic.length);
    readSync(file, bytes);
    return bytes.toString('latin1') === magic;
  } finally {
    closeSync(file);
  }
}

const chunkBytes = 2 ** 20;

/** Copies a file to a new, durable file with the owner of `like`. */
export function copyDurably(source: string, target: string, like: string): void {
  const from = openSync(source, 'r');
  try {
    const to = openSync(target, 'wx', 0o600);
    try {
      const { uid, gid } = statSync(like);
      if (process.getuid?.() === 0) fchownSync(to, uid, gid);
      const chunk = Buffer.alloc(chunkBytes);
      for (let read = readSync(from, chunk); read > 0; read = readSync(from, chunk))
        writeFileSync(to, chunk.subarray(0, read));
      fsyncSync(to);
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

export function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Removes a database file, its log and its other files. */
export function removeDatabase(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
}

/**
 * Replaces a file with a durable one. The previous file is kept under the name `kept`.
 * @returns the files that are kept: the previous database, and a log that could not be moved into it.
 */
export function replaceFile(file: string, replacement: string, kept: string): readonly string[] {
  const files: string[] = [];
  if (existsSync(file)) {
    linkSync(file, kept);
    files.push(kept);
  }
  for (const end of ['-wal', '-journal']) {
    if (!existsSync(`${file}${end}`)) continue;
    renameSync(`${file}${end}`, `${kept}${end}`);
    files.push(`${kept}${end}`);
  }
  rmSync(`${file}-shm`, { force: true });
  // From here on, the new file cannot be combined with the previous log.
  syncFolder(dirname(file));
  renameSync(replacement, file);
  syncFolder(dirname(file));
  return files;
}
