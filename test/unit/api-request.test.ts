import assert from 'node:assert/strict';
import test from 'node:test';
import {
  decodeRequests,
  encodeRequests,
  storedRequestId,
  type RequestFilter,
} from '../../src/features/developers/domain/api-request.ts';
import type { ApiRequest } from '../../src/core/requests/domain/api-request.ts';

const at = 1_800_000_000_000;
const any: RequestFilter = { result: null, caller: null, operation: null, requestId: null };
const uuids = ['00000000-0000-4000-8000-000000000001', 'ffffffff-ffff-4fff-bfff-ffffffffffff'] as const;

const requests: readonly ApiRequest[] = [
  {
    at,
    durationMs: 0.25,
    method: 'POST',
    route: '/gift_card',
    status: 201,
    problem: null,
    caller: 2 ** 52 - 1,
    hasKey: true,
    requestId: uuids[0],
  },
  {
    at: at + 899_999,
    durationMs: 4_000_000,
    method: 'GET',
    route: '/gift_card/:gift_card_id',
    status: 404,
    problem: 'not-found',
    caller: 'customer',
    hasKey: false,
    requestId: 'Root=1-67891233-abcdef012345678912345678',
  },
  {
    at: at + 899_999,
    durationMs: 12,
    method: 'POST',
    route: '/gift_card',
    status: 500,
    problem: 'internal-error',
    caller: 7,
    hasKey: false,
    requestId: uuids[1],
  },
];

test('a block of requests is read as it was written, the newest first', () => {
  const encoded = encodeRequests(requests, at);
  const indexed = requests.map((request, index) => ({ ...request, index }));
  assert.deepEqual(decodeRequests(encoded, at, any), indexed.toReversed());
  assert.deepEqual(decodeRequests(encodeRequests([], at), at, any), []);
  const many = Array.from({ length: 200 }, () => requests[0] as ApiRequest);
  const { kinds, content } = encodeRequests(many, at);
  assert.ok(kinds.length + content.length < 5_400, `${kinds.length + content.length} bytes`);
});

test('a filter chooses requests by result, caller, operation and id', () => {
  const encoded = encodeRequests(requests, at);
  const found = (filter: Partial<RequestFilter>): readonly number[] =>
    decodeRequests(encoded, at, { ...any, ...filter }).map(({ index }) => index);
  assert.deepEqual(found({ result: 'success' }), [0]);
  assert.deepEqual(found({ result: 'rejected' }), [1]);
  assert.deepEqual(found({ result: 'failed' }), [2]);
  assert.deepEqual(found({ caller: 7 }), [2]);
  assert.deepEqual(found({ caller: 'customer' }), [1]);
  assert.deepEqual(found({ operation: { method: 'POST', route: '/gift_card' } }), [2, 0]);
  assert.deepEqual(found({ operation: { method: 'GET', route: '/gift_card' } }), []);
  for (const [index, { requestId }] of requests.entries()) assert.deepEqual(found({ requestId }), [index]);
  assert.deepEqual(found({ requestId: uuids[0].replace('1', '2') }), []);
  assert.deepEqual(found({ requestId: 'abc' }), []);
  assert.deepEqual(found({ requestId: uuids[0], result: 'failed' }), []);
});

test('a request id that could be a code or an address is not stored', () => {
  for (const id of [
    'qyw7j8tjrj3pvkhh',
    'QYW7-J8TJ-RJ3P-VKHH',
    'SPRING31',
    'ann@example.com',
    'x/ann@example.com',
  ])
    assert.equal(storedRequestId(id), null, id);
  for (const id of [...uuids, '01ARZ3NDEKTSV4RRFFQ69G5FAV', 'req:1', 'a.b.c.d.e'])
    assert.equal(storedRequestId(id), id);
  const request = { ...(requests[0] as ApiRequest), requestId: 'qyw7j8tjrj3pvkhh' };
  const encoded = encodeRequests([request], at);
  assert.doesNotMatch(encoded.kinds, /qyw7/);
  assert.deepEqual(decodeRequests(encoded, at, any), [{ ...request, requestId: null, index: 0 }]);
});
