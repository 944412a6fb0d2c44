/**
 * The command line as a store owner uses it, on a separate database: through bin/largesse.js in processes, or
 * in this process where the test is about what a command does and prints.
 */

import assert from 'node:assert/strict';
import type { DatabaseWish, Engine, EngineDatabase, Environment } from '../support/engine-database.ts';
import { isEndless, runCommand } from '../support/command-line.ts';
import { engine } from '../support/engine.ts';
import { runProgram, startProgram, type Exit, type Program, type Result } from '../support/programs.ts';
import { executable } from '../support/program.ts';

export type Home = AsyncDisposable & {
  readonly database: EngineDatabase;
  /** The working folder of the commands. */
  readonly folder: string;
  readonly keysFile: string;
  /** Runs a command to its end, in this process unless it is one that waits for a signal. */
  run(args: readonly string[], environment?: Environment): Promise<Result>;
  /** Runs a command to its end, in a process. */
  runProcess(args: readonly string[], environment?: Environment): Promise<Result>;
  /** Runs a command that must succeed, with `--json`, and returns its output. */
  json<T>(...args: readonly string[]): Promise<T>;
  /** Starts a command that runs until it is stopped. */
  start(args: readonly string[], environment?: Environment): Program;
  /** Starts the service on a free port and waits until it accepts requests. */
  serve(environment?: Environment): Promise<Served>;
};

export type Served = {
  readonly url: string;
  readonly program: Program;
  /** Ends it with SIGTERM. */
  stop(): Promise<Exit>;
};

/** Creates an empty folder and an empty database for the commands. Disposing it kills running commands. */
export async function makeHome(on: Engine = engine, wish: DatabaseWish = {}): Promise<Home> {
  const database = await on.createDatabase({ empty: true, ...wish });
  const { folder, keysFile } = database;
  const usual = { ...database.environment, PORT: '0', RATE_LIMIT: 'off' };
  const started: Program[] = [];
  const home: Home = {
    database,
    folder,
    keysFile,
    run(args, environment) {
      if (isEndless(args)) return home.runProcess(args, environment);
      return runCommand(args, { environment: { ...usual, ...environment }, folder });
    },
    runProcess: (args, environment) =>
      runProgram(process.execPath, [executable, ...args], {
        environment: { ...usual, ...environment },
        folder,
      }),
    async json<T>(...args: readonly string[]) {
      const { code, output, errors } = await home.run([...args, '--json']);
      assert.deepEqual({ code, errors }, { code: 0, errors: '' }, args.join(' '));
      return JSON.parse(output) as T;
    },
    start(args, environment) {
      const program = startProgram(process.execPath, [executable, ...args], {
        environment: { ...usual, ...environment },
        folder,
      });
      started.push(program);
      return program;
    },
    async serve(environment) {
      const program = home.start(['serve'], environment);
      const [, url = ''] = await program.written(/"url":"([^"]+)".*"message":"largesse serves"/);
      return {
        url,
        program,
        stop() {
          program.kill('SIGTERM');
          return program.ended();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const program of started) await program[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
  return home;
}

export type HttpResponse = { readonly status: number; readonly headers: Headers; readonly json: unknown };

/** Sends a request; `json` as a JSON body. */
export async function ask(
  url: string,
  {
    json,
    token,
    headers,
    ...request
  }: {
    readonly method?: string;
    readonly json?: unknown;
    readonly token?: string | undefined;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<HttpResponse> {
  const response = await fetch(url, {
    method: request.method ?? (json === undefined ? 'GET' : 'POST'),
    headers: {
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { 'x-access-token': token }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, json: isJson ? JSON.parse(text) : text };
}

export type GiftCard = Readonly<Record<string, unknown>> & { readonly id: number; readonly balance: string };

/** Returns the card in a response with the given status. */
export function cardOf({ status, json }: HttpResponse, expected: number): GiftCard {
  assert.equal(status, expected, JSON.stringify(json));
  return (json as { readonly gift_card: GiftCard }).gift_card;
}
