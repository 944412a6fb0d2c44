/**
 * The ledger: every change of a card's balance is one transfer between two accounts.
 *
 * Terms: the *card* account is what the store owes the card's holder, a liability: crediting it
 * raises the balance, debiting it lowers it. The other side is one of the store's *system
 * accounts*, one of each per store and currency. Because each row names both accounts and one
 * positive amount, unbalanced books cannot be written. A transfer's *sequence* counts the
 * transfers of its card from 1; its *hash* covers its content and the hash of the one before it,
 * so that whoever edits history breaks the chain.
 */

import { formatMoney, subtract, type Money } from './money.ts';

/** The accounts of a store that a card's money comes from or goes to. */
export const systemAccounts = ['sales', 'promotions', 'redemptions', 'adjustments', 'breakage'] as const;

type SystemAccount = (typeof systemAccounts)[number];

/** `card` is the account of the card that the transfer belongs to. */
export type Account = 'card' | SystemAccount;

/** `capture` is a debit of what a hold reserved; a `reversal` gives back a debit or capture, or takes back a credit. */
export const transferKinds = ['issue', 'adjustment', 'debit', 'credit', 'capture', 'reversal'] as const;

export type TransferKind = (typeof transferKinds)[number];

export type Transfer = {
  readonly storeId: number;
  readonly cardId: number;
  readonly sequence: number;
  readonly id: number;
  readonly kind: TransferKind;
  /** Greater than 0. */
  readonly amount: Money;
  readonly debit: Account;
  readonly credit: Account;
  /** The card's balance once this transfer is made. */
  readonly balanceAfter: Money;
  /** Who did it: `api_client:7`, `development`, … */
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly orderId: number | null;
  /** The hold that a capture took its amount from. */
  readonly holdId: number | null;
  /** The id of the transfer that a reversal gives back, wholly or in part. */
  readonly reverses: number | null;
  /** Instant in ms. */
  readonly createdAt: number;
};

/** How money moves: which way, how much, and why. */
export type Movement = Pick<Transfer, 'kind' | 'amount' | 'debit' | 'credit'>;

/** The movement that sells a card of the given value. */
export function issueOf(value: Money): Movement {
  return { kind: 'issue', amount: value, debit: 'sales', credit: 'card' };
}

/**
 * The one movement that brings a balance to a target.
 * @throws RangeError if both are equal: then nothing moves, and nothing may be recorded.
 */
export function adjustmentOf(balance: Money, target: Money): Movement {
  const { minor, currency } = subtract(target, balance);
  if (minor === 0n) throw new RangeError('an adjustment by nothing');
  return minor > 0n
    ? { kind: 'adjustment', amount: { minor, currency }, debit: 'adjustments', credit: 'card' }
    : { kind: 'adjustment', amount: { minor: -minor, currency }, debit: 'card', credit: 'adjustments' };
}

/** The movement that spends an amount of a card. */
export function debitOf(amount: Money): Movement {
  return { kind: 'debit', amount, debit: 'card', credit: 'redemptions' };
}

/** The movement that spends what a hold reserved. */
export function captureOf(amount: Money): Movement {
  return { kind: 'capture', amount, debit: 'card', credit: 'redemptions' };
}

/** The movement that sells more value on a card. */
export function creditOf(amount: Money): Movement {
  return { kind: 'credit', amount, debit: 'sales', credit: 'card' };
}

/** Whether a transfer of this kind may be given back. */
export function isReversible(kind: TransferKind): boolean {
  return kind === 'debit' || kind === 'capture' || kind === 'credit';
}

/** The movement that gives back an amount of a transfer: its accounts the other way round. */
export function reversalOf({ debit, credit }: Pick<Movement, 'debit' | 'credit'>, amount: Money): Movement {
  return { kind: 'reversal', amount, debit: credit, credit: debit };
}

/** What a movement does to the card's balance, in minor units: positive raises it. */
export function effectOf({ amount, credit }: Pick<Movement, 'amount' | 'credit'>): bigint {
  return credit === 'card' ? amount.minor : -amount.minor;
}

/** The hash before a card's first transfer: 32 zero bytes. */
export const chainStart: Uint8Array = new Uint8Array(32);

/**
 * The content of a transfer as its hash covers it: a JSON array in this fixed order, in which no
 * two different transfers read alike. Changing it would break every chain there is.
 */
export function canonicalContent(transfer: Transfer): string {
  return JSON.stringify([
    transfer.storeId,
    transfer.cardId,
    transfer.sequence,
    transfer.id,
    transfer.kind,
    formatMoney(transfer.amount),
    transfer.amount.currency.code,
    transfer.debit,
    transfer.credit,
    formatMoney(transfer.balanceAfter),
    transfer.actor,
    transfer.reference,
    transfer.note,
    transfer.orderId,
    transfer.holdId,
    transfer.reverses,
    transfer.createdAt,
  ]);
}
