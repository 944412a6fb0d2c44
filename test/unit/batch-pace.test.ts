import assert from 'node:assert/strict';
import test from 'node:test';
import { onePart, paceByRequests } from '../../src/features/batches/service/pace.ts';

function nextOf(pace: { nextParts(): number }, count: number): readonly number[] {
  return Array.from({ length: count }, () => pace.nextParts());
}

test('transactions have several parts while there are no requests, and one for a while after each request', () => {
  let requests = 7;
  const pace = paceByRequests(() => requests);
  assert.deepEqual(nextOf(pace, 3), [6, 6, 6]);
  requests += 1;
  assert.deepEqual(
    nextOf(pace, 10),
    Array.from({ length: 10 }, () => 1),
  );
  requests += 5;
  const later = nextOf(pace, 18);
  assert.deepEqual(later, [...Array.from({ length: 16 }, () => 1), 6, 6]);
});

test('transactions have one part while there are always requests', () => {
  let requests = 0;
  const pace = paceByRequests(() => (requests += 1));
  assert.deepEqual(new Set(nextOf(pace, 40)), new Set([1]));
});

test('a process that does not know of requests issues one part per transaction', () => {
  assert.deepEqual(nextOf(onePart, 2), [1, 1]);
});
