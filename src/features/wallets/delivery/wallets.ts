/** The delivery of updates to wallets: started and stopped together with its connections. */

import type { FastifyBaseLogger } from 'fastify';
import type { Context } from '../../../core/storage/context.ts';
import type { WalletKind } from '../domain/wallet.ts';
import type { Storage } from '../../../database/storage.ts';
import { listPassDevices } from '../storage/card.ts';
import { openCredential } from '../storage/wallet.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { startWorker, workerLimitsOn, type Worker } from '../../../delivery/worker.ts';
import { readCredential } from './apple/credential.ts';
import { openPusher, type Pusher } from './apple/push.ts';
import type { Google } from './google/wallet-objects.ts';
import { googleSender } from './google/cards.ts';
import { walletQueue, type UpdateResult, type UpdateSender } from './queue.ts';

export function startWallets({
  ctx,
  storage,
  network,
  google,
  pagesUrl,
  logger,
}: {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly network: PublicNetwork;
  readonly google: Google;
  /** The base of links to the pages; null: the service has no public URL. */
  readonly pagesUrl: string | null;
  readonly logger: FastifyBaseLogger;
}): Worker {
  const pusher = openPusher(network, () => ctx.wallClock.now());
  const senders: Readonly<Record<WalletKind, UpdateSender>> = {
    apple: appleSender({ ctx, storage, pusher }),
    google: googleSender({ ctx, storage, google, pagesUrl }),
  };
  const queue = walletQueue({
    ctx,
    storage,
    send: async (wallet, update, signal) => await senders[wallet.kind](wallet, update, signal),
    failed: ({ storeId, kind }, detail) =>
      logger.error({ store_id: storeId, wallet: kind, failure: detail }, 'the updates of a wallet fail'),
  });
  const worker = startWorker(queue, logger, workerLimitsOn(storage));
  return {
    wake: () => worker.wake(),
    drain: () => worker.drain(),
    sent: () => worker.sent(),
    whileIdle: (task) => worker.whileIdle(task),
    async stop() {
      await worker.stop();
      pusher[Symbol.dispose]();
    },
  };
}

/** Pushes to each device of a card, which then requests the pass. */
function appleSender({
  ctx,
  storage,
  pusher,
}: {
  readonly ctx: Pick<Context, 'keys'>;
  readonly storage: Pick<Storage, 'read'>;
  readonly pusher: Pusher;
}): UpdateSender {
  return async (wallet, update, signal) => {
    const devices = await storage.read(() => listPassDevices(update));
    const credential = readCredential(openCredential(ctx, wallet));
    // A seal has a random nonce, so a new certificate has a connection of its own.
    const key = `${wallet.storeId} ${Buffer.from(wallet.sealed).toString('base64')}`;
    const pushed = await Promise.all(
      devices.map(async ({ device, pushToken }) => ({
        device,
        result: await pusher.push({ key, credential }, { topic: wallet.name, pushToken, signal }),
      })),
    );
    const gone = pushed.flatMap(({ device, result }) => (result.kind === 'gone' ? [device] : []));
    if (pushed.some(({ result }) => result.kind === 'cancelled')) return { kind: 'cancelled' };
    const failures = pushed.flatMap(({ result }) => (result.kind === 'failed' ? [result] : []));
    const [first] = failures;
    if (!first) return { kind: 'sent', gone } satisfies UpdateResult;
    const waits = failures.flatMap(({ retryAfterMs }) => (retryAfterMs === null ? [] : [retryAfterMs]));
    return {
      kind: 'failed',
      detail: first.detail,
      gone,
      retryAfterMs: waits.length > 0 ? Math.max(...waits) : null,
    };
  };
}
