import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { Fault } from '../../src/core/domain/fault.ts';
import { rateLimiter, visitorLimiter } from '../../src/http/rate-limit.ts';

/** A time of realistic size, to include the rounding of doubles in production. */
const start = Date.UTC(2026, 6, 1, 12);

test('a caller can send a burst at once, and then requests at the rate', () => {
  const limit = rateLimiter({ perSecond: 2, burst: 3 }, 10);
  const allowed = (now: number): boolean => limit('a', start + now).allowed;
  assert.deepEqual([0, 0, 0, 0].map(allowed), [true, true, true, false]);
  assert.deepEqual([499, 500, 500, 999, 1_000, 1_001].map(allowed), [false, true, false, false, true, false]);
  // After a long pause, a caller has the whole burst again and no more.
  assert.deepEqual([9_000, 9_000, 9_000, 9_000].map(allowed), [true, true, true, false]);
});

test('a rejected request costs nothing', () => {
  const limit = rateLimiter({ perSecond: 1, burst: 1 }, 10);
  assert.equal(limit('a', start).allowed, true);
  for (let now = 1; now < 1_000; now += 1) assert.equal(limit('a', start + now).allowed, false);
  assert.equal(limit('a', start + 1_000).allowed, true);
});

test('callers do not share a limit', () => {
  const limit = rateLimiter({ perSecond: 1, burst: 1 }, 10);
  assert.equal(limit('a', start).allowed, true);
  assert.equal(limit('b', start).allowed, true);
  assert.equal(limit('a', start).allowed, false);
  assert.equal(limit('', start).allowed, true);
});

test('the headers contain the remaining requests and the time of the full refill', () => {
  const limit = rateLimiter({ perSecond: 2, burst: 3 }, 10);
  const header = (now: number): string | undefined => limit('a', start + now).headers['ratelimit'];
  assert.equal(limit('b', start).headers['ratelimit-policy'], '"default";q=3;w=2');
  assert.equal(header(0), '"default";r=2;t=1');
  assert.equal(header(0), '"default";r=1;t=1');
  assert.equal(header(0), '"default";r=0;t=2');
  assert.equal(header(0), '"default";r=0;t=2');
  assert.equal(header(500), '"default";r=0;t=2');
  assert.equal(header(1_500), '"default";r=1;t=1');
  assert.equal(header(9_000), '"default";r=2;t=1');
});

test('the policy contains the burst and the seconds of its refill', async (t) => {
  const cases: readonly (readonly [perSecond: number, burst: number, policy: string])[] = [
    [500, 1_000, '"default";q=1000;w=2'],
    [50, 100, '"default";q=100;w=2'],
    [100, 10, '"default";q=10;w=1'],
    [0.5, 3, '"default";q=3;w=6'],
    [2, 3, '"default";q=3;w=2'],
    [10, 1, '"default";q=1;w=1'],
  ];
  for (const [perSecond, burst, policy] of cases) {
    await t.test(policy, () => {
      const { headers } = rateLimiter({ perSecond, burst }, 10)('a', start);
      assert.equal(headers['ratelimit-policy'], policy);
    });
  }
});

test('a rejected caller gets the whole seconds until the next allowed request', () => {
  const limit = rateLimiter({ perSecond: 0.1, burst: 2 }, 10);
  for (const now of [0, 0]) assert.equal(limit('a', start + now).allowed, true);
  for (const [now, seconds] of [
    [0, 10],
    [1, 10],
    [999, 10],
    [1_000, 9],
    [8_999, 2],
    [9_000, 1],
    [9_999, 1],
  ] as const) {
    const { allowed, retryAfterSeconds } = limit('a', start + now);
    assert.deepEqual([now, allowed, retryAfterSeconds], [now, false, seconds]);
  }
  assert.equal(limit('a', start + 10_000).allowed, true);
});

test('over the limit of callers, the least recently seen one is forgotten', () => {
  const limit = rateLimiter({ perSecond: 1, burst: 1 }, 2);
  const allowed = (caller: string): boolean => limit(caller, start).allowed;
  assert.deepEqual(['a', 'b', 'a'].map(allowed), [true, true, false]);
  // c replaces b, because a was seen again.
  assert.deepEqual(['c', 'a'].map(allowed), [true, false]);
  // b replaces c, because a was seen again.
  assert.deepEqual(['b', 'a', 'b'].map(allowed), [true, false, false]);
  assert.deepEqual(['c', 'b', 'a'].map(allowed), [true, false, true]);
});

test('a clock that goes back neither throws nor allows a request', () => {
  const limit = rateLimiter({ perSecond: 1, burst: 1 }, 10);
  assert.equal(limit('a', start).allowed, true);
  assert.equal(limit('a', start - 5_000).allowed, false);
  assert.equal(limit('a', start + 1_000).allowed, true);
});

/** Requests: the caller, and the ms since the previous one. */
const requests = fc.array(
  fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom(0, 0, 0, 1, 3, 10, 99, 250, 1_000)),
  {
    minLength: 1,
    maxLength: 60,
  },
);

test('a request is allowed if and only if the caller’s bucket has a token', () => {
  // The interval of these rates is a whole number of ms, which allows an exact bucket.
  const rate = fc.constantFrom(1, 2, 4, 5, 10, 50, 100, 500, 1_000);
  fc.assert(
    fc.property(rate, fc.integer({ min: 1, max: 20 }), requests, (perSecond, burst, given) => {
      const limit = rateLimiter({ perSecond, burst }, 10);
      const interval = 1_000 / perSecond;
      const buckets = new Map<string, { level: number; at: number }>();
      let now = start;
      for (const [caller, later] of given) {
        now += later;
        const bucket = buckets.get(caller) ?? { level: burst * interval, at: now };
        bucket.level = Math.min(burst * interval, bucket.level + now - bucket.at);
        bucket.at = now;
        const isAllowed = bucket.level >= interval;
        if (isAllowed) bucket.level -= interval;
        buckets.set(caller, bucket);
        const { allowed, retryAfterSeconds, headers } = limit(caller, now);
        assert.equal(allowed, isAllowed);
        assert.match(headers['ratelimit'] ?? '', new RegExp(`;r=${Math.floor(bucket.level / interval)};`));
        if (!allowed) assert.equal(retryAfterSeconds, Math.ceil((interval - bucket.level) / 1_000));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('at any rate, a whole burst is allowed at once, and not one more request', () => {
  const rate = fc.oneof(
    fc.integer({ min: 1, max: 1_000 }),
    fc.constantFrom(0.1, 0.3, 0.7, 1.5, 3, 7, 11, 13, 300, 333.333),
  );
  fc.assert(
    fc.property(
      rate,
      fc.integer({ min: 1, max: 60 }),
      fc.nat({ max: 10 ** 10 }),
      (perSecond, burst, later) => {
        const limit = rateLimiter({ perSecond, burst }, 10);
        const responses = Array.from({ length: burst + 1 }, () => limit('a', start + later).allowed);
        assert.equal(responses.filter(Boolean).length, burst, `${perSecond}/${burst}`);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('at any rate, every time span has at most the burst and its refill', () => {
  const rate = fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.constantFrom(0.1, 0.7, 3, 7, 333.333));
  fc.assert(
    fc.property(rate, fc.integer({ min: 1, max: 20 }), requests, (perSecond, burst, given) => {
      const limit = rateLimiter({ perSecond, burst }, 10);
      let now = start;
      const allowedAt: number[] = [];
      for (const [, later] of given) {
        now += later;
        if (limit('a', now).allowed) allowedAt.push(now);
      }
      for (const [first, from] of allowedAt.entries()) {
        for (const [last, to] of allowedAt.entries()) {
          if (last < first) continue;
          const most = burst + ((to - from) * perSecond) / 1_000;
          assert.ok(
            last - first + 1 <= most + 1e-3,
            `${last - first + 1} in ${to - from} ms at ${perSecond}/${burst}`,
          );
        }
      }
    }),
    { numRuns: 1_000 },
  );
});

test('a visitor is limited by the own address and by the network, which clients above their limit do not use up', () => {
  const limit = visitorLimiter({ perSecond: 1, burst: 3 }, { clientsOfNetwork: 2, callersMax: 100 });
  const isAllowed = (address: string, now = start): boolean => {
    try {
      limit(address, now);
      return true;
    } catch (error) {
      assert.ok(error instanceof Fault && error.code === 'too-many-requests');
      assert.equal(error.retryAfterSeconds, 1);
      return false;
    }
  };
  const countAllowed = (address: string, requestsSent: number): number =>
    Array.from({ length: requestsSent }, () => isAllowed(address)).filter(Boolean).length;
  assert.equal(countAllowed('192.0.2.1', 50), 3);
  assert.equal(countAllowed('192.0.2.2', 50), 3);
  assert.equal(countAllowed('192.0.2.3', 1), 0, 'the network');
  assert.equal(countAllowed('192.0.3.1', 4), 3);
  const subnets = Array.from({ length: 20 }, (_, place) => `2001:db8:1:${place}::1`);
  assert.equal(subnets.filter((address) => isAllowed(address)).length, 6);
  assert.ok(isAllowed('2001:db8:2::1'));
  assert.ok(isAllowed('192.0.2.4', start + 1_000));
});
