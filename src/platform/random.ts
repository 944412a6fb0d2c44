/** Random values and ids: the only file that reads the system's random source. */

import { randomBytes, randomUUID } from 'node:crypto';
import { assertInRange, idEpoch, type Clock } from './clock.ts';

export type Random = {
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

/**
 * Random values from the system's cryptographic source, and ids that follow the given clock.
 * `id` throws ClockError outside the years 2025 to 2058.
 */
export function systemRandom(clock: Pick<Clock, 'earliest'>): Random {
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
    const bytes = pool.subarray(0, length);
    pool = pool.subarray(length);
    return bytes;
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
    const random = pool.readUInt16LE(position);
    position += 2;
    return random & (below - 1);
  };
}
