/**
 * Whether a request costs more processor time than before, in the service and in the database server: than in the
 * service that ran in turn with it, or than recorded.
 */

import { countOf, engineTitles } from './format.ts';
import type { Compared, Comparison, FixtureResults, Results, Rounds } from './results.ts';
import { lowerQuartile, pairedRatio, pairsMin, spread, type Ratio } from './statistics.ts';

/** A recorded cost has to differ by more, however close the rounds are. */
const recordedDifferenceMin = 0.05;
/** The spread of 15 rounds is two standard deviations of their lower quartile, so this accepts three. */
const acceptedSpreads = 1.5;
/** A smaller difference between two services means nothing, because equal ones differ by as much. */
const differenceMin = 0.01;

export type Change = Ratio & {
  /** Such as `SQLite, 10,000 cards: create`. */
  readonly what: string;
  readonly before: number;
  readonly after: number;
  readonly verdict: 'lower' | 'higher' | 'no difference' | 'too few rounds';
};

/** The processor time of two services that ran in turn, in µs. */
export function changesIn({ fixtures }: Comparison): readonly Change[] {
  return fixtures.flatMap((fixture) =>
    fixture.compared.flatMap((each) =>
      costsIn(each).map(({ part, before, after }): Change => {
        const ratio = pairedRatio(before, after);
        return {
          what: `${titleOf(fixture)}: ${each.operation}${part}`,
          before: lowerQuartile(before),
          after: lowerQuartile(after),
          ...ratio,
          verdict: before.length < pairsMin ? 'too few rounds' : verdictOf(ratio, differenceMin),
        };
      }),
    ),
  );
}

type PairedCosts = {
  /** Appended to the name of the operation. */
  readonly part: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
};

/** The processor times of both services, and of their database servers, in µs per request and round. */
export function costsIn({ before, after }: Compared): readonly PairedCosts[] {
  const costsAfter = costsOf(after);
  return Array.from(costsOf(before), ([part, micros]) => ({
    part,
    before: micros,
    after: costsAfter.get(part) ?? [],
  }));
}

/** Everything that both runs measured, relative to the baseline of its run, and so hardly dependent on the machine. */
export function changesSince(recorded: Results, now: Results): readonly Change[] {
  const recordedCosts = relativeCosts(recorded);
  return Array.from(relativeCosts(now)).flatMap(([what, { relative: after, spreads }]) => {
    const earlier = recordedCosts.get(what);
    if (!earlier) return [];
    const before = earlier.relative;
    const ratio = after / before;
    const tolerance = 1 + acceptedSpreads * Math.hypot(...earlier.spreads, ...spreads);
    const interval = { ratio, low: ratio / tolerance, high: ratio * tolerance };
    return [{ what, before, after, ...interval, verdict: verdictOf(interval, recordedDifferenceMin) }];
  });
}

export function titleOf({ engine, cards }: Pick<FixtureResults, 'engine' | 'cards'>): string {
  return `${engineTitles[engine]}, ${countOf(cards)} cards`;
}

/** A cost without a figure counts as higher. */
function verdictOf({ ratio, low, high }: Ratio, minimum: number): Change['verdict'] {
  if (high < 1 && ratio < 1 - minimum) return 'lower';
  return low <= 1 || ratio <= 1 + minimum ? 'no difference' : 'higher';
}

/** The parts of a cost, by what is appended to the operation's name. */
function costsOf({ microsPerRequest, databaseMicros }: Rounds): ReadonlyMap<string, readonly number[]> {
  const costs = new Map([['', microsPerRequest]]);
  return databaseMicros ? costs.set(', in the server', databaseMicros) : costs;
}

type Cost = { readonly relative: number; readonly spreads: readonly number[] };

function relativeCosts({ fixtures }: Results): ReadonlyMap<string, Cost> {
  const costs = new Map<string, Cost>();
  for (const fixture of fixtures)
    for (const { operation, service, baseline } of fixture.measured)
      for (const [part, micros] of costsOf(service)) {
        const base = baseline.microsPerRequest;
        costs.set(`${titleOf(fixture)}: ${operation}${part}`, {
          relative: lowerQuartile(micros) / lowerQuartile(base),
          spreads: [spread(micros), spread(base)],
        });
      }
  return costs;
}
