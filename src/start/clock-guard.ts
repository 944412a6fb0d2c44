/**
 * Detects jumps of the system clock. The *expected* time advances with the monotonic clock; a *jump* is a difference of
 * more than `jumpMaxMs`. After a jump, either of the two times can be the correct one. The jump is over when the clock
 * returns to the expected time, or when it has been stable for `stableMs` and its time is accepted.
 */

import { isInRange, type Clock, type TimeSource } from '../platform/clock.ts';

export type ClockGuard = {
  readonly clock: Clock;
  /** Ms that the clock is ahead of the expected time during a jump; 0 if there is none. */
  jumpMs(): number;
  /**
   * Whether changes that cannot be undone can rely on the clock. During a jump they cannot. A wrong clock at start is
   * not a jump, so the clock is also not trusted for `stableMs` after the start, unless `confirm` is called.
   */
  isTrusted(): boolean;
  /** Trusts the clock from now on, because another source confirms it. */
  confirm(): void;
};

/** Receives the changes of the clock's state. */
export type ClockObserver = {
  jumped(byMs: number): void;
  /** The clock is back at the expected time. */
  returned(): void;
  /** The clock has been stable for `stableMs` after the jump. */
  accepted(byMs: number): void;
};

export type ClockGuardLimits = { readonly clockJumpMaxMs: number; readonly clockStableMs: number };

/** The longest retention period of the service. */
const retentionMaxMs = 30 * 24 * 60 * 60 * 1_000;

type Reading = { readonly wall: number; readonly monotonic: number };

export function guardClock(
  source: TimeSource,
  { clockJumpMaxMs: jumpMaxMs, clockStableMs: stableMs }: ClockGuardLimits,
  observer: ClockObserver,
): ClockGuard {
  const first = { wall: source.now(), monotonic: source.monotonic() };
  /** The last time that was as expected. It is replaced only every `stableMs`, because smaller steps must add up. */
  let reference: Reading & { readonly uptime: number } = { ...first, uptime: source.uptime() };
  /** The first reading after the current jump. */
  let jumpedTo: Reading | null = null;
  /** An instant of the monotonic clock. */
  let trustedFrom = first.monotonic + stableMs;
  /** Accepted jumps ahead. Rows that were written before such a jump look older than they are. */
  let accepted: readonly { readonly byMs: number; readonly at: number }[] = [];

  const expectedAt = (monotonic: number): number =>
    Math.round(reference.wall + monotonic - reference.monotonic);
  const isFar = (byMs: number): boolean => Math.abs(byMs) > jumpMaxMs;
  const setReference = (reading: Reading): void => {
    reference = { ...reading, uptime: source.uptime() };
  };

  /** Compares the clocks. Every method whose result depends on a jump calls it first, so none misses one. */
  const readClocks = (): Reading => {
    const reading = { wall: source.now(), monotonic: source.monotonic() };
    const { wall, monotonic } = reading;
    const jump = wall - expectedAt(monotonic);
    if (!isFar(jump) && isInRange(wall)) {
      if (jumpedTo) {
        jumpedTo = null;
        observer.returned();
      }
      if (monotonic - reference.monotonic >= stableMs) setReference(reading);
      return reading;
    }
    const isSameJump = jumpedTo && !isFar(wall - jumpedTo.wall - (monotonic - jumpedTo.monotonic));
    if (!isSameJump || !jumpedTo) {
      // The machine was suspended: the system clock is correct, and the monotonic clock did not advance.
      const jumpWithoutSleep = wall - reference.wall - (source.uptime() - reference.uptime);
      if (!jumpedTo && !isFar(jumpWithoutSleep) && isInRange(wall)) {
        setReference(reading);
        return reading;
      }
      jumpedTo = reading;
      observer.jumped(jump);
    } else if (monotonic - jumpedTo.monotonic >= stableMs && isInRange(wall)) {
      jumpedTo = null;
      if (jump > 0)
        accepted = [
          ...accepted.filter(({ at }) => monotonic - at < retentionMaxMs),
          { byMs: jump, at: monotonic },
        ];
      setReference(reading);
      observer.accepted(jump);
    }
    return reading;
  };

  const isTrusted = ({ monotonic }: Reading): boolean => !jumpedTo && monotonic >= trustedFrom;
  /** Chooses the system time or, during a jump, one of both times. A system time out of range is never chosen. */
  const chooseTime = (choose: (left: number, right: number) => number): number => {
    const { wall, monotonic } = readClocks();
    if (!jumpedTo) return wall;
    const expected = expectedAt(monotonic);
    return isInRange(wall) ? choose(wall, expected) : expected;
  };

  return {
    clock: {
      now: () => source.now(),
      monotonic: () => source.monotonic(),
      earliest: () => chooseTime(Math.min),
      latest: () => chooseTime(Math.max),
      retainFrom(periodMs) {
        const reading = readClocks();
        if (!isTrusted(reading)) return 0;
        const { wall, monotonic } = reading;
        return accepted
          .filter(({ at }) => monotonic - at < periodMs)
          .reduce((instant, { byMs }) => instant - byMs, wall - periodMs);
      },
    },
    jumpMs() {
      const { wall, monotonic } = readClocks();
      return jumpedTo ? wall - expectedAt(monotonic) : 0;
    },
    isTrusted: () => isTrusted(readClocks()),
    confirm() {
      trustedFrom = source.monotonic();
    },
  };
}
