/** The service as a separate process, started by its command line. */

import { dirname } from 'node:path';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { isEndless, runCommand } from './command-line.ts';
import type { DatabaseWish, EngineDatabase, Environment } from './engine-database.ts';
import { engine } from './engine.ts';
import { newStore } from './fixtures.ts';
import { commandLine } from './program.ts';
import { runProgram, startProgram, type Program, type ProgramOptions, type Result } from './programs.ts';

/** Long enough if ten start at once. */
const startTimeoutMs = 60_000;

/** A database of one test. `environment` configures a service on it. */
export async function databaseToServe(wish?: DatabaseWish): Promise<EngineDatabase> {
  const database = await engine.createDatabase(wish);
  const environment = { ...database.environment, PORT: '0', RATE_LIMIT: 'off', LOG_LEVEL: 'info' };
  return { ...database, environment };
}

/** Creates a store and returns a token with all scopes. */
export async function openShop(environment: Environment, domain: string): Promise<string> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: true });
  const { ctx, storage } = database;
  const store = await storage.write(() => createStore(ctx, newStore({ domain })));
  const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
  return secret.reveal();
}

export type Served = Program & { readonly url: string };

/** A command that runs the service's command, such as a shell that limits it. */
export type Wrapper = readonly [command: string, ...args: string[]];

/** Another program, which another account can run. */
export type Runner = {
  readonly account?: NonNullable<ProgramOptions['account']>;
  readonly node: string;
  readonly commandLine: string;
};

export function startServing(environment: Environment, wrapper?: Wrapper, runner?: Runner): Program {
  const own = [runner?.node ?? process.execPath, runner?.commandLine ?? commandLine, 'serve'] as const;
  const [file, ...args] = wrapper ? [...wrapper, ...own] : own;
  return startProgram(file, args, {
    environment,
    ...(runner?.account && { account: runner.account, folder: dirname(runner.commandLine) }),
  });
}

/** Starts the service and waits until it accepts requests. */
export async function serve(environment: Environment, wrapper?: Wrapper, runner?: Runner): Promise<Served> {
  const program = startServing(environment, wrapper, runner);
  try {
    const [, url = ''] = await program.written(/"url":"([^"]+)".*"largesse serves"/, startTimeoutMs);
    return { ...program, url };
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

/** Runs a command of the command line to its end, in this process unless it is one that waits for a signal. */
export function command(environment: Environment, ...args: readonly string[]): Promise<Result> {
  return isEndless(args) ? commandProcess(environment, ...args) : runCommand(args, { environment });
}

/**
 * Runs a command to its end in a process: while clients of this process continue to work, and under the
 * libraries that the environment preloads.
 */
export function commandProcess(environment: Environment, ...args: readonly string[]): Promise<Result> {
  return runProgram(process.execPath, [commandLine, ...args], { environment });
}
