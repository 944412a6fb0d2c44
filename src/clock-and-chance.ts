/** Time and chance: the one place where the service asks what time it is and draws at random. */

import { randomBytes, randomUUID } from 'node:crypto';
import { uptime } from 'node:os';

/** What scripts and their callers ask for the time. Instants are whole ms since 1970 UTC. */
export type Clock = {
  /** The time of the system. */
  now(): number;
  /**
   * The earliest instant that the present can be. It is `now()`, unless the system's clock has jumped: then it is the
   * earlier of the system's time and the time before the jump plus what has elapsed since. What expires is compared
   * with it.
   */
  earliest(): number;
  /** The latest instant that the present can be. What must last for a period lasts from then on. */
  latest(): number;
  /**
   * What was written at this instant or later is not `periodMs` old for certain, and must be retained. 0 while the
   * clock cannot be trusted: then everything must be.
   */
  retainFrom(periodMs: number): number;
  /** Ms since any instant; it cannot be set. On Linux it does not count while the machine is suspended. */
  monotonic(): number;
};

/** What a clock is made of. */
export type TimeSource = Pick<Clock, 'now' | 'monotonic'> & {
  /** Ms since the machine started, to 10 ms at best. It counts while the machine is suspended. */
  uptime(): number;
};

export type Chance = {
  /** Bytes from a cryptographic source. */
  bytes(length: number): Uint8Array;
  /** A random identifier for a request. */
  requestId(): string;
  /**
   * An id for a new row: an integer below 2^52, later ones larger within this process, telling
   * roughly when it was made and nothing about how many there are.
   */
  id(): number;
};

/** A clock without a memory, which believes its source. */
export function plainClock(now: () => number): Clock {
  return { now, earliest: now, latest: now, retainFrom: (periodMs) => now() - periodMs, monotonic: now };
}

/** The clock of this machine. A service guards it against jumps (`clock-guard.ts`). */
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
/** Ids of one burst lie this far apart at most, so that their distance does not count the rows between them. */
const idStepMax = 32;

/** Ids drawn at an instant or later are no smaller than this. */
export function idsAt(instant: number): number {
  return (instant - idEpoch) * idsPerMs;
}

/** When an id was drawn, or shortly before: ids of a burst may be ahead of the clock. */
export function instantOf(id: number): number {
  return Math.floor(id / idsPerMs) + idEpoch;
}

/** Whether ids can be drawn at an instant: from 2025 to 2058. */
export function isInRange(instant: number): boolean {
  return instant >= idEpoch && instant < idEnd;
}

/** The clock cannot be worked with; the message says what to do. */
export class ClockError extends Error {
  override readonly name = 'ClockError';
}

/** @throws ClockError if no ids can be drawn at an instant. */
export function assertInRange(instant: number): void {
  if (isInRange(instant)) return;
  const shown = new Date(instant).toISOString();
  throw new ClockError(
    `the system clock is at ${shown}: set it to the present time, which must be in the years 2025 to 2058`,
  );
}

/**
 * Chance from the system's cryptographic source, with ids that follow the given clock.
 * `id` throws ClockError outside of the years 2025 to 2058.
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

/** Asking the system for a few bytes costs as much as for many: they are drawn ahead, and each is handed out once. */
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

/** Uniform integers below a power of two up to 65,536, drawn from a pool: asking the system each time is slow. */
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
