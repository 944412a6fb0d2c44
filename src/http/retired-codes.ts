/**
 * Uses of replaced codes, collected in memory and published by a timer.
 *
 * The event is not written with the response, because the response time would distinguish a replaced code from an
 * unknown one.
 */

import type { CardKey } from '../storage/cards/card.ts';

export type RetiredCodeUses = {
  note(use: CardKey): void;
  /** Returns the uses since the last call. */
  take(): readonly CardKey[];
};

/** Further uses are dropped until the next `take`. */
const usesMax = 10_000;

export function retiredCodeUses(): RetiredCodeUses {
  let uses: CardKey[] = [];
  return {
    note(use) {
      if (uses.length < usesMax) uses.push(use);
    },
    take() {
      const taken = uses;
      uses = [];
      return taken;
    },
  };
}
