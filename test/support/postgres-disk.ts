/**
 * A full disk for a PostgreSQL server, on machines that do not allow mounts.
 *
 * It sets the system's limit of a file's size (RLIMIT_FSIZE) for the processes of a running server, and lifts
 * it again. The limit is not a whole number of pages: the write that meets it is cut short, and PostgreSQL
 * handles that like a full disk.
 */

import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresServer } from './postgres-server.ts';

/** The size in bytes of a write-ahead log file, as configured with `initdb`. */
const logFileSize = 2 ** 20;
const pageSize = 8_192;
const cutShort = 512;
const spareForMessages = 2 ** 16;

/**
 * The full part. Without space for `tables`, the statement that needs another page fails, and the server
 * continues. Without space for the write-ahead `log`, the server crashes, recovers and writes again until it
 * cannot recover, and ends.
 */
export type FullDisk = 'tables' | 'log';

/** The size of the largest table or index, in bytes. */
function largestFile(server: PostgresServer): number {
  const base = join(server.data, 'base');
  const files = readdirSync(base, { recursive: true, encoding: 'utf8' });
  return Math.max(...files.map((file) => statSync(join(base, file), { throwIfNoEntry: false })?.size ?? 0));
}

/** Sets the limit, which new processes inherit: the postmaster's limit is set first. */
function limit(server: PostgresServer, bytes: number | 'unlimited'): void {
  const { account } = server.parts;
  for (const pid of server.processes) {
    const command = ['--pid', `${pid}`, `--fsize=${bytes}:`];
    const { status, stderr } = spawnSync('prlimit', command, { ...account, encoding: 'utf8' });
    const isGone = /No such process/.test(stderr);
    if (status !== 0 && !isGone) throw new Error(`the limit of process ${pid} could not be set: ${stderr}`);
  }
}

/** Fills the server's disk until it is freed. Restarting a server frees it as well. */
export function fillDisk(server: PostgresServer, full: FullDisk): void {
  const spare =
    full === 'log'
      ? // The server still has to record the end of its transactions.
        Buffer.byteLength(server.log()) + spareForMessages
      : // An existing file of the write-ahead log is writable on a full disk.
        Math.max(logFileSize, largestFile(server));
  limit(server, Math.ceil(spare / pageSize) * pageSize + cutShort);
}

export function freeDisk(server: PostgresServer): void {
  limit(server, 'unlimited');
}
