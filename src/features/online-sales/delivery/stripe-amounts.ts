/** Amounts as Stripe writes them (https://docs.stripe.com/currencies#minor-units). */

import { findCurrency } from '../../../core/money/domain/currency.ts';
import type { Money } from '../../../core/money/domain/money.ts';

/** The decimals of Stripe's amounts where they differ from ISO 4217. */
const ownDecimals: Readonly<Record<string, number>> = { ISK: 2, UGX: 2, MGA: 0 };

/** Stripe accepts these currencies of three decimals only with a last digit of 0. */
const tens: ReadonlySet<string> = new Set(['BHD', 'JOD', 'KWD', 'OMR', 'TND']);

/** An integer of Stripe's smallest unit; undefined: Stripe cannot represent the amount. */
export function toStripeAmount({ minor, currency: { code, decimals } }: Money): string | undefined {
  const own = ownDecimals[code] ?? decimals;
  if (own >= decimals) {
    if (tens.has(code) && minor % 10n !== 0n) return undefined;
    return String(minor * 10n ** BigInt(own - decimals));
  }
  const unit = 10n ** BigInt(decimals - own);
  return minor % unit === 0n ? String(minor / unit) : undefined;
}

/** @param code in any case. @returns undefined: the currency is not known, or has no amount as small as this one. */
export function fromStripeAmount(amount: number, code: string): Money | undefined {
  const currency = findCurrency(code.toUpperCase());
  if (!currency || !Number.isSafeInteger(amount)) return undefined;
  const { decimals } = currency;
  const own = ownDecimals[currency.code] ?? decimals;
  if (own <= decimals) return { minor: BigInt(amount) * 10n ** BigInt(decimals - own), currency };
  const unit = 10n ** BigInt(own - decimals);
  return BigInt(amount) % unit === 0n ? { minor: BigInt(amount) / unit, currency } : undefined;
}
