/** A disk that fails on request: `test/faults/faulty-disk.c`, compiled once and preloaded into services. */

import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from './engine-database.ts';

const source = join(import.meta.dirname, '../faults/faulty-disk.c');

/** In the order of `struct switches` in the library. */
const switchNames = [
  'logSyncFails',
  'databaseSyncFails',
  'isFull',
  'isReadOnly',
  'syncUs',
  'growthLeft',
] as const;

export type Switches = Readonly<Partial<Record<(typeof switchNames)[number], number>>>;

export type FaultyDisk = Disposable & {
  /** The environment of a program on this disk. */
  readonly environment: Environment;
  /** The file with the operations that programs made on the disk. */
  readonly trace: string;
  /** The current length of the trace, in bytes. */
  readonly position: () => number;
  /** Changes switches of running programs. */
  readonly set: (switches: Switches) => void;
};

let compiled: string | undefined;

/** Returns the path of the library, which this process compiles once. */
function compiledLibrary(): string {
  if (compiled !== undefined) return compiled;
  const folder = mkdtempSync(join(tmpdir(), 'largesse-faulty-disk-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  compile(join(folder, 'faulty-disk.so'));
  compiled = join(folder, 'faulty-disk.so');
  return compiled;
}

/** Compiles the library. @throws Error with the output of the compiler. */
function compile(target: string): void {
  const flags = ['-shared', '-fPIC', '-O1', '-Wall', '-Wextra', '-Werror'];
  const { status, stderr, error } = spawnSync('gcc', [...flags, '-o', target, source, '-ldl', '-lpthread']);
  if (status !== 0) throw new Error(`gcc: ${error ? error.message : String(stderr)}`);
}

/** Puts a folder on a disk that can fail. With a trace, syncs do not reach the real disk. */
export function faultyDisk(observed: string, { isTraced }: { readonly isTraced: boolean }): FaultyDisk {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-faults-'));
  const library = compiledLibrary();
  const trace = join(folder, 'trace');
  writeFileSync(trace, '');
  const switchFile = join(folder, 'switches');
  writeFileSync(switchFile, Buffer.alloc(4 * switchNames.length));
  return {
    environment: {
      LD_PRELOAD: library,
      FAULTY_FOLDER: realpathSync(observed),
      FAULTY_SWITCHES: switchFile,
      ...(isTraced && { FAULTY_TRACE: trace }),
    },
    trace,
    position: () => statSync(trace).size,
    set(switches) {
      const file = openSync(switchFile, 'r+');
      const value = Buffer.alloc(4);
      for (const [name, number] of Object.entries(switches)) {
        value.writeInt32LE(number);
        writeSync(file, value, 0, 4, 4 * switchNames.findIndex((each) => each === name));
      }
      closeSync(file);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
