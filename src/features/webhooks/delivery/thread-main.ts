/** The main module of the thread in `thread.ts`. */

import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { openOutbound } from './post.ts';
import type { Orders, Report } from './thread.ts';
import { nameSourcesInStacks } from '../../../platform/stack-traces.ts';

nameSourcesInStacks();

/** The value of nice(1): about a tenth of the processor time of a thread with 0, if both need more than is available. */
const niceness = 10;

assert(parentPort, 'this module runs as a thread');
// The API has priority. Only Linux has a priority per thread.
if (process.platform === 'linux') setPriority(niceness);
const port = parentPort;
const outbound = openOutbound();
const inProgress = new Map<number, AbortController>();
let reports: Report[] = [];

/** Reports of one turn of the event loop are one message. */
function report(ended: Report): void {
  inProgress.delete(ended.id);
  if (reports.push(ended) > 1) return;
  setImmediate(() => {
    port.postMessage(reports);
    reports = [];
  });
}

port.on('message', ({ posts, aborted }: Orders) => {
  for (const { id, ...request } of posts) {
    const aborting = new AbortController();
    inProgress.set(id, aborting);
    outbound.post({ ...request, signal: aborting.signal }).then(
      (result) => report({ id, result }),
      (error: unknown) => report({ id, error }),
    );
  }
  for (const id of aborted) inProgress.get(id)?.abort();
});
