/** The parts of payments that are the same at all providers. */

import type { ProviderDispute } from '../domain/payment.ts';

/** A method with the last digits of the payment card or account. */
export function numbered(name: string, last: string | null | undefined): string {
  const [digits = ''] = /\d{4}$/.exec(last ?? '') ?? [];
  return digits === '' ? name : `${name} •••• ${digits}`;
}

const seriousness: readonly ProviderDispute['state'][] = ['lost', 'open', 'warning', 'won'];

/** The dispute that counts is the most serious one of a payment; null: there is none. */
export function mostSerious(disputes: readonly ProviderDispute[]): ProviderDispute | null {
  return seriousness.flatMap((state) => disputes.filter((each) => each.state === state)).at(0) ?? null;
}
