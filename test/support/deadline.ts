/** Limits of time in tests. They are those of an idle machine, and grow with the time that an empty process takes. */

import { spawnSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

/** The time that an empty process of Node.js takes on an idle machine. */
const idleMs = 30;
const pollMs = 1_000;

/** Returns how many times as long as on an idle machine an empty process takes now, at least 1. */
function slowness(): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '']);
  return Math.max(1, (performance.now() - startedAt) / idleMs);
}

/** Whether something took at most as long as an idle machine may take for it. */
export function isWithin(tookMs: number, limitMs: number): boolean {
  return tookMs <= limitMs || tookMs <= limitMs * slowness();
}

export type Deadline = { readonly isOver: () => boolean };

/** A deadline after this time on an idle machine. An empty process is measured only when that time is over. */
export function deadlineIn(ms: number): Deadline {
  const startedAt = performance.now();
  let limitMs = ms;
  return {
    isOver() {
      const elapsedMs = performance.now() - startedAt;
      if (elapsedMs > limitMs) limitMs = Math.max(limitMs, ms * slowness());
      return elapsedMs > limitMs;
    },
  };
}

/** @throws Error if the event does not happen before the deadline. */
export async function inTime<T>(event: Promise<T>, ms: number, description: string): Promise<T> {
  const deadline = deadlineIn(ms);
  const late = Symbol('late');
  const over = new AbortController();
  try {
    for (;;) {
      const outcome = await Promise.race([event, wait(Math.min(ms, pollMs), late, { signal: over.signal })]);
      if (outcome !== late) return outcome;
      if (deadline.isOver()) throw new Error(`not in ${ms} ms: ${description}`);
    }
  } finally {
    over.abort();
  }
}
