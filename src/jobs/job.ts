/** Tasks that are repeated while the service runs. */

import type { Limits } from '../platform/limits.ts';
import type { Context } from '../core/storage/context.ts';
import { Fault } from '../core/domain/fault.ts';
import type { Retention } from '../core/storage/retention.ts';
import type { Storage } from '../database/storage.ts';

/** The parts of the service that tasks use. */
export type JobTools = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly limits: Limits;
  readonly retention: Retention;
};

export type Job = {
  /** Runs the task now, or again after the run in progress. */
  wake(): void;
  /** Stops its timer, and waits until a run in progress has ended. */
  stop(): Promise<void>;
};

/** Runs a task periodically, one run at a time. A failed run is retried after the next period. */
export function startJob(
  task: () => Promise<unknown>,
  periodMs: number,
  failed: (error: unknown) => void,
): Job {
  let running: Promise<unknown> | undefined;
  let isWoken = false;
  const run = (): void => {
    running ??= task()
      .catch(failed)
      .finally(() => {
        running = undefined;
        if (!isWoken) return;
        isWoken = false;
        run();
      });
  };
  const timer = setInterval(run, periodMs);
  timer.unref();
  return {
    wake() {
      isWoken = running !== undefined;
      run();
    },
    async stop() {
      clearInterval(timer);
      isWoken = false;
      await running;
    },
  };
}

/** After a failure, skips the task for a while, because a full disk or an unavailable server lasts longer than its period. */
export function retryLater(task: () => Promise<void>, pauseMs: number): () => Promise<void> {
  let pausedUntil = 0;
  return async () => {
    if (performance.now() < pausedUntil) return;
    pausedUntil = performance.now() + pauseMs;
    await task();
    pausedUntil = 0;
  };
}

/** Every fifth run looks for what other processes have committed, and for the work of a process that has ended. */
const skippedMax = 4;

/**
 * Skips the task while this process has committed nothing since the last run, and that run did not fail. A job that is
 * woken after a write is not skipped: listeners are called before the write resolves.
 */
export function afterCommits(
  task: () => Promise<void>,
  onCommit: (listener: () => void) => unknown,
): () => Promise<void> {
  let isDue = true;
  let skipped = 0;
  onCommit(() => (isDue = true));
  return async () => {
    if (!isDue && skipped < skippedMax) {
      skipped += 1;
      return;
    }
    isDue = false;
    skipped = 0;
    try {
      await task();
    } catch (error) {
      isDue = true;
      throw error;
    }
  };
}

/** The storage of jobs: once the service stops, each further script fails, which ends the job. */
export function stoppable(storage: Storage, isStopping: () => boolean): Storage {
  const assertRunning = (): void => {
    if (isStopping()) throw new Fault('closing', { retryAfterSeconds: 1 });
  };
  return {
    ...storage,
    async read(script) {
      assertRunning();
      return await storage.read(script);
    },
    async write(script, scope) {
      assertRunning();
      return await storage.write(script, scope);
    },
  };
}
