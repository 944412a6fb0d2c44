/**
 * Whether a request costs more processor time than recorded, in the service and in the database server.
 *
 * Costs are compared relative to the baseline of the same run, so that they depend little on the machine.
 */

import { countOf, engineTitles } from './format.ts';
import type { Results } from './results.ts';
import { lowerQuartile, spread } from './statistics.ts';

/** A smaller difference means nothing, however close the rounds are. */
const toleranceMin = 0.05;

/** The spread of 15 rounds is two standard deviations of their lower quartile, so this accepts three. */
const acceptedSpreads = 1.5;

export type Change = {
  /** Such as `SQLite, 10,000 cards: create`. */
  readonly what: string;
  /** Relative to the baseline. */
  readonly before: number;
  readonly now: number;
  /** The accepted increase, as a share. */
  readonly tolerance: number;
  readonly isWorse: boolean;
};

/** Everything that both runs measured. */
export function changesOf(before: Results, now: Results): readonly Change[] {
  const recorded = costsIn(before);
  return Array.from(costsIn(now)).flatMap(([what, cost]) => {
    const earlier = recorded.get(what);
    if (!earlier) return [];
    const tolerance = Math.max(
      toleranceMin,
      acceptedSpreads * Math.hypot(...earlier.spreads, ...cost.spreads),
    );
    const isWorse = !(cost.relative <= earlier.relative * (1 + tolerance));
    return [{ what, before: earlier.relative, now: cost.relative, tolerance, isWorse }];
  });
}

type Cost = { readonly relative: number; readonly spreads: readonly number[] };

function costsIn({ fixtures }: Results): ReadonlyMap<string, Cost> {
  const costs = new Map<string, Cost>();
  for (const { engine, cards, measured } of fixtures)
    for (const { operation, service, baseline, databaseMicros } of measured) {
      const what = `${engineTitles[engine]}, ${countOf(cards)} cards: ${operation}`;
      const base = baseline.microsPerRequest;
      const costOf = (micros: readonly number[]): Cost => ({
        relative: lowerQuartile(micros) / lowerQuartile(base),
        spreads: [spread(micros), spread(base)],
      });
      costs.set(what, costOf(service.microsPerRequest));
      if (databaseMicros) costs.set(`${what}, in the server`, costOf(databaseMicros));
    }
  return costs;
}
