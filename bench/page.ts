/** The page in `docs/` that tells the results: what stands outside of its marks is written by hand and stays. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { draw, type Chart } from './chart.ts';
import { countOf } from './goals.ts';
import {
  costsOf,
  ratiosOf,
  type EngineName,
  type Measured,
  type Results,
  type SiteResults,
} from './results.ts';
import { spreadOf, type Spread } from './statistics.ts';
import {
  costTable,
  deliveryTable,
  engineTitles,
  goalTable,
  markdown,
  nameOf,
  postgresTable,
  rateTable,
  siteTable,
  type Table,
} from './tables.ts';
import { warningsOf } from './warnings.ts';

const page = 'docs/performance.md';
/** Beside the page, under its name. */
const imageFolder = page.replace(/\.md$/, '');
const marks = { begin: '<!-- bench: begin -->', end: '<!-- bench: end -->' } as const;

/** A chart and the name of its file. */
type Image = { readonly file: string; readonly chart: Chart };

/** Writes the page's measured part and its charts. @throws Error if the page lacks its marks. */
export async function writePage(results: Results): Promise<void> {
  const images = imagesOf(results);
  mkdirSync(imageFolder, { recursive: true });
  for (const { file, chart } of images) writeFileSync(join(imageFolder, file), draw(chart));
  const text = putBetweenMarks(readFileSync(page, 'utf8'), measuredPart(results, images));
  await writeFormatted(page, text);
}

/** Writes a file as the formatter would have it. */
export async function writeFormatted(file: string, text: string): Promise<void> {
  const options = await resolveConfig(file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, await format(text, { ...options, filepath: file }));
}

/** @throws Error if the text lacks its marks. */
export function putBetweenMarks(text: string, part: string): string {
  const begin = text.indexOf(marks.begin);
  const end = text.indexOf(marks.end);
  if (begin < 0 || end < begin) throw new Error(`${page} has no ${marks.begin} … ${marks.end}`);
  return `${text.slice(0, begin + marks.begin.length)}\n\n${part}\n\n${text.slice(end)}`;
}

function measuredPart(results: Results, images: readonly Image[]): string {
  const section = ({ title }: Table, ...content: readonly string[]): string =>
    [`## ${title}`, ...content].join('\n\n');
  const alone = (table: Table): string => section(table, markdown(table));
  const imagesFor = (engine: EngineName): string =>
    images
      .filter(({ file }) => file.startsWith(engine))
      .map(({ file, chart }) => `![${chart.title}](${basename(imageFolder)}/${file})`)
      .join('\n\n');
  const engines = [...new Set(results.sites.map(({ engine }) => engine))];
  const postgres = postgresTable(results);
  return [
    ...warningsOf(results).map((warning) => `> **${warning}**`),
    circumstances(results),
    alone(goalTable(results)),
    ...engines.flatMap((engine) => [
      `## ${capitalised(engineTitles[engine])}`,
      imagesFor(engine),
      ...results.sites.flatMap((site) => (site.engine === engine ? siteSection(site) : [])),
    ]),
    ...(postgres.rows.length > 0 ? [alone(postgres)] : []),
    section(siteTable(results), markdown(siteTable(results)), siteNotes(results)),
    ...(results.delivery ? [alone(deliveryTable(results.delivery))] : []),
  ].join('\n\n'); // prettier-ignore
}

function siteSection(site: SiteResults): readonly string[] {
  return [`### ${countOf(site.cards)} cards`, markdown(rateTable(site)), markdown(costTable(site))];
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function circumstances(results: Results): string {
  const { machine, connections, rounds, secondsPerRound, measuredOn, revision, minutes } = results;
  const { p50Ms, p99Ms } = machine.fdatasync;
  const postgres = machine.postgres === null ? '' : `, PostgreSQL ${machine.postgres}`;
  return [
    `Measured on ${measuredOn} at ${revision}, in ${minutes.toFixed(0)} minutes.`,
    '',
    `- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGb} GB of memory, ${machine.kernel}`,
    `- Node.js ${machine.node}${postgres}`,
    `- ${machine.fileSystem}; \`fdatasync\` of a page takes ${p50Ms.toFixed(2)} ms (p50), ${p99Ms.toFixed(2)} ms (p99)`,
    `- ${connections} connections, ${rounds} rounds of ${secondsPerRound} s`,
    '- Every answer had the status that it should have, one in 32 was looked at, and at the end of each run the ' +
      'ledger agreed with every balance and with every creation and debit that was answered.',
  ].join('\n');
}

function siteNotes({ sites, startUpMs }: Results): string {
  const { low, median, high } = spreadOf(startUpMs);
  const ways = new Map(sites.map(({ engine, loading }) => [engine, loading.way]));
  return [
    ...Array.from(ways, ([engine, way]) => `- Loading, ${engineTitles[engine]}: ${way}.`),
    `- From nothing to ready: ${median.toFixed(0)} ms (${low.toFixed(0)}–${high.toFixed(0)}).`,
    '- Memory is resident memory of the service, in brackets what of it is not of mapped files.',
    '- `verify` is the whole command; its rows are cards and entries of the ledger.',
  ].join('\n');
}

function imagesOf({ sites }: Results): readonly Image[] {
  return Array.from(
    Map.groupBy(sites, ({ engine }) => engine),
    ([engine, ofEngine]) => [
      { file: `${engine}-ratio.svg`, chart: ratioChart(engine, ofEngine) },
      { file: `${engine}-cost.svg`, chart: costChart(engine, ofEngine) },
      { file: `${engine}-latency.svg`, chart: latencyChart(engine, ofEngine) },
    ],
  ).flat();
}

/** A group for each operation, a series for each number of cards. */
function perOperation(
  sites: readonly SiteResults[],
  figure: (measured: Measured) => Spread,
): Pick<Chart, 'series' | 'groups'> {
  const labels = [...new Set(sites.flatMap(({ measured }) => measured.map(nameOf)))];
  return {
    series: sites.map(({ cards }) => `${countOf(cards)} cards`),
    groups: labels.map((label) => ({
      label,
      marks: sites.map(({ measured }) => {
        const found = measured.find((one) => nameOf(one) === label);
        return found ? figure(found) : null;
      }),
    })),
  };
}

function ratioChart(engine: EngineName, sites: readonly SiteResults[]): Chart {
  return {
    title: `Requests per second, as a share of a bare server's: ${engineTitles[engine]}`,
    axis: "share of the bare server's rate in the same round (line: lowest to highest)",
    kind: 'bars',
    decimals: 2,
    ...perOperation(sites, (measured) => spreadOf(ratiosOf(measured))),
  };
}

function costChart(engine: EngineName, sites: readonly SiteResults[]): Chart {
  return {
    title: `Processor time of the service per request: ${engineTitles[engine]}`,
    axis: "times the bare server's in the same round (line: lowest to highest)",
    kind: 'bars',
    decimals: 2,
    ...perOperation(sites, (measured) => spreadOf(costsOf(measured))),
  };
}

function latencyChart(engine: EngineName, sites: readonly SiteResults[]): Chart {
  return {
    title: `Latency, p50, p99 and p99.9: ${engineTitles[engine]}`,
    axis: 'ms, logarithmic; the figure is p99',
    kind: 'ranges',
    decimals: 1,
    ...perOperation(sites, ({ latency }) => ({
      low: latency.p50Ms,
      median: latency.p99Ms,
      high: latency.p999Ms,
    })),
  };
}
