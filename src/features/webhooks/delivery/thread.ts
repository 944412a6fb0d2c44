/**
 * Sends webhooks on a separate thread, so that handshakes, requests and responses do not delay the API.
 *
 * The first request starts the thread. If it exits, its requests reject, and the next request starts another thread.
 * The worker bounds the requests at the same time.
 */

import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../platform/program-files.ts';
import type { Outbound, PostRequest, PostResult } from './post.ts';

type Posting = Readonly<Omit<PostRequest, 'signal'> & { id: number }>;

/** A message to the thread: requests to send, and ids of requests to abort. */
export type Orders = { readonly posts: readonly Posting[]; readonly aborted: readonly number[] };

/** The result of a request; an error is the rejection of `post`. */
export type Report = { readonly id: number } & (
  { readonly result: PostResult } | { readonly error: unknown }
);

const startOwn = (): Worker => startThread('features/webhooks/delivery/thread-main', { execArgv: [] });

class OutboundThread implements Outbound {
  readonly #startWorker: () => Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<PostResult>>();
  #thread: Worker | undefined;
  #lastId = 0;
  #posts: Posting[] = [];
  #aborted: number[] = [];

  constructor(startWorker: () => Worker) {
    this.#startWorker = startWorker;
  }

  post({ signal, ...request }: PostRequest): Promise<PostResult> {
    this.#lastId += 1;
    const id = this.#lastId;
    const post = Promise.withResolvers<PostResult>();
    this.#waiting.set(id, post);
    this.#posts.push({ ...request, id });
    queueMicrotask(() => this.#send());
    if (!signal) return post.promise;
    const abort = (): void => {
      this.#aborted.push(id);
      queueMicrotask(() => this.#send());
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    return post.promise.finally(() => signal.removeEventListener('abort', abort));
  }

  [Symbol.dispose](): void {
    const ending = this.#thread;
    this.#thread = undefined;
    this.#fail(new Error('the webhook thread was stopped'));
    if (ending) void ending.terminate();
  }

  #fail(error: unknown): void {
    this.#thread = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #start(): Worker {
    const started = this.#startWorker();
    started.on('message', (reports: readonly Report[]) => {
      for (const report of reports) this.#settle(report);
      // It keeps the process alive only while it has requests.
      if (this.#waiting.size === 0) started.unref();
    });
    started.on('error', (error) => this.#fail(error));
    started.on('exit', () => {
      if (this.#thread === started) this.#fail(new Error('the webhook thread has ended'));
    });
    return started;
  }

  #settle(report: Report): void {
    const post = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    if ('result' in report) post?.resolve(report.result);
    else post?.reject(report.error);
  }

  /** Sends the orders of one turn of the event loop as one message. */
  #send(): void {
    if (this.#posts.length + this.#aborted.length === 0) return;
    this.#thread ??= this.#start();
    this.#thread.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is not a window
    this.#thread.postMessage({ posts: this.#posts, aborted: this.#aborted } satisfies Orders);
    [this.#posts, this.#aborted] = [[], []];
  }
}

/** Does what `openOutbound` does, on a thread that `startWorker` starts. */
export function openOutboundThread(startWorker = startOwn): Outbound {
  return new OutboundThread(startWorker);
}
