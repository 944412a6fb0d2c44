/**
 * Stores: the tenants of the service.
 *
 * Terms: a *store* is known by its domain (`flowers.example`), sells in one currency, and counts
 * days in its time zone. The *demonstration store* is the one that development mode serves.
 */

import type { Currency } from './currency.ts';
import { exceeds, formatMoney, type Money } from './money.ts';
import { accepted, refused, type Parsed } from './parsed.ts';

export type Store = {
  readonly id: number;
  /** Lower case, without port. */
  readonly domain: string;
  readonly name: string;
  readonly currency: Currency;
  /** IANA name. */
  readonly timeZone: string;
  /** The most that a card may be worth; null: no limit of its own. */
  readonly issueLimit: Money | null;
  /** Every request must come through the app proxy. */
  readonly requireSignature: boolean;
  /** A signed-in customer may search for cards of their own without a token. */
  readonly customerSearch: boolean;
  /** Minutes within which a disabling may be withdrawn, 0 to 60; 0: never. */
  readonly undoWindowMinutes: number;
  /** Days ahead that a card's expiry is told, 0 to 365; 0: it is not. */
  readonly expiringSoonDays: number;
  /** Searches and lookups of one caller that may find nothing per hour; null: the default of the service. */
  readonly lookupFailuresPerHour: number | null;
  readonly demonstration: boolean;
};

/** Whether an amount is more than a store issues a card for. */
export function isAbove(limit: Money | null, amount: Money): limit is Money {
  return limit !== null && exceeds(amount, limit);
}

/** The refusal of more than the store's limit. */
export function aboveLimit(limit: Money): string {
  return `must be at most ${formatMoney(limit)}, the store's limit`;
}

const hostname =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Reads a store's domain, in lower case. */
export function parseDomain(value: string): Parsed<string> {
  const domain = value.toLowerCase();
  return hostname.test(domain) ? accepted(domain) : refused('must be a host name such as flowers.example');
}

export const scopes = [
  'read_gift_cards',
  'write_gift_cards',
  'redeem_gift_cards',
  'read_events',
  'manage_webhooks',
] as const;

/** What an access token may be used for. */
export type Scope = (typeof scopes)[number];

export function isScope(name: string): name is Scope {
  return (scopes as readonly string[]).includes(name);
}
