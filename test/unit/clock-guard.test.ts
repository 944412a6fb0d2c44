/** The service with a clock that jumps. Times are in hours from a start. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { guardClock, type ClockGuard } from '../../src/start/clock-guard.ts';
import { limits } from '../../src/platform/limits.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.UTC(2026, 5, 1, 12);

type Machine = ClockGuard & {
  /** The reports in order. */
  readonly reports: (readonly [kind: string, byMs?: number])[];
  /** Advances all clocks. */
  pass(ms: number): void;
  /** Sets the clock forward or back. */
  set(byMs: number): void;
  /** Suspends the machine. Its other clocks continue. */
  suspend(ms: number): void;
  /** Stops the whole virtual machine, and then corrects its clock. */
  freeze(ms: number): void;
  readonly wall: () => number;
};

function machine({ isConfirmed = true } = {}): Machine {
  let [wall, monotonic, uptime] = [start, 5 * hour, 9 * day];
  const reports: (readonly [kind: string, byMs?: number])[] = [];
  const guard = guardClock({ now: () => wall, monotonic: () => monotonic, uptime: () => uptime }, limits, {
    jumped: (byMs) => reports.push(['jumped', byMs]),
    returned: () => reports.push(['returned']),
    accepted: (byMs) => reports.push(['accepted', byMs]),
  });
  if (isConfirmed) guard.confirm();
  return {
    clock: guard.clock,
    jumpMs: () => guard.jumpMs(),
    isTrusted: () => guard.isTrusted(),
    confirm: () => guard.confirm(),
    reports,
    wall: () => wall,
    pass(ms) {
      wall += ms;
      monotonic += ms;
      uptime += ms;
    },
    set(byMs) {
      wall += byMs;
    },
    suspend(ms) {
      wall += ms;
      uptime += ms;
    },
    freeze(ms) {
      wall += ms;
    },
  };
}

/** Advances the clocks in steps, as a service does that reads its clock regularly. */
function passInSteps(one: Machine, ms: number, stepMs = minute): void {
  for (let passed = 0; passed < ms; passed += stepMs) {
    one.pass(Math.min(stepMs, ms - passed));
    one.clock.earliest();
  }
}

function assertBelieves(one: Machine): void {
  const { clock, wall } = one;
  assert.deepEqual(
    [clock.now(), clock.earliest(), clock.latest(), clock.retainFrom(day), one.isTrusted(), one.jumpMs()],
    [wall(), wall(), wall(), wall() - day, true, 0],
  );
}

test('a clock that runs evenly is trusted', () => {
  const one = machine();
  for (const ms of [0, 1, minute, day, 40 * day]) {
    one.pass(ms);
    assertBelieves(one);
  }
  assert.deepEqual(one.reports, []);
});

test('corrections of up to five minutes are trusted at once', () => {
  for (const byMs of [1, -1, 5 * minute, -5 * minute]) {
    const one = machine();
    one.set(byMs);
    assertBelieves(one);
    assert.deepEqual(one.reports, []);
  }
});

test('a clock that is set a day ahead for a minute expires nothing and erases nothing', () => {
  const one = machine();
  one.pass(2 * hour);
  one.set(day);
  const { clock } = one;
  assert.equal(clock.now(), start + 2 * hour + day);
  assert.equal(clock.earliest(), start + 2 * hour);
  assert.equal(clock.latest(), start + 2 * hour + day);
  assert.equal(clock.retainFrom(day), 0);
  assert.deepEqual([one.isTrusted(), one.jumpMs()], [false, day]);
  one.pass(minute);
  assert.equal(clock.earliest(), start + 2 * hour + minute);
  one.set(-day);
  assertBelieves(one);
  assert.deepEqual(one.reports, [['jumped', day], ['returned']]);
});

test('a record that is written while the clock is set back for a minute is retained for its full time', () => {
  const one = machine();
  one.set(-day);
  const { clock } = one;
  assert.deepEqual([clock.earliest(), clock.latest(), clock.retainFrom(day)], [start - day, start, 0]);
  one.pass(minute);
  assert.equal(clock.latest(), start + minute);
  one.set(day);
  assertBelieves(one);
  assert.deepEqual(one.reports, [['jumped', -day], ['returned']]);
});

test('a clock that is stable for an hour after a jump is trusted, and not a minute earlier', () => {
  for (const byMs of [day, -day]) {
    const one = machine();
    one.set(byMs);
    one.clock.earliest();
    passInSteps(one, hour - 1);
    assert.equal(one.isTrusted(), false);
    one.pass(1);
    assert.equal(one.clock.earliest(), one.wall());
    assert.equal(one.isTrusted(), true);
    assert.deepEqual(one.reports, [
      ['jumped', byMs],
      ['accepted', byMs],
    ]);
  }
});

test('the hour starts again when the clock jumps again', () => {
  const one = machine();
  one.set(day);
  one.clock.earliest();
  passInSteps(one, 50 * minute);
  one.set(day);
  passInSteps(one, 50 * minute);
  assert.equal(one.isTrusted(), false);
  assert.equal(one.clock.earliest(), start + 100 * minute);
  passInSteps(one, 11 * minute);
  assert.equal(one.isTrusted(), true);
  assert.deepEqual(one.reports, [
    ['jumped', day],
    ['jumped', 2 * day],
    ['accepted', 2 * day],
  ]);
});

test('after a jump ahead is trusted, records from before it are retained for their full time', () => {
  const one = machine();
  const written = one.clock.latest();
  one.set(day);
  one.clock.earliest();
  passInSteps(one, 2 * hour);
  assert.equal(one.isTrusted(), true);
  assert.ok(one.clock.retainFrom(day) <= written, 'a record of two hours ago would be erased');
  passInSteps(one, 21 * hour);
  assert.ok(one.clock.retainFrom(day) <= written, 'a record of 23 hours ago would be erased');
  passInSteps(one, 2 * hour);
  assertBelieves(one);
});

test('small steps that add up to a jump within an hour are a jump', () => {
  const one = machine();
  for (let step = 0; step < 5; step += 1) {
    one.pass(10 * minute);
    one.set(2 * minute);
    one.clock.earliest();
  }
  assert.deepEqual(one.reports, [['jumped', 6 * minute]]);
  assert.equal(one.clock.earliest(), start + 50 * minute);
});

test('a suspended machine does not count as a jump', () => {
  const one = machine();
  one.pass(hour / 2);
  one.suspend(9 * hour);
  assertBelieves(one);
  one.pass(hour);
  one.suspend(3 * day);
  assertBelieves(one);
  assert.deepEqual(one.reports, []);
  one.set(day);
  assert.equal(one.clock.earliest(), one.wall() - day);
});

test('a virtual machine that was stopped and corrected is trusted after an hour', () => {
  const one = machine();
  one.freeze(9 * hour);
  assert.equal(one.clock.earliest(), start);
  passInSteps(one, hour);
  assert.equal(one.isTrusted(), true);
});

test('a clock outside of the years of ids is never trusted, however stable', () => {
  for (const instant of [0, Date.UTC(2095, 0, 1)]) {
    const one = machine();
    const byMs = instant - start;
    one.set(byMs);
    passInSteps(one, 3 * hour);
    const expected = start + 3 * hour;
    assert.deepEqual(
      [one.clock.earliest(), one.clock.latest(), one.isTrusted()],
      [expected, expected, false],
    );
    one.set(-byMs);
    assertBelieves(one);
  }
});

test('after a start, nothing is erased until the clock has been stable for an hour or is confirmed', () => {
  const one = machine({ isConfirmed: false });
  assert.deepEqual([one.clock.earliest(), one.clock.latest(), one.clock.retainFrom(day)], [start, start, 0]);
  passInSteps(one, hour - 1);
  assert.equal(one.isTrusted(), false);
  one.pass(1);
  assertBelieves(one);

  const other = machine({ isConfirmed: false });
  other.confirm();
  assertBelieves(other);
});

test('the current time is between the earliest and the latest instant if a wrong clock is corrected within the hour', () => {
  const steps = fc.array(
    fc.record({
      kind: fc.constantFrom('pass', 'set', 'return', 'suspend'),
      ms: fc.integer({ min: 1, max: 2 * day }),
      isBack: fc.boolean(),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (given) => {
      const one = machine();
      let real = start;
      for (const { kind, ms, isBack } of given) {
        if (kind === 'set') one.set(isBack ? -ms : ms);
        if (kind === 'return') one.set(real - one.wall());
        if (kind === 'suspend') {
          // The clock of a suspended machine is not set.
          one.set(real - one.wall());
          one.clock.earliest();
          one.suspend(ms);
          real += ms;
        }
        if (kind === 'pass') {
          // The clock is corrected before the hour after which a wrong clock is trusted.
          const passing = Math.min(ms, 20 * minute);
          one.pass(passing);
          real += passing;
          one.clock.earliest();
          one.set(real - one.wall());
        }
        assert.ok(one.clock.earliest() <= real + limits.clockJumpMaxMs, `${kind} ${ms}`);
        assert.ok(one.clock.latest() >= real - limits.clockJumpMaxMs, `${kind} ${ms}`);
      }
    }),
    { numRuns: 300 },
  );
});
