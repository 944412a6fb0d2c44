/** A payment provider in this process. It keeps its payments, and loses requests and responses. */

import type {
  Payment,
  PaymentProvider,
  PaymentState,
  ProviderDispute,
  ProviderMovement,
  ProviderOutcome,
  ProviderRefund,
  SessionRequest,
} from '../../src/features/online-sales/domain/payment.ts';
import type { Money } from '../../src/core/money/domain/money.ts';

/** `before`: the request does not arrive. `after`: it was carried out, and the response is lost. */
type Loss = 'none' | 'before' | 'after';

/** A payment as the provider has it. */
export type HeldPayment = {
  readonly id: string;
  readonly saleKey: string;
  readonly request: SessionRequest;
  /** Another amount than that of the sale: the session was changed. */
  amount: Money;
  state: PaymentState;
  readonly refunds: (ProviderRefund & { readonly idempotencyKey: string | null })[];
  dispute: ProviderDispute | null;
  fingerprint: string | null;
  isRisky: boolean;
};

export type LossyProvider = PaymentProvider & {
  readonly payments: ReadonlyMap<string, HeldPayment>;
  /** Requests by whether they were carried out and responded to. */
  readonly counts: Record<Loss | 'rejected', number>;
  /** Decides whether the next request or its response is lost. */
  lose: (method: string) => Loss;
  /** Whether the next refund is rejected, or fails after it was accepted. */
  failRefund: () => 'no' | 'at once' | 'later';
  readonly expire: () => void;
  /** A refund on the page of the provider. */
  readonly refundAtProvider: (payment: HeldPayment, minor: bigint) => void;
};

const lost = { kind: 'unknown', detail: 'the response was lost', retryAfterMs: null } as const;

export function lossyProvider(now: () => number): LossyProvider {
  const payments = new Map<string, HeldPayment>();
  const byKey = new Map<string, HeldPayment>();
  const failing = new Set<string>();
  const counts = { none: 0, before: 0, after: 0, rejected: 0 };
  let serial = 0;

  const refundedOf = ({ refunds }: HeldPayment): bigint =>
    refunds.filter(({ state }) => state !== 'failed').reduce((sum, { amount }) => sum + amount.minor, 0n);

  /** Yields to other requests, loses some, and carries out the others. */
  const carryOut = async <T>(method: string, act: () => ProviderOutcome<T>): Promise<ProviderOutcome<T>> => {
    await Promise.resolve();
    const loss = provider.lose(method);
    counts[loss] += 1;
    if (loss === 'before') return lost;
    const outcome = act();
    await Promise.resolve();
    if (outcome.kind === 'rejected') counts.rejected += 1;
    return loss === 'after' ? lost : outcome;
  };

  const toPayment = (held: HeldPayment): Payment => ({
    sessionId: held.id,
    saleKey: held.saleKey,
    state: held.state,
    paymentId: held.state === 'paid' ? `pay_${held.id}` : null,
    amount: held.amount,
    paidAt: held.state === 'paid' ? now() : null,
    method: 'Visa •••• 4242',
    fingerprint: held.fingerprint,
    cardCountry: 'DE',
    isBankChecked: true,
    isRisky: held.isRisky,
    refunds: held.refunds.map(({ id, refundKey, amount, state, at }) => ({
      id,
      refundKey,
      amount,
      state,
      at,
    })),
    dispute: held.dispute,
  });

  const movementsOf = (held: HeldPayment): readonly ProviderMovement[] => {
    if (held.state !== 'paid') return [];
    const common = { at: now(), paymentId: `pay_${held.id}`, saleKey: held.saleKey, payoutId: null };
    const fee = { ...held.amount, minor: 30n };
    const none = { ...held.amount, minor: 0n };
    const negative = (amount: Money): Money => ({ ...amount, minor: -amount.minor });
    const taken = held.dispute?.state === 'open' || held.dispute?.state === 'lost' ? held.dispute : null;
    return [
      { ...common, id: `mov_${held.id}`, kind: 'payment', amount: held.amount, fee },
      ...held.refunds
        .filter(({ state }) => state === 'paid')
        .map(({ id, amount }) => ({
          ...common,
          id: `mov_${id}`,
          kind: 'refund' as const,
          amount: negative(amount),
          fee: none,
        })),
      ...(taken
        ? [
            {
              ...common,
              id: `mov_${taken.id}`,
              kind: 'dispute' as const,
              amount: negative(taken.amount),
              fee: none,
            },
          ]
        : []),
    ];
  };

  const provider: LossyProvider = {
    kind: 'stripe',
    payments,
    counts,
    lose: () => 'none',
    failRefund: () => 'no',
    createSession: (_, request) =>
      carryOut('createSession', () => {
        let held = byKey.get(request.saleKey);
        if (!held) {
          serial += 1;
          held = {
            id: `cs_${serial}`,
            saleKey: request.saleKey,
            request,
            amount: request.amount,
            state: 'open',
            refunds: [],
            dispute: null,
            fingerprint: null,
            isRisky: false,
          };
          byKey.set(request.saleKey, held);
          payments.set(held.id, held);
        }
        const url = `https://pay.example/${held.id}`;
        return { kind: 'done', value: { id: held.id, url, expiresAt: request.expiresAt } };
      }),
    readPayment: (_, sessionId) =>
      carryOut('readPayment', () => {
        const held = payments.get(sessionId);
        return held
          ? { kind: 'done', value: toPayment(held) }
          : { kind: 'rejected', detail: 'no such session' };
      }),
    refund: (_, { refundKey, paymentId, amount }) =>
      carryOut<ProviderRefund>('refund', () => {
        const held = payments.get(paymentId.replace('pay_', ''));
        const repeated = held?.refunds.find(({ idempotencyKey }) => idempotencyKey === refundKey);
        if (repeated) return { kind: 'done', value: repeated };
        if (!held || held.state !== 'paid') return { kind: 'rejected', detail: 'not paid' };
        if (held.dispute?.state === 'open' || held.dispute?.state === 'lost')
          return { kind: 'rejected', detail: 'the payment is disputed' };
        const failure = provider.failRefund();
        if (failure === 'at once') return { kind: 'rejected', detail: 'the balance is too low' };
        if (refundedOf(held) + amount.minor > held.amount.minor)
          return { kind: 'rejected', detail: 'more than the payment' };
        serial += 1;
        const id = `re_${serial}`;
        if (failure === 'later') failing.add(id);
        const refund = {
          id,
          refundKey,
          amount,
          state: 'pending',
          at: now(),
          idempotencyKey: refundKey,
        } as const;
        held.refunds.push(refund);
        return { kind: 'done', value: refund };
      }),
    listMovements: (_, { cursor }) =>
      carryOut('listMovements', () => {
        const pageSize = 50;
        const all = [...payments.values()].flatMap(movementsOf);
        const from = Number(cursor ?? '0');
        const next = from + pageSize < all.length ? String(from + pageSize) : null;
        return { kind: 'done', value: { movements: all.slice(from, from + pageSize), next } };
      }),
    examine: () =>
      carryOut('examine', () => ({
        kind: 'done',
        value: { account: 'acct_1', isTest: false, currencies: null },
      })),
    readHint: (_, { body }) => ({
      signature: 'none',
      ids: Buffer.from(body)
        .toString()
        .split(' ')
        .filter((id) => id !== ''),
      related: null,
    }),
    findPaymentOf: () => Promise.resolve({ kind: 'done', value: null }),
    expire() {
      for (const held of payments.values()) {
        if (held.state === 'open' && now() >= held.request.expiresAt) held.state = 'expired';
        for (const [place, refund] of held.refunds.entries())
          if (refund.state === 'pending')
            held.refunds[place] = { ...refund, state: failing.has(refund.id) ? 'failed' : 'paid' };
      }
    },
    refundAtProvider(held, minor) {
      const left = held.amount.minor - refundedOf(held);
      const amount = { ...held.amount, minor: minor < left ? minor : left };
      if (amount.minor <= 0n) return;
      serial += 1;
      held.refunds.push({
        id: `re_${serial}`,
        refundKey: null,
        amount,
        state: 'paid',
        at: now(),
        idempotencyKey: null,
      });
    },
  };
  return provider;
}
