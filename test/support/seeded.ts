/** A reproducible random generator: the same seed generates the same numbers. For tests only. */

export type Seeded = {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  (): number;
  /** Returns a whole number from `min` to `max`, both inclusive. */
  readonly between: (min: number, max: number) => number;
  /** Returns `count` elements, with repetitions. */
  readonly chooseSome: <T>(from: readonly T[], count: number) => readonly T[];
};

/** The generator mulberry32, with 32 bits of state: sufficient to choose the actions of a test. */
export function seeded(seed: number): Seeded {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return Object.assign(next, {
    between,
    chooseSome: <T>(from: readonly T[], count: number): readonly T[] =>
      Array.from({ length: count }, () => from[between(0, from.length - 1)]).filter(
        (one) => one !== undefined,
      ),
  });
}
