/**
 * Opens an SQLite file for writing, or for reading if its disk is full or read-only.
 *
 * A reader needs the log's shared memory (-shm). Without it, SQLite can read a file that has no log as
 * `immutable` (https://www.sqlite.org/uri.html#uriimmutable). SQLite then does not detect changes by other
 * processes, so the engine checks the file after each read.
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { syncFolder } from '../../platform/folders.ts';
import { errorText, systemError, withPath } from '../../platform/system-error.ts';
import type { Tables } from './cache.ts';
import {
  connect,
  isCannotOpen,
  isDenied,
  isNotWritable,
  NotWritable,
  type Connection,
} from './connection.ts';
import { makeDurable } from './recovery.ts';

export type OpenFile = {
  readonly writer: Connection;
  /** A read-only connection. */
  readonly reader: Connection;
  /** The reason why the file cannot be written; undefined if it can. */
  readonly unwritable: NotWritable | undefined;
  /** Whether another process has changed a file that was opened as immutable. */
  readonly hasChanged: () => boolean;
};

export type OpenFileOptions = {
  /** Whether to move the log into the file. */
  readonly moveLog: boolean;
  readonly written: (tables: Tables) => void;
};

/** @throws Error with the path and a remedy if the file cannot be opened or its log cannot be made durable. */
export function openFile(file: string, options: OpenFileOptions): OpenFile {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw systemError('EISDIR', file);
  try {
    const writer = openWriter(file, options);
    const reader = openReader(file, writer);
    return { writer, reader, unwritable: undefined, hasChanged: () => false };
  } catch (error) {
    if (!isNotWritable(error) && !isCannotOpen(error)) throw error;
    return openReadOnly(file, options, new NotWritable(file, error));
  }
}

/** Returns whether a file that could not be written when it was opened can be written now. */
export function canBeWritten(file: string, { cause }: NotWritable): boolean {
  try {
    const files = [dirname(file), file, `${file}-wal`, `${file}-shm`].filter((path) => existsSync(path));
    for (const path of files) accessSync(path, constants.W_OK);
    // All connections of a process share the -shm file, so a second connection could not write either.
    if (isDenied(cause)) return true;
    const { database } = openWriter(file, { moveLog: false, written() {} });
    try {
      writeNothing(database);
    } finally {
      database.close();
    }
    return true;
  } catch {
    return false;
  }
}

/** Commits a transaction that changes nothing. @throws the error of a file that cannot be written. */
export function writeNothing(database: Connection['database']): void {
  const version = database.prepare('pragma user_version').get()?.['user_version'];
  database.exec(`pragma user_version = ${String(version)}`);
}

function openWriter(file: string, { moveLog, written }: OpenFileOptions): Connection {
  // SQLite would open the file read-only without an error.
  if (existsSync(file)) accessSync(file, constants.W_OK);
  const writer = connect(file, { readOnly: false, written });
  try {
    makeDurable(file, writer.database, { andFile: moveLog });
    syncFolder(dirname(file));
    return writer;
  } catch (error) {
    writer.close();
    if (isNotWritable(error)) throw error;
    throw new Error(`the content of ${file} cannot be made durable: ${errorText(withPath(error, file))}`, {
      cause: error,
    });
  }
}

/** @throws the error of a file that cannot be opened, after closing the writer. */
function openReader(file: string, writer: Connection): Connection {
  try {
    return connect(file, { readOnly: true });
  } catch (error) {
    writer.close();
    throw error;
  }
}

function openReadOnly(file: string, { written }: OpenFileOptions, unwritable: NotWritable): OpenFile {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) throw unwritable;
  const state = stateOf(file);
  const { opened, isImmutable } = openToRead(file, (name) => ({
    writer: connect(name, { readOnly: true, written }),
    reader: connect(name, { readOnly: true }),
  }));
  return { ...opened, unwritable, hasChanged: () => isImmutable && stateOf(file) !== state };
}

/**
 * Opens a file for reading, also on a full or read-only disk and for an account that can only read it.
 * @param open opens the file, or its URL as `immutable`, and reads from it.
 * @throws NotWritable if a log without its shared memory holds changes; the error that names what cannot be read.
 */
export function openToRead<T>(
  file: string,
  open: (name: string | URL) => T,
): { readonly opened: T; readonly isImmutable: boolean } {
  for (const path of [file, `${file}-wal`, `${file}-shm`])
    if (existsSync(path)) accessSync(path, constants.R_OK);
  let cause: unknown;
  // The service could not write files of another account, so this one creates none for a file that it cannot write.
  if (isWritable(file) || (existsSync(`${file}-wal`) && existsSync(`${file}-shm`))) {
    try {
      return { opened: open(file), isImmutable: false };
    } catch (error) {
      if (!isNotWritable(error) && !isCannotOpen(error)) throw error;
      cause = error;
    }
  }
  if (logBytes(file) > 0) {
    throw new NotWritable(
      file,
      cause,
      `and ${file}-wal holds changes that cannot be read without writing: copy both files into a folder that can be ` +
        'written and set DATABASE_URL to the copy, or run the command as the account of the service',
    );
  }
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  return { opened: open(url), isImmutable: true };
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

function stateOf(file: string): string {
  const status = statSync(file, { bigint: true, throwIfNoEntry: false });
  return [status?.ino, status?.size, status?.mtimeNs, logBytes(file)].join(' ');
}
