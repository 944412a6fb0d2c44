/**
 * `npm run bench`: the processor time of a request, compared with a bare `node:http` server or with another version of
 * the service.
 *
 *   --quick               SQLite with ten thousand cards and less warm-up, in four minutes
 *   --against <tree>      instead of the baseline, the service of another folder or commit runs in turn with this one,
 *                         with ten thousand cards; exit with 1 if a request costs more processor time than there
 *   --operation debit     only this operation; repeat it for several
 *   --full                with ten million cards as well, on SQLite
 *   --engine embedded     only this engine: embedded, postgres
 *   --cards 10000,50000   numbers of cards to measure with; none: only imports and features
 *   --import 100000       cards that are imported into an empty database; 1,000,000 with --full, 10,000 with --quick
 *   --features 61         rounds with cards that do not use the features of other cards; 21 with --quick
 *   --rounds 15           of each operation; 21 by default with --against
 *   --seconds 0.3         length of a round
 *   --warm-up 50000       requests of each operation before its first round
 *   --connections 64      of the load generator
 *   --json <file>         write the results
 *   --record              write the results to bench/recorded.json, and docs/performance.md
 *   --compare [file]      with ten thousand cards; exit with 1 if a request costs more than recorded, beyond the spread
 *   --from <file>         show earlier results instead of measuring; repeat it to join several runs
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { changesIn, changesSince, type Change } from './compare.ts';
import { markdown } from './format.ts';
import { readCommand, recordedFile, type Command } from './options.ts';
import { changeTable, circumstancesOf, comparisonTables, pageOf, tablesOf, warningsOf } from './page.ts';
import { joined, type Results, type Run } from './results.ts';
import { measure, measureAgainst } from './run.ts';

const digits = 4;

const command = readCommand(process.argv.slice(2));
if (command.against === null) await showResults(command);
else await showComparison({ ...command, against: command.against });

async function showResults({ plan, from, json, record, compareWith }: Command): Promise<void> {
  // Before a run that takes long, because the file may be missing, or replaced at the end.
  const recorded = compareWith === null ? null : readResults(compareWith);
  const results = from.length === 0 ? await measure(plan) : joined(from.map(readResults));
  await print([...tablesOf(results).map(markdown), ...warningsOf(results)]);
  if (json !== null) await writeResults(json, results);
  if (record) {
    await writeResults(recordedFile, results);
    await writeFormatted('docs/performance.md', pageOf(readResults(recordedFile)));
  }
  if (!recorded) return;
  const changes = changesSince(recorded, results);
  const title = 'Processor time per request, relative to the baseline';
  await print([
    markdown(changeTable(title, changes)),
    ...warningsOf(recorded).map((text) => `Recorded: ${text}`),
  ]);
  const [before, now] = [recorded.machine, results.machine];
  if (before.node !== now.node || before.processor !== now.processor)
    console.log('Recorded with another Node.js or processor, which alone may change costs.');
  failIfHigher(changes);
}

async function showComparison({
  plan,
  against,
  json,
}: Command & { readonly against: string }): Promise<void> {
  const comparison = await measureAgainst(plan, against);
  if (json !== null) await writeResults(json, comparison);
  await print([...comparisonTables(comparison).map(markdown), ...circumstancesOf(comparison)]);
  failIfHigher(changesIn(comparison));
}

/** Exits with 1 if a request costs more, or if nothing was compared. */
function failIfHigher(changes: readonly Change[]): void {
  if (changes.length === 0) console.log('No operation was measured in both runs.');
  if (changes.length === 0 || changes.some(({ verdict }) => verdict === 'higher')) process.exitCode = 1;
}

function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

async function writeResults(file: string, written: Run): Promise<void> {
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
