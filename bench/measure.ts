/** All operations of a service, in turn with the baseline or with another service. */

import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { requestsOf, start, stop, verify, type Fixture } from './fixture.ts';
import { figureOf } from './format.ts';
import { ExpectedLedger, type OperationName } from './operations.ts';
import type { Plan } from './options.ts';
import type { Server } from './processes.ts';
import type {
  Compared,
  ComparedFixture,
  FixtureResults,
  HalfCapacity,
  Measured,
  Rounds,
  SmallLoad,
} from './results.ts';
import {
  measureIdle,
  measureInTurn,
  measureLoad,
  setResponseLengths,
  startBaseline,
  type Bench,
  type Contestant,
} from './rounds.ts';
import { openStore, writeScripts } from './scripts.ts';
import { lowerQuartile, median } from './statistics.ts';
import { measureWrites } from './writes.ts';

/** The time between the start of the service and the measurements of its memory and processor time at rest. */
const restMs = 5_000;
/** The loads of shops, which are far below the capacity. */
const smallLoads = [
  { operation: 'create', rate: 100 },
  { operation: 'create', rate: 1_500 },
  { operation: 'create', rate: null },
  { operation: 'debit', rate: null },
] as const;
/** The number of transactions of each kind whose writes are counted. */
const countedTransactions = 64;

/**
 * Measures every operation, stops the service and verifies the ledger.
 * @throws Error if a response was wrong, a process failed, or the ledger does not agree with the responses.
 */
export async function measureFixture({ plan, folder }: Bench, fixture: Fixture): Promise<FixtureResults> {
  const { engine, cards, fillSeconds, bytesPerCard } = fixture;
  await using service = await start(fixture);
  await wait(restMs);
  const { memoryMb: atRest } = service.usage();
  const idlePercent = await measureIdle(plan, service);
  await using baseline = await startBaseline(folder);
  const contestant = contestantOf(fixture, service);
  const requests = requestsOf({ ...fixture, expected: new ExpectedLedger() }, { isChecking: false });
  const rival: Contestant = { server: baseline, requests, database: null };
  const measured: Measured[] = [];
  for (const operation of plan.operations) {
    await setResponseLengths(baseline, { server: service, next: contestant.requests[operation] });
    const [ofService, ofBaseline] = await measureInTurn(plan, operation, [contestant, rival]);
    report(operation, { service: ofService, baseline: ofBaseline });
    const { microsPerRequest, requestsPerSecond } = ofBaseline;
    measured.push({ operation, service: ofService, baseline: { microsPerRequest, requestsPerSecond } });
  }
  // On PostgreSQL, the load generator shares the service's core and would disturb what it times.
  const paced =
    engine === 'embedded'
      ? await measurePaced({ plan, folder }, { fixture, service: contestant, unchecked: requests }, measured)
      : { halfCapacity: null };
  const underLoad = Math.max(...measured.map((each) => each.service.memoryMb ?? 0));
  await stop(service);
  return {
    engine,
    cards,
    fillSeconds,
    bytesPerCard,
    readyAfterMs: service.readyAfterMs,
    memoryMb: { atRest, underLoad },
    measured,
    idlePercent,
    ...paced,
    ...verify(fixture),
    writes: engine === 'embedded' ? await countWrites(fixture) : null,
  };
}

/** Creations at half of the rate of the closed loop, so that they rarely wait in line, and small loads. */
async function measurePaced(
  { plan, folder }: Bench,
  {
    fixture,
    service,
    unchecked,
  }: {
    readonly fixture: Fixture;
    readonly service: Contestant;
    readonly unchecked: Contestant['requests'];
  },
  measured: readonly Measured[],
): Promise<{ readonly halfCapacity: HalfCapacity | null; readonly smallLoads: readonly SmallLoad[] }> {
  const loads: SmallLoad[] = [];
  await using floor = await startBaseline(folder, join(folder, `floor-${fixture.cards}.db`));
  for (const load of smallLoads) {
    if (!plan.operations.includes(load.operation)) continue;
    await setResponseLengths(floor, { server: service.server, next: service.requests[load.operation] });
    const ofService = await measureLoad(plan, service, load);
    const ofFloor = await measureLoad(plan, { server: floor, requests: unchecked }, load);
    loads.push({ ...ofService, floorMicros: ofFloor.microsPerRequest });
  }
  const capacity = measured.find(({ operation }) => operation === 'create')?.service.requestsPerSecond;
  if (!capacity) return { halfCapacity: null, smallLoads: loads };
  const rate = Math.round(median(capacity) / 2);
  const { latency } = await measureLoad(plan, service, { operation: 'create', rate });
  return { halfCapacity: { requestsPerSecond: rate, latency }, smallLoads: loads };
}

/** Without HTTP, on the database of a service that has stopped. */
async function countWrites({
  environment,
  database,
  population,
}: Fixture): Promise<FixtureResults['writes']> {
  const { ctx, store } = await openStore(environment);
  const anyCard = (): number => ctx.keys.publicIds.read(population.anyId()) ?? 0;
  return measureWrites(fileURLToPath(database.url), {
    scripts: writeScripts(ctx, { store, anyCard }),
    transactions: countedTransactions,
  });
}

/** Measures every operation of two services in turn, stops both and verifies their ledgers. */
export async function measureFixtures(
  plan: Plan,
  { before, after }: { readonly before: Fixture; readonly after: Fixture },
): Promise<ComparedFixture> {
  await using serviceBefore = await start(before);
  await using serviceAfter = await start(after);
  const contestants = [contestantOf(before, serviceBefore), contestantOf(after, serviceAfter)] as const;
  const compared: Compared[] = [];
  for (const operation of plan.operations) {
    const [ofBefore, ofAfter] = await measureInTurn(plan, operation, contestants);
    const rounds = { before: ofBefore, after: ofAfter };
    report(operation, rounds);
    compared.push({ operation, ...rounds });
  }
  for (const service of [serviceBefore, serviceAfter]) await stop(service);
  for (const fixture of [before, after]) verify(fixture);
  return { engine: after.engine, cards: after.cards, compared };
}

function contestantOf(fixture: Fixture, server: Server): Contestant {
  const requests = requestsOf(fixture, { isChecking: true });
  return { server, requests, database: fixture.database.usage };
}

/** Shows the progress of the run. */
function report(operation: OperationName, rounds: Readonly<Record<string, Rounds>>): void {
  const shown = Object.entries(rounds).map(
    ([name, { microsPerRequest }]) => `${name} ${figureOf(lowerQuartile(microsPerRequest))} µs`,
  );
  console.error(`${operation}: ${shown.join(', ')}`);
}
