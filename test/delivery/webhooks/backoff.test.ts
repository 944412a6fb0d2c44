import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  emailBackoff,
  nextAttempt,
  retryAfterMaxMs,
  webhookBackoff,
  type Backoff,
} from '../../../src/delivery/backoff.ts';
import { parseRetryAfter } from '../../../src/platform/retry-after.ts';

const hour = 3_600_000;
const start = Date.UTC(2026, 2, 1);
const backoffs = { webhooks: webhookBackoff, email: emailBackoff };
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const retryAfter = fc.option(fc.integer({ min: 0, max: 10 ** 12 }));

/** The times of all attempts of a delivery that never succeeds. */
function attempts(
  backoff: Backoff,
  random: () => number,
  retryAfterMs: number | null = null,
): readonly number[] {
  const times = [start];
  while (times.length < 1_000) {
    const now = times.at(-1) ?? start;
    const next = nextAttempt(
      backoff,
      { made: times.length, firstAt: start },
      { now, random: random(), retryAfterMs },
    );
    if (next === null) return times;
    times.push(next);
  }
  throw new Error('the attempts do not end');
}

for (const [name, backoff] of Object.entries(backoffs)) {
  test(`${name}: the last attempt is made after 72 hours and within 78, for any random numbers`, () => {
    fc.assert(
      fc.property(fc.infiniteStream(fraction), (stream) => {
        const times = attempts(backoff, () => stream[Symbol.iterator]().next().value as number);
        const lasted = (times.at(-1) ?? 0) - start;
        assert.ok(lasted >= 72 * hour && lasted <= 78 * hour, `${lasted / hour} hours`);
        assert.ok(times.length >= 18 && times.length <= 45, `${times.length} attempts`);
      }),
    );
  });

  test(`${name}: every wait is between half a step and a step`, () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fraction, (made, random) => {
        const next = nextAttempt(
          backoff,
          { made, firstAt: start },
          { now: start, random, retryAfterMs: null },
        );
        const step = backoff.stepsMs[Math.min(made, backoff.stepsMs.length) - 1] ?? 0;
        assert.ok(next !== null && Number.isInteger(next));
        assert.ok(next - start >= step / 2 && next - start <= step);
      }),
    );
  });

  test(`${name}: the steps grow to at most six hours`, () => {
    assert.deepEqual(
      backoff.stepsMs,
      [...new Set(backoff.stepsMs)].toSorted((left, right) => left - right),
    );
    assert.ok((backoff.stepsMs.at(-1) ?? 0) <= 6 * hour);
  });

  test(`${name}: Retry-After extends a wait to at most six hours, and never shortens it`, () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fraction, retryAfter, (made, random, retryAfterMs) => {
        const when = { made, firstAt: start };
        const asked = nextAttempt(backoff, when, { now: start, random, retryAfterMs }) ?? 0;
        const usual = nextAttempt(backoff, when, { now: start, random, retryAfterMs: null }) ?? 0;
        assert.equal(asked, Math.max(usual, start + Math.min(retryAfterMs ?? 0, retryAfterMaxMs)));
      }),
    );
  });

  test(`${name}: deliveries to a receiver with endless Retry-After end too`, () => {
    const times = attempts(backoff, () => 0, Number.MAX_SAFE_INTEGER);
    assert.equal(times.length, 13);
  });
}

test('a delivery without an attempt is due at once', () => {
  const moment = { now: start, random: 0.5, retryAfterMs: null };
  assert.equal(nextAttempt(webhookBackoff, { made: 0, firstAt: 0 }, moment), start);
});

test('Retry-After is seconds or a date; other values are ignored', () => {
  const now = Date.UTC(2026, 2, 1, 12, 0, 0);
  const expected: readonly (readonly [string | undefined, number | null])[] = [
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['9999999999', 9_999_999_999_000],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['Sun, 99 Foo 2026 11:00:00 GMT', null],
    ['-5', null],
    ['1.5', null],
    ['1e3', null],
    ['soon', null],
    ['2026-03-01T12:00:30Z', null],
    ['', null],
    [undefined, null],
  ];
  for (const [header, wait] of expected) assert.equal(parseRetryAfter(header, now), wait, String(header));
});
