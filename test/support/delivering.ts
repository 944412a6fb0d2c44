/** Workers that deliver to a receiver in the test, without a network. */

import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { deadlineIn } from './deadline.ts';
import type { Context } from '../../src/core/storage/context.ts';
import type { Webhook } from '../../src/features/webhooks/domain/webhook.ts';
import type { Outbound } from '../../src/features/webhooks/delivery/post.ts';
import { webhookQueue } from '../../src/features/webhooks/delivery/queue.ts';
import { startWorker, workerLimits, type Worker, type WorkerLimits } from '../../src/delivery/worker.ts';
import type { Storage } from '../../src/database/storage.ts';

const silent = pino({ level: 'silent' });

export type PostRequest = Parameters<Outbound['post']>[0];
type PostResult = Awaited<ReturnType<Outbound['post']>>;

/** A receiver's response to a request, which can be delayed. */
export type Receive = (request: PostRequest) => HttpResponse | Promise<HttpResponse>;

type HttpResponse =
  | { readonly status: number; readonly body?: string; readonly retryAfter?: string }
  | { readonly failure: 'connect' | 'timeout' | 'forbidden-address' };

function toPostResult(response: HttpResponse): PostResult {
  if ('failure' in response)
    return {
      kind: 'failed',
      reason: response.failure,
      detail: `no response: ${response.failure}`,
      durationMs: 1,
    };
  const { status, body = '', retryAfter } = response;
  return {
    kind: 'responded',
    status,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    body,
    isCutOff: false,
    durationMs: 1,
  };
}

/** An outbound that passes every request to `receive`. An aborted request ends. */
function outboundTo(receive: Receive): Outbound {
  return {
    async post(request) {
      const aborted = Promise.withResolvers<PostResult>();
      request.signal?.addEventListener('abort', () =>
        aborted.resolve({ kind: 'failed', reason: 'cancelled', detail: 'aborted', durationMs: 1 }),
      );
      return Promise.race([Promise.resolve(receive(request)).then(toPostResult), aborted.promise]);
    },
    [Symbol.dispose]: () => undefined,
  };
}

export type TestWorker = Worker & { readonly paused: Webhook[]; readonly outcomes: string[] };

export function deliver(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Storage },
  receive: Receive,
  limits: Partial<WorkerLimits> = {},
): TestWorker {
  const paused: Webhook[] = [];
  const outcomes: string[] = [];
  const observer = {
    attempted: (outcome: string) => void outcomes.push(outcome),
    paused: (webhook: Webhook) => void paused.push(webhook),
  };
  const mayUseLoopback = (): Promise<boolean> => Promise.resolve(false);
  const queue = webhookQueue({ ctx, storage, outbound: outboundTo(receive), mayUseLoopback, observer });
  const worker = startWorker(queue, silent, { ...workerLimits, pollMs: 20, restMs: 1, ...limits });
  return Object.assign(worker, { paused, outcomes });
}

/** Waits until the condition is true. @throws Error after the timeout. */
export async function until(isSo: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = deadlineIn(timeoutMs);
  while (!(await isSo())) {
    if (deadline.isOver()) throw new Error(`not so in time: ${String(isSo)}`);
    await wait(5);
  }
}
