/**
 * Guards the service against a system clock that jumps.
 *
 * Terms: the clock is where it is *expected* if it has advanced as much as the monotonic clock. A *jump* is a
 * difference of more than `jumpMaxMs`. After a jump either of the two times can be the right one. So until the
 * clock is back where it is expected, or has been stable for `stableMs`, whatever expires is compared with the earlier
 * one, and the clock is not *trusted*: nothing is erased.
 *
 * A clock that is wrong already when the service starts has not jumped. So it is not trusted either until it has been
 * stable for `stableMs`, unless something else confirms it.
 */

import { isInRange, type Clock, type TimeSource } from './clock-and-chance.ts';

export type ClockGuard = {
  readonly clock: Clock;
  /** How far the clock is ahead of where it is expected, since a jump; 0 if there was none. */
  jumpMs(): number;
  /** Whether what cannot be undone may be done by this clock. */
  isTrusted(): boolean;
  /** Something else than the system says that the clock is right. */
  confirm(): void;
};

/** What the guard reports. */
export type ClockObserver = {
  jumped(byMs: number): void;
  /** The clock is back where it is expected. */
  returned(): void;
  /** The clock has been stable for long enough where it jumped to. */
  accepted(byMs: number): void;
};

export type ClockGuardLimits = { readonly clockJumpMaxMs: number; readonly clockStableMs: number };

/** Nothing is retained for a longer period than this. */
const retentionMaxMs = 30 * 24 * 60 * 60 * 1_000;

type Reading = { readonly wall: number; readonly monotonic: number };

export function guardClock(
  source: TimeSource,
  { clockJumpMaxMs: jumpMaxMs, clockStableMs: stableMs }: ClockGuardLimits,
  observer: ClockObserver,
): ClockGuard {
  const first = { wall: source.now(), monotonic: source.monotonic() };
  /** Where the clock was when it was last as expected. Replaced every `stableMs`, so that steps below a jump add up. */
  let reference: Reading & { readonly uptime: number } = { ...first, uptime: source.uptime() };
  /** Since when the clock has been where it jumped to. */
  let jumpedTo: Reading | null = null;
  /** On the monotonic clock. */
  let trustedFrom = first.monotonic + stableMs;
  /** Jumps ahead that were accepted. What was written before them looks older than it is. */
  let accepted: readonly { readonly byMs: number; readonly at: number }[] = [];

  const expectedAt = (monotonic: number): number =>
    Math.round(reference.wall + monotonic - reference.monotonic);
  const isFar = (byMs: number): boolean => Math.abs(byMs) > jumpMaxMs;
  const refer = (reading: Reading): void => {
    reference = { ...reading, uptime: source.uptime() };
  };

  /** Compares the clocks. Every question about the time does so, and there is no moment in which a jump is not seen. */
  const look = (): Reading => {
    const reading = { wall: source.now(), monotonic: source.monotonic() };
    const { wall, monotonic } = reading;
    const jump = wall - expectedAt(monotonic);
    if (!isFar(jump) && isInRange(wall)) {
      if (jumpedTo) {
        jumpedTo = null;
        observer.returned();
      }
      if (monotonic - reference.monotonic >= stableMs) refer(reading);
      return reading;
    }
    const isStill = jumpedTo && !isFar(wall - jumpedTo.wall - (monotonic - jumpedTo.monotonic));
    if (!isStill || !jumpedTo) {
      // A machine that was suspended: the clock is right, and only the monotonic one did not count.
      const awake = wall - reference.wall - (source.uptime() - reference.uptime);
      if (!jumpedTo && !isFar(awake) && isInRange(wall)) {
        refer(reading);
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
      refer(reading);
      observer.accepted(jump);
    }
    return reading;
  };

  const isTrusted = ({ monotonic }: Reading): boolean => !jumpedTo && monotonic >= trustedFrom;
  /** One of two instants; where the clock cannot be right, the other. */
  const oneOf = (choose: (left: number, right: number) => number): number => {
    const { wall, monotonic } = look();
    if (!jumpedTo) return wall;
    const expected = expectedAt(monotonic);
    return isInRange(wall) ? choose(wall, expected) : expected;
  };

  return {
    clock: {
      now: () => source.now(),
      monotonic: () => source.monotonic(),
      earliest: () => oneOf(Math.min),
      latest: () => oneOf(Math.max),
      retainFrom(periodMs) {
        const reading = look();
        if (!isTrusted(reading)) return 0;
        const { wall, monotonic } = reading;
        return accepted
          .filter(({ at }) => monotonic - at < periodMs)
          .reduce((instant, { byMs }) => instant - byMs, wall - periodMs);
      },
    },
    jumpMs() {
      const { wall, monotonic } = look();
      return jumpedTo ? wall - expectedAt(monotonic) : 0;
    },
    isTrusted: () => isTrusted(look()),
    confirm() {
      trustedFrom = source.monotonic();
    },
  };
}
