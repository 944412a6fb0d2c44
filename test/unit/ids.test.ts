import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ClockError, systemClock } from '../../src/platform/clock.ts';
import { instantOf, systemRandom } from '../../src/platform/random.ts';

const epoch = Date.UTC(2025, 0, 1);
const now = Date.UTC(2026, 6, 1, 12);
/** The first instant after the range. */
const end = Date.UTC(2059, 0, 1);

test('later ids are larger, whatever the clock does, and all are integers below 2^52', () => {
  const moves = fc.array(fc.constantFrom(0, 0, 0, 0, 1, 5, 1_000, -1, -5_000), { maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: epoch + 3_600_000, max: end - 3_600_000 }), moves, (from, steps) => {
      let time = from;
      const random = systemRandom({ earliest: () => time });
      let last = 0;
      for (const step of steps) {
        time += step;
        const id = random.id();
        assert.ok(Number.isSafeInteger(id) && id > last && id < 2 ** 52, `${id} after ${last}`);
        last = id;
      }
    }),
    { numRuns: 500 },
  );
});

test('ids are unique when a burst runs ahead of the clock and the clock catches up', () => {
  let time = now;
  const random = systemRandom({ earliest: () => time });
  let last = 0;
  for (let count = 1; count <= 400_000; count += 1) {
    // With an average step of 16.5, 245 ids use up almost all 4,096 ids of a millisecond.
    if (count % 245 === 0) time += 1;
    const id = random.id();
    // A message for each id would take longer than the ids.
    if (!(id > last)) assert.fail(`${id} after ${last}`);
    last = id;
  }
});

test('ids last until 2058, and remain below 2^52 with months to spare', () => {
  const last = systemRandom({ earliest: () => end - 1 }).id();
  assert.ok(Number.isSafeInteger(last) && last < 2 ** 52 - 300 * 86_400_000 * 4_096);
  assert.ok(systemRandom({ earliest: () => epoch }).id() >= 0);
});

test('a clock outside of the years 2025 to 2058 generates no ids, and the error contains the time', () => {
  for (const [instant, shown] of [
    [0, '1970-01-01T00:00:00.000Z'],
    [epoch - 1, '2024-12-31T23:59:59.999Z'],
    [end, '2059-01-01T00:00:00.000Z'],
    [Date.UTC(2095, 0, 1), '2095-01-01T00:00:00.000Z'],
  ] as const) {
    const draw = (): number => systemRandom({ earliest: () => instant }).id();
    assert.throws(
      draw,
      (error) => error instanceof ClockError && error.message.includes(`is at ${shown}: set it`),
    );
  }
});

test('an id contains its creation time to the millisecond', () => {
  for (const time of [epoch + 1, now, now + 1, Date.UTC(2058, 5, 1)]) {
    const id = systemRandom({ earliest: () => time }).id();
    assert.equal(instantOf(id), time);
  }
});

test('the ids of different processes at one instant differ randomly', () => {
  const ids = Array.from(
    { length: 4_000 },
    () => systemRandom({ earliest: () => now }).id() - (now - epoch) * 4_096,
  );
  assert.ok(Math.min(...ids) >= 0 && Math.max(...ids) <= 4_095);
  // 4,000 random numbers below 4,096 have about 2,550 different values. Missing a fifth of the range is
  // practically impossible.
  assert.ok(new Set(ids).size > 2_300, `only ${new Set(ids).size} different ones`);
  for (const fifth of [0, 1, 2, 3, 4]) {
    const count = ids.filter((id) => Math.floor(id / 820) === fifth).length;
    assert.ok(count > 640 && count < 960, `${count} of 4,000 in one fifth`);
  }
});

test('ids of one burst are 1 to 32 apart, to hide how many there are', () => {
  // With a stopped clock, every id after the first few comes from a step.
  const random = systemRandom({ earliest: () => now });
  const ids = Array.from({ length: 20_000 }, () => random.id()).slice(5_000);
  const steps = ids.slice(1).map((id, index) => id - (ids[index] ?? 0));
  assert.deepEqual([Math.min(...steps), Math.max(...steps)], [1, 32]);
  assert.equal(new Set(steps).size, 32);
  const mean = steps.reduce((sum, step) => sum + step, 0) / steps.length;
  assert.ok(Math.abs(mean - 16.5) < 0.5, `steps of ${mean} on average`);
});

test('random bytes have the requested length and differ each time', () => {
  const random = systemRandom(systemClock);
  for (const length of [0, 1, 12, 32, 5_000]) assert.equal(random.bytes(length).length, length);
  assert.notDeepEqual(random.bytes(16), random.bytes(16));
  // In 20,000 bytes, each value occurs about 78 times.
  assert.equal(new Set(random.bytes(20_000)).size, 256);
});

test('request ids are random UUIDs', () => {
  const random = systemRandom(systemClock);
  const ids = Array.from({ length: 100 }, () => random.requestId());
  assert.equal(new Set(ids).size, 100);
  for (const id of ids)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('the system clock returns the current time in whole milliseconds', () => {
  const before = Date.now();
  const time = systemClock.now();
  assert.ok(Number.isInteger(time) && time >= before && time <= Date.now());
});
