/** Everything that is sent, started and stopped together. */

import type { FastifyBaseLogger } from 'fastify';
import type { Context } from '../context.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Secret } from '../domain/secret.ts';
import type { Storage } from '../storage/storage.ts';
import type { Outbound } from './outbound/post.ts';
import { parseTarget, type TargetRules } from './outbound/target.ts';
import { webhookQueue, type DeliveryObserver } from './webhook/queue.ts';
import { drawSigningSecret } from './webhook/signature.ts';
import { startWorker } from './worker.ts';

export type Deliveries = {
  /** Something was committed, so that there may be something to send. */
  wake(): void;
  /** Claims nothing more, waits a bounded time for what is under way, and gives back the rest. */
  stop(): Promise<void>;
};

export function startDeliveries(given: {
  readonly ctx: Context;
  readonly storage: Storage;
  /** Is closed at the end. */
  readonly outbound: Outbound;
  readonly observer: DeliveryObserver;
  readonly logger: FastifyBaseLogger;
}): Deliveries {
  const { outbound, logger } = given;
  const webhooks = startWorker(webhookQueue(given), logger);
  return {
    wake: () => webhooks.wake(),
    async stop() {
      await webhooks.stop();
      outbound[Symbol.dispose]();
    },
  };
}

/** What those who make webhooks have to know of where they lead. */
export function endpointsOf(
  { chance }: Pick<Context, 'chance'>,
  rules: TargetRules,
): { parseUrl(value: unknown): Parsed<string>; drawSecret(): Secret } {
  return {
    parseUrl(value) {
      const parsed = parseTarget(value, rules);
      return parsed.ok ? { ok: true, value: parsed.value.url } : parsed;
    },
    drawSecret: () => drawSigningSecret(chance),
  };
}
