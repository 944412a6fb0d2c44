/** The requests of tests to payment providers. */

import { currencyOf } from '../../src/core/money/domain/currency.ts';
import type {
  ProviderCredential,
  ProviderOutcome,
  SessionRequest,
} from '../../src/features/online-sales/domain/payment.ts';
import { Secret } from '../../src/platform/secret.ts';

export function credentialOf(key: string, hintSecret: string | null = null): ProviderCredential {
  return { key: new Secret(key), hintSecret: hintSecret === null ? null : new Secret(hintSecret) };
}

let sales = 0;

/** A request for the session of a new sale. @param now in ms. */
export function sessionRequest(now: number, given: Partial<SessionRequest> = {}): SessionRequest {
  sales += 1;
  return {
    saleKey: `sale-${String(sales).padStart(17, '0')}`,
    amount: { minor: 5_000n, currency: currencyOf('EUR') },
    description: 'Gift card of Flowers',
    returnUrl: 'https://cards.flowers.example/buy/flowers.example/order/abc',
    cancelUrl: 'https://cards.flowers.example/buy/flowers.example?order=abc',
    hintUrl: 'https://cards.flowers.example/payments/mollie/123',
    locale: 'de',
    buyerAddress: 'buyer@example.com',
    expiresAt: now + 23 * 60 * 60_000,
    ...given,
  };
}

/** The value of an outcome. @throws Error with its detail. */
export function valueOf<T>(outcome: ProviderOutcome<T>): T {
  if (outcome.kind === 'done') return outcome.value;
  throw new Error(`${outcome.kind}: ${outcome.detail}`);
}
