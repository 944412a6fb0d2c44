/**
 * One operation in short rounds of the service and the baseline in turn, so that a slow or noisy moment of the machine
 * affects both.
 */

import assert from 'node:assert/strict';
import { LoadClient, type Figures, type Request } from './load.ts';
import type { OperationName } from './operations.ts';
import type { Plan } from './options.ts';
import { cpuMicros, startServer, type Server } from './processes.ts';
import type { HalfCapacity, Measured } from './results.ts';
import { latencyOf, median } from './statistics.ts';

/** Requests that determine the length of the baseline's responses. */
const probes = 64;

export type Bench = {
  readonly plan: Plan;
  /** For databases and logs. */
  readonly folder: string;
};

export type Contest = {
  readonly operation: OperationName;
  readonly service: Server;
  readonly baseline: Server;
  /** Of the service, and the same for the baseline. */
  readonly next: () => Request;
  readonly nextForBaseline: () => Request;
  /** The database server's processes; null: the database is in the service. */
  readonly databasePids: (() => readonly number[]) | null;
  /** Called after each round of the service. */
  readonly afterRound: () => void;
};

export function startBaseline({ folder }: Pick<Bench, 'folder'>): Promise<Server> {
  return startServer({ script: 'bench/baseline.ts', readiness: '/', log: `${folder}/baseline.log` });
}

/** Sets the length of a baseline's responses for each method. */
export async function setResponseLengths(
  { port }: Server,
  lengths: Readonly<Record<string, number>>,
): Promise<void> {
  const body = JSON.stringify(lengths);
  const { ok } = await fetch(`http://127.0.0.1:${port}/`, { method: 'PATCH', body });
  assert(ok, 'the baseline rejects the lengths');
}

export async function measureOperation(
  { plan }: Bench,
  { operation, service, baseline, next, nextForBaseline, databasePids, afterRound }: Contest,
): Promise<Measured> {
  const { connections, rounds, secondsPerRound: seconds, warmUpRequests } = plan;
  using serviceClient = await LoadClient.connect([service.port], connections);
  using baselineClient = await LoadClient.connect([baseline.port], connections);
  await setResponseLengths(baseline, await responseLengths(serviceClient, next));
  await serviceClient.run({ next, requests: warmUpRequests });
  await baselineClient.run({ next: nextForBaseline, requests: warmUpRequests });
  const serviceCpu = (): number => cpuMicros([service.pid]);
  const baselineCpu = (): number => cpuMicros([baseline.pid]);
  const databaseCpu = (): number => cpuMicros(databasePids?.() ?? []);
  const [ofService, ofBaseline, databaseMicros]: [Round[], Round[], number[]] = [[], [], []];
  for (let count = 0; count < rounds; count += 1) {
    const before = { service: serviceCpu(), database: databaseCpu() };
    const figures = await serviceClient.run({ next, seconds });
    const baselineBefore = baselineCpu();
    const baselineFigures = await baselineClient.run({ next: nextForBaseline, seconds });
    ofBaseline.push({ ...baselineFigures, micros: baselineCpu() - baselineBefore });
    // Read after the baseline's round, because the service moves its log and collects garbage when it is idle.
    ofService.push({ ...figures, micros: serviceCpu() - before.service });
    databaseMicros.push((databaseCpu() - before.database) / figures.latenciesMs.length);
    afterRound();
  }
  return {
    operation,
    service: seriesOf(ofService),
    baseline: seriesOf(ofBaseline),
    databaseMicros: databasePids && databaseMicros,
    latency: latencyOf(ofService.map(({ latenciesMs }) => latenciesMs)),
  };
}

/** Creations at a fixed rate of half of what the service can do in a closed loop, so that they rarely wait in line. */
export async function measureHalfCapacity(
  { plan }: Bench,
  { service, next, capacity }: { service: Server; next: () => Request; capacity: readonly number[] },
): Promise<HalfCapacity> {
  const rate = Math.round(median(capacity) / 2);
  using client = await LoadClient.connect([service.port], plan.connections);
  await client.run({ next, rate, seconds: plan.openLoopSeconds / 5 });
  const { latenciesMs } = await client.run({ next, rate, seconds: plan.openLoopSeconds });
  return { requestsPerSecond: rate, latency: latencyOf([latenciesMs]) };
}

/** With the processor time of the server in all. */
type Round = Figures & { readonly micros: number };

function seriesOf(rounds: readonly Round[]): Measured['service'] {
  return {
    microsPerRequest: rounds.map(({ micros, latenciesMs }) => micros / latenciesMs.length),
    requestsPerSecond: rounds.map(({ seconds, latenciesMs }) => latenciesMs.length / seconds),
  };
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
  const mean = (values: readonly number[]): number =>
    Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
  return Object.fromEntries(Array.from(lengths, ([method, values]) => [method, mean(values)]));
}
