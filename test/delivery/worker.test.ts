/** The worker's memory of destinations. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { startWorker, workerLimits, workerLimitsOn, type Queue } from '../../src/delivery/worker.ts';
import { until } from '../support/delivering.ts';

type Job = { readonly destination: string };

/** A queue with one failing job for each of these destinations, one per claim. */
function failingQueue(names: readonly string[]): {
  readonly queue: Queue<Job, null>;
  /** Returns the room of a destination after all jobs were settled. */
  readonly rooms: () => Promise<(destination: string) => number>;
} {
  const left = [...names];
  let count = 0;
  let room: (destination: string) => number = () => Number.NaN;
  const queue: Queue<Job, null> = {
    name: 'failing',
    mayHaveJobs: () => true,
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
      return Promise.resolve();
    },
    release: () => Promise.resolve(),
    startsUntil: () => Number.POSITIVE_INFINITY,
  };
  const rooms = async (): Promise<typeof room> => {
    await until(() => count === names.length);
    await nextTurn();
    return room;
  };
  return { queue, rooms };
}

test('the worker throttles failing destinations, and forgets the oldest ones over its limit', async () => {
  const { queue, rooms } = failingQueue(['a', 'b', 'c', 'd']);
  const worker = startWorker(queue, pino({ level: 'silent' }), { ...workerLimits, destinationsMax: 2 });
  const roomOf = await rooms();
  const unknown = roomOf('x');
  assert.ok(unknown > 1);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => roomOf(name)),
    [unknown, unknown, 1, 1],
  );
  await worker.stop();
});

/** A queue without jobs that counts claims. A claim ends when `finish` is called. */
function emptyQueue(mayHaveJobs = true): {
  readonly queue: Queue<Job, null>;
  readonly claims: () => number;
  readonly finish: () => void;
} {
  let claims = 0;
  let finish = (): void => {};
  const queue: Queue<Job, null> = {
    name: 'empty',
    mayHaveJobs: () => mayHaveJobs,
    claim() {
      claims += 1;
      return new Promise((resolve) => {
        finish = () => resolve({ claimed: [], hasMore: false });
      });
    },
    send: () => Promise.resolve({ result: null, isHealthy: true }),
    settle: () => Promise.resolve(),
    release: () => Promise.resolve(),
    startsUntil: () => Number.POSITIVE_INFINITY,
  };
  return { queue, claims: () => claims, finish: () => finish() };
}

test('a commit during a poll causes another poll', async () => {
  const { queue, claims, finish } = emptyQueue();
  const worker = startWorker(queue, pino({ level: 'silent' }), { ...workerLimits, pollMs: 2 ** 30 });
  worker.wake();
  finish();
  await until(() => claims() === 2);
  const stopped = worker.stop();
  finish();
  await stopped;
});

test('a commit that can have added no jobs causes no poll', async () => {
  const { queue, claims, finish } = emptyQueue(false);
  const limits = { ...workerLimits, pollMs: 2 ** 30, wakeRestMs: 0 };
  const worker = startWorker(queue, pino({ level: 'silent' }), limits);
  finish();
  await nextTurn();
  worker.wake();
  assert.equal(claims(), 1);
  await worker.stop();
});

test('commits cause one poll in a time, which does not begin again with each of them', async () => {
  const { queue, claims, finish } = emptyQueue();
  const limits = { ...workerLimits, pollMs: 2 ** 30, wakeRestMs: 300 };
  const worker = startWorker(queue, pino({ level: 'silent' }), limits);
  const start = performance.now();
  finish();
  await nextTurn();
  for (; claims() === 1 && performance.now() - start < 20_000; await wait(10)) worker.wake();
  assert.equal(claims(), 2);
  assert.ok(performance.now() - start > 290);
  const stopped = worker.stop();
  finish();
  await stopped;
});

test('a worker on a distributed database polls rarely, because each poll reads every shard', () => {
  const { pollMs, wakeRestMs } = workerLimitsOn({ isDistributed: true });
  assert.ok(pollMs > workerLimits.pollMs && wakeRestMs > workerLimits.wakeRestMs);
  assert.equal(workerLimitsOn({ isDistributed: false }), workerLimits);
});
