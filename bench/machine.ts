/** The properties of the machine that the figures depend on. */

import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Machine } from './results.ts';
import { latencyOf } from './statistics.ts';

const syncs = 300;
const pageBytes = 4_096;
/** The type that statfs(2) returns for a tmpfs. */
const tmpfs = 0x01_02_19_94;

/** @param folder where the databases will be. */
export function inspectMachine(folder: string): Machine {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()}`,
    isInMemory: statfsSync(folder).type === tmpfs,
    fdatasync: measureSync(folder),
    node: process.versions.node,
  };
}

/** The time until a page at the end of a file is on the disk. */
function measureSync(folder: string): Machine['fdatasync'] {
  const file = join(folder, 'synced');
  const descriptor = openSync(file, 'w');
  const page = Buffer.alloc(pageBytes, 'x');
  const durationsMs = Float64Array.from({ length: syncs }, () => {
    const startedAt = performance.now();
    writeSync(descriptor, page);
    fdatasyncSync(descriptor);
    return performance.now() - startedAt;
  });
  closeSync(descriptor);
  rmSync(file);
  const { p50Ms, p99Ms } = latencyOf([durationsMs]);
  return { p50Ms, p99Ms };
}
