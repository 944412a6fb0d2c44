/** The names of payment providers, as buyers know them. */

import type { ProviderKind } from './payment.ts';

const providerNames: Readonly<Record<ProviderKind, string>> = {
  stripe: 'Stripe',
  mollie: 'Mollie',
  sandbox: 'Sandbox',
};

export function providerName(kind: ProviderKind): string {
  return providerNames[kind];
}
