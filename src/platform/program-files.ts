/**
 * The files that the program reads at run time, by their paths in `src`. They are in the folder above this module, as
 * sources or as the JavaScript of the npm package, or they are assets of the single executable.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** The start of a command as people run it: the npm package is not in `PATH`, the single executable is. */
export const programCommand = isSea() ? 'largesse' : 'npx largesse';

/** Whether the sources run. The single executable has no URL of a module. */
export const runsSources = !isSea() && import.meta.url.endsWith('.ts');

/** @param path in `src`. */
function inSource(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

/** @param path `../../package.json`, or a path in `src`. */
export function readProgramFile(path: string): Buffer {
  // A view of the executable's memory, which is read-only: consumers copy or hash it.
  if (isSea()) return Buffer.from(getRawAsset(path));
  return readFileSync(inSource(path));
}

/** Returns the names of the files in a folder of `src`, in order. */
export function programFilesIn(folder: string): readonly string[] {
  if (!isSea()) return readdirSync(inSource(`${folder}/`)).toSorted();
  const start = `${folder}/`;
  return getAssetKeys()
    .filter((key) => key.startsWith(start))
    .map((key) => key.slice(start.length))
    .toSorted();
}

/** Starts a thread. @param main its main module, by its path in `src` without the extension. */
export function startThread(main: string, options: WorkerOptions): Worker {
  // The single executable contains each main module as one script.
  if (isSea()) return new Worker(readProgramFile(`${main}.js`).toString(), { ...options, eval: true });
  return new Worker(inSource(`${main}${extname(import.meta.url)}`), options);
}
