/** The figures of a run, as a table for people. */

import type { Figures } from './load.ts';
import type { Operation } from './operations.ts';

/** One server under one operation for a while. */
export type Round = Figures & {
  readonly requestsPerSecond: number;
  /** Processor time of the server, user and system. */
  readonly cpuMicrosPerRequest: number;
  /** How much of a core the server used: near 1, the server was the limit, and not the load generator. */
  readonly coresUsed: number;
};

export type Measured = {
  readonly operation: Operation['name'];
  readonly ceiling: readonly Round[];
  readonly service: readonly Round[];
  /** Mean number of writes in one commit; null where nothing was written. */
  readonly commitGroupSize: number | null;
};

export type Results = {
  readonly node: string;
  readonly processor: string;
  readonly isPinned: boolean;
  readonly connections: number;
  readonly secondsPerRound: number;
  readonly cardsLoaded: number;
  readonly cardsAtEnd: number;
  readonly measured: readonly Measured[];
  readonly memory: Readonly<Record<'atRest' | 'underLoad', { residentMb: number; anonymousMb: number }>>;
  readonly startUpMs: readonly number[];
};

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((below ?? Number.NaN) + (above ?? Number.NaN)) / 2;
}

export function tell(results: Results): string {
  const rows = results.measured.flatMap(rowsOf);
  const { memory, startUpMs } = results;
  return [
    `Node.js ${results.node} on ${results.processor}; ${results.connections} connections; ` +
      `rounds of ${results.secondsPerRound} s, the median of them and (lowest–highest)`,
    results.isPinned
      ? 'Server on core 0, load generator on core 1.'
      : 'NOT PINNED: servers and load generator compete for the same cores.',
    ...(isDisturbed(results)
      ? ['DISTURBED: a ceiling got less than 0.9 of its core, so something else ran. Do not compare.']
      : []),
    '',
    tableOf(rows),
    '',
    `cards        ${results.cardsLoaded} loaded, ${results.cardsAtEnd} at the end; the ledger agrees with every balance`,
    `memory       ${megabytes(memory.atRest)} at rest, ${megabytes(memory.underLoad)} under load`,
    `start-up     ${spread(startUpMs, 0)} ms from nothing to ready`,
  ].join('\n');
}

/** Whether a ceiling, which never waits for a disk, was not the limit of its own speed. */
function isDisturbed({ measured }: Results): boolean {
  return measured.some(({ ceiling }) => median(ceiling.map(({ coresUsed }) => coresUsed)) < 0.9);
}

function rowsOf({ operation, ceiling, service, commitGroupSize }: Measured): string[][] {
  const ratios = service.map(
    ({ requestsPerSecond }, round) => requestsPerSecond / (ceiling[round]?.requestsPerSecond ?? Number.NaN),
  );
  const row = (name: string, rounds: readonly Round[], ratio: string, group: string): string[] => [
    `${operation} ${name}`,
    spread(rounds.map(({ requestsPerSecond }) => requestsPerSecond), 0),
    ratio,
    median(rounds.map(({ p50Ms }) => p50Ms)).toFixed(2),
    median(rounds.map(({ p99Ms }) => p99Ms)).toFixed(2),
    median(rounds.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest)).toFixed(1),
    median(rounds.map(({ coresUsed }) => coresUsed)).toFixed(2),
    group,
  ]; // prettier-ignore
  return [
    row('ceiling', ceiling, '', ''),
    row('service', service, spread(ratios, 2), commitGroupSize?.toFixed(1) ?? ''),
  ];
}

const headings = ['', 'requests/s', 'of ceiling', 'p50 ms', 'p99 ms', 'CPU µs/request', 'cores', 'group'];

function tableOf(rows: readonly string[][]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}

/** `12345 (12000–12500)` */
function spread(values: readonly number[], decimals: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(decimals)} (${low.toFixed(decimals)}–${high.toFixed(decimals)})`;
}

function megabytes({ residentMb, anonymousMb }: { residentMb: number; anonymousMb: number }): string {
  return `${residentMb.toFixed(0)} MB (${anonymousMb.toFixed(0)} MB without mapped files)`;
}
