/** The results as tables, for a terminal and for a page. */

import type { Change } from './compare.ts';
import { countOf, goalsOf } from './goals.ts';
import {
  costsOf,
  ratiosOf,
  type DeliveryResults,
  type EngineName,
  type Measured,
  type Memory,
  type Results,
  type Round,
  type SiteResults,
} from './results.ts';
import { median, spreadOf } from './statistics.ts';

export type Table = {
  readonly title: string;
  /** The first column is text, the others are figures. */
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export const engineTitles: Readonly<Record<EngineName, string>> = {
  embedded: 'embedded engine',
  postgres: 'PostgreSQL',
};

/** `12345 (12000–12500)`: the median, the lowest and the highest. */
function spread(values: readonly number[], decimals: number): string {
  const { low, median: middle, high } = spreadOf(values);
  return `${middle.toFixed(decimals)} (${low.toFixed(decimals)}–${high.toFixed(decimals)})`;
}

function middleOf(rounds: readonly Round[], figure: (round: Round) => number, decimals: number): string {
  return median(rounds.map(figure)).toFixed(decimals);
}

/** `create` or `create, 2 processes`. */
export function nameOf({ operation, processes }: Measured): string {
  return processes === 1 ? operation : `${operation}, ${processes} processes`;
}

export function titleOf({ engine, cards }: SiteResults): string {
  return `${engineTitles[engine]}, ${countOf(cards)} cards`;
}

export function rateTable(site: SiteResults): Table {
  return {
    title: `Rates: ${titleOf(site)}`,
    headings: ['', 'ceiling/s', 'requests/s', 'of ceiling', 'p50 ms', 'p99 ms', 'p99.9 ms', 'group'],
    rows: site.measured.map((one) => [
      nameOf(one),
      middleOf(one.ceiling, ({ requestsPerSecond }) => requestsPerSecond, 0),
      spread(one.service.map(({ requestsPerSecond }) => requestsPerSecond), 0),
      spread(ratiosOf(one), 2),
      one.latency.p50Ms.toFixed(2),
      one.latency.p99Ms.toFixed(2),
      one.latency.p999Ms.toFixed(2),
      one.commitGroupSize?.toFixed(1) ?? '',
    ]),
  }; // prettier-ignore
}

export function costTable(site: SiteResults): Table {
  const isServed = site.engine === 'postgres';
  const cores = (rounds: readonly Round[], figure: 'coresUsed' | 'generatorCoresUsed'): string =>
    middleOf(rounds, (round) => round[figure], 2);
  return {
    title: `Processor time: ${titleOf(site)}`,
    headings: [
      '', 'ceiling µs', 'service µs', 'of ceiling', ...(isServed ? ['server µs'] : []),
      'cores: ceiling', 'its generator', 'service', 'its generator',
    ],
    rows: site.measured.map((one) => [
      nameOf(one),
      middleOf(one.ceiling, ({ cpuMicrosPerRequest }) => cpuMicrosPerRequest, 1),
      middleOf(one.service, ({ cpuMicrosPerRequest }) => cpuMicrosPerRequest, 1),
      spread(costsOf(one), 2),
      ...(isServed
        ? [middleOf(one.service, ({ databaseCpuMicrosPerRequest: micros }) => micros ?? Number.NaN, 1)]
        : []),
      cores(one.ceiling, 'coresUsed'),
      cores(one.ceiling, 'generatorCoresUsed'),
      cores(one.service, 'coresUsed'),
      cores(one.service, 'generatorCoresUsed'),
    ]),
  }; // prettier-ignore
}

export function goalTable(results: Results): Table {
  const verdicts = new Map([
    [true, 'met'],
    [false, 'not met'],
    [null, 'not measured'],
  ]);
  return {
    title: 'Goals',
    headings: ['', 'goal', 'measured', 'verdict'],
    rows: goalsOf(results).map(({ engine, what, target, figure, unit, isMet }) => [
      `${engineTitles[engine]}: ${what}`,
      `${target} ${unit}`,
      figure === null ? '' : figure.toFixed(unit === 'MB' ? 0 : 2),
      verdicts.get(isMet) ?? '',
    ]),
  };
}

export function siteTable({ sites }: Results): Table {
  return {
    title: 'Around it',
    headings: [
      '', 'loading, cards/s', 'rows/s', 'bytes per card', 'ready after ms', 'memory at rest MB', 'peak MB',
      'cards at end', 'verify, rows/s',
    ],
    rows: sites.map((site) => [
      titleOf(site),
      (site.cards / site.loading.seconds).toFixed(0),
      site.loading.rows === null ? '' : (site.loading.rows / site.loading.seconds).toFixed(0),
      site.bytesPerCard.toFixed(0),
      site.readyAfterMs.toFixed(0),
      megabytes(site.memory.atRest),
      megabytes(site.memory.peak),
      countOf(site.cardsAtEnd),
      (site.verification.rows / site.verification.seconds).toFixed(0),
    ]),
  }; // prettier-ignore
}

/** `310 (120)`: resident, and but for mapped files. */
function megabytes({ residentMb, anonymousMb }: Memory): string {
  return `${residentMb.toFixed(0)} (${anonymousMb.toFixed(0)})`;
}

/** The service against `pgbench` and against itself; no rows where PostgreSQL was not measured. */
export function postgresTable({ sites, connections }: Results): Table {
  const servers = sites.filter(({ engine }) => engine === 'postgres');
  const rows = servers.flatMap(({ cards, measured, pgbench, scaling }) => {
    const at = `at ${countOf(cards)} cards`;
    const own = measured
      .filter(({ operation }) => operation === 'create' || operation === 'debit')
      .map((one) => [
        `service: ${nameOf(one)}, ${connections} callers, ${at}`,
        spread(one.service.map(({ requestsPerSecond }) => requestsPerSecond), 0),
      ]); // prettier-ignore
    const others = pgbench.map(({ transaction, clients, transactionsPerSecond }) => [
      `pgbench: ${transaction}, ${clients} connections, ${at}`,
      spread(transactionsPerSecond, 0),
    ]);
    const held = scaling
      ? ([['1 process', scaling.onePerSecond], ['2 processes', scaling.twoPerSecond]] as const).map(
          ([processes, rates]) => [
            `service: debit, ${processes}, each held to ${scaling.coreShare} of a core, ${at}`,
            spread(rates, 0),
          ],
        )
      : []; // prettier-ignore
    return [...own, ...others, ...held];
  });
  return { title: 'Transactions on the same PostgreSQL server', headings: ['', 'per second'], rows };
}

export function deliveryTable(delivery: DeliveryResults): Table {
  const { events, receiverAnswersAfterMs, requestsPerSecond } = delivery;
  return {
    title: `Delivering ${countOf(events)} events that wait, to a receiver that answers after ${receiverAnswersAfterMs} ms`,
    headings: ['', 'median (lowest–highest)'],
    rows: [
      ['deliveries/s', spread(delivery.deliveriesPerSecond, 0)],
      ['processor µs per delivery', spread(delivery.cpuMicrosPerDelivery, 0)],
      [`p99 ms of ${requestsPerSecond} requests/s, nothing to deliver`, spread(delivery.idleP99Ms, 2)],
      [`p99 ms of ${requestsPerSecond} requests/s, while delivering`, spread(delivery.deliveringP99Ms, 2)],
    ],
  };
}

export function changeTable(changes: readonly Change[]): Table {
  return {
    title: 'Processor time per request, in that of the bare server',
    headings: ['', 'recorded', 'now', 'change', 'tolerance', ''],
    rows: changes.map(({ what, before, now, tolerance, isWorse }) => [
      what,
      before.toFixed(2),
      now.toFixed(2),
      `${((now / before - 1) * 100).toFixed(1)} %`,
      `${(tolerance * 100).toFixed(1)} %`,
      isWorse ? 'WORSE' : '',
    ]),
  };
}

/** Every table of a run, in the order in which it is read. */
export function tablesOf(results: Results): readonly Table[] {
  return [
    ...results.sites.flatMap((site) => [rateTable(site), costTable(site)]),
    postgresTable(results),
    siteTable(results),
    ...(results.delivery ? [deliveryTable(results.delivery)] : []),
    goalTable(results),
  ].filter(({ rows }) => rows.length > 0);
}

/** For a terminal. */
export function plainText({ title, headings, rows }: Table): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const aligned = lines.map((line) =>
    line
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('   ')
      .trimEnd(),
  );
  return [title, ...aligned.map((line) => `  ${line}`)].join('\n');
}

export function markdown({ headings, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = headings.map((_, column) => (column === 0 ? '---' : '--:'));
  return [headings, rule, ...rows].map(line).join('\n');
}
