/**
 * Errors of the system and of SQLite as sentences: which file or address, what is wrong with it, and what to do. Every command
 * and the start of the service report them with this table.
 */

import { codeOf } from './error-code.ts';

type SystemError = Error & {
  readonly errcode?: unknown;
  readonly syscall?: unknown;
  readonly path?: unknown;
  readonly hostname?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
};

/** The subject of an error. */
type Subject = {
  /** The file; without a name if the system has not named it. */
  readonly path: string;
  readonly syscall: string;
  /** The host, and its port. */
  readonly place: string;
};

type Sentence = (subject: Subject) => string;

/** The account that runs the program. */
function account(): string {
  const uid = process.geteuid?.();
  return uid === undefined ? 'this account' : `this account (uid ${uid})`;
}

/** The action of a system call on a file; reads after "cannot". */
const deeds: ReadonlyMap<string, string> = new Map([
  ['mkdir', 'create the folder'],
  ['scandir', 'list the folder'],
  ['unlink', 'delete'],
  ['rm', 'delete'],
  ['rename', 'rename'],
  ['link', 'link'],
  ['chown', 'change the owner of'],
  ['chmod', 'change the mode of'],
]);

const full: Sentence = ({ path }) => `the disk of ${path} is full: free space on it`;
const denied: Sentence = ({ path, syscall }) =>
  `${account()} cannot ${deeds.get(syscall) ?? 'access'} ${path}: run the command as the account of the service, or give this account access with chown or chmod`;
const readOnly: Sentence = ({ path }) =>
  `${path} is on a disk that is mounted read-only: mount it for writing, or choose another path`;
const failing: Sentence = ({ path }) =>
  `the disk of ${path} reports an error (EIO): check the disk, and restore a backup to another one if it is damaged`;
const busy: Sentence = ({ path }) => `another process uses ${path}: stop it, or wait until it ends`;
const tooLarge: Sentence = ({ path }) =>
  `${path} would exceed the largest size of a file: raise the limit of this account (ulimit -f), or use another file system`;
const outOfMemory: Sentence = ({ path }) =>
  `the memory is not sufficient to use ${path}: stop other programs, or use a machine with more memory`;
const isFolder: Sentence = ({ path }) => `${path} is a folder and must be a file: correct the path`;
const unreachable: Sentence = ({ place }) =>
  `${place} cannot be reached: check the address, and the network and firewalls between`;

const sentences: ReadonlyMap<string, Sentence> = new Map([
  [
    'ENOENT',
    ({ path, syscall }) =>
      syscall === 'mkdir'
        ? `the folder ${path} cannot be created: mount the disk that it belongs to, or correct the path`
        : `${path} does not exist: correct the path`,
  ],
  ['EACCES', denied],
  ['EPERM', denied],
  ['EROFS', readOnly],
  ['ENOSPC', full],
  [
    'EDQUOT',
    ({ path }) =>
      `the disk quota of this account is used up, and ${path} needs more: free space, or raise the quota`,
  ],
  ['EFBIG', tooLarge],
  ['EISDIR', isFolder],
  ['ENOTDIR', ({ path }) => `a part of the path ${path} is a file and not a folder: correct the path`],
  [
    'EEXIST',
    ({ path, syscall }) =>
      syscall === 'mkdir'
        ? `${path} exists and is not a folder: mount the disk that it leads to, move it away, or choose another path`
        : `${path} already exists: move it away, or choose another path`,
  ],
  ['ENOTEMPTY', ({ path }) => `the folder ${path} is not empty: choose another path`],
  ['ELOOP', ({ path }) => `the links on the path ${path} form a circle: correct them`],
  ['ENAMETOOLONG', ({ path }) => `the path ${path} is too long: choose a shorter one`],
  ['EXDEV', ({ path }) => `${path} is on another disk: choose a path on the same disk`],
  [
    'EMFILE',
    ({ path }) =>
      `${path} cannot be opened, because this process has too many open files: raise their limit (ulimit -n)`,
  ],
  [
    'ENFILE',
    ({ path }) =>
      `${path} cannot be opened, because this machine has too many open files: raise their limit (fs.file-max)`,
  ],
  ['EIO', failing],
  ['EBUSY', busy],
  ['ETXTBSY', busy],
  ['ENOMEM', outOfMemory],
  ['EPIPE', () => 'the program that reads the output has ended: keep it open'],
  ['ECONNREFUSED', ({ place }) => `nothing listens at ${place}: start its server, or correct the address`],
  ['ECONNRESET', ({ place }) => `${place} has closed the connection: check that it runs, and try again`],
  ['ETIMEDOUT', ({ place }) => `${place} has not responded in time: check the address and the network`],
  ['EHOSTUNREACH', unreachable],
  ['ENETUNREACH', unreachable],
  ['ENOTFOUND', ({ place }) => `the name ${place} does not exist: correct it`],
  ['EAI_AGAIN', ({ place }) => `the name ${place} cannot be resolved now: check the DNS of this machine`],
  ['EADDRINUSE', ({ place }) => `${place} is in use: stop the other program, or choose another port`],
  ['EADDRNOTAVAIL', ({ place }) => `${place} is not an address of this machine: choose one that is`],
  [
    'SQLITE_READONLY',
    ({ path }) =>
      `${account()} can only read ${path}: run the command as the account of the service, or give this account the file, its folder and its files -wal and -shm`,
  ],
  ['SQLITE_FULL', full],
  ['SQLITE_IOERR', failing],
  ['SQLITE_NOMEM', outOfMemory],
  ['SQLITE_BUSY', busy],
  ['SQLITE_LOCKED', busy],
  [
    'SQLITE_CANTOPEN',
    ({ path }) =>
      `${path} cannot be opened: free space on its disk, and check that this account can access it and its files -wal and -shm`,
  ],
  ['SQLITE_CORRUPT', ({ path }) => `the database ${path} is damaged: restore a backup`],
  [
    'SQLITE_NOTADB',
    ({ path }) => `${path} is not a database, or is damaged: correct DATABASE_URL, or restore a backup`,
  ],
]);

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const sqliteCodes: ReadonlyMap<number, string> = new Map([
  [5, 'SQLITE_BUSY'],
  [6, 'SQLITE_LOCKED'],
  [7, 'SQLITE_NOMEM'],
  [8, 'SQLITE_READONLY'],
  [10, 'SQLITE_IOERR'],
  [11, 'SQLITE_CORRUPT'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [26, 'SQLITE_NOTADB'],
]);

/** IOERR_SHMSIZE: the disk has no space for the shared memory of the log. */
const sharedMemoryFull = 4874;

/** The maximum depth of nested causes, because they can be circular. */
const causesMax = 5;

/** The sentence about an error, or about the cause of one without a code; undefined: it is not one of the system. */
export function systemErrorText(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > causesMax) return undefined;
  const sentence = sentences.get(nameOf(error));
  if (sentence) return sentence(subjectOf(error));
  // A name with several addresses has one error for each.
  const [one] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error.cause];
  return systemErrorText(one, depth + 1);
}

const fullNames: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', '53100']);

/** Whether an error, or a cause of it, is a full disk; 53100 is `disk_full` of PostgreSQL. */
export function isOfFullDisk(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > causesMax) return false;
  return fullNames.has(nameOf(error)) || isOfFullDisk(error.cause, depth + 1);
}

/** The sentence about an error, or its message if it is not one of the system. */
export function errorText(error: unknown): string {
  return systemErrorText(error) ?? (error instanceof Error ? error.message : String(error));
}

function nameOf(error: SystemError): string {
  const { errcode } = error;
  if (typeof errcode !== 'number') return codeOf(error);
  return errcode === sharedMemoryFull ? 'SQLITE_FULL' : (sqliteCodes.get(errcode & 0xff) ?? '');
}

function subjectOf({ path, syscall, hostname, address, port }: SystemError): Subject {
  const host = textOf(hostname) || textOf(address) || 'the server';
  return {
    path: textOf(path) || 'a file',
    syscall: textOf(syscall),
    place: typeof port === 'number' ? `${host.includes(':') ? `[${host}]` : host}:${port}` : host,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Names the file of an error that does not: those of SQLite, and of writes to an open file. Returns the error. */
export function withPath<T>(error: T, path: string): T {
  if (error instanceof Error && !('path' in error)) Object.assign(error, { path });
  return error;
}

/** An error of the system that a library reports in another way. @param code such as `EISDIR`. */
export function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code, path });
}

/** Runs a body. @throws its error, which names this file if it names none. */
export function namingFile<T>(path: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw withPath(error, path);
  }
}
