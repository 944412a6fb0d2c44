/** The delivery of webhooks: started and stopped together with its HTTP client. */

import type { FastifyBaseLogger } from 'fastify';
import type { Context } from '../../../core/storage/context.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import type { Secret } from '../../../platform/secret.ts';
import { hasRealStores } from '../../../core/stores/storage/store.ts';
import type { Storage } from '../../../database/storage.ts';
import type { Outbound } from './post.ts';
import { parseWebhookUrl } from './url.ts';
import { webhookQueue, type DeliveryObserver } from './queue.ts';
import { generateSigningSecret } from './signature.ts';
import { startWorker, workerLimitsOn, type Worker } from '../../../delivery/worker.ts';

export function startWebhooks(options: {
  readonly ctx: Context;
  readonly storage: Storage;
  /** Closed by `stop`. */
  readonly outbound: Outbound;
  readonly mayUseLoopback: () => Promise<boolean>;
  readonly observer: DeliveryObserver;
  /** Null: nothing is traced. */
  readonly tracing: Tracing | null;
  readonly logger: FastifyBaseLogger;
}): Worker {
  const { storage, outbound, logger } = options;
  const worker = startWorker(webhookQueue(options), logger, workerLimitsOn(storage));
  return {
    wake: () => worker.wake(),
    drain: () => worker.drain(),
    sent: () => worker.sent(),
    whileIdle: (task) => worker.whileIdle(task),
    async stop() {
      await worker.stop();
      outbound[Symbol.dispose]();
    },
  };
}

/**
 * Whether webhook URLs can lead to this machine: in development, until the database has a real store, and after that if
 * browsers also reach the service only on this machine. Stores are never removed, so the query is not repeated after that.
 */
export function loopbackRule(
  {
    isDevelopment,
    isPublicUrlLocal,
  }: { readonly isDevelopment: boolean; readonly isPublicUrlLocal: boolean },
  storage: Storage,
): () => Promise<boolean> {
  if (isDevelopment && isPublicUrlLocal) return () => Promise.resolve(true);
  let isClosed = !isDevelopment;
  return async () => {
    isClosed ||= await storage.read(hasRealStores);
    return !isClosed;
  };
}

/** The functions with which the service layer creates a webhook: a parser of its URL and a generator of its secret. */
export function webhookUrlsOf(
  { random }: Pick<Context, 'random'>,
  mayUseLoopback: () => Promise<boolean>,
): { urlParser(): Promise<(value: unknown) => Parsed<string>>; generateSecret(): Secret } {
  return {
    async urlParser() {
      const rules = { allowLoopback: await mayUseLoopback() };
      return (value) => {
        const parsed = parseWebhookUrl(value, rules);
        return parsed.ok ? { ok: true, value: parsed.value.url } : parsed;
      };
    },
    generateSecret: () => generateSigningSecret(random),
  };
}
