/** The keys of payment providers as owners paste them. */

import type { ProviderKind } from './payment.ts';

/** Longer texts are not read. */
export const providerKeyLengthMax = 300;

const keyPatterns: Readonly<Record<Exclude<ProviderKind, 'sandbox'>, RegExp>> = {
  // A secret or a restricted key.
  stripe: /^[sr]k_(?<mode>live|test)_[\dA-Za-z]{10,240}$/,
  // A key of one website profile. The tokens of an organization would need further parameters.
  mollie: /^(?<mode>live|test)_\w{20,100}$/,
};

/** Whether a key takes no real money; undefined: it is not a key of the provider. */
export function isTestKey(kind: ProviderKind, key: string): boolean | undefined {
  if (kind === 'sandbox') return true;
  if (key.length > providerKeyLengthMax) return undefined;
  const mode = keyPatterns[kind].exec(key)?.groups?.['mode'];
  return mode === undefined ? undefined : mode === 'test';
}

const stripeHintSecret = /^whsec_[\dA-Za-z+/=]{16,120}$/;

/** Whether a text is a secret with which the provider signs its notifications. Only Stripe signs them. */
export function isHintSecret(kind: ProviderKind, text: string): boolean {
  return kind === 'stripe' && stripeHintSecret.test(text);
}
