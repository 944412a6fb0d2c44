/**
 * `npm run bench`: the processor time of a request, compared with a bare `node:http` server.
 *
 *   --quick               few cards, rounds and warm-up requests, in about a minute: to see that it works
 *   --full                with ten million cards as well, on SQLite
 *   --engine embedded     only this engine: embedded, postgres
 *   --cards 10000,50000   numbers of cards to measure with
 *   --rounds 15           of each operation
 *   --seconds 0.4         length of a round
 *   --connections 64      of the load generator
 *   --json <file>         write the results
 *   --record              write the results to bench/recorded.json, and docs/performance.md
 *   --compare [file]      with the fewest cards; exit with 1 if a request costs more than recorded, beyond the spread
 *   --from <file>         show earlier results instead of measuring; repeat it to join several runs
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { changesOf } from './compare.ts';
import { makeTemplate, measureEmbedded } from './fixture.ts';
import { markdown } from './format.ts';
import { inspectMachine, revision } from './machine.ts';
import { readCommand, recordedFile, type Plan } from './options.ts';
import { changeTable, pageOf, tablesOf, warningsOf } from './page.ts';
import { measurePostgres, startDatabase } from './postgres.ts';
import { canMeasureCpu, canPin, killServers } from './processes.ts';
import { joined, type FixtureResults, type Results } from './results.ts';
import type { Bench } from './rounds.ts';

const digits = 4;
/** PostgreSQL needs an hour for more cards, so it is measured with more only if it is the only engine. */
const postgresCardsMax = 1_000_000;

const { plan, from, json, record, compareWith } = readCommand(process.argv.slice(2));
// Before a run that takes long, because the file may be missing, or replaced at the end.
const before = compareWith === null ? null : readResults(compareWith);
const results = from.length === 0 ? await measure(plan) : joined(from.map(readResults));
await print([...tablesOf(results).map(markdown), ...warningsOf(results)]);
if (json !== null) await writeResults(json, results);
if (record) {
  await writeResults(recordedFile, results);
  await writeFormatted('docs/performance.md', pageOf(readResults(recordedFile)));
}
if (before) await compare(before, results);

function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

async function writeResults(file: string, written: Results): Promise<void> {
  const shorten = (_key: string, value: unknown): unknown =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(digits)) : value;
  await writeFormatted(file, JSON.stringify(written, shorten));
}

async function writeFormatted(file: string, text: string): Promise<void> {
  const options = await resolveConfig(file);
  writeFileSync(file, await format(text, { ...options, filepath: file }));
}

/** Aligns tables. */
async function print(paragraphs: readonly string[]): Promise<void> {
  console.log(await format(paragraphs.join('\n\n'), { parser: 'markdown' }));
}

/** Exits with 1 if a request costs more, or if nothing could be compared. */
async function compare(earlier: Results, now: Results): Promise<void> {
  const changes = changesOf(earlier, now);
  await print([markdown(changeTable(changes)), ...warningsOf(earlier).map((text) => `Recorded: ${text}`)]);
  if (earlier.machine.node !== now.machine.node || earlier.machine.processor !== now.machine.processor)
    console.log('\nRecorded with another Node.js or processor, which alone may change costs.');
  if (changes.length === 0) console.log('\nNo operation was measured in both runs.');
  if (changes.length === 0 || changes.some(({ isWorse }) => isWorse)) process.exitCode = 1;
}

async function measure(measured: Plan): Promise<Results> {
  if (!canMeasureCpu) throw new Error('the benchmark needs Linux with /proc/<pid>/task/<tid>/schedstat');
  const startedAt = performance.now();
  const folder = makeFolder();
  // Before the disk is busy.
  const machine = inspectMachine(folder);
  const measuredRevision = revision();
  const fixtures = await measureFixtures({ plan: measured, folder });
  return {
    revision: measuredRevision,
    measuredOn: new Date().toISOString().slice(0, 10),
    minutes: (performance.now() - startedAt) / 60_000,
    machine,
    isPinned: canPin,
    connections: measured.connections,
    rounds: measured.rounds,
    secondsPerRound: measured.secondsPerRound,
    warmUpRequests: measured.warmUpRequests,
    fixtures,
  };
}

/** A folder that is removed when this process ends, after its servers were killed. */
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

async function measureFixtures(bench: Bench): Promise<readonly FixtureResults[]> {
  const { engines, cards } = bench.plan;
  await using postgres = engines.includes('postgres') ? await startDatabase() : null;
  const fixtures: FixtureResults[] = [];
  for (const count of cards) {
    console.error(`filling ${count} cards`);
    const template = await makeTemplate(bench, count);
    for (const engine of engines) {
      if (engine === 'postgres' && count > postgresCardsMax && engines.length > 1) continue;
      console.error(`measuring ${engine}, ${count} cards`);
      const isServer = engine === 'postgres' && postgres;
      fixtures.push(
        isServer
          ? await measurePostgres(bench, { postgres, template })
          : await measureEmbedded(bench, template),
      );
    }
    rmSync(template.file);
  }
  return fixtures;
}
