/**
 * A service on which loads work at the same time, and which is killed at random moments. After each start, and at the end,
 * each load asserts what the service has promised to its clients.
 */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../support/delivering.ts';
import type { EngineDatabase, Environment } from '../support/engine-database.ts';
import { engine } from '../support/engine.ts';
import { assertVerified } from '../support/kills.ts';
import { freePort } from '../support/postgres-port.ts';
import { childrenOf, runningOf } from '../support/running-processes.ts';
import { seeded, type Seeded } from '../support/seeded.ts';
import {
  databaseToServe,
  openShop,
  serve,
  startServing,
  type Runner,
  type Served,
} from '../support/served.ts';

/** A store of a load: its token has all scopes. */
type OpenedStore = { readonly token: string; readonly storeId: number };

/** The state that the loads of a test share. */
export type World = {
  readonly database: EngineDatabase;
  readonly environment: Environment;
  /** The same at every start of the service. */
  readonly url: string;
  readonly random: Seeded;
  /** Creates a store. */
  readonly openStore: (domain: string) => Promise<OpenedStore>;
  /** The number from the query, which returns one row with one column. */
  readonly count: (text: string, ...values: readonly (string | number)[]) => Promise<number>;
};

export type Load = {
  readonly name: string;
  /** Works until it is over, in which moment the service is killed. A request without a response stays open. */
  readonly work: (isOver: () => boolean) => Promise<void>;
  /** The number of successes. */
  readonly count: () => number;
  /** While no service runs, after a kill. */
  readonly whileDown?: () => Promise<void>;
  /** Asserts the promises at the next service, before the load works again. Decides the open requests. */
  readonly checkRestarted?: () => Promise<void>;
  /** At the last service, after `checkRestarted`: what is due is done, and nothing is left. */
  readonly checkEnd?: () => Promise<void>;
  /** When the last service has stopped. @param bytes everything that is stored. */
  readonly checkStopped?: (bytes: Buffer) => void;
  /** A line for the output. */
  readonly summary?: () => string;
  /** After the end, or a failure. */
  readonly close?: () => void | Promise<void>;
};

/** Opens a load at a running service, in which it prepares what it works on. */
export type OpenLoad = (world: World) => Promise<Load>;

export type Killing = {
  /** The number of starts that end with a kill. */
  readonly kills: number;
  readonly seed: number;
  readonly loads: readonly OpenLoad[];
  /** Other variables of the service. */
  readonly environment?: Environment;
  /** Serves instead of the bundle. */
  readonly runner?: Runner;
  /** Whether no service has several processes. */
  readonly isOneProcess?: boolean;
};

const processes = 2;
/** Numbers of kills of which one also hits a start, one a service of several processes, and one is followed by `verify`. */
const every = { start: 5, processes: 6, verify: 10 } as const;
const countsMax = 250;
const pauseMaxMs = 120;

/** Sends until there is a response, or until it is over and the service was killed: then undefined. */
export async function persist<T>(isOver: () => boolean, send: () => Promise<T>): Promise<T | undefined> {
  for (;;)
    try {
      return await send();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      if (isOver()) return undefined;
      await wait(20);
    }
}

/**
 * Whether a service rejects a request because it stops. On a busy machine, a request can wait too long for the locks of a
 * server, and is then sent again as well.
 */
export function isRejected({ status }: { readonly status: number }, isOver: () => boolean): boolean {
  return status === 503 && (isOver() || engine.id === 'postgres');
}

async function openWorld({ environment = {}, seed }: Killing): Promise<World> {
  const database = await databaseToServe();
  const port = String(await freePort());
  const own: Environment = {
    ...database.environment,
    PORT: port,
    // Webhooks can use this machine if pages are for it.
    PUBLIC_URL: `http://localhost:${port}`,
    TRUSTED_PROXIES: '127.0.0.1',
    ...environment,
  };
  const count: World['count'] = async (text, ...values) => {
    const [row] = await database.query(text, ...values);
    return Number(Object.values(row ?? {})[0]);
  };
  return {
    database,
    environment: own,
    url: `http://127.0.0.1:${port}`,
    random: seeded(seed),
    count,
    async openStore(domain) {
      const token = await openShop(own, domain);
      return { token, storeId: await count('select id from stores where domain = ?', domain) };
    },
  };
}

type Line = {
  readonly level: string;
  readonly message: string;
  readonly err?: { readonly code?: string };
};

/**
 * Asserts that each line of the log is complete, and that its errors are those of killed processes. On a busy machine, a
 * background task can wait too long for the locks of others; it is repeated.
 */
function assertLog(output: string): void {
  for (const line of output.split('\n').slice(0, -1)) {
    const { level, message, err } = JSON.parse(line) as Line;
    if (level !== 'error' && level !== 'fatal') continue;
    if (message === 'a background task failed' && err?.code === 'overloaded') continue;
    assert.equal(message, 'a process ended, and is started again', line);
  }
}

class Killer {
  readonly totals = { kills: 0, atStart: 0, ofProcesses: 0 };
  readonly #world: World;
  readonly #killing: Killing;
  #loads: readonly Load[] = [];
  #startTakesMs = 1_000;

  constructor(world: World, killing: Killing) {
    this.#world = world;
    this.#killing = killing;
  }

  async run(t: TestContext): Promise<void> {
    const { kills, loads } = this.#killing;
    try {
      for (let round = 0; round < kills; round += 1) {
        await this.#round(round, async () => {
          if (round > 0) return;
          const opened: Load[] = [];
          this.#loads = opened;
          for (const open of loads) opened.push(await open(this.#world));
        });
      }
      await this.#end();
    } finally {
      for (const { close } of this.#loads) await close?.();
    }
    const { atStart, ofProcesses } = this.totals;
    t.diagnostic(`${kills} kills, ${atStart} more at a start, ${ofProcesses} more of one process of several`);
    for (const { name, count, summary } of this.#loads)
      t.diagnostic(`${name}: ${count()} successes${summary ? `; ${summary()}` : ''}`);
  }

  /** Starts the service, lets the loads work, and kills it. */
  async #round(round: number, opening: () => Promise<void>): Promise<void> {
    const { random } = this.#world;
    const isDivided = !this.#killing.isOneProcess && round % every.processes === every.processes - 1;
    const verifying =
      round > 0 && round % every.verify === 0 ? assertVerified(this.#world.environment) : undefined;
    if (round % every.start === every.start - 1) await this.#killAtStart();
    await using service = await this.#serve(isDivided ? { PROCESSES: String(processes) } : {});
    if (isDivided) await until(async () => (await childrenOf(service.pid)).length === processes);
    await verifying;
    await opening();
    await this.#each(({ checkRestarted }) => checkRestarted?.());
    const state = { isOver: false };
    const working = this.#each(({ work }) => work(() => state.isOver));
    const exit = Promise.withResolvers<never>();
    void service.ended(3_600_000).then(() => {
      if (!state.isOver) exit.reject(new Error(`the service ended: ${service.output().slice(-4_000)}`));
    });
    let children: readonly number[] = [];
    // Half of the services of several processes are stopped.
    const signal = isDivided && random() < 0.5 ? 'SIGTERM' : 'SIGKILL';
    try {
      const killing = async (): Promise<void> => {
        if (isDivided) await this.#killProcesses(service, state);
        await this.#untilMore(state);
      };
      await Promise.race([killing(), working, exit.promise]);
      if (isDivided) children = await childrenOf(service.pid);
    } finally {
      state.isOver = true;
      service.kill(signal);
    }
    await working;
    const ended = signal === 'SIGKILL' ? { code: null, signal } : { code: 0, signal: null };
    assert.deepEqual(await service.ended(), ended);
    this.totals.kills += 1;
    await until(async () => (await runningOf(children)).length === 0);
    assertLog(service.output());
    await this.#each(({ whileDown }) => whileDown?.());
  }

  async #serve(environment: Environment = {}): Promise<Served> {
    const startedAt = performance.now();
    const { runner } = this.#killing;
    const service = await serve({ ...this.#world.environment, ...environment }, undefined, runner);
    this.#startTakesMs = performance.now() - startedAt;
    return service;
  }

  /** Interrupts a start, which recovers the database. */
  async #killAtStart(): Promise<void> {
    await using starting = startServing(this.#world.environment);
    await wait(this.#startTakesMs * (0.4 + 0.6 * this.#world.random()));
    starting.kill('SIGKILL');
    await starting.ended();
    this.totals.atStart += 1;
  }

  /** Kills processes while others serve, or all of them. The supervisor starts them again. */
  async #killProcesses({ pid }: Served, state: { readonly isOver: boolean }): Promise<void> {
    const { random } = this.#world;
    for (let times = random.between(1, 2); times > 0; times -= 1) {
      await this.#untilMore(state);
      const running = await childrenOf(pid);
      const killed = random.between(1, 4) === 1 ? running : random.chooseSome(running, 1);
      for (const each of killed) process.kill(each, 'SIGKILL');
      this.totals.ofProcesses += killed.length;
    }
  }

  /** Waits for a random number of successes, and a random time. */
  async #untilMore(state: { readonly isOver: boolean }): Promise<void> {
    const { random } = this.#world;
    const sum = (): number => this.#loads.reduce((total, { count }) => total + count(), 0);
    const target = sum() + random.between(1, countsMax);
    await until(() => state.isOver || sum() >= target, 120_000);
    await wait(random.between(0, pauseMaxMs));
  }

  async #end(): Promise<void> {
    const { environment, database } = this.#world;
    await using service = await this.#serve();
    await this.#each(({ checkRestarted }) => checkRestarted?.());
    for (const load of this.#loads) await named(load, load.checkEnd);
    service.kill('SIGTERM');
    assert.deepEqual(await service.ended(), { code: 0, signal: null });
    assertLog(service.output());
    const bytes = await database.bytes();
    for (const { checkStopped } of this.#loads) checkStopped?.(bytes);
    await assertVerified(environment);
  }

  /** Runs something of all loads at the same time. */
  async #each(run: (load: Load) => Promise<void> | undefined): Promise<void> {
    await Promise.all(this.#loads.map((load) => named(load, () => run(load))));
  }
}

/** Runs something of a load. Its error has the name of the load. */
async function named({ name }: Load, run: (() => Promise<void> | undefined) | undefined): Promise<void> {
  try {
    await run?.();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Kills a service repeatedly while loads work. @throws Error if a promise to a load was broken. */
export async function killRepeatedly(t: TestContext, killing: Killing): Promise<void> {
  t.diagnostic(`seed ${killing.seed} (CRASH_SEED)`);
  const world = await openWorld(killing);
  await using _database = world.database;
  await new Killer(world, killing).run(t);
}
