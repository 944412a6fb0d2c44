/** The payments of a sandbox, in which the service itself plays the provider: what a tester does, and what follows. */

import { Secret } from '../../../platform/secret.ts';
import type { Currency } from '../../../core/money/domain/currency.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { DisputeState, Payment, ProviderMovement, ProviderRefund, SessionRequest } from './payment.ts';

/** The methods on the page of the sandbox, each of which leads to another decision of the rules. */
export const sandboxMethods = {
  card: {
    method: 'Visa •••• 4242',
    fingerprint: 'sandbox-4242',
    cardCountry: null,
    isBankChecked: true,
    isRisky: false,
  },
  foreign: {
    method: 'Mastercard •••• 4444',
    fingerprint: 'sandbox-4444',
    cardCountry: 'BR',
    isBankChecked: true,
    isRisky: false,
  },
  risky: {
    method: 'Visa •••• 0019',
    fingerprint: 'sandbox-0019',
    cardCountry: null,
    isBankChecked: false,
    isRisky: true,
  },
  transfer: {
    method: 'SEPA',
    fingerprint: null,
    cardCountry: null,
    isBankChecked: null,
    isRisky: false,
  },
} as const satisfies Readonly<Record<string, Partial<Payment>>>;

export type SandboxMethod = keyof typeof sandboxMethods;

/** A delayed method pays after this time, or when the tester says so. */
const transferMs = 24 * 60 * 60_000;

export type SandboxPayment = {
  readonly storeId: number;
  readonly id: string;
  readonly saleKey: string;
  readonly minor: bigint;
  readonly description: string;
  readonly returnUrl: string;
  readonly cancelUrl: string;
  readonly expiresAt: number;
  readonly state: Exclude<Payment['state'], 'waiting'>;
  /** When a delayed method pays; null: no such method was chosen. */
  readonly dueAt: number | null;
  readonly method: SandboxMethod | null;
  readonly paidAt: number | null;
  readonly dispute: {
    readonly state: DisputeState;
    readonly at: number;
    readonly endedAt: number | null;
  } | null;
  readonly refunds: readonly SandboxRefund[];
};

type SandboxRefund = {
  readonly refundKey: string | null;
  readonly minor: bigint;
  readonly state: ProviderRefund['state'];
  readonly at: number;
};

/** One payment has at most so many refunds. */
const refundsMax = 50;

/** The id of the session of a sale, which is the same for every attempt to create it. */
export function sandboxSessionId(storeId: number, saleKey: string): string {
  return `sb_${storeId}_${saleKey}`;
}

/** The path of the page on which a tester pays, below the URL of the pages. */
export function sandboxPagePath(sessionId: string): string {
  return `/sandbox/pay/${sessionId}`;
}

/** The key of the provider, which only names the store: no real money is there. */
export function sandboxKey(storeId: number): Secret {
  return new Secret(`sandbox_${storeId}`);
}

export function storeOfSandboxKey(key: Secret): number | undefined {
  const [, storeId] = /^sandbox_(\d{1,16})$/.exec(key.reveal()) ?? [];
  return storeId === undefined ? undefined : Number(storeId);
}

/** @returns undefined: the text is not the id of a session. */
export function storeOfSession(id: string): number | undefined {
  const [, storeId] = /^sb_(\d{1,16})_[\w-]{22}$/.exec(id) ?? [];
  return storeId === undefined ? undefined : Number(storeId);
}

export function newSandboxPayment(
  storeId: number,
  { saleKey, amount, description, returnUrl, cancelUrl, expiresAt }: SessionRequest,
): SandboxPayment {
  return {
    storeId,
    id: sandboxSessionId(storeId, saleKey),
    saleKey,
    minor: amount.minor,
    description,
    returnUrl,
    cancelUrl,
    expiresAt,
    state: 'open',
    dueAt: null,
    method: null,
    paidAt: null,
    dispute: null,
    refunds: [],
  };
}

/** The payment at an instant: sessions expire, and delayed methods pay. */
export function sandboxPaymentAt(payment: SandboxPayment, now: number): SandboxPayment {
  if (payment.state !== 'open') return payment;
  const { dueAt, expiresAt } = payment;
  if (dueAt !== null) return dueAt <= now ? { ...payment, state: 'paid', paidAt: dueAt } : payment;
  return expiresAt <= now ? { ...payment, state: 'expired' } : payment;
}

/** The actions of a tester. `refund`: as a shop does on the pages of a provider. */
export const sandboxActions = [
  'pay',
  'pay-later',
  'decline',
  'cancel',
  'arrive',
  'fail',
  'warn',
  'dispute',
  'win',
  'lose',
  'refund',
  'fail-refund',
] as const;

export type SandboxAction = (typeof sandboxActions)[number];

/** The actions that are possible now. */
export function sandboxActionsOf(payment: SandboxPayment): readonly SandboxAction[] {
  const { state, dueAt, dispute, refunds } = payment;
  if (state === 'open')
    return dueAt === null ? ['pay', 'pay-later', 'decline', 'cancel'] : ['arrive', 'fail'];
  if (state !== 'paid') return [];
  const hasRefund = refunds.some((each) => each.state !== 'failed');
  return [
    ...(dispute === null ? (['warn'] as const) : []),
    ...(dispute === null || dispute.state === 'warning' ? (['dispute'] as const) : []),
    // A warning moves no money, so it is neither won nor lost.
    ...(dispute?.state === 'open' ? (['win', 'lose'] as const) : []),
    ...(leftIn(payment) > 0n && refunds.length < refundsMax ? (['refund'] as const) : []),
    ...(hasRefund ? (['fail-refund'] as const) : []),
  ];
}

/** Minor units that were not refunded. */
function leftIn({ minor, refunds }: SandboxPayment): bigint {
  return refunds.reduce((left, each) => (each.state === 'failed' ? left : left - each.minor), minor);
}

/** The payment after an action at an instant (ms). An action that is not possible changes nothing. */
export function actedInSandbox(
  payment: SandboxPayment,
  {
    action,
    method,
    now,
  }: { readonly action: SandboxAction; readonly method: SandboxMethod; readonly now: number },
): SandboxPayment {
  const { dispute } = payment;
  if (!sandboxActionsOf(payment).includes(action)) return payment;
  switch (action) {
    case 'pay':
      return { ...payment, state: 'paid', method, paidAt: now };
    case 'pay-later':
      return { ...payment, method: 'transfer', dueAt: now + transferMs };
    case 'decline':
    case 'fail':
      return { ...payment, state: 'failed' };
    case 'cancel':
      return { ...payment, state: 'expired' };
    case 'arrive':
      return { ...payment, state: 'paid', paidAt: now };
    case 'warn':
      return { ...payment, dispute: { state: 'warning', at: now, endedAt: null } };
    case 'dispute':
      return { ...payment, dispute: { state: 'open', at: now, endedAt: null } };
    case 'win':
      return { ...payment, dispute: { state: 'won', at: dispute?.at ?? now, endedAt: now } };
    case 'lose':
      return { ...payment, dispute: { state: 'lost', at: dispute?.at ?? now, endedAt: now } };
    case 'refund':
      return withRefund(payment, { refundKey: null, minor: leftIn(payment), state: 'paid', at: now });
    case 'fail-refund': {
      const last = payment.refunds.findLastIndex((each) => each.state !== 'failed');
      const failed = (each: SandboxRefund, at: number) =>
        at === last ? { ...each, state: 'failed' as const } : each;
      return { ...payment, refunds: payment.refunds.map(failed) };
    }
  }
}

function withRefund(payment: SandboxPayment, refund: SandboxRefund): SandboxPayment {
  return { ...payment, refunds: [...payment.refunds, refund] };
}

/** The payment with the refund of a request; undefined: it cannot be refunded. A known key changes nothing. */
export function refundedInSandbox(
  payment: SandboxPayment,
  { refundKey, minor, now }: { readonly refundKey: string; readonly minor: bigint; readonly now: number },
): SandboxPayment | undefined {
  if (payment.refunds.some((each) => each.refundKey === refundKey)) return payment;
  const canRefund = payment.state === 'paid' && minor > 0n && minor <= leftIn(payment);
  if (!canRefund || payment.refunds.length >= refundsMax) return undefined;
  return withRefund(payment, { refundKey, minor, state: 'paid', at: now });
}

/** Returns a session as a provider does. */
export function paymentOfSandbox(payment: SandboxPayment, currency: Currency): Payment {
  const { id, saleKey, minor, state, dueAt, method, paidAt, dispute } = payment;
  const amount: Money = { minor, currency };
  const shown = method === null ? { ...sandboxMethods.transfer, method: null } : sandboxMethods[method];
  return {
    sessionId: id,
    saleKey,
    state: state === 'open' && dueAt !== null ? 'waiting' : state,
    paymentId: paidAt === null ? null : id,
    amount,
    paidAt,
    ...shown,
    refunds: refundsOf(payment, currency),
    dispute: dispute && { id: `${id}-dispute`, state: dispute.state, amount, at: dispute.at },
  };
}

function refundsOf({ id, refunds }: SandboxPayment, currency: Currency): readonly ProviderRefund[] {
  return refunds.map(({ minor, ...refund }, place) => ({
    ...refund,
    id: `${id}-refund-${place + 1}`,
    amount: { minor, currency },
  }));
}

/** The provider of the sandbox keeps so much of each payment, in thousandths. */
const feePerMille = 15n;

/** The movements on the balance of the sandbox: the payment with a fee, refunds and disputes. It never pays out. */
export function movementsInSandbox(payment: SandboxPayment, currency: Currency): readonly ProviderMovement[] {
  const { id, saleKey, minor, paidAt, dispute } = payment;
  if (paidAt === null) return [];
  const movement = (
    part: string,
    kind: ProviderMovement['kind'],
    { signed, at, fee = 0n }: { readonly signed: bigint; readonly at: number; readonly fee?: bigint },
  ): ProviderMovement => ({
    id: `${id}${part}`,
    kind,
    amount: { minor: signed, currency },
    fee: { minor: fee, currency },
    at,
    paymentId: id,
    saleKey,
    payoutId: null,
  });
  const refunds = refundsOf(payment, currency).flatMap(({ id: refundId, amount, state, at }) =>
    state === 'failed' ? [] : [movement(refundId.slice(id.length), 'refund', { signed: -amount.minor, at })],
  );
  const taken =
    dispute && dispute.state !== 'warning'
      ? [movement('-dispute', 'dispute', { signed: -minor, at: dispute.at })]
      : [];
  const returned =
    dispute?.state === 'won'
      ? [movement('-won', 'dispute', { signed: minor, at: dispute.endedAt ?? dispute.at })]
      : [];
  const fee = (minor * feePerMille) / 1_000n;
  return [movement('', 'payment', { signed: minor, at: paidAt, fee }), ...refunds, ...taken, ...returned];
}
