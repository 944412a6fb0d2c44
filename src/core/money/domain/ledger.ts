/**
 * The ledger: every change of a card's balance is one transfer between the *card* account and a *system account*. A row
 * contains both accounts and one positive amount, so unbalanced entries cannot be written.
 */

import type { Currency } from './currency.ts';
import { formatMinor, subtract, type Money } from './money.ts';

/** The accounts that a card's money comes from or goes to, one of each per store and currency. */
export const systemAccounts = [
  'sales',
  'online_sales',
  'top_ups',
  'promotions',
  'redemptions',
  'adjustments',
  'breakage',
] as const;

type SystemAccount = (typeof systemAccounts)[number];

/** `card` is the liability to the holder of the transfer's card: a credit raises the balance, a debit lowers it. */
export type Account = 'card' | SystemAccount;

/**
 * The accounts of money that was paid for cards: for new ones at a till or by the API (`sales`) or on the buy page, so
 * that a payment provider owes it (`online_sales`), or added to existing ones (`top_ups`). The rules for the tax and the
 * sums of a sale are the same for all of them.
 */
const saleAccounts = ['sales', 'online_sales', 'top_ups'] as const;

export function isSaleAccount(account: string): account is (typeof saleAccounts)[number] {
  return (saleAccounts as readonly string[]).includes(account);
}

/** The accounts that the issue of a card can debit. */
export type IssueAccount = 'sales' | 'online_sales';

/** A `capture` debits an amount that a hold reserved. A `reversal` reverses a debit, capture, credit or top-up. */
export const transferKinds = [
  'issue',
  'adjustment',
  'debit',
  'credit',
  'top_up',
  'capture',
  'reversal',
] as const;

export type TransferKind = (typeof transferKinds)[number];

/** The texts of an entry or a hold: personal data that an erasure can remove. */
export type LedgerTexts = {
  readonly reference: string | null;
  readonly note: string | null;
  /** The caller's order, in its own notation. */
  readonly orderReference: string | null;
  /** The caller's own id of it. */
  readonly externalId: string | null;
};

export type Transfer = LedgerTexts & {
  readonly storeId: number;
  readonly cardId: number;
  /** Counts the transfers of the card, starting at 1. */
  readonly sequence: number;
  readonly id: number;
  readonly kind: TransferKind;
  /** Greater than 0. */
  readonly amount: Money;
  readonly debit: Account;
  readonly credit: Account;
  /** The card's balance after this transfer. */
  readonly balanceAfter: Money;
  /** The caller: `api_client:7`, `development`, … */
  readonly actor: string;
  readonly orderId: number | null;
  /** The location where it took place; null: none. */
  readonly locationId: number | null;
  /** The id of the captured hold; null for other kinds. */
  readonly holdId: number | null;
  /** The id of the transfer that a reversal reverses, in whole or in part; null for other kinds. */
  readonly reverses: number | null;
  /** Instant in ms. */
  readonly createdAt: number;
};

/** A movement of money between two accounts, before it is recorded as a transfer. */
export type Movement = Pick<Transfer, 'kind' | 'amount' | 'debit' | 'credit'>;

/** The movement of the issue of a card. */
export function issueOf(value: Money, account: IssueAccount = 'sales'): Movement {
  return { kind: 'issue', amount: value, debit: account, credit: 'card' };
}

/**
 * The movement that changes a balance to a target.
 * @throws RangeError if both are equal, because an empty movement must not be recorded.
 */
export function adjustmentOf(balance: Money, target: Money): Movement {
  const { minor, currency } = subtract(target, balance);
  if (minor === 0n) throw new RangeError('the balance is already equal to the target');
  return minor > 0n
    ? { kind: 'adjustment', amount: { minor, currency }, debit: 'adjustments', credit: 'card' }
    : { kind: 'adjustment', amount: { minor: -minor, currency }, debit: 'card', credit: 'adjustments' };
}

/** The movement of a debit. */
export function debitOf(amount: Money): Movement {
  return { kind: 'debit', amount, debit: 'card', credit: 'redemptions' };
}

/** The movement of a capture. */
export function captureOf(amount: Money): Movement {
  return { kind: 'capture', amount, debit: 'card', credit: 'redemptions' };
}

/** The movement of a credit. */
export function creditOf(amount: Money): Movement {
  return { kind: 'credit', amount, debit: 'sales', credit: 'card' };
}

/** The movement of a top-up: a sale of more value on an existing card. */
export function topUpOf(amount: Money): Movement {
  return { kind: 'top_up', amount, debit: 'top_ups', credit: 'card' };
}

/** Whether a transfer of this kind can be reversed. */
export function isReversible(kind: TransferKind): boolean {
  return isRedemption(kind) || isAddition(kind);
}

/** Whether a transfer of this kind spends the balance. */
export function isRedemption(kind: TransferKind): kind is 'debit' | 'capture' {
  return kind === 'debit' || kind === 'capture';
}

/** Whether a transfer of this kind adds an amount to an issued card, other than by a correction or a refund. */
export function isAddition(kind: TransferKind): kind is 'credit' | 'top_up' {
  return kind === 'credit' || kind === 'top_up';
}

/** The movement that reverses an amount of a transfer, with the accounts swapped. */
export function reversalOf({ debit, credit }: Pick<Movement, 'debit' | 'credit'>, amount: Money): Movement {
  return { kind: 'reversal', amount, debit: credit, credit: debit };
}

/** Whether a movement increases the card's balance. */
export function increases(credit: string): boolean {
  return credit === 'card';
}

/** The change of the card's balance in minor units: positive if it increases. */
export function effectOf({ amount, credit }: Pick<Movement, 'amount' | 'credit'>): bigint {
  return increases(credit) ? amount.minor : -amount.minor;
}

/** The change of what was redeemed with the card, in minor units: negative for a reversal of a redemption. */
export function redeemedBy({ amount, debit, credit }: Pick<Movement, 'amount' | 'debit' | 'credit'>): bigint {
  if (credit === 'redemptions') return amount.minor;
  return debit === 'redemptions' ? -amount.minor : 0n;
}

/**
 * The hash before a card's first transfer: 32 zero bytes. The hash of each transfer covers its entry and the previous
 * hash, so an edit of an earlier transfer breaks the chain.
 */
export const chainStart: Uint8Array = new Uint8Array(32);

/** The values that only the first entry of a chain contains. */
export type Opening = {
  /** 16 random bytes. Without them, someone who has a hash of a chain could guess the content by trial. */
  readonly salt: Uint8Array;
  /** The last day of validity with which the card was issued; null: none. */
  readonly expiresOn: string | null;
  /** The VAT with which the card was issued, as `formatVat` writes it; null: none is recorded. */
  readonly vat: string | null;
};

/** A transfer's entry in its card's chain, beyond the transfer's own fields. */
export type EntryDetails = {
  /** Null in all entries but the first. */
  readonly opening: Opening | null;
  /**
   * SHA-256 of a salt and the `committedText`; null if there is no text. The texts and the salt can be erased, and the
   * chain stays valid.
   */
  readonly textDigest: Uint8Array | null;
};

/** Whether a transfer has a text that its entry commits to. */
export function hasText({ reference, note, orderReference, externalId }: LedgerTexts): boolean {
  return reference !== null || note !== null || orderReference !== null || externalId !== null;
}

/** The text that a salt and SHA-256 commit to. */
export function committedText({ reference, note, orderReference, externalId }: LedgerTexts): string {
  return JSON.stringify(
    orderReference === null && externalId === null
      ? [reference, note]
      : [reference, note, orderReference, externalId],
  );
}

/** The content of a transfer's entry that its hash covers. */
export function entryContent(transfer: Transfer, { opening, textDigest }: EntryDetails): string {
  const { amount, balanceAfter } = transfer;
  return entryText({
    ...transfer,
    amount: amount.minor,
    balanceAfter: balanceAfter.minor,
    currency: amount.currency,
    textDigest,
    salt: opening && opening.salt,
    issuedExpiresOn: opening && opening.expiresOn,
    issuedVat: opening && opening.vat,
  });
}

/** The fields of an entry that its hash covers. Amounts are in minor units. Integers above 2^53 are bigints. */
export type EntryFields = {
  readonly storeId: number | bigint;
  readonly cardId: number | bigint;
  readonly sequence: number | bigint;
  readonly id: number | bigint;
  readonly kind: string;
  readonly amount: number | bigint;
  readonly currency: Currency;
  readonly debit: string;
  readonly credit: string;
  readonly balanceAfter: number | bigint;
  readonly actor: string;
  readonly textDigest: Uint8Array | null;
  readonly orderId: number | bigint | null;
  readonly holdId: number | bigint | null;
  readonly reverses: number | bigint | null;
  readonly createdAt: number | bigint;
  readonly locationId: number | bigint | null;
  /** Null in all entries but the first. */
  readonly salt: Uint8Array | null;
  readonly issuedExpiresOn: string | null;
  /** The VAT of the card, as text; null in all entries but the first. */
  readonly issuedVat: string | null;
};

/**
 * The content of an entry: a JSON array in a fixed order without spaces, different for any two transfers. It equals
 * `JSON.stringify` of the array, and takes half the time. An entry with a location is a `transfer/3`, which ends with
 * it. A change of a format needs another name, and breaks every existing chain.
 */
export function entryText(entry: EntryFields): string {
  const { decimals, code } = entry.currency;
  const amount = formatMinor(entry.amount, decimals);
  const balanceAfter = formatMinor(entry.balanceAfter, decimals);
  const terms = entry.salt && `[${quotedOrNull(entry.issuedExpiresOn)},${quotedOrNull(entry.issuedVat)}]`;
  const [format, location] =
    entry.locationId === null ? ['transfer/2', ''] : ['transfer/3', `,${entry.locationId}`];
  return `["${format}",${entry.storeId},${entry.cardId},${entry.sequence},${entry.id},${quoted(entry.kind)},"${amount}",${quoted(code)},${quoted(entry.debit)},${quoted(entry.credit)},"${balanceAfter}",${quoted(entry.actor)},${base64OrNull(entry.textDigest)},${entry.orderId},${entry.holdId},${entry.reverses},${entry.createdAt},${base64OrNull(entry.salt)},${terms}${location}]`;
}

/** Characters that JSON escapes, and those outside of ASCII. */
const notPlain = /[^ !#-[\]-~]/;

/** A text as `JSON.stringify` writes it. */
function quoted(text: string): string {
  return notPlain.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function quotedOrNull(text: string | null): string {
  return text === null ? 'null' : quoted(text);
}

function base64OrNull(bytes: Uint8Array | null): string {
  return bytes === null ? 'null' : `"${bytes.toBase64()}"`;
}
