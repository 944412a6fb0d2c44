/** The payment providers, each of which is one value. */

import type { PaymentProvider, ProviderKind } from '../domain/payment.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { openMollie } from './mollie.ts';
import { openSandboxPayments } from './sandbox.ts';
import { openStripe } from './stripe.ts';

export type PaymentProviders = Disposable & {
  /** Undefined: this database has no such payments. */
  readonly of: (kind: ProviderKind) => PaymentProvider | undefined;
};

/** @param sandbox null: the database has real gift cards, which are paid with real money. */
export function openPaymentProviders({
  network,
  now,
  sandbox,
}: {
  readonly network: PublicNetwork;
  /** The time of the machine in ms. */
  readonly now: () => number;
  readonly sandbox: Parameters<typeof openSandboxPayments>[0] | null;
}): PaymentProviders {
  const [stripe, mollie] = [openStripe(network, now), openMollie(network, now)];
  const ofSandbox = sandbox ? openSandboxPayments(sandbox) : undefined;
  const providers = { stripe, mollie, sandbox: ofSandbox } as const;
  return {
    of: (kind) => providers[kind],
    [Symbol.dispose]() {
      stripe[Symbol.dispose]();
      mollie[Symbol.dispose]();
    },
  };
}
