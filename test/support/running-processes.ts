/** The processes of this machine, as `ps` lists them. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

type Listed = { readonly pid: number; readonly parent: number };

/** Processes that have ended and that their parent has not waited for are not listed. */
async function listProcesses(): Promise<readonly Listed[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,stat=']);
  return Array.from(stdout.matchAll(/^\s*(\d+)\s+(\d+)\s+([^Z\s])/gm), ([, pid, parent]) => ({
    pid: Number(pid),
    parent: Number(parent),
  }));
}

/** The processes that a process has started and that run, in the order of their ids. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const children = (await listProcesses()).filter(({ parent }) => parent === pid);
  return children.map((child) => child.pid).toSorted((one, other) => one - other);
}

/** Omits the processes that have ended. */
export async function runningOf(pids: readonly number[]): Promise<readonly number[]> {
  const running = new Set((await listProcesses()).map(({ pid }) => pid));
  return pids.filter((pid) => running.has(pid));
}
