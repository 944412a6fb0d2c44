/**
 * The command line in this process, for tests of what a command does and prints. A process of its own costs
 * ten times as much: `command` in `served.ts` starts one, for tests of processes.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { reportFailure } from '../../src/cli/failure.ts';
import { program } from '../../src/cli/program.ts';
import type { Environment } from './engine-database.ts';
import type { Result } from './programs.ts';

/** The output of the running command. */
const captured = new AsyncLocalStorage<{ output: string; errors: string }>();

// Only writes of a command are captured, and not those of the test runner.
for (const [stream, name] of [[process.stdout, 'output'], [process.stderr, 'errors']] as const) {
  const write = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array, ...others: readonly unknown[]): boolean => {
    const texts = captured.getStore();
    if (!texts) return write(chunk, ...(others as []));
    texts[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    for (const other of others) if (typeof other === 'function') process.nextTick(other);
    return true;
  };
} // prettier-ignore

/** Whether a command runs until its process gets a signal. */
export function isEndless([command]: readonly string[]): boolean {
  return command === 'serve' || command === 'app-proxy';
}

/** The variables of the test run, which no command reads. */
const ofTests = /^(?:PATH|TEST_.*|NODE_COMPILE_CACHE)$/;

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end, after those that run, because a command has the environment, the working folder
 * and the exit code of the process.
 */
export function runCommand(
  args: readonly string[],
  options: { readonly environment?: Environment; readonly folder?: string } = {},
): Promise<Result> {
  if (isEndless(args)) throw new Error(`${args.join(' ')}: needs a process of its own`);
  const result = last.then(() => execute(args, options));
  last = result.catch(() => undefined);
  return result;
}

async function execute(
  args: readonly string[],
  {
    environment = {},
    folder = process.cwd(),
  }: { readonly environment?: Environment; readonly folder?: string },
): Promise<Result> {
  const before = { env: process.env, folder: process.cwd(), exitCode: process.exitCode };
  // As src/cli.ts does.
  const mask = process.umask(0o077);
  const own = Object.entries(before.env).filter(([name]) => ofTests.test(name));
  process.env = { ...Object.fromEntries(own), ...environment };
  process.exitCode = undefined;
  process.chdir(folder);
  const texts = { output: '', errors: '' };
  try {
    const code = await captured.run(texts, () => exitCodeOf(args));
    return { code, signal: null, ...texts };
  } finally {
    process.chdir(before.folder);
    process.exitCode = before.exitCode;
    process.env = before.env;
    process.umask(mask);
  }
}

async function exitCodeOf(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
  } catch (error) {
    return reportFailure(error);
  }
  return Number(process.exitCode ?? 0);
}
