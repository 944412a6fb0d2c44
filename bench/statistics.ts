/** Figures of several rounds: their quartiles and their spread. */

/** The value below which a share of the sorted values lies; NaN if there are none. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * A quarter of the rounds cost less. Other programs add to the cost of a round and never reduce it, so this is closer to the
 * cost on an idle machine than the median, and less subject to chance than the minimum.
 */
export function lowerQuartile(values: readonly number[]): number {
  return quantile(Float64Array.from(values).toSorted(), 0.25);
}

export function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).toSorted(), 0.5);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The distance of the median above the lower quartile, as a share of it. */
export function spread(values: readonly number[]): number {
  return median(values) / lowerQuartile(values) - 1;
}

/** The quotient of two series whose values were measured in pairs, and the interval that contains it with 99 %. */
export type Ratio = { readonly ratio: number; readonly low: number; readonly high: number };

/** Fewer pairs can differ by chance, however far apart they are. */
export const pairsMin = 8;
const uncertainty = 0.01;

/**
 * The median of the quotients of the pairs. The interval is that of the sign test, which assumes no distribution: its
 * ends are values between which the median lies unless too few of them are on one side.
 */
export function pairedRatio(before: readonly number[], after: readonly number[]): Ratio {
  const quotients = Float64Array.from(
    before,
    (value, pair) => (after[pair] ?? Number.NaN) / value,
  ).toSorted();
  const outside = excludedPairs(quotients.length);
  if (outside === 0) return { ratio: median([...quotients]), low: 0, high: Infinity };
  return {
    ratio: median([...quotients]),
    low: quotients[outside - 1] ?? Number.NaN,
    high: quotients.at(-outside) ?? Number.NaN,
  };
}

/** The largest number of pairs for which the outermost so many on each side are further out by chance in 1 % of cases. */
function excludedPairs(pairs: number): number {
  let probability = 2 * 0.5 ** pairs;
  let sum = 0;
  let outside = 0;
  while (sum + probability <= uncertainty) {
    sum += probability;
    probability *= (pairs - outside) / (outside + 1);
    outside += 1;
  }
  return outside;
}

/** Durations of requests, in ms. */
export type Latency = { readonly p50Ms: number; readonly p99Ms: number; readonly p999Ms: number };

/** Over all the given rounds together. */
export function latencyOf(rounds: readonly Float64Array[]): Latency {
  const all = new Float64Array(rounds.reduce((sum, { length }) => sum + length, 0));
  let filled = 0;
  for (const round of rounds) {
    all.set(round, filled);
    filled += round.length;
  }
  all.sort();
  return { p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99), p999Ms: quantile(all, 0.999) };
}
