/** Time and randomness: the only file that reads the system time and the system's random source. */

import { randomBytes, randomUUID } from 'node:crypto';
import { uptime } from 'node:os';

/** The clock of a context. Instants are whole ms since 1970 UTC. */
export type Clock = {
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

/** The system clocks that a `Clock` is derived from. */
export type TimeSource = Pick<Clock, 'now' | 'monotonic'> & {
  /** Ms since the machine started, with a resolution of 10 ms at best. It advances while the machine is suspended. */
  uptime(): number;
};

export type Chance = {
  /** Random bytes from a cryptographic source. */
  bytes(length: number): Uint8Array;
  /** A random identifier for a request. */
  requestId(): string;
  /**
   * An id for a new row: an integer below 2^52. Within a process, later ids are larger. An id reveals roughly when it
   * was generated, but not how many rows there are.
   */
  id(): number;
};

/** A clock that trusts its source and does not detect jumps. */
export function plainClock(now: () => number): Clock {
  return { now, earliest: now, latest: now, retainFrom: (periodMs) => now() - periodMs, monotonic: now };
}

/** The clock of this machine, without the protection against jumps of `guardClock`. */
export const systemClock: Clock & TimeSource = {
  ...plainClock(() => Date.now()),
  monotonic: () => performance.now(),
  uptime: () => uptime() * 1_000,
};

/** 2025-01-01T00:00:00Z. */
const idEpoch = 1_735_689_600_000;
/** 2059-01-01T00:00:00Z. Ids of instants until 2059-11-04 are below 2^52, which public ids require. */
const idEnd = 2_808_604_800_000;
const idsPerMs = 4_096;
/** The largest step between ids of one burst. Steps are random, to hide the number of rows between two ids. */
const idStepMax = 32;

/** The smallest id that can be generated at an instant (ms) or later. */
export function idsAt(instant: number): number {
  return (instant - idEpoch) * idsPerMs;
}

/** The instant (ms) at which an id was generated, or slightly later: ids of a burst run ahead of the clock. */
export function instantOf(id: number): number {
  return Math.floor(id / idsPerMs) + idEpoch;
}

/** Whether ids can be generated at an instant: from 2025 to 2058. */
export function isInRange(instant: number): boolean {
  return instant >= idEpoch && instant < idEnd;
}

/** The system clock is unusable. The message says what to do. */
export class ClockError extends Error {
  override readonly name = 'ClockError';
}

/** @throws ClockError if ids cannot be generated at an instant. */
export function assertInRange(instant: number): void {
  if (isInRange(instant)) return;
  const shown = new Date(instant).toISOString();
  throw new ClockError(
    `the system clock is at ${shown}: set it to the present time, which must be in the years 2025 to 2058`,
  );
}

/**
 * Random values from the system's cryptographic source, and ids that follow the given clock.
 * `id` throws ClockError outside the years 2025 to 2058.
 */
export function systemChance(clock: Pick<Clock, 'earliest'>): Chance {
  let lastId = 0;
  const small = randomNumbers();
  return {
    bytes: pooledBytes(),
    requestId: () => randomUUID(),
    id() {
      const instant = clock.earliest();
      assertInRange(instant);
      const fresh = idsAt(instant) + small(idsPerMs);
      lastId = fresh > lastId ? fresh : lastId + 1 + small(idStepMax);
      return lastId;
    },
  };
}

/** A system call for a few random bytes costs as much as for many. They are read ahead, and each is used once. */
const poolLength = 4_096;

function pooledBytes(): (length: number) => Uint8Array {
  let pool = randomBytes(0);
  return (length) => {
    if (length > poolLength) return randomBytes(length);
    if (pool.length < length) pool = randomBytes(poolLength);
    const drawn = pool.subarray(0, length);
    pool = pool.subarray(length);
    return drawn;
  };
}

/** Returns a generator of uniform integers below a power of two up to 65,536. A pool avoids a system call for each. */
function randomNumbers(): (below: number) => number {
  let pool = randomBytes(0);
  let position = 0;
  return (below) => {
    if (position >= pool.length) {
      pool = randomBytes(poolLength);
      position = 0;
    }
    const drawn = pool.readUInt16LE(position);
    position += 2;
    return drawn & (below - 1);
  };
}
