/**
 * A full disk for a PostgreSQL server, on machines where nobody may mount one.
 *
 * The system's limit of a file's size (RLIMIT_FSIZE) is set for the processes of a server while it runs, and lifted
 * again. The limit is no whole number of pages, so the write that meets it is cut short, which PostgreSQL answers as it
 * answers a full disk.
 */

import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresServer } from './postgres-server.ts';

/** `initdb` was told to make files of the write-ahead log this big, in bytes. */
const logFileSize = 2 ** 20;
const pageSize = 8_192;
const cutShort = 512;
const spareForMessages = 2 ** 16;

/**
 * What is full. Where there is no space for `tables`, the statement that needs a page more is refused, and the server
 * goes on. Where there is none for the write-ahead `log`, the server crashes and recovers, and writes as far as it gets,
 * until it cannot recover and ends.
 */
export type FullDisk = 'tables' | 'log';

/** The size of the largest table or index, in bytes. */
function largestFile(server: PostgresServer): number {
  const base = join(server.data, 'base');
  const files = readdirSync(base, { recursive: true, encoding: 'utf8' });
  return Math.max(...files.map((file) => statSync(join(base, file), { throwIfNoEntry: false })?.size ?? 0));
}

/** Sets the limit, which processes hand on to those that they start: the postmaster's comes first. */
function limit(server: PostgresServer, bytes: number | 'unlimited'): void {
  const { account } = server.parts;
  for (const pid of server.processes) {
    const command = ['--pid', `${pid}`, `--fsize=${bytes}:`];
    const { status, stderr } = spawnSync('prlimit', command, { ...account, encoding: 'utf8' });
    const isGone = /No such process/.test(stderr);
    if (status !== 0 && !isGone) throw new Error(`the limit of process ${pid} could not be set: ${stderr}`);
  }
}

/** Fills the server's disk until it is freed. Restarting a server frees it, too. */
export function fillDisk(server: PostgresServer, full: FullDisk): void {
  const spare =
    full === 'log'
      ? // The server still has to write down what has become of it.
        Buffer.byteLength(server.log()) + spareForMessages
      : // A file of the write-ahead log is there already, so it is written on a full disk, too.
        Math.max(logFileSize, largestFile(server));
  limit(server, Math.ceil(spare / pageSize) * pageSize + cutShort);
}

export function freeDisk(server: PostgresServer): void {
  limit(server, 'unlimited');
}
