/** The record of acknowledged changes, one JSON text per line. */

import { readFileSync } from 'node:fs';

/** The first line of each run of `load.ts`. */
export type Start = {
  readonly kind: 'start';
  /** The number of cards of the store. */
  readonly cards: number;
};

export type Change = {
  readonly kind: 'change';
  readonly key: string;
  readonly card: number;
  /** Null: the card was issued. */
  readonly transaction: { readonly id: number; readonly amount: string } | null;
  /** When the first attempt was sent, and when a success was received: ms since 1970 UTC. */
  readonly sentAt: number;
  readonly acknowledgedAt: number;
};

/** Reads the record of all runs: the number of cards before the first one, and the changes. */
export function readRecord(file: string): {
  readonly cardsBefore: number;
  readonly changes: readonly Change[];
} {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Start | Change);
  const [start] = lines;
  if (start?.kind !== 'start') throw new Error(`${file} does not begin with a start`);
  return { cardsBefore: start.cards, changes: lines.filter((line) => line.kind === 'change') };
}
