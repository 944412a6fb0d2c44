/** New versions of the program: whether the service looks for them, and what it has found. */

const dayMs = 24 * 60 * 60 * 1_000;

/** The state of the look for new versions. All instants are in ms. */
export type VersionCheck = {
  /** The decision of an owner; null: no owner has decided. */
  readonly isWanted: boolean | null;
  readonly decidedAt: number | null;
  /** When the next request is due; null: none was made since the decision. */
  readonly nextAt: number | null;
  /** The version of the last list that was accepted; null: none was. */
  readonly newest: string | null;
  /** The key of that list in base64. */
  readonly listKey: string | null;
  readonly publishedAt: number | null;
  readonly checkedAt: number | null;
  /** Failures in a row, and the last one. */
  readonly failures: number;
  readonly failedAt: number | null;
  readonly problem: string | null;
};

/** A planned time that is further away is from before the clock was set back. */
const waitMaxMs = 2 * dayMs;

/** Whether the list is to be read now. */
export function isVersionCheckDue({ nextAt }: Pick<VersionCheck, 'nextAt'>, now: number): boolean {
  return nextAt === null || nextAt <= now || nextAt > now + waitMaxMs;
}

const jitterMs = 60 * 60 * 1_000;

/** When the list is read again, after a failure as well: once a day. @param random from 0 up to, not including, 1. */
export function nextVersionCheck(now: number, random: number): number {
  return now + dayMs + Math.floor(random * jitterMs);
}

/** A server that is unreachable for some days can come back. */
const failingMaxMs = 7 * dayMs;

/** Since when (ms) no list was accepted although one was to be read each day; null: not for long. */
export function failingVersionsSince(
  { failures, checkedAt, decidedAt, failedAt }: VersionCheck,
  now: number,
): number | null {
  const since = checkedAt ?? decidedAt ?? failedAt;
  return failures > 0 && since !== null && now - since > failingMaxMs ? since : null;
}
