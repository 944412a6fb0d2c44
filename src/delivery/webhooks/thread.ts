/**
 * Sends webhooks on a separate thread, so that handshakes, requests and responses do not delay the API.
 *
 * The first request starts the thread. If it exits, its requests reject, and the next request starts another thread.
 * The worker bounds the requests at the same time.
 */

import type { Worker } from 'node:worker_threads';
import { startThread } from '../../platform/program-files.ts';
import type { Outbound, PostRequest, PostResult } from './post.ts';

type Posting = Readonly<Omit<PostRequest, 'signal'> & { id: number }>;

/** A message to the thread: requests to send, and ids of requests to abort. */
export type Orders = { readonly posts: readonly Posting[]; readonly aborted: readonly number[] };

/** The result of a request; an error is the rejection of `post`. */
export type Report = { readonly id: number } & (
  { readonly result: PostResult } | { readonly error: unknown }
);

const startOwn = (): Worker => startThread('delivery/webhooks/thread-main', { execArgv: [] });

/** Does what `openOutbound` does, on a thread that `startWorker` starts. */
export function openOutboundThread(startWorker: () => Worker = startOwn): Outbound {
  const waiting = new Map<number, PromiseWithResolvers<PostResult>>();
  let thread: Worker | undefined;
  let lastId = 0;
  let posts: Posting[] = [];
  let aborted: number[] = [];

  const failed = (error: unknown): void => {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };

  const start = (): Worker => {
    const started = startWorker();
    started.on('message', (reports: readonly Report[]) => {
      for (const report of reports) settle(report);
      // It keeps the process alive only while it has requests.
      if (waiting.size === 0) started.unref();
    });
    started.on('error', failed);
    started.on('exit', () => {
      if (thread === started) failed(new Error('the webhook thread has ended'));
    });
    return started;
  };

  const settle = (report: Report): void => {
    const post = waiting.get(report.id);
    waiting.delete(report.id);
    if ('result' in report) post?.resolve(report.result);
    else post?.reject(report.error);
  };

  /** Sends the orders of one turn of the event loop as one message. */
  const send = (): void => {
    if (posts.length + aborted.length === 0) return;
    thread ??= start();
    thread.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is not a window
    thread.postMessage({ posts, aborted } satisfies Orders);
    [posts, aborted] = [[], []];
  };

  return {
    post({ signal, ...request }) {
      lastId += 1;
      const id = lastId;
      const post = Promise.withResolvers<PostResult>();
      waiting.set(id, post);
      posts.push({ ...request, id });
      queueMicrotask(send);
      if (!signal) return post.promise;
      const abort = (): void => {
        aborted.push(id);
        queueMicrotask(send);
      };
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      return post.promise.finally(() => signal.removeEventListener('abort', abort));
    },
    [Symbol.dispose]() {
      const ending = thread;
      thread = undefined;
      failed(new Error('the webhook thread was stopped'));
      if (ending) void ending.terminate();
    },
  };
}
