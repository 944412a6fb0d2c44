/** The goals, and the figures of a run that they are compared with. */

import { engineTitles, countOf, figureOf } from './format.ts';
import type { OperationName } from './operations.ts';
import type { EngineName, FixtureResults, Measured, Results, UnusedFeatures } from './results.ts';
import { lowerQuartile, median, pairedRatio, type Ratio } from './statistics.ts';

export type Goal = {
  readonly what: string;
  readonly limit: number;
  readonly isMaximum: boolean;
  readonly unit: string;
  /** Null: not measured. */
  readonly figure: number | null;
  readonly isMet: boolean | null;
  /** The experiments and the measured floor, for a goal that is not met; null: not written. */
  readonly floor: string | null;
};

const [tenThousand, million, tenMillion] = [10_000, 1_000_000, 10_000_000] as const;

/** Smaller imports say little about a million cards. */
const importedMin = 100_000;

export function serviceMicros({ service }: Measured): number {
  return lowerQuartile(service.microsPerRequest);
}

/** The baseline's processor time per request as a share of the service's. */
export function costShare({ service, baseline }: Measured): number {
  return lowerQuartile(baseline.microsPerRequest) / lowerQuartile(service.microsPerRequest);
}

/** The service's rate as a share of the baseline's. */
export function rateShare({ service, baseline }: Measured): number {
  return median(service.requestsPerSecond) / median(baseline.requestsPerSecond);
}

type Row = readonly [what: string, limit: number, figure: number | null, floor?: string | undefined];

/** From a profile from socket to socket, which docs/decisions/performance.md has in full. */
const floorOfRetrieve =
  'The kernel, the HTTP parser and `node:http` take 15 µs of 33 with 10,000 cards, the baseline 9; authentication, limits, metrics and the operation 8, SQLite 4, Fastify 2, JSON 2. A million cards add 3 to 7.';

const floorOfCreate =
  'A bare POST takes 13–18 µs, the inserts with indexes, CHECKs and triggers 17, commit, sync and checkpoint about 20, keyed hashes 5; the rest is HTTP, validation, JSON, the log line and garbage.';

const floorOfKeyed =
  'A key costs 30–40 µs: a page of an index of random digests (12), the sealed code (7), the lookup (3), hashes and packing (12).';

/** Says what every durable service pays for a small load; undefined: it was not measured. */
function floorOfLoad(micros: number | undefined): string | undefined {
  if (micros === undefined) return undefined;
  return `A bare \`node:http\` server that inserts one row, commits and syncs takes ${figureOf(micros)} µs under this load. The kernel wakes threads for each request and each sync, and a request that runs alone costs three times the processor time of one in a group, because the processor's caches no longer have its code. [Decisions](decisions/performance.md#where-the-time-of-a-single-creation-goes) has the parts, and the experiments.`;
}

const floorOfIdle =
  'Without cards, it is 0.15 %. With cards, a page of them is verified every 5 s after commits, and every 25 s without. A page takes 6.5 ms when its code is compiled, and several times as long before.';

const floorOfStalls =
  'The goal is 5 ms and one sync. V8 collects the whole heap about once in 15 s: marking 57 MB takes 50 ms of the only core, so requests of that time wait for 75–95 ms, and the p99 of 10 s depends on how many collections they have. Without one it is 5–10 ms. Checkpoints delay requests for up to 14 ms, collections of the young generation for 6. [Decisions](decisions/performance.md#stalls-at-half-capacity) has the experiments.';

const floorOfPostgres =
  'The server takes 125 µs for a creation, so its one core can do 8,000/s, and the goal is 10,500/s.';

const floorOfPostgresRetrieve =
  'The service and the generator share a core, so the goal leaves the service 33 µs: what a retrieval on SQLite takes, without the messages to the server and back.';

/** The quotient of the processor times with features that other cards use, and without them. */
export function featureRatio({ ratios }: UnusedFeatures): Ratio {
  return pairedRatio(Array<number>(ratios.length).fill(1), ratios);
}

export function goalsOf({ fixtures, imports = [], unusedFeatures = [], machine }: Results): readonly Goal[] {
  const at = (engine: EngineName, cards: number): FixtureResults | undefined =>
    fixtures.find((fixture) => fixture.engine === engine && fixture.cards === cards);
  const few = at('embedded', tenThousand);
  const many = at('embedded', million);
  const most = at('embedded', tenMillion);
  const postgres = at('postgres', million);
  /** Returns a figure of the SQLite fixture with a million cards. */
  const of = (figure: Figure, operation: OperationName): number | null => figureIn(many, operation, figure);
  const create = of(serviceMicros, 'create');
  const createFew = figureIn(few, 'create', serviceMicros);
  const p99 = (measured: Measured): number => measured.service.latency.p99Ms;
  const writes = (operation: string): number | null =>
    many?.writes?.find((one) => one.operation === operation)?.logBytes ?? null;
  const sync = machine.fdatasync.p50Ms;
  /** @param rate null: one caller. */
  const smallLoad = (what: string, limit: number, rate: number | null): Row => {
    const load = many?.smallLoads?.find((one) => one.operation === 'create' && one.rate === rate);
    return [what, limit, load?.microsPerRequest ?? null, floorOfLoad(load?.floorMicros)];
  };
  const amongFeatures = (operation: OperationName): number | null => {
    const found = unusedFeatures.find((one) => one.engine === 'embedded' && one.operation === operation);
    return found ? featureRatio(found).ratio : null;
  };
  const [imported] = imports
    .filter(({ engine, cards }) => engine === 'embedded' && cards >= importedMin)
    .toSorted((one, other) => other.cards - one.cards);

  const maximum = (unit: string, rows: readonly Row[]): readonly Goal[] => goals(unit, true, rows);
  const minimum = (unit: string, rows: readonly Row[]): readonly Goal[] => goals(unit, false, rows);
  return [
    ...maximum('µs', [
      ['Create, 10,000 cards', 60, createFew, floorOfCreate],
      ['Create, 1,000,000 cards', 60, create, 'As for 10,000 cards.'],
      smallLoad('Create at 1,500/s', 150, 1_500),
      smallLoad('Create, one caller', 300, null),
    ]),
    ...maximum('% of a core', [['Idle', 0.2, many?.idlePercent ?? null, floorOfIdle]]),
    ...minimum('of the baseline, by processor time', [
      ['Retrieve', 0.55, of(costShare, 'retrieve'), floorOfRetrieve],
      ['Mixed 90/10', 0.4, of(costShare, 'mixed 90/10'), 'The goal is 23 µs: less than a retrieval, and a tenth of the requests write.'],
    ]),
    ...maximum('×', [
      ['Create with a key ÷ create', 1.2, ratio(of(serviceMicros, 'create with a key'), create), floorOfKeyed],
      ['Debit ÷ create', 1, ratio(of(serviceMicros, 'debit'), create), 'A debit changes a random page of the cards; a creation appends its rows.'],
      ['List, 1,000,000 ÷ 10,000 cards', 2, ratio(of(serviceMicros, 'list'), figureIn(few, 'list', serviceMicros))],
      ['Create, 10,000,000 ÷ 10,000 cards', 1.15, ratio(figureIn(most, 'create', serviceMicros), createFew), 'A creation writes as many pages as with 10,000 cards (0.89). Those took 88 to 104 µs in the runs of that day.'],
    ]),
    ...maximum('of the cost without them', [
      ['Create, if other cards use features', 1.03, amongFeatures('create')],
      ['Debit, if other cards use features', 1.03, amongFeatures('debit')],
    ]),
    ...maximum('bytes of the log', [
      ['Create', 4_200, writes('create')],
      ['Debit', 6_000, writes('debit'), 'The page of the card is 4,120 bytes; events, transfers and their indexes share the rest.'],
    ]),
    ...maximum('ms', [
      ['p99 of create at half capacity', 5 + sync, many?.halfCapacity?.latency.p99Ms ?? null, floorOfStalls],
      ['p99 of create in a closed loop', 15, of(p99, 'create'), 'As above.'],
    ]),
    ...minimum(`of the baseline's rate`, [
      [`${engineTitles.postgres}: create`, 0.2, figureIn(postgres, 'create', rateShare), floorOfPostgres],
      [`${engineTitles.postgres}: retrieve`, 0.35, figureIn(postgres, 'retrieve', rateShare), floorOfPostgresRetrieve],
    ]),
    ...maximum('MB', [
      [`Memory under load, ${countOf(million)} cards`, 200, many?.memoryMb.underLoad ?? null, 'The young generation of 48 MB fills up; with 12 MB a creation is 5 % slower.'],
    ]),
    ...maximum('min', [
      [`Import of ${countOf(million)} cards${imported && imported.cards < million ? `, at the rate of ${countOf(imported.cards)}` : ''}`, 3, imported ? (imported.seconds * million) / imported.cards / 60 : null],
    ]),
  ]; // prettier-ignore
}

type Figure = (measured: Measured) => number;

function figureIn(
  fixture: FixtureResults | undefined,
  operation: OperationName,
  figure: Figure,
): number | null {
  const found = fixture?.measured.find((measured) => measured.operation === operation);
  return found ? figure(found) : null;
}

function ratio(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null ? null : dividend / divisor;
}

function goals(unit: string, isMaximum: boolean, rows: readonly Row[]): readonly Goal[] {
  return rows.map(([what, limit, figure, floor = null]) => {
    const isWithin = figure !== null && (isMaximum ? figure <= limit : figure >= limit);
    return { what, limit, isMaximum, unit, figure, isMet: figure === null ? null : isWithin, floor };
  });
}
