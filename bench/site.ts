/** A database with cards and the service on it: prepared, measured, and proved at the end. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MemoryWatch } from './memory-watch.ts';
import { operationNames, operationsOf, Tally, type Operation, type OperationName } from './operations.ts';
import { populate, type Population } from './population.ts';
import { largesse, startService, type Environment, type Server } from './processes.ts';
import type { Credentials } from './requests.ts';
import type { Loading, Measured, Memory, SiteResults } from './results.ts';
import {
  measureOperation,
  serverCore,
  startCeiling,
  warmUp,
  type Bench,
  type Contest,
  type Rival,
} from './rounds.ts';

const domain = 'bench.example';
/** After which a service that nobody asks is at rest. */
const restMs = 1_000;

/** The file of the embedded engine from which every database of a size is copied. */
export type Master = {
  readonly cards: number;
  readonly file: string;
  readonly keysFile: string;
  readonly population: Population;
  readonly credentials: Credentials;
  readonly loading: Loading;
};

export function embeddedAt({ file, keysFile }: Pick<Master, 'file' | 'keysFile'>): Environment {
  return { DATABASE_URL: `file:${file}`, KEYS_FILE: keysFile };
}

/** Makes a store and loads its cards. */
export async function makeMaster({ folder }: Pick<Bench, 'folder'>, cards: number): Promise<Master> {
  const home = join(folder, `master-${cards}`);
  mkdirSync(home);
  const place = { file: join(home, 'largesse.db'), keysFile: join(home, 'keys.json') };
  const credentials = makeStore(embeddedAt(place));
  return {
    ...place,
    ...(await populate(embeddedAt(place), { domain, cards })),
    cards,
    credentials,
  };
}

export function makeStore(environment: Environment): Credentials {
  const proxySecret = randomBytes(32).toString('hex');
  largesse(
    environment,
    'store',
    'create',
    domain,
    '--currency',
    'USD',
    '--issue-limit',
    'none',
    '--proxy-secret',
    proxySecret,
  );
  const { token } = largesse(environment, 'token', 'create', '--store', domain) as { readonly token: string };
  return { domain, token, proxySecret };
}

/** What the file takes on disk, without what the engine keeps beside it while it is open. */
export function bytesPerCardOf({ file, cards }: Master): number {
  return statSync(file).size / cards;
}

export type Site = Pick<SiteResults, 'engine' | 'cards' | 'loading' | 'bytesPerCard'> & {
  readonly master: Master;
  readonly environment: Environment;
  /** How many processes of the service share its database. */
  readonly processes: number;
  /** The operations for which one process is compared with all of them. */
  readonly shared: readonly OperationName[];
  readonly rivalsOf: (name: OperationName) => readonly Rival[];
  readonly database: Contest['database'];
  /** What else is measured once the operations are. */
  readonly afterwards: (operation: Operation, servers: readonly Server[]) => Promise<SiteResults['scaling']>;
};

/**
 * Measures every operation, ends the service, and verifies the ledger.
 * @throws if an answer was wrong, a process did not end well, or the ledger does not agree with what was answered.
 */
export async function measureSite(bench: Bench, site: Site): Promise<Omit<SiteResults, 'pgbench'>> {
  const { engine, cards, loading, bytesPerCard } = site;
  await using stack = new AsyncDisposableStack();
  const first = stack.use(await startSite(bench, { site, place: 0 }));
  const servers = [first];
  while (servers.length < site.processes)
    servers.push(stack.use(await startSite(bench, { site, place: servers.length })));
  await wait(restMs);
  const atRest = first.memory();
  const tally = new Tally();
  const { measured, scaling, peak } = await measureOperations(bench, { site, servers, tally });
  for (const server of servers) assert.equal(await server.stop(), 0, 'a process did not end well');
  return {
    engine,
    cards,
    loading,
    bytesPerCard,
    readyAfterMs: first.readyAfterMs,
    memory: { atRest, peak },
    measured,
    scaling,
    ...verify(site, tally),
  };
}

async function measureOperations(
  bench: Bench,
  given: { readonly site: Site; readonly servers: readonly Server[]; readonly tally: Tally },
): Promise<Pick<SiteResults, 'measured' | 'scaling'> & { readonly peak: Memory }> {
  const { site, servers, tally } = given;
  const { credentials, population } = site.master;
  const run = Date.now().toString(36);
  const counted = operationsOf({ credentials, population, tally, run, isChecking: true });
  const uncounted = operationsOf({ credentials, population, run, tally: new Tally(), isChecking: false });
  await using bare = await startCeiling(bench);
  await warmUp(bench, [bare], uncounted['mixed 90/10'].next);
  using watch = new MemoryWatch(servers);
  await warmUp(bench, servers, counted['mixed 90/10'].next);
  const measured: Measured[] = [];
  for (const name of operationNames) {
    const one = servers.slice(0, 1);
    const rounds = await measureOperation(bench, {
      bare,
      operation: counted[name],
      forCeiling: uncounted[name],
      groups: site.shared.includes(name) ? [one, servers] : [one],
      rivals: site.rivalsOf(name),
      database: site.database,
    });
    measured.push(...rounds);
  }
  const scaling = await site.afterwards(counted.debit, servers);
  return { measured, scaling, peak: watch.peak };
}

function startSite(
  bench: Bench,
  { site, place }: { readonly site: Site; readonly place: number },
): Promise<Server> {
  return startService(site.environment, {
    core: serverCore(bench),
    isProduction: true,
    log: join(bench.folder, `${site.engine}-${site.cards}-${place}.log`),
  });
}

/** @throws if the ledger does not agree with every balance, or with what was answered. */
function verify(
  { environment, cards }: Site,
  tally: Tally,
): Pick<SiteResults, 'cardsAtEnd' | 'verification'> {
  const startedAt = performance.now();
  const { ok, stores } = largesse(environment, 'verify') as {
    readonly ok: boolean;
    readonly stores: readonly { cards: number; transfers: number; outstanding: string }[];
  };
  const seconds = (performance.now() - startedAt) / 1_000;
  assert.equal(ok, true);
  const [ledger] = stores;
  assert(ledger);
  tally.expect(cards, ledger);
  return { cardsAtEnd: ledger.cards, verification: { rows: ledger.cards + ledger.transfers, seconds } };
}
