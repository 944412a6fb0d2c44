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

/** How far the median lies above the lower quartile, as a share of it. */
export function spread(values: readonly number[]): number {
  return median(values) / lowerQuartile(values) - 1;
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
