/** A service with a database full of cards: filled, started, and verified at the end. */

import assert from 'node:assert/strict';
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ExpectedLedger, operationsOf, type OperationName } from './operations.ts';
import { populate, type Population } from './population.ts';
import {
  largesse,
  otherCore,
  pinTo,
  startService,
  type Environment,
  type Server,
  type Usage,
} from './processes.ts';
import type { EngineName, FixtureResults } from './results.ts';
import type { Request } from './load.ts';
import type { Bench } from './rounds.ts';
import type { Tree } from './tree.ts';

export const domain = 'bench.example';

/** An empty database. */
export type Database = AsyncDisposable & {
  readonly engine: EngineName;
  readonly url: string;
  /** Returns the usage of the database server; null: the database is in the service. */
  readonly usage: (() => Promise<Usage>) | null;
  /** Waits until everything is on the disk, and returns its size in bytes. */
  settle(): Promise<number>;
};

/** The database and the keys of a service, with a store and its cards. */
export type Fixture = Pick<FixtureResults, 'engine' | 'cards' | 'fillSeconds' | 'bytesPerCard'> & {
  readonly tree: Tree;
  readonly database: Database;
  readonly environment: Environment;
  readonly token: string;
  readonly population: Population;
  /** The expected content of the ledger, by the responses. */
  readonly expected: ExpectedLedger;
  /** The log of the service. */
  readonly log: string;
};

/** An empty file. The load generator has core 1, the service core 0. */
export function createFile(folder: string): Database {
  pinTo(otherCore);
  const home = mkdtempSync(join(folder, 'embedded-'));
  const file = join(home, 'largesse.db');
  return {
    engine: 'embedded',
    url: `file:${file}`,
    usage: null,
    async settle() {
      const descriptor = openSync(file, 'r+');
      fsyncSync(descriptor);
      closeSync(descriptor);
      return statSync(file).size;
    },
    async [Symbol.asyncDispose]() {
      rmSync(home, { recursive: true });
    },
  };
}

/** Creates keys, a store and an access token. */
export function createStore(
  tree: Tree,
  { database, folder }: { readonly database: Database; readonly folder: string },
): Pick<Fixture, 'environment' | 'token' | 'log'> {
  const home = mkdtempSync(join(folder, 'service-'));
  const environment = { DATABASE_URL: database.url, KEYS_FILE: join(home, 'keys.json') };
  largesse(tree, environment, ['store', 'create', domain, '--currency', 'USD', '--issue-limit', 'none']);
  const { token } = largesse(tree, environment, ['token', 'create', '--store', domain]) as {
    readonly token: string;
  };
  return { environment, token, log: join(home, 'service.log') };
}

/** Fills a database through the API of the tree's service. */
export async function prepare(
  { plan, folder }: Bench,
  { tree, database, cards }: { readonly tree: Tree; readonly database: Database; readonly cards: number },
): Promise<Fixture> {
  console.error(`filling ${cards} cards, ${database.engine}, ${tree.revision}`);
  const { environment, token, log } = createStore(tree, { database, folder });
  await using service = await startService(tree, { environment: { ...environment, LOG_LEVEL: 'warn' }, log });
  const startedAt = performance.now();
  const population = await populate(service, { token, cards, connections: plan.connections });
  const fillSeconds = (performance.now() - startedAt) / 1_000;
  await stop(service);
  const bytesPerCard = (await database.settle()) / cards;
  const { engine } = database;
  const expected = new ExpectedLedger();
  return {
    engine,
    cards,
    fillSeconds,
    bytesPerCard,
    tree,
    database,
    environment,
    token,
    population,
    expected,
    log,
  };
}

/** @param settings of the service, in addition to those of its database. */
export function start({ tree, environment, log }: Fixture, settings: Environment = {}): Promise<Server> {
  return startService(tree, { environment: { ...environment, ...settings }, log });
}

export async function stop(service: Server): Promise<void> {
  assert.equal(await service.stop(), 0, 'the service did not stop properly');
}

export function requestsOf(
  { token, population, expected }: Fixture,
  { isChecking }: { readonly isChecking: boolean },
): Readonly<Record<OperationName, () => Request>> {
  return operationsOf({ token, population, expected, isChecking, keyPrefix: Date.now().toString(36) });
}

/** @throws Error if the ledger does not agree with every balance, or with the responses. */
export function verify({
  tree,
  environment,
  cards,
  expected,
}: Pick<Fixture, 'tree' | 'environment' | 'cards' | 'expected'>): Pick<
  FixtureResults,
  'cardsAtEnd' | 'verifySeconds'
> {
  const startedAt = performance.now();
  const { ok, stores } = largesse(tree, environment, ['verify']) as {
    readonly ok: boolean;
    readonly stores: readonly { cards: number; transfers: number; outstanding: string }[];
  };
  const verifySeconds = (performance.now() - startedAt) / 1_000;
  assert.equal(ok, true);
  const [ledger] = stores;
  assert(ledger);
  expected.check(cards, ledger);
  return { cardsAtEnd: ledger.cards, verifySeconds };
}
