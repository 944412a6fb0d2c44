/** The processes under load: started, pinned to a core, measured from outside, and stopped. */

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../test/support/postgres-port.ts';
import type { Tree } from './tree.ts';

/** A command of util-linux: runs a program on a core, or moves a process to it. */
const pinner = 'taskset';
const readyWithinMs = 60_000;
const readyPollMs = 2;
const stopWithinMs = 40_000;
/** The unit of processor time in /proc/<pid>/stat, on every Linux (sysconf(_SC_CLK_TCK)). */
const nsPerTick = 10_000_000;
const outputBytesMax = 2 ** 26;

/** The servers' core. The load generator has the other one, or shares this one where a database server has the other. */
export const serverCore = 0;
export const otherCore = 1;

export type Environment = Readonly<Record<string, string>>;

/** A server process on 127.0.0.1. */
export type Server = AsyncDisposable & {
  readonly port: number;
  readonly pid: number;
  /** From the start of the process until it is ready. */
  readonly readyAfterMs: number;
  /** Until now, of the process and those that it has started, with their resident memory without mapped files. */
  usage(): Usage & { readonly memoryMb: number };
  /** Ends it with SIGTERM and returns its exit code. */
  stop(): Promise<number | null>;
};

/** The usage of a server since its start. */
export type Usage = {
  /** Processor time of all its threads, in µs. */
  readonly micros: number;
  /** Written to the disk: pages of files that it changed. */
  readonly bytes: number;
};

/** Servers that were started and have not ended. */
const running = new Set<ChildProcess>();

/** Kills every server that still runs, at the end of this process. */
export function killServers(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Whether each process can have a core of its own. */
export const canPin = availableParallelism() > 1 && spawnSync(pinner, ['--version']).status === 0;

/** Moves a process with all its threads to a core, and whatever it starts later. Without effect if `canPin` is false. */
export function pinTo(core: number, pid = process.pid): void {
  if (!canPin) return;
  const { status } = spawnSync(pinner, ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)]);
  // Another process may have ended, as the workers of a database server do.
  assert(status === 0 || pid !== process.pid, `${pinner} cannot move this process to core ${core}`);
}

/** Starts a server on a free port and waits until `readiness` returns 200. */
export async function startServer(options: {
  readonly tree: Tree;
  readonly script: string;
  readonly arguments?: readonly string[];
  readonly environment?: Environment;
  readonly readiness: string;
  /** The file that receives what the process prints. */
  readonly log: string;
}): Promise<Server> {
  const { log, tree, script } = options;
  const port = await freePort();
  const output = openSync(log, 'a');
  const command = [process.execPath, join(tree.root, script), ...(options.arguments ?? [])];
  const [file = '', ...rest] = canPin ? [pinner, '--cpu-list', String(serverCore), ...command] : command;
  const startedAt = performance.now();
  const child = spawn(file, rest, {
    cwd: tree.root,
    stdio: ['ignore', output, output],
    env: { PATH: process.env['PATH'], ...options.environment, PORT: String(port) },
  });
  closeSync(output);
  running.add(child);
  child.once('exit', () => running.delete(child));
  const stop = stopper(child);
  try {
    await ready(child, `http://127.0.0.1:${port}${options.readiness}`);
  } catch (error) {
    await stop();
    throw new Error(`${script} of ${tree.revision} did not start: ${readFileSync(log, 'utf8')}`, {
      cause: error,
    });
  }
  // The pinner becomes the server, so the process id is the same.
  const { pid } = child;
  assert(pid !== undefined);
  return {
    port,
    pid,
    readyAfterMs: performance.now() - startedAt,
    usage: () => usageOf([pid, ...childrenOf(pid)]),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

function usageOf(pids: readonly number[]): ReturnType<Server['usage']> {
  const sum = (of: (pid: number) => number): number => pids.reduce((total, pid) => total + of(pid), 0);
  return {
    micros: cpuMicros(pids),
    bytes: sum((pid) => numberIn(`${pid}/io`, /^write_bytes: (\d+)$/m)),
    memoryMb: sum((pid) => numberIn(`${pid}/status`, /^RssAnon:\s+(\d+) kB$/m)) / 1_024,
  };
}

/** The processes that a process has started and that run. */
export function childrenOf(pid: number): readonly number[] {
  return readProc(`${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/** Whether the kernel counts the processor time of threads in nanoseconds, as Linux usually does. */
export const canMeasureCpu = threadsNs(process.pid) > 0;

/**
 * Processor time of all threads of processes so far, in µs, and of their children that have ended.
 * Threads that live as long as their process are counted in nanoseconds, ended children in hundredths of a second.
 */
export function cpuMicros(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (threadsNs(pid) + childrenNs(pid)) / 1_000, 0);
}

function threadsNs(pid: number): number {
  const threads = listProc(`${pid}/task`);
  return threads.reduce(
    (sum, thread) => sum + Number(readProc(`${pid}/task/${thread}/schedstat`).split(' ')[0]),
    0,
  );
}

function childrenNs(pid: number): number {
  const [, fields] = /^.*\) (.*)$/.exec(readProc(`${pid}/stat`).trim()) ?? [];
  const [user = 0, system = 0] = fields?.split(' ').slice(13, 15).map(Number) ?? [];
  return (user + system) * nsPerTick;
}

/** NaN if there is no such process. */
function numberIn(path: string, pattern: RegExp): number {
  return Number(pattern.exec(readProc(path))?.[1] ?? Number.NaN);
}

/** Empty if there is no such process. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}

function listProc(path: string): readonly string[] {
  try {
    return readdirSync(`/proc/${path}`);
  } catch {
    return [];
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
    const response = await fetch(url).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) return;
    await wait(readyPollMs);
  }
  throw new Error(`not ready within ${readyWithinMs} ms`);
}

/** Returns the output of a service's command with `--json`. @throws if it exits with another code than 0. */
export function largesse(tree: Tree, environment: Environment, args: readonly string[]): unknown {
  const output = execFileSync(process.execPath, [join(tree.root, 'src/cli.ts'), ...args, '--json'], {
    cwd: tree.root,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...environment },
    maxBuffer: outputBytesMax,
  });
  return JSON.parse(output) as unknown;
}

/** A service as it is shipped, without its rate limit. */
export function startService(
  tree: Tree,
  { environment, log }: { readonly environment: Environment; readonly log: string },
): Promise<Server> {
  const settings = { RATE_LIMIT: 'off', NODE_ENV: 'production', ...environment };
  const script = { script: 'bin/largesse.js', arguments: ['serve'], readiness: '/readyz' };
  return startServer({ tree, ...script, environment: settings, log });
}
