/**
 * Holds: amounts of a card that a checkout has reserved. An *open* hold ends as *captured* (part or all of it is debited,
 * the rest is released), *voided* or *expired*.
 */

import type { LedgerTexts } from './ledger.ts';
import type { Money } from './money.ts';

export const holdStatuses = ['open', 'captured', 'voided', 'expired'] as const;

export type HoldStatus = (typeof holdStatuses)[number];

export type Hold = LedgerTexts & {
  readonly storeId: number;
  readonly id: number;
  readonly cardId: number;
  readonly status: HoldStatus;
  readonly amount: Money;
  /** The captured amount; 0 without a capture. */
  readonly captured: Money;
  readonly actor: string;
  readonly orderId: number | null;
  /** The location where it was placed; null: none. */
  readonly locationId: number | null;
  /** Instants in ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly closedAt: number | null;
};

/** Default duration of a hold in seconds: enough for a checkout. */
export const holdSecondsDefault = 15 * 60;

/** Default of a store's limit for the duration of its holds, in days. */
export const holdLimitDefaultDays = 7;

/** Maximum of that limit, in days. Reads of the past find every hold that was open then, whatever the limit is now. */
export const holdLimitMaxDays = 90;

export const daySeconds = 24 * 60 * 60;

/** Maximum duration of any hold in seconds, from its creation. */
export const holdSecondsMax = holdLimitMaxDays * daySeconds;

/** A longer duration that an open hold was given. */
export type HoldExtension = {
  readonly storeId: number;
  readonly holdId: number;
  /** Instants in ms: the expiry since then, and the earlier one before. */
  readonly expiresAt: number;
  readonly previousExpiresAt: number;
  readonly actor: string;
  readonly createdAt: number;
};

/** Whether an open hold has expired at `now` (ms). It reserves nothing from then on, even before it is closed. */
export function isHoldExpired(hold: Pick<Hold, 'status' | 'expiresAt'>, now: number): boolean {
  return hold.status === 'open' && hold.expiresAt <= now;
}
