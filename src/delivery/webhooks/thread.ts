/**
 * Posting on a thread of its own: handshakes, requests and answers cost the thread that answers the API nothing but
 * the messages about them.
 *
 * The thread is started by the first post. If it dies, what it was posting rejects, and the next post starts another.
 */

import { Worker } from 'node:worker_threads';
import type { Outbound, PostRequest, PostResult } from './post.ts';

type Posting = Readonly<Omit<PostRequest, 'signal'> & { id: number }>;

/** What the thread is told: posts to be made, and those to be called off. */
export type Orders = { readonly posts: readonly Posting[]; readonly calledOff: readonly number[] };

/** What came of a post; an error is what `post` rejects with. */
export type Report = { readonly id: number } & (
  { readonly result: PostResult } | { readonly error: unknown }
);

const threadMain = new URL('thread-main.ts', import.meta.url);

/** As `openOutbound`, on a thread. @param main what the thread runs. */
export function openOutboundThread(main: URL = threadMain): Outbound {
  const waiting = new Map<number, PromiseWithResolvers<PostResult>>();
  let thread: Worker | undefined;
  let lastId = 0;
  let posts: Posting[] = [];
  let calledOff: number[] = [];

  const died = (error: unknown): void => {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };

  const start = (): Worker => {
    const started = new Worker(main, { execArgv: [] });
    started.on('message', (reports: readonly Report[]) => {
      for (const report of reports) settle(report);
      // It keeps the process alive only as long as it has something to do.
      if (waiting.size === 0) started.unref();
    });
    started.on('error', died);
    started.on('exit', () => {
      if (thread === started) died(new Error('the thread that posts has ended'));
    });
    return started;
  };

  const settle = (report: Report): void => {
    const post = waiting.get(report.id);
    waiting.delete(report.id);
    if ('result' in report) post?.resolve(report.result);
    else post?.reject(report.error);
  };

  /** Sends what was ordered in this turn as one message. */
  const send = (): void => {
    if (posts.length + calledOff.length === 0) return;
    thread ??= start();
    thread.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    thread.postMessage({ posts, calledOff } satisfies Orders);
    [posts, calledOff] = [[], []];
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
      const callOff = (): void => {
        calledOff.push(id);
        queueMicrotask(send);
      };
      if (signal.aborted) callOff();
      signal.addEventListener('abort', callOff, { once: true });
      return post.promise.finally(() => signal.removeEventListener('abort', callOff));
    },
    [Symbol.dispose]() {
      const ending = thread;
      thread = undefined;
      died(new Error('the thread that posts was ended'));
      if (ending) void ending.terminate();
    },
  };
}
