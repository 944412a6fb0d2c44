/**
 * `npm run bench`: what the service costs above a bare `node:http` server.
 *
 * Both run on this machine, one after the other in turn, so that what is compared is a ratio within one run and a
 * slow or noisy machine slows both. Only such ratios may be compared with other runs; see the spread first.
 *
 *   --quick               small numbers, in a minute and a half: to see that it works, and to compare costs roughly
 *   --full                with ten million cards, too
 *   --engine embedded     this engine only: embedded, postgres
 *   --cards 10000,50000   numbers of cards to measure with
 *   --rounds 5            of each operation
 *   --seconds 2           length of a round
 *   --connections 64      each sends its next request when its answer has come
 *   --json <file>         the results, for programs
 *   --record              keep the results in bench/recorded.json, and write docs/performance.md from them
 *   --compare [file]      with the fewest cards; exit with 1 if a request costs more processor time than recorded,
 *                         beyond the spread
 *   --from <file>         take the results of an earlier run instead of measuring; given several times, those of several
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { changesOf } from './compare.ts';
import { measureDelivery } from './delivery.ts';
import { measureEmbedded, measureStartUps } from './embedded.ts';
import { lookAtMachine, revision } from './machine.ts';
import { writeFormatted, writePage } from './page.ts';
import { readCommand, recordedFile, type Plan } from './plan.ts';
import { measurePostgres, startDatabase, versionOf } from './postgres.ts';
import { canPin, killServers } from './processes.ts';
import { inOrder, joined, type Machine, type Results, type SiteResults } from './results.ts';
import type { Bench } from './rounds.ts';
import { makeMaster } from './site.ts';
import { changeTable, plainText, tablesOf } from './tables.ts';
import { warningsOf } from './warnings.ts';

const digits = 5;

const { plan, from, json, record, compareWith } = readCommand(process.argv.slice(2));
// Read before a run that may take long: it may be replaced, or not be there.
const before = compareWith === null ? null : readResults(compareWith);
const results = from.length === 0 ? await measure(plan) : joined(from.map(readResults));
tell(results);
if (json !== null) await writeResults(json, results);
if (record) {
  await writeResults(recordedFile, results);
  await writePage(results);
}
if (before) compare(before, results);

/** @throws Error if there is no such file. */
function readResults(file: string): Results {
  if (!existsSync(file))
    throw new Error(`there are no results at ${file}: --record or --json keeps those of a run`);
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** As JSON, with no more digits than a measurement has. */
async function writeResults(file: string, written: Results): Promise<void> {
  const shorten = (_key: string, value: unknown): unknown =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(digits)) : value;
  await writeFormatted(file, JSON.stringify(written, shorten));
}

function tell(told: Results): void {
  const { machine, measuredOn, minutes, startUpMs } = told;
  console.log(
    `Node.js ${machine.node} on ${machine.processor}, ${measuredOn}, ${minutes.toFixed(1)} minutes`,
  );
  console.log(`fdatasync ${machine.fdatasync.p50Ms.toFixed(2)} ms; from nothing to ready ${startUpMs.map((ms) => ms.toFixed(0)).join(', ')} ms`); // prettier-ignore
  for (const table of tablesOf(told)) console.log(`\n${plainText(table)}`);
  for (const warning of warningsOf(told)) console.log(`\n${warning}`);
}

/** Exits with 1 if something costs more, or nothing could be compared. */
function compare(earlier: Results, now: Results): void {
  const changes = changesOf(earlier, now);
  console.log(`\n${plainText(changeTable(changes))}`);
  if (earlier.machine.node !== now.machine.node || earlier.machine.processor !== now.machine.processor)
    console.log('\nRecorded with another Node.js or processor: costs may differ for that alone.');
  const worse = changes.filter(({ isWorse }) => isWorse);
  for (const { what } of worse) console.log(`\nWORSE: ${what}`);
  if (changes.length === 0) console.log('\nNothing was measured that was recorded.');
  if (worse.length > 0 || changes.length === 0) process.exitCode = 1;
}

async function measure(given: Plan): Promise<Results> {
  const startedAt = performance.now();
  const folder = makeFolder();
  const bench: Bench = { plan: given, folder, isPinned: canPin() };
  // Before anything else keeps the disk busy, or a commit is made.
  const [machine, measuredRevision] = [lookAtMachine(folder), revision()];
  const startUpMs = await measureStartUps(bench);
  const { sites, postgres } = await measureSites(bench);
  const delivery = given.delivery && (await measureDelivery(bench, given.delivery));
  return {
    revision: measuredRevision,
    measuredOn: new Date().toISOString().slice(0, 10),
    minutes: (performance.now() - startedAt) / 60_000,
    machine: { ...machine, postgres },
    isPinned: bench.isPinned,
    connections: given.connections,
    rounds: given.rounds,
    secondsPerRound: given.seconds,
    startUpMs,
    sites,
    delivery,
  };
}

/** A folder that is gone when this process ends, as are the servers that use it, however it ends short of SIGKILL. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-bench-'));
  process.once('exit', () => {
    killServers();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  return folder;
}

/** Every engine with every number of cards, which are loaded once for both. */
async function measureSites(
  bench: Bench,
): Promise<{ readonly sites: readonly SiteResults[] } & Pick<Machine, 'postgres'>> {
  const { engines, cards } = bench.plan;
  await using postgres = engines.includes('postgres') ? await startDatabase(bench) : null;
  const sites: SiteResults[] = [];
  for (const count of cards) {
    console.error(`loading ${count} cards`);
    const master = await makeMaster(bench, count);
    for (const engine of engines) {
      console.error(`measuring: ${engine}, ${count} cards`);
      const server = engine === 'postgres' ? postgres : null;
      sites.push(
        server
          ? await measurePostgres(bench, { postgres: server, master })
          : await measureEmbedded(bench, master),
      );
    }
  }
  return { sites: inOrder(sites), postgres: postgres && (await versionOf(postgres)) };
}
