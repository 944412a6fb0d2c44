/** What runs on the thread that posts: see `thread.ts`. */

import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { openOutbound } from './post.ts';
import type { Orders, Report } from './thread.ts';

/** As of nice(1): a tenth of what a thread with 0 gets, when both want more than there is. */
const niceness = 10;

assert(parentPort, 'this is started as a thread');
// Where processor time is short, the callers of the API have it first. Only on Linux is that a thread's own matter.
if (process.platform === 'linux') setPriority(niceness);
const port = parentPort;
const outbound = openOutbound();
const underWay = new Map<number, AbortController>();
let reports: Report[] = [];

/** Reports go back together where several posts end in one turn. */
function report(ended: Report): void {
  underWay.delete(ended.id);
  if (reports.push(ended) > 1) return;
  setImmediate(() => {
    port.postMessage(reports);
    reports = [];
  });
}

port.on('message', ({ posts, calledOff }: Orders) => {
  for (const { id, ...request } of posts) {
    const calling = new AbortController();
    underWay.set(id, calling);
    outbound.post({ ...request, signal: calling.signal }).then(
      (result) => report({ id, result }),
      (error: unknown) => report({ id, error }),
    );
  }
  for (const id of calledOff) underWay.get(id)?.abort();
});
