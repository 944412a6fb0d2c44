/** Receives the notifications of payment providers. Each is only a hint: a job reads the payment at the provider. */

import type { FastifyInstance } from 'fastify';
import { Fault } from '../../domain/fault.ts';
import type { ProviderKind } from '../../domain/online-sales/payment.ts';
import type { RawBody } from '../../http/body.ts';
import { readId } from '../kit/ids.ts';
import { assertHost } from '../kit/request.ts';
import type { ConsoleServices } from '../kit/services.ts';

/** More than an event about a payment has. */
const hintBytesMax = 65_536;

/** The providers that send notifications from outside. */
const hinting: ReadonlySet<string> = new Set<ProviderKind>(['stripe', 'mollie']);

/** The signature of Stripe. Mollie signs nothing. */
const signature = 'stripe-signature';

/** Adds `POST /payments/<provider>/<public id of the store>`. */
export function addPaymentHints(app: FastifyInstance, services: ConsoleServices): void {
  const { onlineSales, origin, ctx, limitVisitor } = services;
  if (!onlineSales) return;
  app.route({
    method: 'POST',
    url: `${origin.basePath}/payments/:kind/:store`,
    bodyLimit: hintBytesMax,
    onRequest: async (request) => {
      assertHost(request.headers, origin);
      limitVisitor(request.clientAddress, ctx.clock.monotonic());
    },
    handler: async (request, reply) => {
      const { kind, store } = request.params as { readonly kind: string; readonly store: string };
      const storeId = readId(services, store);
      if (!hinting.has(kind) || storeId === undefined) throw new Fault('not-found');
      const { bytes = new Uint8Array() } = (request.body ?? {}) as Partial<RawBody>;
      const value = request.headers[signature];
      await onlineSales.receiveHint({
        storeId,
        kind: kind as ProviderKind,
        headers: { [signature]: typeof value === 'string' ? value : undefined },
        body: bytes,
        now: ctx.wallClock.now(),
      });
      // Everything gets the same response, so that it says nothing about stores, keys and payments.
      return await reply.headers({ 'cache-control': 'no-store' }).code(200).send();
    },
  });
}
