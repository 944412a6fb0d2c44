/** A database with cards and the service on it: filled, measured, and verified at the end. */

import assert from 'node:assert/strict';
import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readDatabaseConfig } from '../src/config.ts';
import type { Context } from '../src/context.ts';
import { openDatabase } from '../src/database.ts';
import type { Store } from '../src/domain/store.ts';
import { requireStore } from '../src/service/store.ts';
import { ExpectedLedger, operationNames, operationsOf, type OperationName } from './operations.ts';
import { populate, type Population } from './population.ts';
import { largesse, otherCore, pinTo, startService, type Environment, type Server } from './processes.ts';
import type { FixtureResults, HalfCapacity, Measured, Scaling } from './results.ts';
import { measureHalfCapacity, measureOperation, startBaseline, type Bench } from './rounds.ts';
import { writeScripts } from './scripts.ts';
import { measureWrites } from './writes.ts';
import type { Request } from './load.ts';

const domain = 'bench.example';
/** After this time without requests, the service is at rest. */
const restMs = 1_000;
/** Of each kind of write, to count what it writes. */
const countedTransactions = 64;

/** A filled SQLite file, from which the databases of both engines are copied. */
export type Template = {
  readonly cards: number;
  readonly file: string;
  readonly keysFile: string;
  readonly population: Population;
  readonly token: string;
  readonly fillSeconds: number;
};

export function embeddedAt({ file, keysFile }: Pick<Template, 'file' | 'keysFile'>): Environment {
  return { DATABASE_URL: `file:${file}`, KEYS_FILE: keysFile };
}

/** Creates a store and its cards. */
export async function makeTemplate({ folder }: Pick<Bench, 'folder'>, cards: number): Promise<Template> {
  const home = join(folder, `template-${cards}`);
  mkdirSync(home);
  const place = { file: join(home, 'largesse.db'), keysFile: join(home, 'keys.json') };
  const environment = embeddedAt(place);
  largesse(environment, 'store', 'create', domain, '--currency', 'USD', '--issue-limit', 'none');
  const { token } = largesse(environment, 'token', 'create', '--store', domain) as { readonly token: string };
  const startedAt = performance.now();
  const population = await populate(environment, { domain, cards });
  const fillSeconds = (performance.now() - startedAt) / 1_000;
  return { ...place, cards, population, token, fillSeconds };
}

/** The keys and the store of a template's database, or of a copy. */
export async function openStore(
  template: Pick<Template, 'file' | 'keysFile'>,
): Promise<{ readonly ctx: Context; readonly store: Store }> {
  await using database = await openDatabase(readDatabaseConfig(embeddedAt(template)), { prepare: false });
  const { store } = await database.storage.read(() => requireStore(domain));
  return { ctx: database.ctx, store };
}

/** The service has core 0, the load generator core 1; the baseline has core 0 in its rounds. */
export async function measureEmbedded(bench: Bench, template: Template): Promise<FixtureResults> {
  pinTo(otherCore);
  const file = join(bench.folder, `embedded-${template.cards}.db`);
  copyDurably(template.file, file);
  const { keysFile, population } = template;
  const results = await measureFixture(bench, {
    engine: 'embedded',
    template,
    fillSeconds: template.fillSeconds,
    bytes: statSync(template.file).size,
    environment: embeddedAt({ file, keysFile }),
  });
  const { ctx, store } = await openStore({ file, keysFile });
  const anyCard = (): number => ctx.keys.publicIds.read(population.anyId()) ?? 0;
  const scripts = writeScripts(ctx, { store, anyCard });
  const writes = measureWrites(file, { scripts, transactions: countedTransactions });
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  return { ...results, writes };
}

/** Waits until the copy is on the disk, so that writing it back does not disturb the measurement. */
function copyDurably(from: string, to: string): void {
  copyFileSync(from, to);
  const descriptor = openSync(to, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

export type Fixture = Pick<FixtureResults, 'engine' | 'fillSeconds'> & {
  readonly template: Template;
  /** Of the database before it is measured. */
  readonly bytes: number;
  readonly environment: Environment;
  /** The database server's processes; absent: the database is in the service. */
  readonly databasePids?: () => readonly number[];
  /** Measures how a second process adds to the first. */
  readonly measureScaling?: (servers: readonly Server[], next: () => Request) => Promise<Scaling | null>;
};

/**
 * Measures every operation, stops the service and verifies the ledger.
 * @throws Error if a response was wrong, a process failed, or the ledger does not agree with the responses.
 */
export async function measureFixture(bench: Bench, fixture: Fixture): Promise<FixtureResults> {
  const { engine, template, fillSeconds, bytes } = fixture;
  const { cards } = template;
  const expected = new ExpectedLedger();
  await using service = await start(bench, fixture);
  await wait(restMs);
  const memoryAtRest = service.memoryMb();
  const measured = await measureOperations(bench, { fixture, service, expected });
  assert.equal(await service.stop(), 0, 'the service did not stop properly');
  return {
    engine,
    cards,
    fillSeconds,
    bytesPerCard: bytes / cards,
    readyAfterMs: service.readyAfterMs,
    ...measured,
    memoryMb: { atRest: memoryAtRest, underLoad: measured.memoryMb },
    writes: null,
    ...verify(fixture, expected),
  };
}

function start({ folder }: Bench, { engine, template, environment }: Fixture): Promise<Server> {
  return startService(environment, join(folder, `${engine}-${template.cards}.log`));
}

type OperationsResults = Pick<FixtureResults, 'measured' | 'halfCapacity' | 'scaling'> & {
  readonly memoryMb: number;
};

async function measureOperations(
  bench: Bench,
  {
    fixture,
    service,
    expected,
  }: { readonly fixture: Fixture; readonly service: Server; readonly expected: ExpectedLedger },
): Promise<OperationsResults> {
  const { databasePids = null, measureScaling, template } = fixture;
  const client = { ...template, keyPrefix: Date.now().toString(36) };
  const operations = operationsOf({ ...client, expected, isChecking: true });
  const forBaseline = operationsOf({ ...client, expected: new ExpectedLedger(), isChecking: false });
  await using baseline = await startBaseline(bench);
  let memoryMb = 0;
  const afterRound = (): void => {
    memoryMb = Math.max(memoryMb, service.memoryMb());
  };
  const measured = new Map<OperationName, Measured>();
  for (const operation of operationNames) {
    const [next, nextForBaseline] = [operations[operation], forBaseline[operation]];
    const contest = { operation, service, baseline, next, nextForBaseline, databasePids, afterRound };
    measured.set(operation, await measureOperation(bench, contest));
  }
  let halfCapacity: HalfCapacity | null = null;
  const capacity = measured.get('create')?.service.requestsPerSecond ?? [];
  // On PostgreSQL, the load generator shares the service's core and would disturb what it times.
  if (!databasePids)
    halfCapacity = await measureHalfCapacity(bench, { service, next: operations.create, capacity });
  let scaling: Scaling | null = null;
  if (measureScaling) {
    await using second = await start(bench, fixture);
    scaling = await measureScaling([service, second], operations.debit);
  }
  return { measured: [...measured.values()], halfCapacity, scaling, memoryMb };
}

/** @throws Error if the ledger does not agree with every balance, or with the responses. */
function verify(
  { environment, template }: Fixture,
  expected: ExpectedLedger,
): Pick<FixtureResults, 'cardsAtEnd' | 'verifySeconds'> {
  const startedAt = performance.now();
  const { ok, stores } = largesse(environment, 'verify') as {
    readonly ok: boolean;
    readonly stores: readonly { cards: number; transfers: number; outstanding: string }[];
  };
  const verifySeconds = (performance.now() - startedAt) / 1_000;
  assert.equal(ok, true);
  const [ledger] = stores;
  assert(ledger);
  expected.check(template.cards, ledger);
  return { cardsAtEnd: ledger.cards, verifySeconds };
}
