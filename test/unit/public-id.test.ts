import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { chaskey } from '../../src/platform/chaskey.ts';
import { publicIdsOf } from '../../src/platform/public-id.ts';

const key = [0x833d3433, 0x009f389f, 0x2398e64f, 0x417acf39] as const;
const otherKey = [0x833d3432, 0x009f389f, 0x2398e64f, 0x417acf39] as const;
const ids = publicIdsOf(key);
const largest = 2 ** 52 - 1;
const internalId = fc.integer({ min: 0, max: largest });

test('chaskey computes the first word of the published 12-round vector of 16 bytes', () => {
  assert.equal(chaskey(key)(0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c), 0x5dd0e2a9);
});

test('a public id is an integer from 2^52 to 2^53 - 1 and can be decoded', () => {
  fc.assert(
    fc.property(fc.oneof(internalId, fc.constantFrom(0, 1, largest)), (id) => {
      const shown = ids.of(id);
      assert.ok(Number.isSafeInteger(shown) && shown >= 2 ** 52);
      assert.equal(ids.read(shown), id);
    }),
    { numRuns: 5_000 },
  );
});

test('every integer from 2^52 to 2^53 - 1 is the public id of one internal id', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2 ** 52, max: Number.MAX_SAFE_INTEGER }), (shown) => {
      const id = ids.read(shown);
      assert.ok(id !== undefined && id >= 0 && id <= largest);
      assert.equal(ids.of(id), shown);
    }),
    { numRuns: 5_000 },
  );
});

test('a number below 2^52 or above 2^53 - 1 cannot be decoded', () => {
  for (const number of [0, 1, largest, -1, 2 ** 53, 2 ** 60, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(ids.read(number), undefined, String(number));
});

test('an internal id of more than 52 bits is an error', () => {
  for (const id of [-1, 2 ** 52, 0.5, Number.NaN]) assert.throws(() => ids.of(id), RangeError);
});

/** Returns the share of the 52 bits in which two public ids differ. */
function distance(left: number, right: number): number {
  return (BigInt(left) ^ BigInt(right)).toString(2).replaceAll('0', '').length / 52;
}

test('adjacent internal ids have unrelated public ids, and another key returns others', () => {
  const others = publicIdsOf(otherKey);
  const first = 244_212_357_349;
  let neighbors = 0;
  let keys = 0;
  const count = 4_000;
  for (let id = first; id < first + count; id += 1) {
    neighbors += distance(ids.of(id), ids.of(id + 1)) / count;
    keys += distance(ids.of(id), others.of(id)) / count;
  }
  // Each is a mean of 208,000 bits, whose standard deviation is 0.0011.
  assert.ok(Math.abs(neighbors - 0.5) < 0.01, String(neighbors));
  assert.ok(Math.abs(keys - 0.5) < 0.01, String(keys));
});

test('the public ids of a burst are distributed evenly over the range', () => {
  const buckets = Array.from({ length: 64 }, () => 0);
  const count = 64_000;
  for (let id = 0; id < count; id += 1) {
    const bucket = Math.floor((ids.of(244_212_357_349 + id * 3) - 2 ** 52) / 2 ** 46);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  // Chi-squared with 63 degrees of freedom exceeds 130 once in a million times. The ids are always the same.
  const chiSquared = buckets.reduce((sum, found) => sum + (found - 1_000) ** 2 / 1_000, 0);
  assert.ok(chiSquared < 130, String(chiSquared));
});
