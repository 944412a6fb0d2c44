/**
 * Holds: amounts of a card that a checkout has reserved. An *open* hold ends as *captured* (part or all of it is debited,
 * the rest is released), *voided* or *expired*.
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
  /** The captured amount; 0 without a capture. */
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

/** Default duration of a hold in seconds: enough for a checkout. */
export const holdSecondsDefault = 15 * 60;

/** Maximum duration of a hold in seconds: 7 days. */
export const holdSecondsMax = 7 * 24 * 60 * 60;

/** Whether an open hold has expired at `now` (ms). It reserves nothing from then on, even before it is closed. */
export function isHoldExpired(hold: Pick<Hold, 'status' | 'expiresAt'>, now: number): boolean {
  return hold.status === 'open' && hold.expiresAt <= now;
}
