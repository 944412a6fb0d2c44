import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { CodeCohorts } from '../../src/core/cards/storage/code-cohorts.ts';
import { tagOf } from '../../src/core/cards/domain/code.ts';
import { keysOf } from '../../src/platform/keys.ts';

const store = 1;
const other = 2;

/** A process whose clock is moved by hand. */
function startProcess() {
  const cohorts = new CodeCohorts();
  let now = 0;
  const ctx = { clock: { monotonic: () => now }, random: { bytes: (length: number) => randomBytes(length) } };
  return {
    pass: (ms: number) => (now += ms),
    codes: (count: number, storeId = store) =>
      Array.from({ length: count }, () => cohorts.generate(storeId, ctx)),
  };
}

function tagsOf(
  codes: ReturnType<ReturnType<typeof startProcess>['codes']>,
): readonly (string | undefined)[] {
  return [...new Set(codes.map(tagOf))];
}

test('256 consecutive codes share a tag, and nothing else', () => {
  const codes = startProcess().codes(1_024);
  for (let from = 0; from < codes.length; from += 256)
    assert.equal(tagsOf(codes.slice(from, from + 256)).length, 1);
  assert.equal(tagsOf(codes).length, 4);
  assert.equal(new Set(codes.map((code) => code.reveal().slice(4))).size, codes.length);
});

test('a cohort ends after a second, even if it has codes left', () => {
  const { codes, pass } = startProcess();
  const [before] = tagsOf(codes(1));
  pass(999);
  assert.deepEqual(tagsOf(codes(10)), [before]);
  pass(1);
  const [after, ...more] = tagsOf(codes(10));
  assert.notEqual(after, before);
  assert.deepEqual(more, []);
});

test('stores and processes do not share tags', () => {
  const process = startProcess();
  const second = startProcess();
  const tags = [process.codes(3), process.codes(3, other), process.codes(3), second.codes(3)].map(tagsOf);
  assert.deepEqual(tags[2], tags[0]);
  assert.deepEqual(
    tags.map(({ length }) => length),
    [1, 1, 1, 1],
  );
  assert.equal(new Set(tags.flat()).size, 3);
});

test('a process remembers the cohorts of 1,024 stores, and the oldest one ends', () => {
  const { codes } = startProcess();
  const tags = Array.from({ length: 1_024 }, (_, place) => tagsOf(codes(1, place)));
  assert.deepEqual(tagsOf(codes(1, 0)), tags[0]);
  assert.deepEqual(tagsOf(codes(1, 1_023)), tags[1_023]);
  codes(1, 1_024);
  assert.deepEqual(tagsOf(codes(1, 1)), tags[1]);
  assert.notDeepEqual(tagsOf(codes(1, 0)), tags[0]);
});

test('the digest of a tag is that of the given store and keys, whether or not it was needed before', () => {
  const cohorts = new CodeCohorts();
  const clock = { monotonic: () => 0 };
  const random = { bytes: (length: number) => randomBytes(length) };
  const rings = [7, 8].map((fill) => keysOf([{ id: 'test', secret: new Uint8Array(32).fill(fill) }]));
  const tags = [tagOf(cohorts.generate(store, { clock, random })) ?? '', 'zzzz'];
  for (const keys of [...rings, ...rings])
    for (const tag of [...tags, ...tags])
      for (const storeId of [store, other]) {
        const expected = keys.digest('gift-card-code-tag', `${storeId} ${tag}`);
        assert.deepEqual(cohorts.digestOf(tag, { storeId, keys }), expected);
      }
});
