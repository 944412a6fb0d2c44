/**
 * Holds: amounts of a card that a checkout has reserved.
 *
 * Terms: an *open* hold keeps its amount from being spent otherwise; it ends *captured* (part or
 * all is debited, the rest goes back), *voided*, or *expired* at its instant, by itself.
 */

import type { Money } from './money.ts';

export const holdStatuses = ['open', 'captured', 'voided', 'expired'] as const;

export type HoldStatus = (typeof holdStatuses)[number];

export type Hold = {
  readonly storeId: number;
  readonly id: number;
  readonly cardId: number;
  readonly status: HoldStatus;
  readonly amount: Money;
  /** What a capture took; 0 otherwise. */
  readonly captured: Money;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly orderId: number | null;
  /** Instants in ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly closedAt: number | null;
};

/** Seconds that a hold lasts unless told otherwise: a checkout. */
export const holdSecondsDefault = 15 * 60;

/** Seconds that a hold may last: 7 days. */
export const holdSecondsMax = 7 * 24 * 60 * 60;

/** Whether an open hold has outlived its time; it reserves nothing any more, whether or not it is closed yet. */
export function hasRunOut(hold: Pick<Hold, 'status' | 'expiresAt'>, now: number): boolean {
  return hold.status === 'open' && hold.expiresAt <= now;
}
