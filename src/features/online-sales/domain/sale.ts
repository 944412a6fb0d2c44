/**
 * Online sales: forms of the buy page that were submitted, each with one payment and at most one card.
 *
 * A sale is `new` until its session at the provider is recorded, then `open`, and `waiting` while a delayed method pays.
 * A paid sale is in `review` (its card is not made yet), `issued` (its card was made) or `returned` (no card is made, and
 * the money goes back). Refunds and disputes are facts of a sale, not states.
 */

import type { CardDesign } from '../../../core/cards/domain/design.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { DisputeState, ProviderKind } from './payment.ts';

export const saleStates = [
  'new',
  'open',
  'waiting',
  'review',
  'issued',
  'returned',
  'expired',
  'failed',
] as const;

export type SaleState = (typeof saleStates)[number];

/** Whether the buyer has paid. The money may have gone back since. */
export function isPaid(state: SaleState): state is 'review' | 'issued' | 'returned' {
  return state === 'review' || state === 'issued' || state === 'returned';
}

/** Whether a payment is still expected. */
export function isAwaitingPayment(state: SaleState): state is 'new' | 'open' | 'waiting' {
  return state === 'new' || state === 'open' || state === 'waiting';
}

/** `email`: to the recipient, whose code the buyer never sees. `self`: the card is shown to the buyer. */
const deliveries = ['email', 'self'] as const;

export type SaleDelivery = (typeof deliveries)[number];

/** Whether the buyer keeps the card, and does not hand it over. */
export function isForBuyer({
  delivery,
  recipientName,
}: Pick<OnlineSale, 'delivery' | 'recipientName'>): boolean {
  return delivery === 'self' && recipientName === null;
}

/** The longest texts of the form, in code points. Messages are sent to people who did not ask for them, so they are short. */
export const formLengths = { name: 60, message: 500 } as const;

/** The key of a rendered form: 16 random bytes. */
const keyForm = /^[A-Za-z0-9_-]{22}$/;

export function isSaleKey(text: string): boolean {
  return keyForm.test(text);
}

/** A submitted form. */
export type SaleForm = {
  readonly amount: Money;
  readonly design: CardDesign;
  readonly buyerName: string | null;
  readonly buyer: EmailAddress;
  readonly delivery: SaleDelivery;
  readonly recipientName: string | null;
  /** Null exactly for the delivery `self`. */
  readonly recipient: EmailAddress | null;
  readonly senderName: string | null;
  readonly message: string | null;
  /** The day on which the card is sent, `YYYY-MM-DD` in the store's time zone; null: at once. */
  readonly sendOn: string | null;
};

const reviewReasons = [
  'amount',
  'first',
  'foreign',
  'risky',
  'address_limit',
  'card_limit',
  'network_limit',
  'store_limit',
] as const;

/**
 * A reason for which staff release the card: the amount, the first sale of the buyer's address, a payment card of another
 * country, the assessment of the provider, the sales of the address, payment card, network or store on this day.
 */
export type ReviewReason = (typeof reviewReasons)[number];

const returnReasons = ['mismatch', 'refunded', 'disputed', 'staff', 'deadline'] as const;

/**
 * The reason for which a paid sale has no card: the payment is not that of the sale, it was refunded or disputed before, or
 * staff decided it, or nothing by the deadline.
 */
export type ReturnReason = (typeof returnReasons)[number];

export type OnlineSale = {
  readonly storeId: number;
  readonly id: number;
  /** The key of the form. */
  readonly key: string;
  readonly provider: ProviderKind;
  /** Whether the provider takes no real money. */
  readonly isTest: boolean;
  readonly sessionId: string | null;
  readonly sessionUrl: string | null;
  readonly sessionExpiresAt: number | null;
  readonly paymentId: string | null;
  readonly state: SaleState;
  readonly amount: Money;
  readonly design: CardDesign;
  /** Texts and addresses are null after they were erased. */
  readonly buyerName: string | null;
  readonly buyerAddress: string | null;
  readonly delivery: SaleDelivery;
  readonly recipientName: string | null;
  readonly recipientAddress: string | null;
  readonly senderName: string | null;
  readonly message: string | null;
  readonly sendOn: string | null;
  /** The language of the buyer. */
  readonly language: string;
  readonly method: string | null;
  readonly cardCountry: string | null;
  readonly isBankChecked: boolean | null;
  readonly isRisky: boolean;
  readonly reviewReasons: readonly ReviewReason[];
  readonly returnReason: ReturnReason | null;
  /** Null: no card was made. */
  readonly cardId: number | null;
  readonly dispute: DisputeState | null;
  readonly disputedAt: number | null;
  /** A payment in another currency than that of the sale goes back as a whole. The amounts below have its currency. */
  readonly paid: Money;
  /** The amount that the dispute has taken from the store; 0 for a warning and after one that was won. */
  readonly disputed: Money;
  /** The refunds that were requested and have not failed. */
  readonly refunded: Money;
  /** The part of refunds and lost disputes that the card no longer had: a loss of the store. */
  readonly loss: Money;
  /** The part that is to go back to the buyer and that no refund is requested for, because one has failed. */
  readonly owed: Money;
  readonly createdAt: number;
  readonly paidAt: number | null;
  /** When the sale was issued, returned, or ended without a payment. */
  readonly decidedAt: number | null;
  /** Without a decision of staff, the money goes back at this time. */
  readonly reviewUntil: number | null;
  /** When the texts and addresses were erased; null: they were not. */
  readonly erasedAt: number | null;
};

/** `requested`: the provider has not confirmed it. `failed`: it was rejected, and can be requested again. */
const refundStates = ['requested', 'pending', 'paid', 'failed'] as const;

export type RefundState = (typeof refundStates)[number];

/** `provider`: it was made at the provider. `system`: the sale could not be issued. */
const refundRequesters = ['buyer', 'staff', 'review', 'system', 'provider'] as const;

export type RefundRequester = (typeof refundRequesters)[number];

export type OnlineRefund = {
  readonly storeId: number;
  readonly id: number;
  readonly saleId: number;
  /** Random; the provider makes one refund of it. */
  readonly key: string;
  readonly by: RefundRequester;
  readonly actor: string;
  readonly reason: string | null;
  readonly amount: Money;
  readonly state: RefundState;
  /** The provider's id; null: it has not confirmed it. */
  readonly providerId: string | null;
  /** The reason of the provider for a failed refund. */
  readonly detail: string | null;
  readonly createdAt: number;
  readonly settledAt: number | null;
};

/** The ids of a sale. */
export type SaleKey = { readonly storeId: number; readonly saleId: number };

export function keyOfSale({ storeId, id }: Pick<OnlineSale, 'storeId' | 'id'>): SaleKey {
  return { storeId, saleId: id };
}

/** The days for which a code is shown to its buyer, and for which an unpaid sale is kept. */
export const codeShownDays = 30;
export const unpaidKeptDays = 30;
