/**
 * Folders for databases that do not have to survive their machine: in memory if enough is free, else on disk.
 */

import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memoryFolder = '/dev/shm';
/** The free memory, in bytes, that databases in memory require. */
const memoryMin = 4 * 2 ** 30;
/** The variable with the folder of the run, for the processes of its test files. */
const runVariable = 'TEST_FOLDER';

/** The folder in memory; undefined if little memory is free. */
export function folderInMemory(): string | undefined {
  if (!existsSync(memoryFolder) || process.availableMemory() < memoryMin) return undefined;
  const { bavail, bsize } = statfsSync(memoryFolder);
  return bavail * bsize < memoryMin ? undefined : memoryFolder;
}

/** The parent of this run's folders. */
export function scratchPlace(): string {
  return process.env[runVariable] || (folderInMemory() ?? tmpdir());
}

/** Creates a folder. The caller removes it. */
export function makeScratchFolder(prefix: string): string {
  return mkdtempSync(join(scratchPlace(), prefix));
}

let own: string | undefined;

/** The folder of the run, which all its processes share, or of this process if it is not part of a run. */
export function runFolder(): string {
  const named = process.env[runVariable];
  if (named) return named;
  if (own === undefined) {
    const made = makeScratchFolder('largesse-run-');
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    own = made;
  }
  return own;
}

/** Creates the folder of a run, which child processes share. Disposing it removes it. */
export function openRunFolder(): Disposable {
  const made = makeScratchFolder('largesse-run-');
  process.env[runVariable] = made;
  return { [Symbol.dispose]: () => rmSync(made, { recursive: true, force: true }) };
}
