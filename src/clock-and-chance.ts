/** Time and chance: the one place where the service asks what time it is and draws at random. */

import { randomBytes, randomUUID } from 'node:crypto';

export type Clock = {
  /** The present instant, whole ms since 1970 UTC. */
  now(): number;
};

export type Chance = {
  /** Bytes from a cryptographic source. */
  bytes(length: number): Uint8Array;
  /** A random identifier for a request. */
  requestId(): string;
  /**
   * An id for a new row: an integer below 2^53, later ones larger within this process, telling
   * roughly when it was made and nothing about how many there are.
   */
  id(): number;
};

export const systemClock: Clock = { now: () => Date.now() };

/** 2025-01-01T00:00:00Z. 41 bits of milliseconds from here last until 2094. */
const idEpoch = 1_735_689_600_000;
const idsPerMs = 4_096;
/** Ids of one burst lie this far apart at most, so that their distance does not count the rows between them. */
const idStepMax = 32;

/** Ids drawn at an instant or later are no smaller than this. */
export function idsAt(instant: number): number {
  return (instant - idEpoch) * idsPerMs;
}

/** Chance from the system's cryptographic source, with ids that follow the given clock. */
export function systemChance(clock: Clock): Chance {
  let lastId = 0;
  const small = randomNumbers();
  return {
    bytes: pooledBytes(),
    requestId: () => randomUUID(),
    id() {
      const fresh = (clock.now() - idEpoch) * idsPerMs + small(idsPerMs);
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
