/** Starts and controls the checkpoint thread. */

import { once } from 'node:events';
import { startThread } from '../../platform/program-files.ts';
import type { WalState, Checkpointer } from './checkpoints.ts';

/** A message to the thread: run a checkpoint, also empty the log, or close the connection and exit. */
export type Order = 'checkpoint' | 'truncate' | 'end';

/** The state of the log after a checkpoint, or the error of SQLite. */
export type CheckpointResult =
  { readonly log: WalState } | { readonly message: string; readonly errcode: number | undefined };

/** Starts a checkpoint thread for a database. The thread does not keep the process running. */
export function startCheckpointThread(file: string): Checkpointer & {
  /** @returns the state of the log, which is empty unless it is in use. */ truncate(): Promise<WalState>;
} {
  const worker = startThread('database/sqlite/checkpoint-worker', {
    name: 'checkpoints',
    workerData: { file },
  });
  worker.unref();
  let hasEnded = false;
  let underWay: PromiseWithResolvers<WalState> | undefined;
  const end = (cause: unknown): void => {
    hasEnded = true;
    underWay?.reject(cause);
  };
  worker.on('error', end);
  worker.on('exit', (code) => end(new Error(`the thread for checkpoints has ended with ${code}`)));
  worker.on('message', (response: CheckpointResult) => {
    if ('log' in response) underWay?.resolve(response.log);
    else underWay?.reject(Object.assign(new Error(response.message), { errcode: response.errcode }));
  });
  const post = (order: Order): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
    worker.postMessage(order);
  };
  const request = async (order: Order): Promise<WalState> => {
    if (hasEnded) throw new Error('the thread for checkpoints has ended');
    underWay = Promise.withResolvers();
    post(order);
    return underWay.promise;
  };
  return {
    checkpoint: () => request('checkpoint'),
    truncate: () => request('truncate'),
    get hasEnded() {
      return hasEnded;
    },
    async [Symbol.asyncDispose]() {
      if (hasEnded) return;
      // The process must not exit before the thread.
      worker.ref();
      post('end');
      await once(worker, 'exit');
    },
  };
}
