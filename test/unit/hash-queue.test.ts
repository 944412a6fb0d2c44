/** The queue for slow hashes. The tasks of these tests end when the test says so, so no test depends on a time. */

import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import { hashQueue, type HashClient } from '../../src/core/staff/service/hash-queue.ts';

type Outcome = 'waiting' | 'running' | 'done' | 'overloaded';

type Started = { readonly name: string; outcome: Outcome };

/** A queue whose tasks run until they are ended. */
function openQueue({ waitingMax = 50, perClientMax = 10 } = {}) {
  const queue = hashQueue({
    hashesAtOnceMax: 2,
    hashesWaitingMax: waitingMax,
    hashesPerClientMax: perClientMax,
  });
  const running: { readonly name: string; readonly end: () => void }[] = [];
  let runningMax = 0;
  return {
    running: () => running.map(({ name }) => name),
    runningMax: () => runningMax,
    add(name: string, client: Partial<HashClient> = {}): Started {
      const started: Started = { name, outcome: 'waiting' };
      const task = async (): Promise<void> => {
        started.outcome = 'running';
        const { promise, resolve } = Promise.withResolvers<void>();
        running.push({ name, end: resolve });
        runningMax = Math.max(runningMax, running.length);
        await promise;
      };
      queue.inTurn({ isKnown: false, key: name, isGone: () => false, ...client }, task).then(
        () => (started.outcome = 'done'),
        (error: unknown) => {
          assert.ok(error instanceof Fault && error.code === 'overloaded');
          assert.equal(error.retryAfterSeconds, 5);
          started.outcome = 'overloaded';
        },
      );
      return started;
    },
    /** Ends the task that has run for longest. */
    async endOne(): Promise<void> {
      running.shift()?.end();
      await nextTurn();
    },
  };
}

async function outcomesOf(all: readonly Started[]): Promise<readonly Outcome[]> {
  await nextTurn();
  return all.map(({ outcome }) => outcome);
}

function countOf(outcomes: readonly Outcome[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...new Set(outcomes)].map((each) => [each, outcomes.filter((other) => other === each).length]),
  );
}

const isKnown = true;

test('two run at a time, fifty strangers wait, and more are rejected', async () => {
  const queue = openQueue();
  const all = Array.from({ length: 60 }, (_, place) => queue.add(`network ${place}`));
  assert.deepEqual(countOf(await outcomesOf(all)), { running: 2, waiting: 50, overloaded: 8 });
  for (let count = 0; count < 52; count += 1) await queue.endOne();
  assert.deepEqual(countOf(await outcomesOf(all)), { done: 52, overloaded: 8 });
  assert.equal(queue.runningMax(), 2);
});

test('known clients have their own places while strangers fill theirs, and run first', async () => {
  const queue = openQueue();
  const strangers = Array.from({ length: 70 }, (_, place) => queue.add(`network ${place}`));
  const known = ['owner', 'till'].map((name) => queue.add(name, { isKnown }));
  assert.deepEqual(countOf(await outcomesOf(strangers)), { running: 2, waiting: 50, overloaded: 18 });
  assert.deepEqual(await outcomesOf(known), ['waiting', 'waiting']);
  await queue.endOne();
  await queue.endOne();
  assert.deepEqual(queue.running(), ['owner', 'till'], 'although all strangers came earlier');
});

test('a network has ten places at most, and so has a known client', async () => {
  const queue = openQueue();
  const key = '192.0.2.0/24';
  const crowd = Array.from({ length: 30 }, () => queue.add('crowd', { key }));
  assert.deepEqual(countOf(await outcomesOf(crowd)), { running: 2, waiting: 8, overloaded: 20 });
  const till = Array.from({ length: 30 }, () => queue.add('till', { key, isKnown }));
  assert.deepEqual(countOf(await outcomesOf(till)), { waiting: 10, overloaded: 20 });
  const other = queue.add('other network');
  assert.deepEqual(await outcomesOf([other]), ['waiting']);
  for (let count = 0; count < 21; count += 1) await queue.endOne();
  assert.deepEqual(await outcomesOf([other, queue.add('again', { key })]), ['done', 'running']);
});

test('a client that is gone when its turn comes is skipped', async () => {
  const queue = openQueue();
  for (const name of ['first', 'second']) queue.add(name);
  let isGone = false;
  const gone = Array.from({ length: 5 }, (_, place) => queue.add(`gone ${place}`, { isGone: () => isGone }));
  const last = queue.add('last');
  isGone = true;
  await queue.endOne();
  assert.deepEqual(countOf(await outcomesOf(gone)), { overloaded: 5 });
  assert.deepEqual(await outcomesOf([last]), ['running']);
});

test('clients that are gone make room in a full queue', async () => {
  const queue = openQueue({ waitingMax: 3 });
  for (const name of ['first', 'second']) queue.add(name);
  let isGone = false;
  const gone = Array.from({ length: 2 }, (_, place) => queue.add(`gone ${place}`, { isGone: () => isGone }));
  const patient = queue.add('patient');
  assert.deepEqual(await outcomesOf([queue.add('too many')]), ['overloaded']);
  isGone = true;
  const newer = queue.add('newer');
  assert.deepEqual(await outcomesOf([...gone, patient, newer]), [
    'overloaded',
    'overloaded',
    'waiting',
    'waiting',
  ]);
  await queue.endOne();
  assert.deepEqual(queue.running(), ['second', 'patient'], 'the order stays');
});

test('a task that fails gives its place to the next one', async () => {
  const queue = hashQueue({ hashesAtOnceMax: 1, hashesWaitingMax: 1, hashesPerClientMax: 1 });
  const client: HashClient = { isKnown: false, key: '192.0.2.0/24', isGone: () => false };
  const failed = queue.inTurn(client, () => Promise.reject(new Error('no memory')));
  const next = queue.inTurn({ ...client, key: '198.51.100.0/24' }, () => Promise.resolve('done'));
  await assert.rejects(failed, /no memory/);
  assert.equal(await next, 'done');
  assert.equal(await queue.inTurn(client, () => Promise.resolve('again')), 'again');
});
