/** What is told of several figures: their middle, how far they lie apart, and the slowest of many. */

/** The middle of some figures: the lowest, the median and the highest. */
export type Spread = { readonly low: number; readonly median: number; readonly high: number };

function ascending(values: Iterable<number>): Float64Array {
  return Float64Array.from(values).toSorted();
}

/** The value below which a share of the given ones lies, which are sorted; NaN if there are none. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Of an even number of values, the mean of the two in the middle. NaN if there are none. */
export function median(values: Iterable<number>): number {
  const sorted = ascending(values);
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((below ?? Number.NaN) + (above ?? Number.NaN)) / 2;
}

export function spreadOf(values: readonly number[]): Spread {
  return { low: Math.min(...values), median: median(values), high: Math.max(...values) };
}

/** How far the values lie from their median, as a share of it: half of the way from the lowest to the highest. */
export function relativeSpread(values: readonly number[]): number {
  const { low, median: middle, high } = spreadOf(values);
  return (high - low) / 2 / middle;
}

/** Durations of requests, in ms. */
export type Latency = { readonly p50Ms: number; readonly p99Ms: number; readonly p999Ms: number };

/** Of all the given rounds together. */
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
