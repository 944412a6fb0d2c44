/** One operation in short rounds of two servers in turn, so that a slow or noisy moment of the machine affects both. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { LoadClient, type Figures, type Request } from './load.ts';
import type { OperationName } from './operations.ts';
import type { Plan } from './options.ts';
import { startServer, type Server, type Usage } from './processes.ts';
import type { Rounds, SmallLoad } from './results.ts';
import { latencyOf, mean } from './statistics.ts';
import { thisTree } from './tree.ts';

/** Requests that determine the length of the baseline's responses. */
const probes = 64;

export type Bench = {
  readonly plan: Plan;
  /** For databases and logs. */
  readonly folder: string;
};

/** A server and the requests that it receives. */
export type Contestant = {
  readonly server: Pick<Server, 'port' | 'usage'>;
  readonly requests: Readonly<Record<OperationName, () => Request>>;
  /** Returns the usage of the database server; null: the database is in the service, or there is none. */
  readonly database: (() => Promise<Usage>) | null;
};

type Pair<T> = readonly [T, T];
type Round = Figures & { readonly own: Usage; readonly database: Usage | null; readonly memoryMb: number };
type Runner = Pick<Contestant, 'server' | 'database'> & {
  readonly client: LoadClient;
  readonly next: () => Request;
  readonly rounds: Round[];
};

/** Warms up both servers with an operation, and measures them in turn. */
export async function measureInTurn(
  plan: Plan,
  operation: OperationName,
  contestants: Pair<Contestant>,
): Promise<Pair<Rounds>> {
  using clients = new DisposableStack();
  const prepare = async ({ server, database, requests }: Contestant): Promise<Runner> => {
    const client = clients.use(await LoadClient.connect([server.port], plan.connections));
    return { server, database, client, next: requests[operation], rounds: [] };
  };
  const requests = operation === plan.operations[0] ? plan.firstWarmUpRequests : plan.warmUpRequests;
  const warmUp = async (contestant: Contestant): Promise<void> => {
    const { client, next } = await prepare(contestant);
    await client.run({ next, requests });
  };
  await Promise.all(contestants.map(warmUp));
  // With new connections: a server may have closed those that were idle while the other was warmed up.
  const runners: Pair<Runner> = [await prepare(contestants[0]), await prepare(contestants[1])];
  for (let count = 0; count < plan.rounds; count += 1)
    // The order alternates, so that neither is always the first.
    await measureRound(plan.secondsPerRound, count % 2 === 0 ? runners : runners.toReversed());
  return [roundsOf(runners[0]), roundsOf(runners[1])];
}

/**
 * A server also works when it is idle: it moves its log and collects garbage. So its round lasts as long as those of
 * both, and that of a database server until it serves the other.
 */
async function measureRound(seconds: number, runners: readonly Runner[]): Promise<void> {
  const before = runners.map(({ server }) => server.usage());
  const users = runners.filter(({ database }) => database);
  const read = async (): Promise<Usage | undefined> => await users[0]?.database?.();
  // At the start of the round, at the start of the second user's turn, and at the end of the round.
  const readings = [await read()];
  const turns: Figures[] = [];
  for (const runner of runners) {
    if (users.indexOf(runner) > 0) readings.push(await read());
    turns.push(await runner.client.run({ next: runner.next, seconds }));
  }
  readings.push(await read());
  for (const [place, runner] of runners.entries()) {
    const [figures, ownBefore, ownAfter] = [turns[place], before[place], runner.server.usage()];
    assert(figures && ownBefore);
    const user = users.indexOf(runner);
    const [since, until] = [readings[user], readings[user + 1]];
    runner.rounds.push({
      ...figures,
      own: difference(ownAfter, ownBefore),
      database: user >= 0 && since && until ? difference(until, since) : null,
      memoryMb: ownAfter.memoryMb,
    });
  }
}

function difference(now: Usage, before: Usage): Usage {
  return { micros: now.micros - before.micros, bytes: now.bytes - before.bytes };
}

function roundsOf({ rounds, database }: Runner): Rounds {
  const perRequest = (value: (round: Round) => number): readonly number[] =>
    rounds.map((round) => value(round) / round.latenciesMs.length);
  return {
    microsPerRequest: perRequest(({ own }) => own.micros),
    databaseMicros: database && perRequest((round) => round.database?.micros ?? Number.NaN),
    writtenBytes: perRequest(({ own, database: used }) => (used ?? own).bytes),
    requestsPerSecond: rounds.map(({ seconds, latenciesMs }) => latenciesMs.length / seconds),
    latency: latencyOf(rounds.map(({ latenciesMs }) => latenciesMs)),
    memoryMb: Math.max(...rounds.map(({ memoryMb }) => memoryMb)),
  };
}

/** Requests at a fixed rate, or those of one caller who waits for each response. */
export async function measureLoad(
  { connections, openLoopSeconds: seconds }: Plan,
  { server, requests }: Pick<Contestant, 'server' | 'requests'>,
  { operation, rate }: Pick<SmallLoad, 'operation' | 'rate'>,
): Promise<Omit<SmallLoad, 'floorMicros'>> {
  const next = requests[operation];
  const load = { next, ...(rate !== null && { rate }) };
  using client = await LoadClient.connect([server.port], rate === null ? 1 : connections);
  await client.run({ ...load, seconds: seconds / 5 });
  const before = server.usage();
  const figures = await client.run({ ...load, seconds });
  const { micros } = difference(server.usage(), before);
  const { length: count } = figures.latenciesMs;
  return {
    operation,
    rate,
    microsPerRequest: micros / count,
    requestsPerSecond: count / figures.seconds,
    latency: latencyOf([figures.latenciesMs]),
  };
}

/** The processor time of a server without requests, in % of a core. */
export async function measureIdle(
  { openLoopSeconds: seconds }: Plan,
  { usage }: Pick<Server, 'usage'>,
): Promise<number> {
  const [startedAt, before] = [performance.now(), usage()];
  await wait(seconds * 1_000);
  const { micros } = difference(usage(), before);
  return (micros / 1_000 / (performance.now() - startedAt)) * 100;
}

/** @param database the new file to which the baseline writes; undefined: it keeps nothing. */
export function startBaseline(folder: string, database?: string): Promise<Server> {
  return startServer({
    tree: thisTree,
    script: 'bench/baseline.ts',
    ...(database !== undefined && { environment: { DATABASE: database } }),
    readiness: '/',
    log: `${folder}/baseline.log`,
  });
}

/** Has a baseline return as many bytes as a service does to these requests. */
export async function setResponseLengths(
  baseline: Server,
  { server, next }: { readonly server: Contestant['server']; readonly next: () => Request },
): Promise<void> {
  using client = await LoadClient.connect([server.port], 1);
  const body = JSON.stringify(await responseLengths(client, next));
  const { ok } = await fetch(`http://127.0.0.1:${baseline.port}/`, { method: 'PATCH', body });
  assert(ok, 'the baseline rejects the lengths');
}

/** Mean length of the responses to each method. */
async function responseLengths(
  client: LoadClient,
  next: () => Request,
): Promise<Readonly<Record<string, number>>> {
  const lengths = new Map<string, number[]>();
  await client.run({
    requests: probes,
    next() {
      const request = next();
      const ofMethod = lengths.get(request.method) ?? [];
      lengths.set(request.method, ofMethod);
      const check = (body: string): void => {
        request.check?.(body);
        ofMethod.push(body.length);
      };
      return { ...request, check };
    },
  });
  return Object.fromEntries(Array.from(lengths, ([method, values]) => [method, Math.round(mean(values))]));
}
