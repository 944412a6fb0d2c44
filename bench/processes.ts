/** The processes under load: started, pinned, measured from outside, and stopped. */

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Memory } from './results.ts';

const root = join(import.meta.dirname, '..');
/** Of util-linux: runs a program, or moves a process, to given cores. */
const pinner = 'taskset';
const readyWithinMs = 30_000;
const readyPollMs = 2;
const stopWithinMs = 40_000;
/** What /proc counts processor time in, on every Linux (sysconf(_SC_CLK_TCK)). */
const ticksPerSecond = 100;
const outputBytesMax = 2 ** 26;

export type Environment = Readonly<Record<string, string>>;

/** A server process that takes requests on 127.0.0.1. */
export type Server = AsyncDisposable & {
  readonly port: number;
  readonly pid: number;
  /** From the start of the process to its first readiness. */
  readonly readyAfterMs: number;
  /** User and system time so far, in s; NaN where there is no /proc. */
  cpuSeconds(): number;
  /** NaN where there is no /proc. */
  memory(): Memory;
  /** Ends it with SIGTERM and answers its exit code. */
  stop(): Promise<number | null>;
};

/** Servers that were started and have not ended. */
const running = new Set<ChildProcess>();

/** Kills every server that still runs: for the end of this process, which nothing else may outlive. */
export function killServers(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Whether processes of this machine can be given a core each. */
export function canPin(): boolean {
  return availableParallelism() > 1 && spawnSync(pinner, ['--version']).status === 0;
}

/** Moves a process and all its threads to a core; what it starts from then on starts there, too. */
export function pinTo(core: number, pid = process.pid): void {
  const { status } = spawnSync(pinner, ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)]);
  // The process may have ended by itself, as the helpers of a database server do.
  assert(status === 0 || pid !== process.pid, `${pinner} cannot move a process to core ${core}`);
}

/** The command that runs another one on a core; null: on whichever is free. */
export function pinned(command: readonly string[], core: number | null): readonly [string, ...string[]] {
  if (core !== null) return [pinner, '--cpu-list', String(core), ...command];
  const [file = '', ...args] = command;
  return [file, ...args];
}

/** Starts a server on a free port and waits until `readiness` answers 200. */
export async function startServer(given: {
  readonly script: string;
  readonly argument?: string;
  readonly environment?: Environment;
  readonly readiness: string;
  /** Null: whichever core is free. */
  readonly core: number | null;
  /** The file that gets what the process prints. */
  readonly log: string;
}): Promise<Server> {
  const port = await freePort();
  const output = openSync(given.log, 'a');
  const command = [
    process.execPath,
    join(root, given.script),
    ...(given.argument === undefined ? [] : [given.argument]),
  ];
  const [file, ...args] = pinned(command, given.core);
  const startedAt = performance.now();
  const child = spawn(file, args, {
    cwd: root,
    stdio: ['ignore', output, output],
    env: { PATH: process.env['PATH'], ...given.environment, PORT: String(port) },
  });
  closeSync(output);
  running.add(child);
  child.once('exit', () => running.delete(child));
  const stop = stopper(child);
  try {
    await ready(child, `http://127.0.0.1:${port}${given.readiness}`);
  } catch (error) {
    await stop();
    throw new Error(`${given.script} did not start: ${readFileSync(given.log, 'utf8')}`, { cause: error });
  }
  // The pinner becomes the server: its process id stays.
  const { pid } = child;
  assert(pid !== undefined);
  return {
    port,
    pid,
    readyAfterMs: performance.now() - startedAt,
    cpuSeconds: () => cpuSecondsOf([pid]),
    memory: () => memoryOf(pid),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/**
 * User and system time of processes so far, in s, with that of their children that have ended; NaN where there is no
 * /proc. A process that has ended meanwhile counts with its parent.
 */
export function cpuSecondsOf(pids: readonly number[]): number {
  if (process.platform !== 'linux') return Number.NaN;
  return pids.reduce((sum, pid) => {
    const [, fields] = /^.*\) (.*)$/.exec(readProc(pid, 'stat').trim()) ?? [];
    const times = fields?.split(' ').slice(11, 15).map(Number) ?? [];
    return times.reduce((total, ticks) => total + ticks / ticksPerSecond, sum);
  }, 0);
}

function memoryOf(pid: number): Memory {
  const status = readProc(pid, 'status');
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) / 1_024;
  return { residentMb: megabytes('VmRSS'), anonymousMb: megabytes('RssAnon') };
}

/** Empty where there is no such process any more. */
function readProc(pid: number, name: 'stat' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
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

/** The service's own command line on a database: what it prints with `--json`. @throws if it exits with another code than 0. */
export function largesse(environment: Environment, ...args: readonly string[]): unknown {
  const output = execFileSync(process.execPath, [join(root, 'src/cli.ts'), ...args, '--json'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...environment },
    maxBuffer: outputBytesMax,
  });
  return JSON.parse(output) as unknown;
}

/** The service as it is shipped, but for the rate limit. `isProduction`: with real stores only. */
export function startService(
  environment: Environment,
  given: { readonly core: number | null; readonly isProduction: boolean; readonly log: string },
): Promise<Server> {
  return startServer({
    script: 'src/cli.ts',
    argument: 'serve',
    environment: {
      ...environment,
      RATE_LIMIT: 'off',
      ...(given.isProduction && { NODE_ENV: 'production' }),
    },
    readiness: '/readyz',
    core: given.core,
    log: given.log,
  });
}
