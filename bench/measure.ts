/** All operations of a service, in turn with the baseline or with another service. */

import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { requestsOf, start, stop, verify, type Fixture } from './fixture.ts';
import { figureOf } from './format.ts';
import type { OperationName } from './operations.ts';
import type { Plan } from './options.ts';
import type { Server } from './processes.ts';
import type { Compared, ComparedFixture, FixtureResults, Measured, Rounds } from './results.ts';
import {
  measureHalfCapacity,
  measureInTurn,
  setResponseLengths,
  startBaseline,
  type Bench,
  type Contestant,
} from './rounds.ts';
import { openStore, writeScripts } from './scripts.ts';
import { lowerQuartile } from './statistics.ts';
import { measureWrites } from './writes.ts';

/** After this time without requests, the service is at rest. */
const restMs = 1_000;
/** Of each kind of write, to count what it writes. */
const countedTransactions = 64;

/**
 * Measures every operation, stops the service and verifies the ledger.
 * @throws Error if a response was wrong, a process failed, or the ledger does not agree with the responses.
 */
export async function measureFixture({ plan, folder }: Bench, fixture: Fixture): Promise<FixtureResults> {
  const { engine, cards, fillSeconds, bytesPerCard, database } = fixture;
  await using service = await start(fixture);
  const { readyAfterMs } = service;
  await wait(restMs);
  const atRest = service.memoryMb();
  await using baseline = await startBaseline(folder);
  const requests = requestsOf(fixture, { forBaseline: false });
  const baselineRequests = requestsOf(fixture, { forBaseline: true });
  const measured: Measured[] = [];
  let underLoad = 0;
  for (const operation of plan.operations) {
    const contestant = { server: service, next: requests[operation], database: database.usage };
    await setResponseLengths(baseline, contestant);
    const rival = { server: baseline, next: baselineRequests[operation], database: null };
    const [ofService, ofBaseline] = await measureInTurn(plan, {
      operation,
      contestants: [contestant, rival],
    });
    const { microsPerRequest, requestsPerSecond } = ofBaseline;
    const rounds = { service: ofService, baseline: { microsPerRequest, requestsPerSecond } };
    measured.push({ operation, ...rounds });
    report(operation, rounds);
    underLoad = Math.max(underLoad, service.memoryMb());
  }
  const capacity = measured.find(({ operation }) => operation === 'create')?.service.requestsPerSecond;
  // On PostgreSQL, the load generator shares the service's core and would disturb what it times.
  const halfCapacity =
    engine === 'postgres' || !capacity
      ? null
      : await measureHalfCapacity(plan, { server: service, next: requests.create, capacity });
  await stop(service);
  return {
    engine,
    cards,
    fillSeconds,
    bytesPerCard,
    readyAfterMs,
    memoryMb: { atRest, underLoad },
    measured,
    halfCapacity,
    ...verify(fixture),
    writes: engine === 'postgres' ? null : await countWrites(fixture),
  };
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
  const contestant = (fixture: Fixture, server: Server) => {
    const requests = requestsOf(fixture, { forBaseline: false });
    return (operation: OperationName): Contestant => ({
      server,
      next: requests[operation],
      database: fixture.database.usage,
    });
  };
  const [one, other] = [contestant(before, serviceBefore), contestant(after, serviceAfter)];
  const compared: Compared[] = [];
  for (const operation of plan.operations) {
    const contestants = [one(operation), other(operation)] as const;
    const [ofBefore, ofAfter] = await measureInTurn(plan, { operation, contestants });
    const rounds = { before: ofBefore, after: ofAfter };
    compared.push({ operation, ...rounds });
    report(operation, rounds);
  }
  for (const service of [serviceBefore, serviceAfter]) await stop(service);
  for (const fixture of [before, after]) verify(fixture);
  return { engine: after.engine, cards: after.cards, compared };
}

/** Shows the progress of the run. */
function report(
  operation: OperationName,
  costs: Readonly<Record<string, Pick<Rounds, 'microsPerRequest'>>>,
): void {
  const shown = Object.entries(costs).map(
    ([name, { microsPerRequest }]) => `${name} ${figureOf(lowerQuartile(microsPerRequest))} µs`,
  );
  console.error(`${operation}: ${shown.join(', ')}`);
}
