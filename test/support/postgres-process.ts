/** The programs of PostgreSQL as processes that cannot outlive the process that started them. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTime } from './deadline.ts';
import type { Account } from './postgres-binaries.ts';

const removalTimeoutMs = 30_000;

/**
 * Runs a program and then reads its own input, which closes when the test's process ends. If it has no line
 * by then, it ends the program and removes its files, and the System V shared memory of a killed server.
 *
 * The program and its children hold the third descriptor, a copy of the shell's output, which closes when the
 * last of them ends. SIGTERM is for a program that does not catch SIGQUIT yet, which a shell makes its
 * children ignore.
 */
const guardian = `
folder=$1 data=$2; shift 2
"$@" 3>&1 >>"$folder/server.log" 2>&1 </dev/null &
echo $!
exec >&-
if ! read -r _; then
  kill -TERM $!
  kill -QUIT $!
  wait $!
  if [ -e "$data/postmaster.pid" ]; then
    set -- $(sed -n 7p "$data/postmaster.pid")
    ipcrm -m $2
  fi
  rm -rf "$folder" "$data"
fi
`;

/** The files of a server, which must be removed at the end. */
export type Belongings = { readonly folder: string; readonly data: string; readonly account: Account };

export type GuardedProcess = {
  readonly pid: number;
  /** Whether the program and its children have ended. */
  readonly isGone: () => boolean;
  /** Resolves when the program and its children have ended. @throws Error after the timeout. */
  readonly gone: (timeoutMs: number) => Promise<void>;
  /** Leaves the files to another process. */
  readonly handOver: () => void;
  /** Ends the program if it runs, and removes the files. */
  readonly remove: () => Promise<void>;
};

/**
 * Starts a program, which writes to `server.log` in the folder. When this process ends, the program ends, and
 * its files are removed.
 */
export async function startGuarded(
  command: readonly string[],
  { folder, data, account }: Belongings,
): Promise<GuardedProcess> {
  const child = spawn('sh', ['-c', guardian, 'guardian', folder, data, ...command], {
    ...account,
    cwd: folder,
    // A separate session: signals of the terminal reach only the tests.
    detached: true,
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  let isGone = false;
  const gone = once(lines, 'close').then(() => void (isGone = true));
  const [line] = (await Promise.race([once(lines, 'line'), exited])) as [unknown];
  if (typeof line !== 'string') throw new Error(`could not be started: ${command.join(' ')}`);
  // A running server does not keep the test's process from ending.
  for (const handle of [child, child.stdin, child.stdout] as readonly { unref?: () => void }[])
    handle.unref?.();
  return {
    pid: Number(line),
    isGone: () => isGone,
    gone: (timeoutMs) => inTime(gone, timeoutMs, command.join(' ')),
    handOver: () => void child.stdin.end('handed over\n'),
    async remove() {
      child.stdin.end();
      await inTime(exited, removalTimeoutMs, command.join(' '));
    },
  };
}

/** Returns the child processes of a postmaster, or none if the system does not list them. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const list = readFileSync(join('/proc', `${pid}`, 'task', `${pid}`, 'children'), 'utf8');
    return list.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Signals a process that can have ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whether a process with the id exists, including a zombie. */
export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
