/** The objects of Stripe that are read, and what they say about a payment (https://docs.stripe.com/api). */

import Type, { type Static } from 'typebox';
import type { Payment, ProviderDispute, ProviderMovement, ProviderRefund } from '../domain/payment.ts';
import { mostSerious, numbered } from './payment-texts.ts';
import { fromStripeAmount } from './stripe-amounts.ts';

const id = Type.String({ minLength: 1, maxLength: 255 });
const idOrNull = Type.Union([id, Type.Null()]);
const currency = Type.String({ minLength: 3, maxLength: 3 });
const words = Type.String({ maxLength: 500 });
const wordsOrNull = Type.Optional(Type.Union([words, Type.Null()]));
const metadata = Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]);

function listOf<Item extends Type.TSchema>(item: Item) {
  return Type.Object({ data: Type.Array(item, { maxItems: 100 }), has_more: Type.Boolean() });
}

export const createdSession = Type.Object({
  id,
  url: Type.String({ pattern: '^https://', maxLength: 2_048 }),
  expires_at: Type.Integer(),
});

/** A charge, a refund, a dispute or an early fraud warning. */
export const relatedObject = Type.Object({ payment_intent: Type.Optional(idOrNull) });

const paymentCard = Type.Object({
  brand: wordsOrNull,
  last4: wordsOrNull,
  country: wordsOrNull,
  fingerprint: wordsOrNull,
  three_d_secure: Type.Optional(Type.Union([Type.Object({ result: wordsOrNull }), Type.Null()])),
});

const charge = Type.Object({
  id,
  created: Type.Integer(),
  outcome: Type.Optional(Type.Union([Type.Object({ risk_level: wordsOrNull }), Type.Null()])),
  payment_method_details: Type.Union([
    Type.Object({
      type: words,
      card: Type.Optional(paymentCard),
      sepa_debit: Type.Optional(Type.Object({ last4: wordsOrNull, fingerprint: wordsOrNull })),
    }),
    Type.Null(),
  ]),
});

const intent = Type.Object({ id, status: words, latest_charge: Type.Union([charge, Type.Null()]) });

export const readSession = Type.Object({
  id,
  status: Type.Union([Type.Literal('open'), Type.Literal('complete'), Type.Literal('expired')]),
  payment_status: words,
  amount_total: Type.Integer(),
  currency,
  metadata,
  payment_intent: Type.Union([intent, Type.Null()]),
});

export const stripeRefund = Type.Object({
  id,
  amount: Type.Integer(),
  currency,
  created: Type.Integer(),
  metadata,
  status: Type.Union([words, Type.Null()]),
});

const dispute = Type.Object({
  id,
  amount: Type.Integer(),
  currency,
  created: Type.Integer(),
  status: words,
});

const warning = Type.Object({ id, created: Type.Integer() });

export const refundList = listOf(stripeRefund);
export const disputeList = listOf(dispute);
export const warningList = listOf(warning);

export const balancePage = listOf(
  Type.Object({
    id,
    amount: Type.Integer(),
    fee: Type.Integer(),
    currency,
    created: Type.Integer(),
    reporting_category: words,
    source: Type.Union([
      Type.Object({
        id,
        payment_intent: Type.Optional(idOrNull),
        metadata: Type.Optional(metadata),
      }),
      Type.Null(),
    ]),
  }),
);

export const stripeAccount = Type.Object({
  id,
  charges_enabled: Type.Optional(Type.Boolean()),
  settings: Type.Optional(
    Type.Union([
      Type.Object({ dashboard: Type.Optional(Type.Object({ display_name: wordsOrNull })) }),
      Type.Null(),
    ]),
  ),
});

type ReadSession = Static<typeof readSession>;
type Charge = Static<typeof charge>;

const secondMs = 1_000;

/**
 * A session stays complete and unpaid while a delayed method waits, and after it has failed. Only the payment intent
 * differs: it needs another method then.
 */
function stateOf({ status, payment_status: paid, payment_intent: found }: ReadSession): Payment['state'] {
  if (status !== 'complete') return status;
  if (paid === 'paid') return 'paid';
  const hasFailed = paid !== 'unpaid' || /^(?:requires_payment_method|canceled)$/.test(found?.status ?? '');
  return hasFailed ? 'failed' : 'waiting';
}

/** The names of brands and methods that differ from Stripe's. Others are shown with a capital. */
const names: Readonly<Record<string, string>> = {
  amex: 'American Express',
  bancontact: 'Bancontact',
  blik: 'BLIK',
  diners: 'Diners Club',
  eps: 'EPS',
  ideal: 'iDEAL',
  jcb: 'JCB',
  p24: 'Przelewy24',
  paypal: 'PayPal',
  sepa_debit: 'SEPA',
  unionpay: 'UnionPay',
};

function nameOf(text: string): string {
  const [first = '', ...rest] = text.replaceAll('_', ' ').slice(0, 40);
  return names[text] ?? first.toUpperCase() + rest.join('');
}

/** The bank has confirmed the person, or has accepted the liability without a check. */
const checked = new Set(['authenticated', 'attempt_acknowledged']);

function methodOf({
  payment_method_details: details,
  outcome,
}: Charge): Pick<Payment, 'method' | 'fingerprint' | 'cardCountry' | 'isBankChecked' | 'isRisky'> {
  const isRisky = ['elevated', 'highest'].includes(outcome?.risk_level ?? '');
  const card = details?.card;
  if (card)
    return {
      method: numbered(nameOf(card.brand ?? 'card'), card.last4),
      fingerprint: card.fingerprint ?? null,
      cardCountry: /^[A-Z]{2}$/.test(card.country ?? '') ? (card.country ?? null) : null,
      isBankChecked: checked.has(card.three_d_secure?.result ?? ''),
      isRisky,
    };
  const account = details?.sepa_debit;
  const name = details ? nameOf(details.type) : null;
  return {
    method: name === null ? null : numbered(name, account?.last4),
    fingerprint: account?.fingerprint ?? null,
    cardCountry: null,
    isBankChecked: null,
    isRisky,
  };
}

const noMethod = {
  method: null,
  fingerprint: null,
  cardCountry: null,
  isBankChecked: null,
  isRisky: false,
} as const;

/** The payment of a session, without refunds and disputes; undefined: the content makes no sense. */
export function stripePaymentOf(session: ReadSession): Payment | undefined {
  const amount = fromStripeAmount(session.amount_total, session.currency);
  const state = stateOf(session);
  const found = session.payment_intent?.latest_charge ?? null;
  if (!amount || (state === 'paid' && !found)) return undefined;
  return {
    sessionId: session.id,
    saleKey: session.metadata?.['sale'] ?? null,
    state,
    paymentId: session.payment_intent?.id ?? null,
    amount,
    paidAt: state === 'paid' && found ? found.created * secondMs : null,
    ...(found ? methodOf(found) : noMethod),
    refunds: [],
    dispute: null,
  };
}

const refundStates: Readonly<Record<string, ProviderRefund['state']>> = {
  succeeded: 'paid',
  failed: 'failed',
  canceled: 'failed',
};

/** A refund that needs an action of the buyer is still pending. */
export function stripeRefundOf(refund: Static<typeof stripeRefund>): ProviderRefund | undefined {
  const { id: refundId, amount, currency: code, metadata: data, status, created } = refund;
  const money = fromStripeAmount(amount, code);
  const state = refundStates[status ?? ''] ?? 'pending';
  return (
    money && {
      id: refundId,
      refundKey: data?.['refund'] ?? null,
      amount: money,
      state,
      at: created * secondMs,
    }
  );
}

/**
 * The state of a dispute; null: it was prevented, which a refund says as well. A state that a later version adds
 * suspends the card. An inquiry is a warning: no money has moved yet. An appeal follows a lost dispute.
 */
function disputeState(status: string): ProviderDispute['state'] | null {
  switch (status) {
    case 'won':
    case 'warning_closed':
      return 'won';
    case 'lost':
    case 'appeal_needs_response':
    case 'appeal_under_review':
      return 'lost';
    case 'warning_needs_response':
    case 'warning_under_review':
      return 'warning';
    case 'prevented':
      return null;
    default:
      return 'open';
  }
}

type MoneyBack = {
  readonly refunds: Static<typeof refundList>;
  readonly disputes: Static<typeof disputeList>;
  readonly warnings: Static<typeof warningList>;
};

/** A payment with what has happened to it since; undefined: the lists make no sense. */
export function withMoneyBack(
  payment: Payment,
  { refunds, disputes, warnings }: MoneyBack,
): Payment | undefined {
  const read = refunds.data.flatMap((refund) => stripeRefundOf(refund) ?? []);
  if (read.length < refunds.data.length || refunds.has_more) return undefined;
  const found = disputes.data.flatMap((each): readonly ProviderDispute[] => {
    const [state, amount] = [disputeState(each.status), fromStripeAmount(each.amount, each.currency)];
    // The amount of a dispute can be in another currency, that of the account.
    return state
      ? [{ id: each.id, state, amount: amount ?? payment.amount, at: each.created * secondMs }]
      : [];
  });
  const warned = warnings.data.map((each): ProviderDispute => ({
    id: each.id,
    state: 'warning',
    amount: payment.amount,
    at: each.created * secondMs,
  }));
  // A dispute replaces the warnings before it.
  const all = found.length > 0 ? found : warned;
  return { ...payment, refunds: read, dispute: mostSerious(all) };
}

const kinds: Readonly<Record<string, ProviderMovement['kind']>> = {
  charge: 'payment',
  charge_failure: 'refund',
  refund: 'refund',
  refund_failure: 'refund',
  partial_capture_reversal: 'refund',
  dispute: 'dispute',
  dispute_reversal: 'dispute',
  fee: 'fee',
  network_cost: 'fee',
  tax: 'fee',
  payout: 'payout',
  payout_reversal: 'payout',
};

/**
 * A balance transaction; none: its currency is not known. A negative fee, which Stripe gives back, adds to the amount.
 * @param payout the payout that has it; null: unknown.
 */
export function movementsOf(
  transaction: Static<typeof balancePage>['data'][number],
  payout: string | null,
): readonly ProviderMovement[] {
  const { source, fee, currency: code } = transaction;
  const amount = fromStripeAmount(transaction.amount - Math.min(fee, 0), code);
  const charged = fromStripeAmount(Math.max(fee, 0), code);
  if (!amount || !charged) return [];
  const kind = kinds[transaction.reporting_category] ?? 'other';
  return [
    {
      id: transaction.id,
      kind,
      amount,
      fee: charged,
      at: transaction.created * secondMs,
      paymentId: source?.payment_intent ?? null,
      saleKey: source?.metadata?.['sale'] ?? null,
      payoutId: kind === 'payout' ? (source?.id ?? null) : payout,
    },
  ];
}
