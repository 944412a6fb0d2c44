/** The programs of PostgreSQL as processes that cannot outlive the process that started them. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from './postgres-binaries.ts';

const removalTimeoutMs = 30_000;

/**
 * Runs a program and then reads its own input, which closes when the test's process ends, however it ends. If no line
 * came by then, it ends the program and removes all that it leaves: System V shared memory, where it was killed, and
 * the folders.
 *
 * The program and all that it starts hold the third descriptor, a copy of the shell's output, so whoever reads that
 * reads its end when the last of them is gone. SIGTERM is for a program that has not yet caught SIGQUIT, which a
 * shell has its children ignore.
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

/** What a server is made of that somebody has to remove at last. */
export type Belongings = { readonly folder: string; readonly data: string; readonly account: Account };

export type GuardedProcess = {
  readonly pid: number;
  /** Whether it and all that it started are gone. */
  readonly isGone: () => boolean;
  /** Resolves once it and all that it started are gone. @throws Error if that takes too long. */
  readonly gone: (timeoutMs: number) => Promise<void>;
  /** Leaves the belongings to another process. */
  readonly handOver: () => void;
  /** Ends it if need be and removes the belongings. */
  readonly remove: () => Promise<void>;
};

/**
 * Starts a program, which writes into `server.log` in the folder. When this process ends, so does the program, and
 * the belongings are removed.
 */
export async function startGuarded(
  command: readonly string[],
  { folder, data, account }: Belongings,
): Promise<GuardedProcess> {
  const child = spawn('sh', ['-c', guardian, 'guardian', folder, data, ...command], {
    ...account,
    cwd: folder,
    // A session of its own: what is typed at the terminal is for the tests.
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
  // A server that is never stopped does not keep the test's process from ending.
  for (const handle of [child, child.stdin, child.stdout] as readonly { unref?: () => void }[])
    handle.unref?.();
  return {
    pid: Number(line),
    isGone: () => isGone,
    gone: (timeoutMs) => inTime(gone, timeoutMs, command),
    handOver: () => void child.stdin.end('handed over\n'),
    async remove() {
      child.stdin.end();
      await inTime(exited, removalTimeoutMs, command);
    },
  };
}

async function inTime(event: Promise<unknown>, timeoutMs: number, command: readonly string[]): Promise<void> {
  const late = Symbol('late');
  const over = new AbortController();
  const outcome = await Promise.race([event, wait(timeoutMs, late, { signal: over.signal })]);
  over.abort();
  if (outcome === late) throw new Error(`did not end in ${timeoutMs} ms: ${command.join(' ')}`);
}

/** A postmaster's own processes; none where the system does not tell. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const list = readFileSync(join('/proc', `${pid}`, 'task', `${pid}`, 'children'), 'utf8');
    return list.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Signals a process that may be gone. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whether there is a process of an id, be it one that has ended and whose parent does not know yet. */
export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
