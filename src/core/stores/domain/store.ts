/**
 * Stores, the tenants of the service. A store is identified by its domain (`flowers.example`) and has one currency and
 * one time zone. The *demonstration store* is the store of development mode.
 */

import type { Datev } from './datev.ts';
import type { Currency } from '../../money/domain/currency.ts';
import { exceeds, formatMoney, type Money } from '../../money/domain/money.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import type { Vat } from '../../money/domain/vat.ts';

/** An account in the journal: of the card's money by the state of the card, or of its counterpart. */
export const journalAccounts = [
  'liability_active',
  'liability_expired',
  'liability_disabled',
  'sales',
  'online_sales',
  'top_ups',
  'vat_payable',
  'promotions',
  'redemptions',
  'adjustments',
  'breakage',
] as const;

export type JournalAccount = (typeof journalAccounts)[number];

export type AccountNames = Readonly<Partial<Record<JournalAccount, string>>>;

/**
 * `no`: a code that is in no stock is sold as the code of a new card. `ask`: tills ask before. `yes`: tills and API clients
 * reject it.
 */
export const stockRequirements = ['no', 'ask', 'yes'] as const;

export type StockRequirement = (typeof stockRequirements)[number];

export type Store = {
  readonly id: number;
  /** Lower case, without port. */
  readonly domain: string;
  readonly name: string;
  readonly currency: Currency;
  /** IANA name. */
  readonly timeZone: string;
  /** Maximum balance of a card; null: the store does not have a limit. */
  readonly issueLimit: Money | null;
  /** Whether every request must come through the app proxy. */
  readonly requireSignature: boolean;
  /** Whether signed-in customers can search for their own cards without a token. */
  readonly customerSearch: boolean;
  /** The effect of a code that is in no stock. */
  readonly stockRequired: StockRequirement;
  /** Minutes during which a disabled card can be re-enabled, 0 to 60; 0: never. */
  readonly undoWindowMinutes: number;
  /** Days before a card's expiry at which `gift_card.expiring_soon` is published, 0 to 365; 0: never. */
  readonly expiringSoonDays: number;
  /** The maximum duration of its holds in days, 1 to 90. */
  readonly holdLimitDays: number;
  /** Failed searches and lookups of one caller per hour; null: the default of the service. */
  readonly lookupFailuresPerHour: number | null;
  readonly demonstration: boolean;
  /** The VAT of new cards; null: none is recorded. */
  readonly vat: Vat | null;
  /** The names of accounts in the journal that differ from the default. */
  readonly accountNames: AccountNames;
  /** The settings of DATEV; null: none. */
  readonly datev: Datev | null;
};

/**
 * Whether a store can be used. `closing`: requests in progress can still change it; `closed`: nothing changes it; `moved`:
 * another installation has it; `arriving`: its rows are being copied into this database.
 */
/** A disabled card of a new store can be re-enabled for this time: a person who disables the wrong card notices it. */
export const undoWindowDefaultMinutes = 60;

export type StoreStatus = 'open' | 'closing' | 'closed' | 'moved' | 'arriving';

/** Whether an amount exceeds a limit; null: there is no limit. */
export function isAbove(limit: Money | null, amount: Money): limit is Money {
  return limit !== null && exceeds(amount, limit);
}

/** The error message for an amount above the store's limit. */
export function aboveLimit(limit: Money): string {
  return `must be at most ${formatMoney(limit)}, the store's limit`;
}

const hostname =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Parses a store's domain, and returns it in lower case. */
export function parseDomain(value: string): Parsed<string> {
  const domain = value.toLowerCase();
  return hostname.test(domain) ? accepted(domain) : rejected('must be a host name such as flowers.example');
}

const nameLengthMax = 200;

/** Parses a store's name: one line, without control and invisible characters. */
export function parseStoreName(value: string): Parsed<string> {
  if (value.length > nameLengthMax * 4) return rejected(`must have at most ${nameLengthMax} characters`);
  const name = value.normalize('NFC').trim();
  if (name === '') return rejected('must not be empty');
  if (name.length > nameLengthMax) return rejected(`must have at most ${nameLengthMax} characters`);
  return /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)
    ? rejected('must not contain control or invisible characters')
    : accepted(name);
}

const labelLengthMax = 63;

/** A domain for a store that has none, made from its name: `flowers-of-example-street`. */
export function domainOfName(name: string): string {
  const label = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, labelLengthMax)
    .replaceAll(/^-|-$/g, '');
  return label === '' ? 'shop' : label;
}

export const scopes = [
  'read_gift_cards',
  'write_gift_cards',
  'redeem_gift_cards',
  'read_events',
  'read_reports',
  'manage_webhooks',
  'manage_customers',
] as const;

/** A permission of an access token. */
export type Scope = (typeof scopes)[number];

export function isScope(name: string): name is Scope {
  return (scopes as readonly string[]).includes(name);
}

/** The host of a website as people type it: with a scheme, a path or neither. */
export function hostOfWebsite(text: string): string {
  const [host = ''] = text
    .slice(0, 300)
    .replace(/^https?:\/\//i, '')
    .split(/[/?#:]/, 1);
  return host;
}
