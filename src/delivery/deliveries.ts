/** Everything that is sent, started and stopped together. */

import type { FastifyBaseLogger } from 'fastify';
import type { Context } from '../context.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Secret } from '../domain/secret.ts';
import { hasRealStores } from '../storage/store.ts';
import type { Storage } from '../storage/storage.ts';
import type { Outbound } from './webhooks/post.ts';
import { parseTarget } from './webhooks/url.ts';
import { webhookQueue, type DeliveryObserver } from './webhooks/queue.ts';
import { drawSigningSecret } from './webhooks/signature.ts';
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
  readonly mayUseLoopback: () => Promise<boolean>;
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

/**
 * Whether webhooks may lead to this machine: in development, until the database holds a real store. Stores are never
 * removed, so it is not asked again after that.
 */
export function loopbackRule(isDevelopment: boolean, storage: Storage): () => Promise<boolean> {
  let isClosed = !isDevelopment;
  return async () => {
    isClosed ||= await storage.read(hasRealStores);
    return !isClosed;
  };
}

/** What those who make webhooks have to know of where they lead. */
export function endpointsOf(
  { chance }: Pick<Context, 'chance'>,
  mayUseLoopback: () => Promise<boolean>,
): { urlParser(): Promise<(value: unknown) => Parsed<string>>; drawSecret(): Secret } {
  return {
    async urlParser() {
      const rules = { allowLoopback: await mayUseLoopback() };
      return (value) => {
        const parsed = parseTarget(value, rules);
        return parsed.ok ? { ok: true, value: parsed.value.url } : parsed;
      };
    },
    drawSecret: () => drawSigningSecret(chance),
  };
}
