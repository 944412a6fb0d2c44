/** Programs that a test starts, each killed by its own id when the test's process ends, at the latest. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn, inTime } from './deadline.ts';

const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}
process.once('exit', killAll);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  // A test that is ended after a timeout must not leave programs running.
  process.once(signal, () => {
    killAll();
    process.kill(process.pid, signal);
  });
}

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Program = AsyncDisposable & {
  readonly pid: number;
  /** Everything that it has written. */
  readonly output: () => string;
  readonly errors: () => string;
  /** Resolves when it has written a match on either stream. @throws Error if it ends before. */
  readonly written: (pattern: RegExp, timeoutMs?: number) => Promise<RegExpExecArray>;
  /** @throws Error if it has not ended in time. */
  readonly ended: (timeoutMs?: number) => Promise<Exit>;
  readonly kill: (signal: NodeJS.Signals) => void;
};

export type ProgramOptions = {
  /** The whole environment, except PATH, the options of Node.js and the cache of compiled sources. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** The account that runs it. Default: that of this process. */
  readonly account?: { readonly uid: number; readonly gid: number };
};

export function startProgram(
  command: string,
  args: readonly string[],
  { environment = {}, folder, account }: ProgramOptions = {},
): Program {
  const { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env;
  const child = spawn(command, args, {
    env: {
      PATH,
      ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
      ...(NODE_OPTIONS !== undefined && { NODE_OPTIONS }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(folder !== undefined && { cwd: folder }),
    ...account,
  });
  running.add(child);
  const texts = { output: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.errors += text));
  const end = once(child, 'close').then(([code, signal]): Exit => {
    running.delete(child);
    return { code: code as Exit['code'], signal: signal as Exit['signal'] };
  });
  let hasEnded = false;
  void end.then(() => (hasEnded = true));

  return {
    // 0: it did not start, and `ended` throws the error.
    pid: child.pid ?? 0,
    output: () => texts.output,
    errors: () => texts.errors,
    async ended(timeoutMs = 60_000) {
      return await inTime(end, timeoutMs, `${command} ${args.join(' ')}`);
    },
    kill: (signal) => void child.kill(signal),
    async written(pattern, timeoutMs = 20_000) {
      const deadline = deadlineIn(timeoutMs);
      for (;;) {
        const found = pattern.exec(texts.output) ?? pattern.exec(texts.errors);
        if (found) return found;
        const description = `${command} ${args.join(' ')}\n${texts.output}\n${texts.errors}`;
        if (hasEnded) throw new Error(`ended without writing ${String(pattern)}: ${description}`);
        if (deadline.isOver()) throw new Error(`did not write ${String(pattern)} in time: ${description}`);
        await wait(5);
      }
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded) child.kill('SIGKILL');
      await end;
    },
  };
}

export type Result = Exit & { readonly output: string; readonly errors: string };

/** Runs a program to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options?: ProgramOptions,
): Promise<Result> {
  await using program = startProgram(command, args, options);
  const exit = await program.ended();
  return { ...exit, output: program.output(), errors: program.errors() };
}
