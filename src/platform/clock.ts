/** Time: the only file that reads the system time. */

import { uptime } from 'node:os';

declare const real: unique symbol;

/** Instants are whole ms since 1970 UTC. */
type ClockReadings = {
  /** The system time. */
  now(): number;
  /**
   * The earliest possible present, which expiry is compared with. It is `now()`, or after a jump of the system clock
   * the earlier of the system time and the time before the jump plus the time elapsed since.
   */
  earliest(): number;
  /** The latest possible present, from which guaranteed periods are counted. */
  latest(): number;
  /**
   * Returns the instant from which data must be retained, because it can be less than `periodMs` old. Returns 0 while
   * the clock is not trusted: all data must be retained.
   */
  retainFrom(periodMs: number): number;
  /** Ms since an arbitrary instant; it cannot be set. On Linux it does not advance while the machine is suspended. */
  monotonic(): number;
};

/**
 * The time of cards, holds, emails and books. In a sandbox it is ahead of the time of the machine. Its type differs from
 * that of `WallClock`, so that neither is used in place of the other.
 */
export type Clock = ClockReadings & { readonly [real]?: never };

/** The time of the machine, for what others check: signatures, sessions, credentials, limits and repeated requests. */
export type WallClock = ClockReadings & { readonly [real]: true };

/** Marks the readings of a machine's clock. */
export function wallClockOf(readings: Clock): WallClock {
  return readings as ClockReadings as WallClock;
}

/** The time of a database that is not a sandbox: that of the machine. */
export function liveClock(wall: WallClock): Clock {
  const readings: ClockReadings = wall;
  return readings;
}

/** The clock of a sandbox: ahead of the time of the machine by an offset that only grows. */
export type TestClock = {
  readonly clock: Clock;
  /** Ms. */
  offsetMs(): number;
  /** Takes over a stored offset; a smaller one is older, and changes nothing. */
  follow(offsetMs: number): void;
  /** The lease of the advance that this process carries out; null: there is none. */
  lease: number | null;
};

export function testClockOf(wall: WallClock): TestClock {
  let offset = 0;
  const retainFrom = (periodMs: number): number => {
    const from = wall.retainFrom(periodMs);
    // Everything is retained while the time of the machine is not trusted.
    return from === 0 ? 0 : from + offset;
  };
  return {
    clock: {
      now: () => wall.now() + offset,
      earliest: () => wall.earliest() + offset,
      latest: () => wall.latest() + offset,
      retainFrom,
      monotonic: () => wall.monotonic(),
    },
    offsetMs: () => offset,
    follow(offsetMs) {
      offset = Math.max(offset, offsetMs);
    },
    lease: null,
  };
}

/** The system clocks that a `Clock` is derived from. */
export type TimeSource = Pick<ClockReadings, 'now' | 'monotonic'> & {
  /** Ms since the machine started, with a resolution of 10 ms at best. It advances while the machine is suspended. */
  uptime(): number;
};

/** A clock that trusts its source and does not detect jumps. */
export function plainClock(now: () => number): Clock {
  return { now, earliest: now, latest: now, retainFrom: (periodMs) => now() - periodMs, monotonic: now };
}

/** The clock of this machine, without the protection against jumps of `guardClock`. */
export const systemClock: WallClock & TimeSource = {
  ...wallClockOf(plainClock(() => Date.now())),
  monotonic: () => performance.now(),
  uptime: () => uptime() * 1_000,
};

/** 2025-01-01T00:00:00Z. */
export const idEpoch = 1_735_689_600_000;
/** 2059-01-01T00:00:00Z. Ids of instants until 2059-11-04 are below 2^52, which public ids require. */
const idEnd = 2_808_604_800_000;
/** Whether ids can be generated at an instant: from 2025 to 2058. */
export function isInRange(instant: number): boolean {
  return instant >= idEpoch && instant < idEnd;
}

/** The system clock is unusable. The message says what to do. */
export class ClockError extends Error {
  override readonly name = 'ClockError';
}

/** The reason why ids cannot be generated at an instant; undefined: they can. */
export function rangeProblem(instant: number): string | undefined {
  if (isInRange(instant)) return undefined;
  const shown = new Date(instant).toISOString();
  return `the system clock is at ${shown}: set it to the present time, which must be in the years 2025 to 2058`;
}

/** @throws ClockError if ids cannot be generated at an instant. */
export function assertInRange(instant: number): void {
  const problem = rangeProblem(instant);
  if (problem !== undefined) throw new ClockError(problem);
}
