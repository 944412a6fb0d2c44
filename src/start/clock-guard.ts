/**
 * Detects jumps of the system clock. The *expected* time advances with the monotonic clock; a *jump* is a difference of
 * more than `jumpMaxMs`. After a jump, either of the two times can be the correct one. The jump is over when the clock
 * returns to the expected time, or when it has been stable for `stableMs` and its time is accepted.
 */

import { isInRange, wallClockOf, type TimeSource, type WallClock } from '../platform/clock.ts';

export type ClockGuard = {
  readonly clock: WallClock;
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

class JumpGuard implements ClockGuard {
  readonly clock: WallClock;
  readonly #source: TimeSource;
  readonly #limits: ClockGuardLimits;
  readonly #observer: ClockObserver;
  /** The last time that was as expected. It is replaced only every `stableMs`, because smaller steps must add up. */
  #reference: Reading & { readonly uptime: number };
  /** The first reading after the current jump. */
  #jumpedTo: Reading | null = null;
  /** An instant of the monotonic clock. */
  #trustedFrom: number;
  /** Accepted jumps ahead. Rows that were written before such a jump look older than they are. */
  #accepted: readonly { readonly byMs: number; readonly at: number }[] = [];

  constructor(source: TimeSource, limits: ClockGuardLimits, observer: ClockObserver) {
    this.#source = source;
    this.#limits = limits;
    this.#observer = observer;
    const first = { wall: source.now(), monotonic: source.monotonic() };
    this.#reference = { ...first, uptime: source.uptime() };
    this.#trustedFrom = first.monotonic + limits.clockStableMs;
    this.clock = wallClockOf({
      now: () => source.now(),
      monotonic: () => source.monotonic(),
      earliest: () => this.#chooseTime(Math.min),
      latest: () => this.#chooseTime(Math.max),
      retainFrom: (periodMs) => this.#retainFrom(periodMs),
    });
  }

  jumpMs(): number {
    const { wall, monotonic } = this.#readClocks();
    return this.#jumpedTo ? wall - this.#expectedAt(monotonic) : 0;
  }

  isTrusted(): boolean {
    return this.#isTrusted(this.#readClocks());
  }

  confirm(): void {
    this.#trustedFrom = this.#source.monotonic();
  }

  #expectedAt(monotonic: number): number {
    return Math.round(this.#reference.wall + monotonic - this.#reference.monotonic);
  }

  #isFar(byMs: number): boolean {
    return Math.abs(byMs) > this.#limits.clockJumpMaxMs;
  }

  #setReference(reading: Reading): void {
    this.#reference = { ...reading, uptime: this.#source.uptime() };
  }

  /** Compares the clocks. Every method whose result depends on a jump calls it first, so none misses one. */
  #readClocks(): Reading {
    const reading = { wall: this.#source.now(), monotonic: this.#source.monotonic() };
    const { wall, monotonic } = reading;
    const jump = wall - this.#expectedAt(monotonic);
    if (!this.#isFar(jump) && isInRange(wall)) {
      if (this.#jumpedTo) {
        this.#jumpedTo = null;
        this.#observer.returned();
      }
      if (monotonic - this.#reference.monotonic >= this.#limits.clockStableMs) this.#setReference(reading);
      return reading;
    }
    const isSameJump =
      this.#jumpedTo && !this.#isFar(wall - this.#jumpedTo.wall - (monotonic - this.#jumpedTo.monotonic));
    if (!isSameJump || !this.#jumpedTo) {
      // The machine was suspended: the system clock is correct, and the monotonic clock did not advance.
      const jumpWithoutSleep = wall - this.#reference.wall - (this.#source.uptime() - this.#reference.uptime);
      if (!this.#jumpedTo && !this.#isFar(jumpWithoutSleep) && isInRange(wall)) {
        this.#setReference(reading);
        return reading;
      }
      this.#jumpedTo = reading;
      this.#observer.jumped(jump);
    } else if (monotonic - this.#jumpedTo.monotonic >= this.#limits.clockStableMs && isInRange(wall)) {
      this.#jumpedTo = null;
      if (jump > 0)
        this.#accepted = [
          ...this.#accepted.filter(({ at }) => monotonic - at < retentionMaxMs),
          { byMs: jump, at: monotonic },
        ];
      this.#setReference(reading);
      this.#observer.accepted(jump);
    }
    return reading;
  }

  #isTrusted({ monotonic }: Reading): boolean {
    return !this.#jumpedTo && monotonic >= this.#trustedFrom;
  }

  #retainFrom(periodMs: number): number {
    const reading = this.#readClocks();
    if (!this.#isTrusted(reading)) return 0;
    const { wall, monotonic } = reading;
    return this.#accepted
      .filter(({ at }) => monotonic - at < periodMs)
      .reduce((instant, { byMs }) => instant - byMs, wall - periodMs);
  }

  /** Chooses the system time or, during a jump, one of both times. A system time out of range is never chosen. */
  #chooseTime(choose: (left: number, right: number) => number): number {
    const { wall, monotonic } = this.#readClocks();
    if (!this.#jumpedTo) return wall;
    const expected = this.#expectedAt(monotonic);
    return isInRange(wall) ? choose(wall, expected) : expected;
  }
}

export function guardClock(
  source: TimeSource,
  limits: ClockGuardLimits,
  observer: ClockObserver,
): ClockGuard {
  return new JumpGuard(source, limits, observer);
}
