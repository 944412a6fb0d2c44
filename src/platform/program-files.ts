/**
 * The files that the program reads at run time, by their paths in `src`. They are sources, or in the folder of the bundled
 * modules, or assets of the single executable.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** The start of a command as people run it: the npm package is not in `PATH`, the single executable is. */
export const programCommand = isSea() ? 'largesse' : 'npx largesse';

/** Whether the sources run. The single executable has no URL of a module. */
export const runsSources = !isSea() && import.meta.url.endsWith('.ts');

/** Bundled modules are in one folder, with the other files. */
function inProgram(path: string): URL {
  return new URL(runsSources ? `../${path}` : path, import.meta.url);
}

/** @param path `../../package.json`, or a path in `src`. */
export function readProgramFile(path: string): Buffer {
  // A view of the executable's memory, which is read-only: consumers copy or hash it.
  if (isSea()) return Buffer.from(getRawAsset(path));
  return readFileSync(inProgram(path));
}

/** Returns the names of the files in a folder of `src`, in order. */
export function programFilesIn(folder: string): readonly string[] {
  if (!isSea()) return readdirSync(inProgram(`${folder}/`)).toSorted();
  const start = `${folder}/`;
  return getAssetKeys()
    .filter((key) => key.startsWith(start))
    .map((key) => key.slice(start.length))
    .toSorted();
}

/** Starts a thread. @param main its main module, by its path in `src` without the extension. */
export function startThread(main: string, options: WorkerOptions): Worker {
  if (runsSources) return new Worker(inProgram(`${main}.ts`), options);
  const script = `${main.replaceAll('/', '-')}.js`;
  if (isSea()) {
    const code = `${readProgramFile(script).toString()}\n//# sourceURL=${script}`;
    return new Worker(code, { ...options, eval: true });
  }
  return new Worker(inProgram(script), options);
}

/** The name of a bundled file; null: the script is not part of the bundle. @param script as stack traces name it. */
export function programFileOf(script: string): string | null {
  if (isSea()) return script === process.execPath ? 'cli.js' : script;
  const folder = inProgram('./').href;
  return script.startsWith(folder) ? script.slice(folder.length) : null;
}
