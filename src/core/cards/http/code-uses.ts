/**
 * Uses of codes that no card has, collected in memory and published by a timer: of replaced codes, and of codes in stock
 * by callers who cannot activate them.
 *
 * The event is not written with the response, because the response time would distinguish such a code from an unknown
 * one.
 */

import type { CardKey } from '../storage/card.ts';
import type { LookupKey } from '../../stocks/storage/code.ts';

export type CodeUses<Use> = {
  note(use: Use): void;
  /** Returns the uses since the last call. */
  take(): readonly Use[];
};

export type RetiredCodeUses = CodeUses<CardKey>;

export type StockTries = CodeUses<LookupKey>;

/** Further uses are dropped until the next `take`. */
const usesMax = 10_000;

export function codeUses<Use>(): CodeUses<Use> {
  let uses: Use[] = [];
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
