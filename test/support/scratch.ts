/** Folders for databases that need not survive their machine: in memory where there is room, on disk elsewhere. */

import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memoryFolder = '/dev/shm';
/** What must be free, in bytes, for databases to be put there. */
const memoryMin = 4 * 2 ** 30;
/** Names the folder of the whole run to the processes of its test files. */
const runVariable = 'TEST_FOLDER';

/** The folder in memory; undefined where there is little memory to spare. */
export function folderInMemory(): string | undefined {
  if (!existsSync(memoryFolder) || process.availableMemory() < memoryMin) return undefined;
  const { bavail, bsize } = statfsSync(memoryFolder);
  return bavail * bsize < memoryMin ? undefined : memoryFolder;
}

/** The folder that the folders of this run are in. */
export function scratchPlace(): string {
  return process.env[runVariable] || (folderInMemory() ?? tmpdir());
}

/** A new folder. The caller removes it. */
export function makeScratchFolder(prefix: string): string {
  return mkdtempSync(join(scratchPlace(), prefix));
}

let own: string | undefined;

/** The folder of the run, which all its processes share; of this process alone where nobody started a run. */
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

/** Makes the folder of a run, which the processes that this one starts share. Disposing it removes it. */
export function openRunFolder(): Disposable {
  const made = makeScratchFolder('largesse-run-');
  process.env[runVariable] = made;
  return { [Symbol.dispose]: () => rmSync(made, { recursive: true, force: true }) };
}
