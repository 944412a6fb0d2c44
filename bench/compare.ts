/**
 * Whether a request has come to cost more processor time than it did: in the service, and in the database server.
 *
 * What is compared is the cost in units of the bare server's of the same round, which other programs on the machine,
 * and another machine, change little.
 */

import { countOf } from './goals.ts';
import { costsOf, databaseCostsOf, type Results } from './results.ts';
import { median, relativeSpread } from './statistics.ts';

/** Less than this says nothing, however close the rounds lay together. */
const toleranceMin = 0.05;

export type Change = {
  /** Such as `embedded, 10,000 cards: create`. */
  readonly what: string;
  /** In processor times of the bare server. */
  readonly before: number;
  readonly now: number;
  /** How much more it may be, as a share of what it was: as far as the rounds of both lay apart. */
  readonly tolerance: number;
  readonly isWorse: boolean;
};

/** What both have measured. */
export function changesOf(before: Results, now: Results): readonly Change[] {
  const earlier = costsIn(before);
  return Array.from(costsIn(now)).flatMap(([what, costs]) => {
    const recorded = earlier.get(what);
    return recorded ? [changeOf(what, { before: recorded, now: costs })] : [];
  });
}

function changeOf(
  what: string,
  costs: { readonly before: readonly number[]; readonly now: readonly number[] },
): Change {
  const tolerance = Math.max(toleranceMin, relativeSpread(costs.before) + relativeSpread(costs.now));
  const [before, now] = [median(costs.before), median(costs.now)];
  return { what, before, now, tolerance, isWorse: now > before * (1 + tolerance) };
}

/** Each cost, round by round, under a name of its own. */
function costsIn({ sites }: Results): ReadonlyMap<string, readonly number[]> {
  const costs = new Map<string, readonly number[]>();
  for (const { engine, cards, measured } of sites)
    for (const one of measured) {
      const by = one.processes === 1 ? '' : ` by ${one.processes} processes`;
      const what = `${engine}, ${countOf(cards)} cards: ${one.operation}${by}`;
      costs.set(what, costsOf(one));
      if (engine === 'postgres') costs.set(`${what}, in the server`, databaseCostsOf(one));
    }
  return costs;
}
