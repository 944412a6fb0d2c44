/**
 * Rounds of the bare server and of the service in turn.
 *
 * What is compared is the ratio of two neighbours, so that a slow or noisy minute of the machine slows both.
 */

import assert from 'node:assert/strict';
import { load, type Call } from './load.ts';
import type { Operation } from './operations.ts';
import type { Plan } from './plan.ts';
import { cpuSecondsOf, pinTo, startServer, type Server } from './processes.ts';
import type { Measured, Round } from './results.ts';
import { latencyOf, type Latency } from './statistics.ts';

/** Calls to find out how long the answers to an operation are. */
const probes = 64;

/** Where and how a run measures. */
export type Bench = {
  readonly plan: Plan;
  /** For databases and logs. */
  readonly folder: string;
  readonly isPinned: boolean;
};

const askedCore = 0;
const otherCore = 1;

/** The core of the servers that are asked; null where nothing can be pinned. */
export function serverCore({ isPinned }: Bench): number | null {
  return isPinned ? askedCore : null;
}

/** Moves the load generator, which is this process, beside the servers that it asks, or away from them. */
export function moveGenerator({ isPinned }: Bench, place: 'beside servers' | 'away from servers'): void {
  if (isPinned) pinTo(place === 'beside servers' ? askedCore : otherCore);
}

/** Moves a database server away from the core of the service's processes. */
export function moveDatabase({ isPinned }: Bench, pids: readonly number[]): void {
  if (isPinned) for (const pid of pids) pinTo(otherCore, pid);
}

/** Somebody else who does the same work, measured in turn with the service. */
export type Rival = {
  /** Runs for so many seconds. */
  readonly run: (seconds: number) => void | Promise<void>;
};

export function startCeiling(bench: Bench): Promise<Server> {
  return startServer({
    script: 'bench/ceiling.ts',
    readiness: '/',
    core: serverCore(bench),
    log: `${bench.folder}/ceiling.log`,
  });
}

/** Has a bare server answer as many bytes to each method. */
export async function answerLike({ port }: Server, lengths: Readonly<Record<string, number>>): Promise<void> {
  const body = JSON.stringify(lengths);
  const { ok } = await fetch(`http://127.0.0.1:${port}/`, { method: 'PATCH', body });
  assert(ok);
}

/** Has servers compile what they run most, before anything is measured. */
export async function warmUp({ plan }: Bench, servers: readonly Server[], next: () => Call): Promise<void> {
  const ports = servers.map(({ port }) => port);
  await load({ ports, connections: plan.connections, seconds: plan.warmUpSeconds, next });
}

export type Contest = {
  readonly bare: Server;
  readonly operation: Operation;
  /** The same calls, of which nothing is counted or looked at. */
  readonly forCeiling: Operation;
  /** Servers that share the requests of a round: a series of rounds for each group. */
  readonly groups: readonly (readonly Server[])[];
  readonly rivals: readonly Rival[];
  /** The database server's processes; null: the database is in the service. */
  readonly database: (() => readonly number[]) | null;
};

type Series = {
  readonly servers: readonly Server[];
  readonly next: () => Call;
  readonly rounds: Round[];
  readonly latenciesMs: Float64Array[];
  /** Scripts and commits so far, when the first round began. */
  committedBefore: Committed;
};

/** Measures one operation on every group of servers. */
export async function measureOperation(bench: Bench, contest: Contest): Promise<readonly Measured[]> {
  const { bare, operation, forCeiling, groups, rivals, database } = contest;
  const { seconds, ceilingSeconds, settleSeconds } = bench.plan;
  const [all = []] = groups;
  await answerLike(bare, await lengthsOf(all, operation));
  const ceiling = seriesOf([bare], forCeiling.next);
  const services = groups.map((servers) => seriesOf(servers, operation.next));
  for (const one of [ceiling, ...services]) await round(one, { bench, seconds: settleSeconds, database });
  for (const one of services) one.committedBefore = await committedBy(one.servers);
  for (let count = 0; count < bench.plan.rounds; count += 1) {
    keep(ceiling, await round(ceiling, { bench, seconds: ceilingSeconds, database: null }));
    for (const one of services) keep(one, await round(one, { bench, seconds, database }));
    for (const rival of rivals) await rival.run(seconds);
  }
  return await Promise.all(
    services.map(async (one) => ({
      operation: operation.name,
      processes: one.servers.length,
      ceiling: ceiling.rounds,
      service: one.rounds,
      latency: latencyOf(one.latenciesMs),
      commitGroupSize: operation.isWriting ? await groupSizeOf(one) : null,
    })),
  );
}

function seriesOf(servers: readonly Server[], next: () => Call): Series {
  return { servers, next, rounds: [], latenciesMs: [], committedBefore: { scripts: 0, commits: 0 } };
}

function keep(series: Series, { figures, latenciesMs }: Awaited<ReturnType<typeof round>>): void {
  series.rounds.push(figures);
  series.latenciesMs.push(latenciesMs);
}

/** Mean length of the answers of each method. */
async function lengthsOf(
  servers: readonly Server[],
  { next }: Operation,
): Promise<Readonly<Record<string, number>>> {
  const lengths = new Map<Call['method'], number[]>();
  let left = probes;
  await load({
    ports: servers.map(({ port }) => port),
    connections: 1,
    seconds: Number.POSITIVE_INFINITY,
    next() {
      if (left === 0) return undefined;
      left -= 1;
      const call = next();
      const seen = lengths.get(call.method) ?? [];
      lengths.set(call.method, seen);
      return {
        ...call,
        check(body) {
          call.check?.(body);
          seen.push(body.length);
        },
      };
    },
  });
  const mean = (values: readonly number[]): number =>
    Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
  return Object.fromEntries(Array.from(lengths, ([method, seen]) => [method, mean(seen)]));
}

/** Asks for so many seconds. */
async function round(
  { servers, next }: Series,
  given: { readonly bench: Bench; readonly seconds: number; readonly database: Contest['database'] },
): Promise<{ readonly figures: Round; readonly latenciesMs: Float64Array }> {
  const { database } = given;
  const databaseSeconds = (): number => (database ? cpuSecondsOf(database()) : 0);
  const serverSeconds = (): number => servers.reduce((sum, server) => sum + server.cpuSeconds(), 0);
  const [serverBefore, databaseBefore] = [serverSeconds(), databaseSeconds()];
  const generatorBefore = process.cpuUsage();
  const { seconds, latenciesMs } = await load({
    ports: servers.map(({ port }) => port),
    connections: given.bench.plan.connections,
    seconds: given.seconds,
    next,
  });
  const cpuSeconds = serverSeconds() - serverBefore;
  const generator = process.cpuUsage(generatorBefore);
  const requests = latenciesMs.length;
  const latency: Latency = latencyOf([latenciesMs]);
  const figures = {
    ...latency,
    requests,
    seconds,
    requestsPerSecond: requests / seconds,
    cpuMicrosPerRequest: (cpuSeconds * 1e6) / requests,
    coresUsed: cpuSeconds / seconds,
    generatorCoresUsed: (generator.user + generator.system) / 1e6 / seconds,
    databaseCpuMicrosPerRequest: database && ((databaseSeconds() - databaseBefore) * 1e6) / requests,
  };
  return { figures, latenciesMs };
}

/** Scripts that were committed so far, and the commits that carried them. */
type Committed = { readonly scripts: number; readonly commits: number };

async function committedBy(servers: readonly Server[]): Promise<Committed> {
  const each = await Promise.all(
    servers.map(async ({ port }) => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const valueOf = (name: string): number =>
        Number(new RegExp(`^largesse_commit_group_size_${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
      return { scripts: valueOf('sum'), commits: valueOf('count') };
    }),
  );
  return each.reduce(
    (sum, { scripts, commits }) => ({ scripts: sum.scripts + scripts, commits: sum.commits + commits }),
    { scripts: 0, commits: 0 },
  );
}

async function groupSizeOf({ servers, committedBefore: before }: Series): Promise<number | null> {
  const after = await committedBy(servers);
  const commits = after.commits - before.commits;
  return commits > 0 ? (after.scripts - before.scripts) / commits : null;
}
