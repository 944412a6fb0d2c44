/** The row that makes a database a sandbox for ever, with its clock and the last advance of it. */

import type { Context } from '../../../core/storage/context.ts';
import {
  bytesOrNull,
  columns,
  flag,
  integer,
  integerOrNull,
  textOrNull,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { forUpdate } from '../../../database/sql/fragments.ts';
import { all, execute, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

export type Sandbox = {
  readonly createdAt: number;
  /** The lead of its clock over the time of the machine, in ms. */
  readonly offsetMs: number;
  /** The last advance, in ms of its clock; null: there was none. */
  readonly advancedFrom: number | null;
  readonly advancedTo: number | null;
  /** JSON of the counts of what the last advance has done; null: there was none. */
  readonly done: string | null;
  readonly isAdvancing: boolean;
  readonly requestDigest: Uint8Array | null;
  readonly lease: number | null;
  /** In ms of the machine. */
  readonly leasedUntil: number | null;
};

const sandbox = columns({
  created_at: integer('createdAt'),
  offset_ms: integer('offsetMs'),
  advanced_from: integerOrNull('advancedFrom'),
  advanced_to: integerOrNull('advancedTo'),
  done: textOrNull('done'),
  is_advancing: flag('isAdvancing'),
  request_digest: bytesOrNull('requestDigest'),
  lease: integerOrNull('lease'),
  leased_until: integerOrNull('leasedUntil'),
});

/** Undefined: the database is not a sandbox. */
export function* findSandbox(): Script<Sandbox | undefined> {
  const row = yield* first(sql<RowOf<typeof sandbox>>`select ${sandbox.names} from sandbox where id = 1`);
  return row && sandbox.read(row);
}

/** The lead of the clock of a sandbox, in ms; 0: the database is not one. */
export function* findOffset(): Script<number> {
  const row = yield* first(sql<{ offset_ms: bigint }>`select offset_ms from sandbox where id = 1`);
  return row ? toNumber(row.offset_ms) : 0;
}

/** Makes a database without stores a sandbox. @param at ms since 1970 UTC. */
export function* insertSandbox(at: number): Script<void> {
  yield* execute(sql`
    insert into sandbox (id, created_at, offset_ms) values (1, ${at}, 0) on conflict (id) do nothing`);
}

/** The process that advances the clock, and the times of the machine (ms): now, and until when it does. */
export type Lease = { readonly lease: number; readonly now: number; readonly until: number };

/** The JSON of `done` before the first step of an advance. */
export const nothingDone = '{}';

/** Begins an advance, unless one is in progress. @returns whether it has begun. */
export function* insertAdvance(
  { lease, until }: Lease,
  advance: { readonly from: number; readonly to: number; readonly digest: Uint8Array | null },
): Script<boolean> {
  const rows = yield* all(sql`
    update sandbox set advanced_from = ${advance.from}, advanced_to = ${advance.to}, done = ${nothingDone}, is_advancing = 1,
      request_digest = ${advance.digest}, lease = ${lease}, leased_until = ${until}
    where id = 1 and is_advancing = 0 returning id`);
  return rows.length === 1;
}

/** Takes over or keeps the advance in progress, unless another process works on it. @returns whether it has it. */
export function* claimAdvance({ lease, now, until }: Lease): Script<boolean> {
  const rows = yield* all(sql`
    update sandbox set lease = ${lease}, leased_until = ${until}
    where id = 1 and is_advancing = 1 and (lease = ${lease} or lease is null or leased_until <= ${now}) returning id`);
  return rows.length === 1;
}

/** Moves the clock, and records what has been done until then. @returns whether the process still has the advance. */
export function* moveClock(
  lease: number,
  { offsetMs, done }: { readonly offsetMs: number; readonly done: string },
): Script<boolean> {
  const rows = yield* all(sql`
    update sandbox set offset_ms = ${offsetMs}, done = ${done}
    where id = 1 and is_advancing = 1 and lease = ${lease} and offset_ms <= ${offsetMs} returning id`);
  return rows.length === 1;
}

/** Ends the advance. @returns whether the process still had it. */
export function* endAdvance(lease: number, done: string): Script<boolean> {
  const rows = yield* all(sql`
    update sandbox set is_advancing = 0, lease = null, leased_until = null, done = ${done}
    where id = 1 and is_advancing = 1 and lease = ${lease} returning id`);
  return rows.length === 1;
}

/** Lets another process continue the advance at once. */
export function* releaseAdvance(lease: number): Script<void> {
  yield* execute(sql`
    update sandbox set lease = null, leased_until = null where id = 1 and lease = ${lease}`);
}

/**
 * Whether a process can claim what it sends: while the clock is advanced, only the process that advances it can. The lock
 * lasts until the claims are committed, so an advance that begins finds them.
 */
export function* mayClaim({ testClock }: Pick<Context, 'testClock'>): Script<boolean> {
  if (!testClock) return true;
  const row = yield* first(sql<{ offset_ms: bigint }>`
    select offset_ms from sandbox where id = 1 and (is_advancing = 0 or lease = ${testClock.lease}) ${forUpdate}`);
  // It can have moved while this waited for the lock.
  if (row) testClock.follow(toNumber(row.offset_ms));
  return row !== undefined;
}

/** Whether a process sends an email or a webhook, or has ended while it did: a claim lasts longer than `now` (ms). */
export function* hasClaims(now: number): Script<boolean> {
  yield* all(sql`select id from sandbox where id = 1 ${forUpdate}`);
  const found = yield* all(sql`
    select 1 as found from email_deliveries where lease is not null and next_at > ${now}
    union all select 1 from webhook_deliveries where lease is not null and next_at > ${now}
    union all select 1 from accountant_emails where lease is not null and next_at > ${now}
    union all select 1 from online_sales where lease is not null and next_at > ${now} limit 1`);
  return found.length === 1;
}

type Due = { readonly at: bigint | null };

/**
 * The first instant (ms) after one at which a hold expires, an email is sent, a delivery to a webhook is tried, or the review
 * of a sale ends; infinity: there is none.
 */
export function* findNextDue(after: number): Script<number> {
  const rows = yield* all(
    sql<Due>`
      select min(expires_at) as at from holds where status = 'open' and expires_at > ${after}
      union all select min(next_at) from email_deliveries where next_at > ${after}
      union all select min(next_at) from webhook_deliveries where next_at > ${after}
      union all select min(next_at) from accountant_emails where next_at > ${after}
      union all select min(review_until) from online_sales where state = 'review' and review_until > ${after}`,
  );
  return Math.min(...rows.map(({ at }) => (at === null ? Number.POSITIVE_INFINITY : toNumber(at))));
}
