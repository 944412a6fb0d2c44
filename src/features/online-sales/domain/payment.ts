/** The requests to payment providers, and their responses. Each provider is one `PaymentProvider` in `features/online-sales/delivery`. */

import type { Secret } from '../../../platform/secret.ts';
import type { Money } from '../../../core/money/domain/money.ts';

/** `sandbox` is the provider of the service itself, with which sandboxes and tests take no real money. */
const providerKinds = ['stripe', 'mollie', 'sandbox'] as const;

export type ProviderKind = (typeof providerKinds)[number];

export function isProviderKind(text: string): text is ProviderKind {
  return (providerKinds as readonly string[]).includes(text);
}

/** Whether a request was carried out. `unknown`: a lost response, a timeout, a 5xx or 429; the same request is sent again. */
export type ProviderOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** `status` is that of the response, if there was one. 401 and 403 are about the key, not about the request. */
  | { readonly kind: 'rejected'; readonly detail: string; readonly status?: number }
  | { readonly kind: 'unknown'; readonly detail: string; readonly retryAfterMs: number | null };

export type ProviderCredential = {
  readonly key: Secret;
  /** Verifies the signature of hints; null: the provider signs none. */
  readonly hintSecret: Secret | null;
};

/** A request for a page on which one sale is paid. */
export type SessionRequest = {
  /** The random key of the sale, equal on every attempt, so one sale has one session. */
  readonly saleKey: string;
  readonly amount: Money;
  readonly description: string;
  /** The page of the order. */
  readonly returnUrl: string;
  /** The form, filled in. */
  readonly cancelUrl: string;
  /** Null: the service has no public URL. */
  readonly hintUrl: string | null;
  readonly locale: string;
  readonly buyerAddress: string;
  /** Instant in ms. */
  readonly expiresAt: number;
};

export type PaymentSession = {
  readonly id: string;
  /** The page on which the buyer pays. */
  readonly url: string;
  readonly expiresAt: number;
};

/** `waiting`: the buyer has done everything, and a delayed method has not paid yet. */
export type PaymentState = 'open' | 'waiting' | 'paid' | 'expired' | 'failed';

/** A session as its provider returns it. */
export type Payment = {
  readonly sessionId: string;
  /** From the metadata of the session; null: it has none. */
  readonly saleKey: string | null;
  readonly state: PaymentState;
  /** Refunds and disputes name it. */
  readonly paymentId: string | null;
  /** The amount that the session asks for. */
  readonly amount: Money;
  readonly paidAt: number | null;
  /** Shown to people: "Visa •••• 4242", "iDEAL". */
  readonly method: string | null;
  /** Equal for all payments with one payment card. Only a keyed digest is stored. */
  readonly fingerprint: string | null;
  /** ISO 3166-1 alpha-2. */
  readonly cardCountry: string | null;
  /** Whether the bank has identified the buyer (3-D Secure); null: unknown, or the method has nothing like it. */
  readonly isBankChecked: boolean | null;
  /** Whether the provider itself assesses an elevated risk. */
  readonly isRisky: boolean;
  readonly refunds: readonly ProviderRefund[];
  readonly dispute: ProviderDispute | null;
};

export type ProviderRefund = {
  readonly id: string;
  /** The key of the request that made it; null: it was made at the provider. */
  readonly refundKey: string | null;
  readonly amount: Money;
  readonly state: 'pending' | 'paid' | 'failed';
  readonly at: number;
};

/** `warning`: an early fraud warning, which moves no money. */
const disputeStates = ['warning', 'open', 'won', 'lost'] as const;

export type DisputeState = (typeof disputeStates)[number];

export type ProviderDispute = {
  readonly id: string;
  readonly state: DisputeState;
  readonly amount: Money;
  readonly at: number;
};

export type MovementKind = 'payment' | 'refund' | 'dispute' | 'fee' | 'payout' | 'other';

/** A movement on the balance that the store has at the provider. */
export type ProviderMovement = {
  readonly id: string;
  readonly kind: MovementKind;
  /** The change of the balance before the fee; negative: it falls. */
  readonly amount: Money;
  /** At least 0. */
  readonly fee: Money;
  readonly at: number;
  readonly paymentId: string | null;
  /** From the metadata; null: the payment is not of a sale, or the provider does not say it. */
  readonly saleKey: string | null;
  readonly payoutId: string | null;
};

/** The account of a key. */
export type ProviderAccount = {
  readonly account: string;
  readonly isTest: boolean;
  /** Upper case; null: the provider does not list them. */
  readonly currencies: readonly string[] | null;
};

type RefundRequest = {
  /** Random and equal on every attempt, so that one request makes one refund. */
  readonly refundKey: string;
  readonly paymentId: string;
  readonly amount: Money;
};

/** A notification of a provider as it was received, which proves nothing. */
export type ProviderHint = {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  readonly now: number;
};

/** The content of a notification. */
export type HintReading = {
  /**
   * Whether the provider has signed it. `none`: it has no signature, or one that nothing can be compared with, because the
   * provider signs nothing, or the store has no secret of this mode.
   */
  readonly signature: 'right' | 'wrong' | 'none';
  /** The ids of the sessions or payments that it is about. One that is forged or unreadable names none. */
  readonly ids: readonly string[];
  /** An object of the provider that `findPaymentOf` has to look up, because its payment is not named; null: none. */
  readonly related: string | null;
};

export type ProviderMovementPage = {
  readonly movements: readonly ProviderMovement[];
  /** Null: this is the last page. */
  readonly next: string | null;
};

export type PaymentProvider = {
  readonly kind: ProviderKind;
  readonly createSession: (
    credential: ProviderCredential,
    request: SessionRequest,
  ) => Promise<ProviderOutcome<PaymentSession>>;
  readonly readPayment: (
    credential: ProviderCredential,
    sessionId: string,
  ) => Promise<ProviderOutcome<Payment>>;
  readonly refund: (
    credential: ProviderCredential,
    request: RefundRequest,
  ) => Promise<ProviderOutcome<ProviderRefund>>;
  readonly listMovements: (
    credential: ProviderCredential,
    page: { readonly since: number; readonly cursor: string | null },
  ) => Promise<ProviderOutcome<ProviderMovementPage>>;
  readonly examine: (credential: ProviderCredential) => Promise<ProviderOutcome<ProviderAccount>>;
  readonly readHint: (credential: ProviderCredential, hint: ProviderHint) => HintReading;
  /** The id of the payment of an object that `readHint` has returned; null: it is of none. */
  readonly findPaymentOf: (
    credential: ProviderCredential,
    related: string,
  ) => Promise<ProviderOutcome<string | null>>;
};
