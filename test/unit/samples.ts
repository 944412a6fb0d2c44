/** Stores, cards and amounts for tests: complete and valid by default. */

import type { PublicId, PublicIds } from '../../src/platform/public-id.ts';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Stock } from '../../src/core/stocks/domain/stock.ts';
import type { Batch } from '../../src/features/batches/domain/batch.ts';
import { noDetails } from '../../src/core/cards/domain/fields.ts';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { currencyCodes, currencyOf } from '../../src/core/money/domain/currency.ts';
import { Fault, type FaultCode } from '../../src/core/domain/fault.ts';
import type { Hold } from '../../src/core/money/domain/hold.ts';
import type { Transfer } from '../../src/core/money/domain/ledger.ts';
import type { EmailDelivery } from '../../src/core/emails/domain/email.ts';
import type { Money } from '../../src/core/money/domain/money.ts';
import type { Parsed } from '../../src/platform/parsed.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';

/** An amount in minor units, in US dollars by default. */
export function amount(minor: bigint, code = 'USD'): Money {
  return { minor, currency: currencyOf(code) };
}

export function storeWith(given: Partial<Store> = {}): Store {
  return {
    id: 17,
    domain: 'flowers.example',
    name: 'Flowers',
    currency: currencyOf('USD'),
    timeZone: 'UTC',
    issueLimit: null,
    requireSignature: false,
    customerSearch: false,
    stockRequired: 'no',
    undoWindowMinutes: 0,
    expiringSoonDays: 0,
    holdLimitDays: 7,
    lookupFailuresPerHour: null,
    demonstration: false,
    vat: null,
    accountNames: {},
    datev: null,
    ...given,
  };
}

export function cardWith(given: Partial<Card> = {}): Card {
  return {
    storeId: 17,
    id: 244_212_357_349,
    version: 3,
    initialValue: amount(2_500n),
    balance: amount(1_050n),
    held: amount(0n),
    lastCharacters: '7f3k',
    customer: { id: 51, email: 'Ada@Example.com' },
    recipient: { id: 52, email: 'grace@example.com' },
    ...noDetails,
    note: 'Sold at the counter',
    message: 'Happy birthday!',
    expiresOn: '2031-12-31',
    disabledAt: null,
    suspendedAt: null,
    suspendReason: null,
    createdAt: Date.UTC(2025, 7, 15, 12, 37, 38, 999),
    lineItemId: 61,
    orderId: 62,
    userId: 63,
    apiClientId: 64,
    vat: null,
    ...given,
  };
}

export function batchWith(given: Partial<Batch> = {}): Batch {
  return {
    storeId: 17,
    id: 244_212_380_001,
    name: 'Spring campaign',
    actor: 'api_client:7',
    apiClientId: 7,
    locationId: null,
    state: 'complete',
    cards: 3,
    total: amount(7_500n),
    issued: 2,
    issuedTotal: amount(5_000n),
    failed: 1,
    nextPart: 1,
    createdAt: 0,
    completedAt: 1_000,
    codesUntil: 86_401_000,
    ...given,
  };
}

export function stockWith(given: Partial<Stock> = {}): Stock {
  return {
    storeId: 17,
    id: 244_212_390_001,
    name: 'Cards at the counter',
    actor: 'api_client:7',
    apiClientId: 7,
    state: 'complete',
    isGenerated: true,
    currency: 'USD',
    fixedValue: null,
    minimumValue: amount(1_000n),
    maximumValue: amount(15_000n),
    validMonths: 36,
    codes: 3,
    printed: 2,
    failed: 1,
    nextPart: 1,
    createdAt: 0,
    completedAt: 1_000,
    voidedAt: null,
    codesUntil: 86_401_000,
    ...given,
  };
}

export function transferWith(given: Partial<Transfer> = {}): Transfer {
  return {
    storeId: 17,
    cardId: 244_212_357_349,
    sequence: 2,
    id: 244_212_357_350,
    kind: 'adjustment',
    amount: amount(1_500n),
    debit: 'card',
    credit: 'adjustments',
    balanceAfter: amount(1_000n),
    actor: 'api_client:7',
    reference: null,
    note: null,
    orderId: null,
    orderReference: null,
    externalId: null,
    locationId: null,
    holdId: null,
    reverses: null,
    createdAt: 1_755_261_458_999,
    ...given,
  };
}

export function holdWith(given: Partial<Hold> = {}): Hold {
  return {
    storeId: 17,
    id: 244_212_361_001,
    cardId: 244_212_357_349,
    status: 'open',
    amount: amount(1_000n),
    captured: amount(0n),
    actor: 'api_client:7',
    reference: 'checkout-77',
    note: 'Held at the counter',
    orderId: 1001,
    orderReference: 'B-1001',
    externalId: 'checkout-77-1',
    locationId: 91,
    createdAt: Date.UTC(2026, 5, 15, 12, 0, 0, 999),
    expiresAt: Date.UTC(2026, 5, 15, 12, 15, 0, 999),
    closedAt: null,
    ...given,
  };
}

export function emailWith(given: Partial<EmailDelivery> = {}): EmailDelivery {
  return {
    storeId: 17,
    cardId: 244_212_357_349,
    id: 244_212_357_360,
    kind: 'gift_card',
    address: 'grace@example.com',
    occasion: null,
    state: 'deferred',
    sendAt: Date.UTC(2026, 5, 15, 12, 0, 0, 999),
    nextAt: Date.UTC(2026, 5, 15, 12, 4),
    attempts: 1,
    lastAt: Date.UTC(2026, 5, 15, 12, 0, 1),
    response: '451 4.7.1 Try again later',
    createdAt: Date.UTC(2026, 5, 15, 12, 0, 0, 999),
    endedAt: null,
    ...given,
  };
}

/** Returns the parsed value. Fails if it was rejected. */
export function valueOf<T>(parsed: Parsed<T>): T {
  assert.ok(parsed.ok, parsed.ok ? '' : `rejected: ${parsed.error}`);
  return parsed.value;
}

/** Returns the error message. Fails if the value was accepted. */
export function errorOf(parsed: Parsed<unknown>): string {
  assert.ok(!parsed.ok, 'accepted');
  return parsed.error;
}

/** Returns the fault that the function throws. Fails for any other error and if it returns. */
export function faultOf(run: () => unknown, code: FaultCode): Fault {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof Fault, `not a fault: ${String(error)}`);
    assert.equal(error.code, code);
    return error;
  }
  return assert.fail(`no fault, where ${code} was due`);
}

/** Formats a value for a message, with control characters escaped. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'object' && value !== null) return JSON.stringify(value) ?? 'object';
  return String(value);
}

/** Any currency of a store. */
export const anyCurrency = fc.constantFrom(...currencyCodes().map(currencyOf));

/** Any text of UTF-16 units, including lone surrogates. */
export const anyUnits = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xff }),
      fc.integer({ min: 0, max: 0xffff }),
      fc.constantFrom(0xd800, 0xdfff),
    ),
    { maxLength: 40 },
  )
  .map((units) => String.fromCharCode(...units));

/**
 * Public ids that equal the internal ones, for tests of other code. In production only `publicIdsOf` creates
 * them.
 */
export const sameIds: PublicIds = { of: (id) => id as PublicId, read: (id) => id };
