/** The provider of sandboxes: the service itself, with a page on which a tester decides what happens. */

import type { PaymentProvider, ProviderCredential, ProviderOutcome } from '../domain/payment.ts';
import {
  movementsInSandbox,
  newSandboxPayment,
  paymentOfSandbox,
  refundedInSandbox,
  sandboxPagePath,
  sandboxPaymentAt,
  sandboxSessionId,
  storeOfSandboxKey,
  storeOfSession,
} from '../domain/sandbox-payment.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  changeSandboxPayment,
  findSandboxPayment,
  insertSandboxPayment,
  listSandboxPayments,
} from '../storage/sandbox-payment.ts';
import { parallel } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { findStore } from '../../../core/stores/storage/store.ts';

const pageSize = 50;

function rejected(detail: string) {
  return { kind: 'rejected', detail } as const;
}

const noPayment = rejected('the sandbox has no such payment');

/** Calls a function with the store of a key. */
async function inStore<T>(
  { key }: ProviderCredential,
  call: (storeId: number) => Promise<ProviderOutcome<T>>,
): Promise<ProviderOutcome<T>> {
  const storeId = storeOfSandboxKey(key);
  return storeId === undefined ? rejected('the key is not one of a sandbox') : await call(storeId);
}

type SandboxParts = {
  readonly ctx: Pick<Context, 'clock'>;
  readonly storage: Pick<Storage, 'read' | 'write'>;
  /** The path before those of all pages, without a slash at its end. */
  readonly basePath: string;
};

export function openSandboxPayments({ ctx, storage, basePath }: SandboxParts): PaymentProvider {
  return {
    kind: 'sandbox',

    createSession: async (credential, request) =>
      await inStore(credential, async (storeId) => {
        await storage.write(() => insertSandboxPayment(newSandboxPayment(storeId, request)));
        const id = sandboxSessionId(storeId, request.saleKey);
        // Its page is on the server of the order's page, whose port is not known before the start.
        const { origin } = new URL(request.returnUrl);
        const url = `${origin}${basePath}${sandboxPagePath(id)}`;
        return { kind: 'done', value: { id, url, expiresAt: request.expiresAt } };
      }),

    readPayment: async (credential, id) =>
      await inStore(credential, async (storeId) => {
        const [found, record] = await storage.read(() =>
          parallel(findSandboxPayment({ storeId, id }), findStore(storeId)),
        );
        if (!found || !record) return noPayment;
        const payment = sandboxPaymentAt(found, ctx.clock.earliest());
        return { kind: 'done', value: paymentOfSandbox(payment, record.store.currency) };
      }),

    refund: async (credential, { refundKey, paymentId: id, amount }) =>
      await inStore(credential, async (storeId) => {
        const now = ctx.clock.earliest();
        const changed = await storage.write(() =>
          changeSandboxPayment({ storeId, id }, (payment) =>
            refundedInSandbox(sandboxPaymentAt(payment, now), { refundKey, minor: amount.minor, now }),
          ),
        );
        const refunds = changed ? paymentOfSandbox(changed, amount.currency).refunds : [];
        const made = refunds.find((each) => each.refundKey === refundKey);
        return made ? { kind: 'done', value: made } : rejected('the payment cannot be refunded');
      }),

    listMovements: async (credential, { since, cursor }) =>
      await inStore(credential, async (storeId) => {
        const page = { after: cursor ?? '', limit: pageSize };
        const [found, record] = await storage.read(() =>
          parallel(listSandboxPayments(storeId, page), findStore(storeId)),
        );
        if (!record) return noPayment;
        const now = ctx.clock.earliest();
        const movements = found
          .flatMap((each) => movementsInSandbox(sandboxPaymentAt(each, now), record.store.currency))
          .filter(({ at }) => at >= since);
        const next = found.length === pageSize ? (found.at(-1)?.id ?? null) : null;
        return { kind: 'done', value: { movements, next } };
      }),

    examine: async (credential) =>
      await inStore(credential, async () => {
        const value = { account: 'Sandbox', isTest: true, currencies: null };
        return await Promise.resolve({ kind: 'done', value });
      }),

    // The page of the sandbox sends the id.
    readHint: (_credential, { body }) => {
      const id = Buffer.from(body).toString();
      const ids = storeOfSession(id) === undefined ? [] : [id];
      return { signature: 'none', ids, related: null };
    },

    findPaymentOf: () => Promise.resolve({ kind: 'done', value: null }),
  };
}
