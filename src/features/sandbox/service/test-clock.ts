/** The clock of a sandbox: its state, and the beginning of an advance. `features/sandbox/start/test-clock.ts` carries it out. */

import { ToolKey } from '../../../platform/tools.ts';
import type { Context } from '../../../core/storage/context.ts';
import { formatInstant } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { isInRange } from '../../../platform/clock.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { findSandbox, insertAdvance, type Lease, type Sandbox } from '../storage/sandbox.ts';
import type { Script } from '../../../database/sql/sql.ts';

export const advanceMaxSeconds = 10 * 366 * 24 * 60 * 60;

/** The counts of everything that an advance has done in all stores. */
export type AdvanceCounts = {
  readonly holds_expired: number;
  readonly cards_expired: number;
  readonly cards_expiring_soon: number;
  readonly emails: number;
  readonly webhook_attempts: number;
  readonly days_closed: number;
};

export const noCounts: AdvanceCounts = {
  holds_expired: 0,
  cards_expired: 0,
  cards_expiring_soon: 0,
  emails: 0,
  webhook_attempts: 0,
  days_closed: 0,
};

export function addCounts(left: AdvanceCounts, right: Partial<AdvanceCounts>): AdvanceCounts {
  const names = Object.keys(noCounts) as readonly (keyof AdvanceCounts)[];
  const sums = names.map((name) => [name, left[name] + (right[name] ?? 0)] as const);
  return { ...noCounts, ...Object.fromEntries(sums) };
}

/** The counts that a database has stored. */
export function parseCounts(done: string | null): AdvanceCounts {
  return addCounts(noCounts, JSON.parse(done ?? '{}') as Partial<AdvanceCounts>);
}

/** The end of an advance: an instant (ms), or a number of seconds from now. */
export type AdvanceEnd = { readonly to: number } | { readonly seconds: number };

export type AdvanceCommand = {
  readonly end: AdvanceEnd;
  /** The digest with which the request is repeated; null: it has no Idempotency-Key. */
  readonly digest: Uint8Array | null;
};

/** A digest of a request with an Idempotency-Key. */
export function advanceDigest(
  { keys }: Pick<Context, 'keys'>,
  {
    storeId,
    apiClientId,
    key,
  }: { readonly storeId: number; readonly apiClientId: number; readonly key: string },
): Uint8Array {
  return keys.digest('test-clock', `${storeId} ${apiClientId} ${key}`);
}

/** @throws Fault `not-found` if the database is not a sandbox. */
export function* requireSandbox(): Script<Sandbox> {
  const sandbox = yield* findSandbox();
  if (!sandbox) throw new Fault('not-found');
  return sandbox;
}

/**
 * The end of an advance that can begin now, in ms. @throws Fault `invalid-parameter` if it is not in the next ten years,
 * or later than the service works.
 */
export function advanceTarget({ clock }: Pick<Context, 'clock'>, end: AdvanceEnd): number {
  const now = clock.now();
  const name = 'to' in end ? 'to' : 'advance_seconds';
  const to = 'to' in end ? end.to : now + end.seconds * 1_000;
  const reject = (message: string): never => {
    throw new Fault('invalid-parameter', { errors: { [name]: [message] } });
  };
  if (to <= now) reject(`must be later than the time of the clock, ${formatInstant(now)}`);
  if (to > now + advanceMaxSeconds * 1_000) reject('must be at most 10 years ahead');
  if (!isInRange(to)) reject('must lead to a time before 2059');
  return to;
}

/**
 * Begins an advance.
 * @returns whether it has begun; if not, the same request or the same `to` was the last one, and has ended.
 * @throws Fault `test-clock-in-use` while an advance is in progress; those of `advanceTarget`.
 */
export function* beginAdvance(ctx: Context, { end, digest }: AdvanceCommand, lease: Lease): Script<boolean> {
  const sandbox = yield* requireSandbox();
  if (sandbox.isAdvancing) throw inUse();
  const isRepeated = digest !== null && sandbox.requestDigest && sameBytes(digest, sandbox.requestDigest);
  if (isRepeated || ('to' in end && end.to === sandbox.advancedTo)) return false;
  const advance = { from: ctx.clock.now(), to: advanceTarget(ctx, end), digest };
  if (!(yield* insertAdvance(lease, advance))) throw inUse();
  return true;
}

function inUse(): Fault {
  return new Fault('test-clock-in-use', { retryAfterSeconds: 2 });
}

/** Null: the service is live, or has not started. */
export const testClockTool = new ToolKey<() => TestClockRuns | null>('test clock');

/** The advances of a service on a sandbox. */
export type TestClockRuns = {
  /**
   * Moves the clock forward, and returns when everything is done that became due. It continues without a client that
   * waits, and in another process if this one ends.
   * @throws Fault those of `beginAdvance`; `closing` if the service stops before.
   */
  advance(command: AdvanceCommand): Promise<void>;
};
