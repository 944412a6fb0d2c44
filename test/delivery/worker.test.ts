/** The worker's memory of destinations. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { startWorker, workerLimits, type Queue } from '../../src/delivery/worker.ts';

type Job = { readonly destination: string };

/** A queue with one failing job for each of these destinations, one per claim. */
function failingQueue(names: readonly string[]): {
  readonly queue: Queue<Job, null>;
  /** Resolves when all jobs are settled, with a function for the room of a destination. */
  readonly settled: Promise<(destination: string) => number>;
} {
  const left = [...names];
  let count = 0;
  let room: (destination: string) => number = () => Number.NaN;
  const { promise: settled, resolve } = Promise.withResolvers<typeof room>();
  const queue: Queue<Job, null> = {
    name: 'failing',
    claim({ roomOf }) {
      room = roomOf;
      const destination = left.shift();
      const claimed =
        destination === undefined ? [] : [{ job: { destination }, destination, startsThrottled: false }];
      return Promise.resolve({ claimed, hasMore: left.length > 0 });
    },
    send: () => Promise.resolve({ result: null, isHealthy: false }),
    settle(sent) {
      count += sent.length;
      if (count === names.length) setImmediate(() => resolve(room));
      return Promise.resolve();
    },
    release: () => Promise.resolve(),
    startsUntil: () => Number.POSITIVE_INFINITY,
  };
  return { queue, settled };
}

test('the worker throttles failing destinations, and forgets the oldest ones over its limit', async () => {
  const { queue, settled } = failingQueue(['a', 'b', 'c', 'd']);
  const worker = startWorker(queue, pino({ level: 'silent' }), { ...workerLimits, destinationsMax: 2 });
  const roomOf = await settled;
  const unknown = roomOf('x');
  assert.ok(unknown > 1);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => roomOf(name)),
    [unknown, unknown, 1, 1],
  );
  await worker.stop();
});
