/** What a run is measured on, as far as the figures depend on it. */

import { spawnSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Machine } from './results.ts';
import { latencyOf } from './statistics.ts';

const syncs = 300;
const pageBytes = 4_096;
const tmpfs = 0x01_02_19_94;

/** What statfs(2) calls the file systems that servers have. */
const fileSystems = new Map([
  [0xef_53, 'ext4'],
  [0x58_46_53_42, 'xfs'],
  [0x91_23_68_3e, 'btrfs'],
  [0x2f_c1_2f_c1, 'zfs'],
  [0x79_4c_76_30, 'overlay'],
  [tmpfs, 'tmpfs'],
]);

/** `folder` is where the databases are. */
export function lookAtMachine(folder: string): Omit<Machine, 'postgres'> {
  const { type } = statfsSync(folder);
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()}`,
    fileSystem: fileSystems.get(type) ?? `0x${type.toString(16)}`,
    isInMemory: type === tmpfs,
    fdatasync: measureSync(folder),
    node: process.versions.node,
  };
}

/** How long it takes until a page at the end of a file is on the disk. */
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

/** The commit that is measured, as git names it, with `-dirty` where files differ from it. */
export function revision(): string {
  const { stdout } = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' });
  return stdout?.trim() || 'unknown';
}
