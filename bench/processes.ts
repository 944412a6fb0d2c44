/** The processes under load: started, pinned, measured from outside, and stopped. */

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const root = join(import.meta.dirname, '..');
/** Of util-linux: runs a program, or moves a process, to given cores. */
const pinner = 'taskset';
const readyWithinMs = 30_000;
const readyPollMs = 2;
const stopWithinMs = 40_000;
/** What /proc counts processor time in, on every Linux (sysconf(_SC_CLK_TCK)). */
const ticksPerSecond = 100;

/** A server process that takes requests on 127.0.0.1. */
export type Server = AsyncDisposable & {
  readonly port: number;
  /** From the start of the process to its first readiness. */
  readonly readyAfterMs: number;
  /** User and system time so far, in s; NaN where there is no /proc. */
  cpuSeconds(): number;
  /** Resident memory in MB, and the part that is not of mapped files; NaN where there is no /proc. */
  memory(): { readonly residentMb: number; readonly anonymousMb: number };
  /** Ends it with SIGTERM and answers its exit code. */
  stop(): Promise<number | null>;
};

/**
 * Takes core 1 for this process, the load generator, and leaves core 0 to the servers.
 * False if the machine cannot do that: then everything competes for the same cores.
 */
export function pin(): boolean {
  if (availableParallelism() < 2) return false;
  const { status } = spawnSync(pinner, ['--all-tasks', '--cpu-list', '--pid', '1', String(process.pid)]);
  return status === 0;
}

/** Starts a server on a free port and waits until `readiness` answers 200. */
export async function startServer(given: {
  readonly script: string;
  readonly argument: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly readiness: string;
  readonly isPinned: boolean;
  /** The file that gets what the process prints. */
  readonly log: string;
}): Promise<Server> {
  const port = await freePort();
  const output = openSync(given.log, 'a');
  const command = [process.execPath, join(root, given.script), given.argument];
  const [file = '', ...args] = given.isPinned ? [pinner, '--cpu-list', '0', ...command] : command;
  const startedAt = performance.now();
  const child = spawn(file, args, {
    cwd: root,
    stdio: ['ignore', output, output],
    env: { PATH: process.env['PATH'], ...given.environment, PORT: String(port) },
  });
  closeSync(output);
  const stop = stopper(child);
  try {
    await ready(child, `http://127.0.0.1:${port}${given.readiness}`);
  } catch (error) {
    await stop();
    throw new Error(`${given.script} did not start: ${readFileSync(given.log, 'utf8')}`, { cause: error });
  }
  // The pinner becomes the server: its process id stays.
  const { pid } = child;
  return {
    port,
    readyAfterMs: performance.now() - startedAt,
    cpuSeconds() {
      const [, fields = ''] = /^.*\) (.*)$/.exec(readProc(pid, 'stat').trim()) ?? [];
      const [user, system] = fields.split(' ').slice(11, 13).map(Number);
      return ((user ?? Number.NaN) + (system ?? Number.NaN)) / ticksPerSecond;
    },
    memory() {
      const status = readProc(pid, 'status');
      const megabytes = (name: string): number =>
        Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) / 1_024;
      return { residentMb: megabytes('VmRSS'), anonymousMb: megabytes('RssAnon') };
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

function stopper(child: ChildProcess): () => Promise<number | null> {
  const exited = once(child, 'exit');
  return async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
    await exited;
    clearTimeout(late);
    return child.exitCode;
  };
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    await wait(readyPollMs);
  }
  throw new Error(`not ready within ${readyWithinMs} ms`);
}

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert(address !== null && typeof address === 'object');
  server.close();
  await once(server, 'close');
  return address.port;
}

function readProc(pid: number | undefined, name: 'stat' | 'status'): string {
  if (pid === undefined || process.platform !== 'linux') return '';
  return readFileSync(`/proc/${pid}/${name}`, 'utf8');
}

/** The service's own command line on the database in a folder: what it prints with `--json`. */
export function largesse(folder: string, ...args: readonly string[]): unknown {
  const output = execFileSync(process.execPath, [join(root, 'src/cli.ts'), ...args, '--json'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...databaseIn(folder) },
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(output) as unknown;
}

/** The service as it is shipped, but for the rate limit. `production`: with real stores only. */
export function startService(
  folder: string,
  { isPinned, production }: { readonly isPinned: boolean; readonly production: boolean },
): Promise<Server> {
  mkdirSync(folder, { recursive: true });
  return startServer({
    script: 'src/cli.ts',
    argument: 'serve',
    environment: {
      ...databaseIn(folder),
      RATE_LIMIT: 'off',
      ...(production && { NODE_ENV: 'production' }),
    },
    readiness: '/readyz',
    isPinned,
    log: join(folder, 'service.log'),
  });
}

function databaseIn(folder: string): Readonly<Record<string, string>> {
  return { DATABASE_URL: `file:${join(folder, 'largesse.db')}` };
}
