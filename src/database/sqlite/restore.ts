/**
 * Replaces an SQLite file with a copy of a database.
 *
 * SQLite applies a log (-wal) to any file with the database's name. So the removal of the previous log must be
 * durable before the rename. The name always refers to a complete database, the previous or the new one.
 */

import { withPath } from '../../platform/system-error.ts';
import {
  chownSync,
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { syncFolder } from '../../platform/folders.ts';
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
    if (!isDamaged(error)) throw withPath(error, file);
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

/** A database file, its log and its other files, which may not exist. */
export function filesOfDatabase(file: string): readonly string[] {
  return ['', '-wal', '-shm', '-journal'].map((end) => `${file}${end}`);
}

export function removeDatabase(file: string): void {
  for (const path of filesOfDatabase(file)) rmSync(path, { force: true });
}

/** The end of the name of a copy that is to replace a database, and of the files that belong to it. */
const copyEnd = /^(\.restoring-\d{8}T\d{6}Z-[0-9a-f]{8})(?:-wal|-shm|-journal|\.lock)?$/;

/** The path of a copy, which is removed when it is disposed. Until then, other processes do not remove it. */
export type ReservedCopy = Disposable & { readonly path: string };

/**
 * Reserves a path in the folder of the database for a copy.
 * @param at such as `20261121T070203Z`. @param random 8 hexadecimal digits. @param like as that of `copyDurably`.
 */
export function reserveCopy(
  file: string,
  { at, random, like }: { readonly at: string; readonly random: string; readonly like: string },
): ReservedCopy {
  const path = `${file}.restoring-${at}-${random}`;
  const lock = lockCopy(path);
  if (!lock) throw new InUseError(`another process examines ${path}: run the command again`);
  const { uid, gid } = statSync(like);
  if (process.getuid?.() === 0) chownSync(`${path}.lock`, uid, gid);
  return { path, [Symbol.dispose]: () => removeCopy(path, lock) };
}

function removeCopy(path: string, lock: Disposable): void {
  removeDatabase(path);
  rmSync(`${path}.lock`, { force: true });
  lock[Symbol.dispose]();
}

/** Locks a file that belongs to a copy; the system releases the lock when the process ends. @returns undefined if it is locked. */
function lockCopy(path: string): Disposable | undefined {
  const database = new DatabaseSync(`${path}.lock`, { timeout: 0 });
  try {
    // A journal in memory is not a second file.
    database.exec('pragma journal_mode = memory; begin exclusive');
    return { [Symbol.dispose]: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

export type AbandonedCopies = {
  readonly removed: readonly string[];
  /** The copies that this account cannot remove. */
  readonly left: readonly string[];
};

/** Removes the copies of all data that a restore of this database has left because it was killed. */
export function removeAbandonedCopies(file: string): AbandonedCopies {
  const [folder, name] = [dirname(file), basename(file)];
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const ends = names.flatMap((each) =>
    each.startsWith(name) ? (copyEnd.exec(each.slice(name.length))?.[1] ?? []) : [],
  );
  const [removed, left]: [string[], string[]] = [[], []];
  for (const end of new Set(ends)) {
    const path = join(folder, `${name}${end}`);
    try {
      const lock = lockCopy(path);
      if (!lock) continue;
      removeCopy(path, lock);
      removed.push(path);
    } catch {
      left.push(path);
    }
  }
  return { removed, left };
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
