/** The objects of Mollie that are read, and what they say about a payment. */

import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import type { Payment, ProviderDispute, ProviderRefund } from '../domain/payment.ts';
import { findCurrency } from '../../../core/money/domain/currency.ts';
import { parseAmount, type Money } from '../../../core/money/domain/money.ts';
import { mostSerious, numbered } from './payment-texts.ts';

const id = Type.String({ minLength: 1, maxLength: 100 });
const words = Type.String({ maxLength: 500 });
const wordsOrNull = Type.Optional(Type.Union([words, Type.Null()]));
const amount = Type.Object({ currency: words, value: words });
const link = Type.Object({ href: Type.String({ maxLength: 2_048 }) });

export const createdPayment = Type.Object({
  id,
  expiresAt: wordsOrNull,
  _links: Type.Object({
    checkout: Type.Object({ href: Type.String({ pattern: '^https://', maxLength: 2_048 }) }),
  }),
});

export const mollieRefund = Type.Object({
  id,
  amount,
  status: words,
  metadata: Type.Optional(Type.Unknown()),
  createdAt: words,
  paymentId: id,
  settlementId: wordsOrNull,
});

export const mollieChargeback = Type.Object({
  id,
  amount,
  createdAt: words,
  paymentId: id,
  reversedAt: wordsOrNull,
  settlementId: wordsOrNull,
});

const details = Type.Object({
  cardNumber: wordsOrNull,
  cardLabel: wordsOrNull,
  cardFingerprint: wordsOrNull,
  cardCountryCode: wordsOrNull,
  cardSecurity: wordsOrNull,
});

export const molliePayment = Type.Object({
  id,
  status: words,
  amount,
  metadata: Type.Optional(Type.Unknown()),
  method: wordsOrNull,
  details: Type.Optional(Type.Union([details, Type.Null()])),
  createdAt: words,
  paidAt: wordsOrNull,
  settlementId: wordsOrNull,
  _embedded: Type.Optional(
    Type.Object({
      refunds: Type.Optional(Type.Array(mollieRefund, { maxItems: 1_000 })),
      chargebacks: Type.Optional(Type.Array(mollieChargeback, { maxItems: 1_000 })),
    }),
  ),
});

const pageLinks = Type.Object({ next: Type.Optional(Type.Union([link, Type.Null()])) });

export const mollieRefunds = Type.Object({
  _embedded: Type.Object({ refunds: Type.Array(mollieRefund, { maxItems: 250 }) }),
  _links: pageLinks,
});

export const mollieChargebacks = Type.Object({
  _embedded: Type.Object({ chargebacks: Type.Array(mollieChargeback, { maxItems: 250 }) }),
  _links: pageLinks,
});

export const molliePayments = Type.Object({
  _embedded: Type.Object({ payments: Type.Array(molliePayment, { maxItems: 250 }) }),
  _links: pageLinks,
});

export const mollieProfile = Type.Object({ id, name: words, status: words });

export const mollieMethods = Type.Object({ count: Type.Integer() });

const mollieError = Type.Object({ detail: Type.String(), title: Type.Optional(Type.String()) });

export function mollieWordsOf(content: unknown): string {
  return Check(mollieError, content) ? content.detail : '';
}

/** @returns ms since 1970 UTC; undefined: the text is not an instant. */
export function instantIn(text: string | null | undefined): number | undefined {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? undefined : at;
}

export function moneyIn({ currency: code, value }: Static<typeof amount>): Money | undefined {
  const currency = findCurrency(code);
  const parsed = currency && parseAmount(value, { currency, zeroAllowed: true });
  return parsed?.ok === true ? parsed.value : undefined;
}

/** A text of the metadata, which can be any JSON. */
export function metadataText(metadata: unknown, name: 'sale' | 'refund'): string | null {
  if (typeof metadata !== 'object' || metadata === null) return null;
  const text = (metadata as Readonly<Record<string, unknown>>)[name];
  return typeof text === 'string' ? text : null;
}

/** The methods whose name is not their id with a capital. */
const names: Readonly<Record<string, string>> = {
  applepay: 'Apple Pay',
  banktransfer: 'SEPA',
  blik: 'BLIK',
  directdebit: 'SEPA',
  eps: 'EPS',
  googlepay: 'Google Pay',
  ideal: 'iDEAL',
  paypal: 'PayPal',
  przelewy24: 'Przelewy24',
};

function methodOf({ method, details: found }: Static<typeof molliePayment>): string | null {
  if (!method) return null;
  const [first = '', ...rest] = method.slice(0, 40);
  const name = found?.cardLabel ?? names[method] ?? first.toUpperCase() + rest.join('');
  return numbered(method === 'creditcard' ? (found?.cardLabel ?? 'Card') : name, found?.cardNumber);
}

function stateOf(status: string): Payment['state'] | undefined {
  switch (status) {
    case 'open':
    case 'paid':
    case 'expired':
    case 'failed':
      return status;
    case 'pending':
    case 'authorized':
      return 'waiting';
    // The buyer has left, as with an expired one.
    case 'canceled':
      return 'expired';
    default:
      return undefined;
  }
}

const refundStates: Readonly<Record<string, ProviderRefund['state']>> = {
  refunded: 'paid',
  failed: 'failed',
  canceled: 'failed',
};

/** Undefined: the content makes no sense. */
export function mollieRefundOf(refund: Static<typeof mollieRefund>): ProviderRefund | undefined {
  const [money, at] = [moneyIn(refund.amount), instantIn(refund.createdAt)];
  if (!money || at === undefined) return undefined;
  const { status } = refund;
  const state = refundStates[status] ?? 'pending';
  return { id: refund.id, refundKey: metadataText(refund.metadata, 'refund'), amount: money, state, at };
}

/** Mollie never says that a chargeback is final. The schemes decide within about 120 days whether it is reversed. */
const finalAfterMs = 120 * 86_400_000;

function disputeOf(chargeback: Static<typeof mollieChargeback>, now: number): ProviderDispute | undefined {
  const [money, at] = [moneyIn(chargeback.amount), instantIn(chargeback.createdAt)];
  if (!money || at === undefined) return undefined;
  const isReversed = instantIn(chargeback.reversedAt) !== undefined;
  const unreversed = now - at > finalAfterMs ? 'lost' : 'open';
  const state = isReversed ? 'won' : unreversed;
  return { id: chargeback.id, state, amount: money, at };
}

/** @returns undefined: the content makes no sense. */
export function molliePaymentOf(payment: Static<typeof molliePayment>, now: number): Payment | undefined {
  const { refunds = [], chargebacks = [] } = payment._embedded ?? {};
  const [money, state] = [moneyIn(payment.amount), stateOf(payment.status)];
  const read = refunds.map(mollieRefundOf);
  const disputes = chargebacks.map((each) => disputeOf(each, now));
  if (!money || !state || read.includes(undefined) || disputes.includes(undefined)) return undefined;
  const { details: found } = payment;
  const country = found?.cardCountryCode ?? '';
  const security = found?.cardSecurity ?? null;
  return {
    sessionId: payment.id,
    saleKey: metadataText(payment.metadata, 'sale'),
    state,
    paymentId: payment.id,
    amount: money,
    paidAt: state === 'paid' ? (instantIn(payment.paidAt) ?? instantIn(payment.createdAt) ?? now) : null,
    method: methodOf(payment),
    fingerprint: found?.cardFingerprint ?? null,
    cardCountry: /^[A-Z]{2}$/.test(country) ? country : null,
    isBankChecked: security === null ? null : security === '3dsecure',
    // Mollie rejects payments that it considers risky, and does not mark others.
    isRisky: false,
    refunds: read.flatMap((each) => each ?? []),
    dispute: mostSerious(disputes.flatMap((each) => each ?? [])),
  };
}
