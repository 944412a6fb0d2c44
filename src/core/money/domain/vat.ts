/**
 * The VAT of cards. Tax on a *single-purpose* card is due when it is sold, at a known rate. Tax on a *multi-purpose* card
 * is due when it is redeemed, at the rate of what is bought (directive (EU) 2016/1065).
 */

import { isSaleAccount, type Account } from './ledger.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

export type Vat =
  | { readonly kind: 'multi_purpose' }
  | {
      readonly kind: 'single_purpose';
      /** In percent, without trailing zeros: `19`, `8.1`, `0`. */
      readonly rate: string;
    };

export const vatKinds = ['single_purpose', 'multi_purpose'] as const;

export type VatKind = (typeof vatKinds)[number];

export const vatRatePattern = '^(?:0|[1-9][0-9]?|100)(?:\\.[0-9]{1,3})?$';

const rateForm = new RegExp(vatRatePattern);

/** Parses a rate in percent, and returns it without trailing zeros. */
export function parseVatRate(value: unknown): Parsed<string> {
  const error = 'must be a percentage from 0 to 100 with at most 3 decimals, such as "19" or "8.1"';
  if (typeof value !== 'string' || value.length > 8 || !rateForm.test(value)) return rejected(error);
  const [whole = '', decimals = ''] = value.split('.');
  const kept = decimals.replace(/0{1,3}$/, '');
  if (whole === '100' && kept !== '') return rejected(error);
  return accepted(kept === '' ? whole : `${whole}.${kept}`);
}

/** The VAT as the ledger stores it: `multi_purpose`, `single_purpose 19`. */
export function formatVat(vat: Vat): string {
  return vat.kind === 'single_purpose' ? `single_purpose ${vat.rate}` : vat.kind;
}

/** Reads a VAT that `formatVat` has written. @throws RangeError for another text. */
export function readVat(text: string): Vat {
  if (text === 'multi_purpose') return { kind: 'multi_purpose' };
  const rate = text.startsWith('single_purpose ') ? parseVatRate(text.slice(15)) : rejected('');
  if (!rate.ok) throw new RangeError(`${text} is not a VAT`);
  return { kind: 'single_purpose', rate: rate.value };
}

/** A rate such as `19` as people in a locale write it. */
export function vatRateText(rate: string, locale: string): string {
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 3 });
  return percent.format(Number(rate) / 100);
}

/** The tax that a gross amount in minor units contains, at a rate in percent, rounded half away from zero. */
export function taxIn(gross: bigint, rate: string): bigint {
  const [whole = '', decimals = ''] = rate.split('.');
  const thousandths = BigInt(whole + decimals.padEnd(3, '0'));
  const divisor = 100_000n + thousandths;
  const doubled = 2n * gross * thousandths;
  return (doubled >= 0n ? doubled + divisor : doubled - divisor) / (2n * divisor);
}

/** An entry of a card's chain: its other account, and the change of the balance in minor units. */
type TaxedEntry = { readonly account: Account; readonly effect: bigint };

/**
 * The tax in the entries of a single-purpose card, which are in the order of its chain, in minor units. The sum of the
 * entries on `sales` and `top_ups` is rounded, and the sum of all others; an entry has the difference that it makes to its
 * sum. So the tax of a sale that is cancelled as a whole is 0, and so is the tax in a balance of 0.
 */
export function taxesOf(entries: readonly TaxedEntry[], rate: string): readonly bigint[] {
  const sums = { sold: 0n, others: 0n };
  return entries.map(({ account, effect }) => {
    const name = isSaleAccount(account) ? 'sold' : 'others';
    const before = taxIn(sums[name], rate);
    sums[name] += effect;
    return taxIn(sums[name], rate) - before;
  });
}
