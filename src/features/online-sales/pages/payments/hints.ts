/** Receives the notifications of payment providers. Each is only a hint: a job reads the payment at the provider. */

import { checkoutTool } from '../tools.ts';
import type { FastifyInstance } from 'fastify';
import { Fault } from '../../../../core/domain/fault.ts';
import type { ProviderKind } from '../../domain/payment.ts';
import type { RawBody } from '../../../../http/body.ts';
import { readId } from '../../../../pages/kit/ids.ts';
import { assertHost } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';

/**
 * The providers that send notifications from outside, with the most bytes of one. Events of Stripe have a copy of their
 * object; the evidence of a dispute has up to 150,000 characters. Those of Mollie have an id.
 */
const bodyBytesMax = { stripe: 256 * 1_024, mollie: 4_096 } as const satisfies Partial<
  Record<ProviderKind, number>
>;

/** The signature of Stripe. Mollie signs nothing. */
const signature = 'stripe-signature';

/** Adds `POST /payments/<provider>/<public id of the store>`. */
export function addPaymentHints(app: FastifyInstance, services: ConsoleServices): void {
  const { origin, ctx, limitHint } = services;
  const onlineSales = services.tools.of(checkoutTool);
  if (!onlineSales) return;
  for (const kind of ['stripe', 'mollie'] as const)
    app.route({
      method: 'POST',
      url: `${origin.basePath}/payments/${kind}/:store`,
      bodyLimit: bodyBytesMax[kind],
      onRequest: async (request) => {
        assertHost(request.headers, origin);
        const { store } = request.params as { readonly store: string };
        const storeId = readId(services, store) ?? null;
        limitHint(`${kind} ${storeId}`, request.clientAddress, ctx.clock.monotonic());
        if (storeId === null) throw new Fault('not-found');
      },
      handler: async (request, reply) => {
        const { store } = request.params as { readonly store: string };
        const storeId = readId(services, store);
        if (storeId === undefined) throw new Fault('not-found');
        const { bytes = new Uint8Array() } = (request.body ?? {}) as Partial<RawBody>;
        const value = request.headers[signature];
        await onlineSales.receiveHint({
          storeId,
          kind,
          headers: { [signature]: typeof value === 'string' ? value : undefined },
          body: bytes,
          now: ctx.wallClock.now(),
        });
        // Everything gets the same response, so that it says nothing about stores, keys and payments.
        return await reply.headers({ 'cache-control': 'no-store' }).code(200).send();
      },
    });
}
