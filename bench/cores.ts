/**
 * `npm run bench:cores -- --processes 2`: a service with several processes on one SQLite file, in turn with one process.
 *
 *   --processes 2      of the one service, each pinned to a core of its own
 *   --cards 20000      in the database of each service
 *   --rounds 21        of each operation
 *   --seconds 1        length of a round
 *   --warm-up 100000   requests of each operation before its first round
 *   --connections 64   of the load generator
 *
 * Prints the processor time of a request, with that of the process that supervises. By it, N processes serve at most N times
 * as many requests as one, times the quotient of both. Rates are only those of the service if the load generator has another
 * core. At the end `largesse verify` compares both ledgers with the responses. A report without limits.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createFile, prepare, requestsOf, start, stop, verify, type Fixture } from './fixture.ts';
import { countOf, figureOf, markdown } from './format.ts';
import { readCommand } from './options.ts';
import { childrenOf, killServers, pinTo, type Server } from './processes.ts';
import { measureInTurn, type Contestant } from './rounds.ts';
import type { Rounds } from './results.ts';
import { median } from './statistics.ts';
import { thisTree } from './tree.ts';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '2' },
    cards: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '21' },
    seconds: { type: 'string', default: '1' },
    'warm-up': { type: 'string', default: '100000' },
    connections: { type: 'string', default: '64' },
  },
});
const { processes, ...planned } = values;
const count = Number(processes);
const operations = ['retrieve', 'mixed 90/10', 'create'] as const;
const { plan } = readCommand([
  ...Object.entries(planned).flatMap(([name, value]) => [`--${name}`, value]),
  ...operations.flatMap((name) => ['--operation', name]),
]);
const childrenPollMs = 50;

/** Starts a service with several processes, each on its own core. */
async function startSeveral(fixture: Fixture): Promise<Server> {
  const service = await start(fixture, { PROCESSES: String(count) });
  while (childrenOf(service.pid).length < count) await wait(childrenPollMs);
  for (const [core, pid] of childrenOf(service.pid).entries()) pinTo(core, pid);
  return service;
}

function rowOf(operation: string, rounds: readonly [one: Rounds, several: Rounds]): readonly string[] {
  const [before = 0, after = 0] = rounds.map(({ microsPerRequest }) => median(microsPerRequest));
  const rates = rounds.map(({ requestsPerSecond }) => countOf(median(requestsPerSecond)));
  return [operation, figureOf(before), figureOf(after), figureOf((count * before) / after), ...rates];
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-cores-'));
try {
  const fixtureOf = (): Promise<Fixture> =>
    prepare({ plan, folder }, { tree: thisTree, database: createFile(folder), cards: Number(values.cards) });
  const fixtures = [await fixtureOf(), await fixtureOf()] as const;
  const services = [await start(fixtures[0]), await startSeveral(fixtures[1])] as const;
  const generatorCore = Math.min(count, availableParallelism() - 1);
  pinTo(generatorCore);
  const contestantOf = (server: Server, fixture: Fixture): Contestant => ({
    server,
    requests: requestsOf(fixture, { isChecking: true }),
    database: null,
  });
  const [one, several] = [
    contestantOf(services[0], fixtures[0]),
    contestantOf(services[1], fixtures[1]),
  ] as const;
  const rows: (readonly string[])[] = [];
  for (const operation of operations)
    rows.push(rowOf(operation, await measureInTurn(plan, operation, [one, several])));
  const memory = services.map((service) => `${Math.round(service.usage().memoryMb)} MB`);
  for (const service of services) await stop(service);
  for (const fixture of fixtures) verify(fixture);
  const headings = ['request', '1: µs', `${count}: µs`, 'at most', '1: per second', `${count}: per second`];
  console.log(markdown({ title: `One process and ${count} on one file`, headings, rows }));
  console.log(`\nMemory: ${memory.join(' and ')}. Both ledgers match the responses.`);
  if (generatorCore < count) console.log('The load generator shared a core, so the rates are too low.');
} finally {
  killServers();
  rmSync(folder, { recursive: true, force: true });
}
