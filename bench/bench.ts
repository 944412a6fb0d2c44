/**
 * `npm run bench`: what the service costs above a bare `node:http` server.
 *
 * Both run on this machine, one after the other in turn, so that what is compared is a ratio within one run and a
 * slow or noisy machine slows both. Only such ratios may be compared with other runs; see the spread first.
 *
 *   --cards 10000      cards loaded before anything is measured
 *   --seconds 5        length of a round
 *   --rounds 5         rounds of each server and operation
 *   --connections 64   each sends its next request when its answer has come
 *   --json <file>      the figures, for programs
 *   --quick            small numbers: to see that it works, not to compare
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, type Call } from './load.ts';
import { createOf, debitOf, loadingOf, retrieveOf, richCardOf, type Operation } from './operations.ts';
import { largesse, pin, startServer, startService, type Server } from './processes.ts';
import { tell, type Measured, type Results, type Round } from './report.ts';

const startUps = 5;
const warmUpMaxSeconds = 3;
const restMs = 1_000;
const tmpfs = 0x01_02_19_94;

type Plan = {
  readonly cards: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly isPinned: boolean;
  readonly folder: string;
};

const { values: options } = parseArgs({
  options: {
    cards: { type: 'string' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    connections: { type: 'string' },
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});

function numberOf(
  name: 'cards' | 'seconds' | 'rounds' | 'connections',
  usual: number,
  quick: number,
): number {
  const number = Number(options[name] ?? (options.quick ? quick : usual));
  if (!(number > 0)) throw new Error(`--${name} takes a number greater than 0`);
  return number;
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-bench-'));
try {
  const results = await measure({
    cards: numberOf('cards', 10_000, 1_000),
    seconds: numberOf('seconds', 5, 1),
    rounds: numberOf('rounds', 5, 2),
    connections: numberOf('connections', 64, 64),
    isPinned: pin(),
    folder,
  });
  console.log(tell(results));
  if (statfsSync(folder).type === tmpfs)
    console.log(`\nNOT DURABLE: ${tmpdir()} is in memory, where fsync costs nothing. Set TMPDIR to a disk.`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(plan: Plan): Promise<Results> {
  const { cards, seconds, connections, isPinned } = plan;
  const startUpMs: number[] = [];
  for (let count = 0; count < startUps; count += 1) startUpMs.push(await startUp(plan, count));

  const home = join(plan.folder, 'service');
  const { token } = makeStore(home);
  await using service = await startService(home, { isPinned, production: true });
  await wait(restMs);
  const atRest = service.memory();
  const ids: number[] = [];
  const loading = loadingOf({ cards, token }, (id) => ids.push(id));
  const next = (): Call | undefined => loading.next().value;
  await load({ port: service.port, connections, status: 201, seconds: Infinity, next });

  const rich: number[] = [];
  const one = 'debit of one card';
  const calls = [richCardOf(token, (id) => rich.push(id))];
  await load({ port: service.port, connections: 1, status: 201, seconds: Infinity, next: () => calls.pop() });

  const [retrieve, create] = [retrieveOf(ids, token), createOf(token)];
  const measured = [
    await compare({ service, operation: retrieve, forCeiling: retrieveOf(ids, token) }, plan),
    await compare({ service, operation: create, forCeiling: createOf(token) }, plan),
    await compare(
      { service, operation: debitOf('debit', ids, token), forCeiling: debitOf('debit', ids, token) },
      plan,
    ),
    await compare(
      { service, operation: debitOf(one, rich, token), forCeiling: debitOf(one, rich, token) },
      plan,
    ),
  ];
  const underLoad = service.memory();
  assert.equal(await service.stop(), 0, 'the service did not end well');
  return {
    node: process.versions.node,
    processor: cpus()[0]?.model ?? 'unknown',
    isPinned,
    connections,
    secondsPerRound: seconds,
    cardsLoaded: ids.length,
    cardsAtEnd: verify(home, { cards: ids.length + rich.length + create.calls }),
    measured,
    memory: { atRest, underLoad },
    startUpMs,
  };
}

function makeStore(home: string): { readonly token: string } {
  const domain = 'bench.example';
  largesse(home, 'store', 'create', domain, '--currency', 'USD');
  return largesse(home, 'token', 'create', '--store', domain) as { readonly token: string };
}

/** @throws if the ledger does not agree with every balance, or a card that was answered is not there. */
function verify(home: string, { cards }: { readonly cards: number }): number {
  const { ok, stores } = largesse(home, 'verify') as {
    readonly ok: boolean;
    readonly stores: readonly { readonly cards: number }[];
  };
  assert.equal(ok, true);
  assert.equal(stores[0]?.cards, cards, 'cards in the ledger, against creations that were answered');
  return cards;
}

/** Start-up from nothing: the database, its schema and its keys are made on the way. */
async function startUp({ isPinned, folder: parent }: Plan, count: number): Promise<number> {
  const home = join(parent, `start-up-${count}`);
  await using service = await startService(home, { isPinned, production: false });
  return service.readyAfterMs;
}

/** Rounds of the ceiling and of the service in turn. */
async function compare(
  given: { readonly service: Server; readonly operation: Operation; readonly forCeiling: Operation },
  plan: Plan,
): Promise<Measured> {
  const { service, operation } = given;
  await using ceiling = await startServer({
    script: 'bench/ceiling.ts',
    argument: String(await bytesOf(service, operation)),
    readiness: '/',
    isPinned: plan.isPinned,
    log: join(plan.folder, 'ceiling.log'),
  });
  const rounds: { ceiling: Round[]; service: Round[] } = { ceiling: [], service: [] };
  const bare: Operation = {
    ...given.forCeiling,
    next: () => ({ ...given.forCeiling.next(), check: null }),
  };
  const warmUp = { ...plan, seconds: Math.min(plan.seconds, warmUpMaxSeconds) };
  await round(ceiling, bare, warmUp);
  await round(service, operation, warmUp);
  const before = await commits(service);
  for (let count = 0; count < plan.rounds; count += 1) {
    rounds.ceiling.push(await round(ceiling, bare, plan));
    rounds.service.push(await round(service, operation, plan));
  }
  const after = await commits(service);
  const isWrite = operation.name !== 'retrieve';
  return {
    operation: operation.name,
    ...rounds,
    commitGroupSize: isWrite ? (after.sum - before.sum) / (after.count - before.count) : null,
  };
}

/** The length of an answer's body. */
async function bytesOf({ port }: Server, { status, next }: Operation): Promise<number> {
  let bytes = 0;
  const calls = [{ ...next(), check: (body: string) => void (bytes = body.length) }];
  await load({ port, connections: 1, status, seconds: Infinity, next: () => calls.pop() });
  return bytes;
}

async function round(
  server: Server,
  { status, next }: Operation,
  { connections, seconds }: Pick<Plan, 'connections' | 'seconds'>,
): Promise<Round> {
  const cpuBefore = server.cpuSeconds();
  const figures = await load({ port: server.port, connections, status, seconds, next });
  const cpuSeconds = server.cpuSeconds() - cpuBefore;
  return {
    ...figures,
    requestsPerSecond: figures.requests / figures.seconds,
    cpuMicrosPerRequest: (cpuSeconds * 1e6) / figures.requests,
    coresUsed: cpuSeconds / figures.seconds,
  };
}

/** How many commits there were, and how many scripts they carried. */
async function commits({ port }: Server): Promise<{ readonly sum: number; readonly count: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const valueOf = (name: string): number =>
    Number(new RegExp(`^largesse_commit_group_size_${name} (\\d+)$`, 'm').exec(text)?.[1]);
  return { sum: valueOf('sum'), count: valueOf('count') };
}
