/** A thread for checkpoints, seen from the engine. */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Log, Mover } from './sqlite-checkpoints.ts';

/** What the thread is told: to move what it can, or to close its connection and end. */
export type Order = 'checkpoint' | 'end';

/** What came of a checkpoint: the log as it is then, or the error that SQLite raised. */
export type Answer =
  { readonly log: Log } | { readonly message: string; readonly errcode: number | undefined };

/** Starts a thread that moves pages of this database. It does not keep the process alive. */
export function startCheckpointThread(file: string): Mover {
  const worker = new Worker(new URL('sqlite-checkpoint-worker.ts', import.meta.url), {
    name: 'checkpoints',
    workerData: { file },
  });
  worker.unref();
  let hasEnded = false;
  let underWay: PromiseWithResolvers<Log> | undefined;
  const end = (cause: unknown): void => {
    hasEnded = true;
    underWay?.reject(cause);
  };
  worker.on('error', end);
  worker.on('exit', (code) => end(new Error(`the thread for checkpoints has ended with ${code}`)));
  worker.on('message', (answer: Answer) => {
    if ('log' in answer) underWay?.resolve(answer.log);
    else underWay?.reject(Object.assign(new Error(answer.message), { errcode: answer.errcode }));
  });
  const tell = (order: Order): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
    worker.postMessage(order);
  };
  return {
    async checkpoint() {
      if (hasEnded) throw new Error('the thread for checkpoints has ended');
      underWay = Promise.withResolvers();
      tell('checkpoint');
      return underWay.promise;
    },
    get hasEnded() {
      return hasEnded;
    },
    async [Symbol.asyncDispose]() {
      if (hasEnded) return;
      // Who disposes of it waits for it.
      worker.ref();
      tell('end');
      await once(worker, 'exit');
    },
  };
}
