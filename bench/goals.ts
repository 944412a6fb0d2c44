/** What the service is to reach, held against what was measured. Ratios are shares of the bare server's rate. */

import type { OperationName } from './operations.ts';
import { ratiosOf, type EngineName, type Measured, type Results, type SiteResults } from './results.ts';
import { median } from './statistics.ts';

export type Goal = {
  readonly engine: EngineName;
  readonly what: string;
  /** Such as `at least 0.75`. */
  readonly target: string;
  /** As it was measured; null: it was not. */
  readonly figure: number | null;
  readonly unit: string;
  readonly isMet: boolean | null;
};

const few = 10_000;
const million = 1_000_000;
const tenMillion = 10_000_000;
const ratio = 'of the ceiling';

type Stated = Pick<Goal, 'engine' | 'what' | 'figure' | 'unit'>;

function atLeast(limit: number, stated: Stated): Goal {
  const { figure } = stated;
  return { ...stated, target: `at least ${limit}`, isMet: figure === null ? null : figure >= limit };
}

function atMost(limit: number, stated: Stated): Goal {
  const { figure } = stated;
  return { ...stated, target: `at most ${limit}`, isMet: figure === null ? null : figure <= limit };
}

/** The figures of a run by engine, number of cards and operation; null where there are none. */
class Figures {
  readonly #sites: readonly SiteResults[];

  constructor({ sites }: Results) {
    this.#sites = sites;
  }

  site<T>(engine: EngineName, cards: number, figure: (site: SiteResults) => T | null): T | null {
    const site = this.#sites.find((one) => one.engine === engine && one.cards === cards);
    return site ? figure(site) : null;
  }

  measured(
    engine: EngineName,
    cards: number,
    given: { readonly operation: OperationName; readonly figure: (measured: Measured) => number },
  ): number | null {
    return this.site(engine, cards, ({ measured }) => {
      const found = measured.find(
        ({ operation, processes }) => operation === given.operation && processes === 1,
      );
      return found ? given.figure(found) : null;
    });
  }

  /** The share of the bare server's rate. */
  ratio(engine: EngineName, cards: number, operation: OperationName): number | null {
    return this.measured(engine, cards, { operation, figure: (measured) => median(ratiosOf(measured)) });
  }
}

function quotient(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null ? null : dividend / divisor;
}

export function goalsOf(results: Results): readonly Goal[] {
  const figures = new Figures(results);
  return [...embeddedGoals(figures), ...postgresGoals(figures)];
}

function embeddedGoals(figures: Figures): readonly Goal[] {
  const engine = 'embedded';
  const share = (operation: OperationName, cards: number): Stated => {
    const figure = figures.ratio(engine, cards, operation);
    return { engine, what: `${operation} at ${countOf(cards)} cards`, figure, unit: ratio };
  };
  const asCreate = (operation: OperationName, cards: number): Stated => ({
    engine,
    what: `${operation} against create at ${countOf(cards)} cards`,
    figure: quotient(
      figures.ratio(engine, cards, operation),
      figures.ratio(engine, cards, 'create'),
    ),
    unit: 'of its rate',
  }); // prettier-ignore
  const slowdown = (cards: number): Stated => ({
    engine,
    what: `create slows down from ${countOf(few)} to ${countOf(cards)} cards`,
    figure: quotient(figures.ratio(engine, few, 'create'), figures.ratio(engine, cards, 'create')),
    unit: 'times',
  });
  const latency = (what: string, unit: string, figure: (measured: Measured) => number): Stated => ({
    engine,
    what: `${what} at ${countOf(million)} cards`,
    figure: figures.measured(engine, million, { operation: 'create', figure }),
    unit,
  });
  const memory = (what: 'atRest' | 'peak'): Stated => ({
    engine,
    what: `memory ${what === 'peak' ? 'under load' : 'at rest'} with ${countOf(million)} cards, but for mapped files`,
    figure: figures.site(engine, million, (site) => site.memory[what].anonymousMb),
    unit: 'MB',
  });
  return [
    atLeast(0.75, share('retrieve', million)),
    atLeast(0.6, share('search', million)),
    atLeast(0.7, share('create', few)),
    atLeast(0.55, share('create', million)),
    ...[few, million].flatMap((cards) => [
      atLeast(1, asCreate('update', cards)),
      atLeast(1, asCreate('debit', cards)),
    ]),
    atLeast(0.6, share('mixed 90/10', million)),
    atMost(25, latency('p99 of create', 'ms', (measured) => measured.latency.p99Ms)),
    atMost(8, latency('p99 of create against its p50', 'times', ({ latency: { p50Ms, p99Ms } }) => p99Ms / p50Ms)),
    atMost(1.3, slowdown(million)),
    atMost(1.5, slowdown(tenMillion)),
    atMost(150, memory('atRest')),
    atMost(400, memory('peak')),
  ]; // prettier-ignore
}

function postgresGoals(figures: Figures): readonly Goal[] {
  const engine = 'postgres';
  const share = (operation: OperationName): Stated => {
    const figure = figures.ratio(engine, million, operation);
    return { engine, what: `${operation} at ${countOf(million)} cards`, figure, unit: ratio };
  };
  const flat = (operation: OperationName): Stated => ({
    engine,
    what: `${operation} at ${countOf(million)} cards against ${countOf(few)}`,
    figure: quotient(figures.ratio(engine, million, operation), figures.ratio(engine, few, operation)),
    unit: 'of its rate',
  });
  const twoProcesses = figures.site(
    engine,
    million,
    ({ scaling }) => scaling && quotient(median(scaling.twoPerSecond), median(scaling.onePerSecond)),
  );
  return [
    atLeast(0.45, share('create')),
    atLeast(0.35, share('retrieve')),
    atLeast(0.9, flat('create')),
    atLeast(0.9, flat('retrieve')),
    atLeast(1.5, {
      engine,
      what: 'debits of two processes against one, where the server is not the limit',
      figure: twoProcesses,
      unit: 'times',
    }),
  ];
}

/** `1,000,000` */
export function countOf(number: number): string {
  return number.toLocaleString('en');
}
