/**
 * The queue of emails: due emails, claims and results.
 *
 * A process owns a claimed email until the lease expires. Another process can then claim it. So no email is
 * lost, but one is sent twice if a process ends between the mail server's acceptance and the record of it.
 */

import type { EmailDelivery, EmailState } from '../../../core/emails/domain/email.ts';
import { lateEmailsMax, type LateEmails } from '../domain/late.ts';
import {
  emailColumns,
  toEmailDelivery,
  type DeliveryRow,
  type EmailKey,
} from '../../../core/emails/storage/email.ts';
import { heldMs } from '../../../core/domain/held.ts';
import {
  all,
  first,
  execute,
  one,
  parallel,
  part,
  sql,
  type Part,
  toNumber,
  toNumberOrNull,
  ValueList,
  type Script,
} from '../../../database/sql/sql.ts';
import { forUpdateSkipLocked, fragment, indexedBy } from '../../../database/sql/fragments.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

/** The number of stores that a list of due emails can leave out. */
export const excludedMax = 32;

/** An email that this process has claimed. */
export type ClaimedEmail = EmailDelivery & {
  readonly lease: number;
  /** Start of the first attempt (ms), from which the retry period is measured. */
  readonly firstAt: number;
  readonly sealedCode: Uint8Array | null;
  /** The trace that its delivery continues; null: none. */
  readonly traceContext: Uint8Array | null;
  /** Whether an earlier lease has expired: the email can have been sent already. */
  readonly isReclaimed: boolean;
};

type ClaimedRow = DeliveryRow & {
  readonly lease: bigint | null;
  readonly first_at: bigint | null;
  readonly code: Uint8Array | null;
  readonly trace_context: Uint8Array | null;
};

/** Returns up to `limit` due emails of all stores, the longest due first. */
export function* listDueEmails(now: number, limit: number): Script<readonly EmailKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; card_id: bigint; id: bigint }>`
    select store_id, card_id, id from email_deliveries where next_at <= ${now} and ${ofOpenStore}
    order by next_at limit ${limit}`);
  return rows.map((row) => ({
    storeId: toNumber(row.store_id),
    cardId: toNumber(row.card_id),
    id: toNumber(row.id),
  }));
}

/** Returns when the first email of any store is or was due (ms); infinity: no email is to be sent. */
export function* findNextEmailAt(): Script<number> {
  const row = yield* first(sql<{ next_at: bigint }>`
    select next_at from email_deliveries where next_at is not null order by next_at limit 1`);
  return row ? toNumber(row.next_at) : Number.POSITIVE_INFINITY;
}

/** A condition: the store has a mail server of its own. */
const ofOwnServer = fragment`store_id in (select store_id from email_servers where state = 'verified')`;

/**
 * Returns up to `limit` due emails of the stores that have a mail server, the longest due first.
 * @param without at most 32 stores to leave out.
 */
export function* listDueOwnEmails(
  now: number,
  { limit, without }: { readonly limit: number; readonly without: readonly number[] },
): Script<readonly EmailKey[]> {
  const others = new ValueList(Array.from({ length: excludedMax }, (_, place) => without[place] ?? 0));
  const rows = yield* all(sql<{ store_id: bigint; card_id: bigint; id: bigint }>`
    select store_id, card_id, id from email_deliveries where next_at <= ${now} and ${ofOpenStore}
      and ${ofOwnServer} and store_id not in (${others})
    order by next_at limit ${limit}`);
  return rows.map((row) => ({
    storeId: toNumber(row.store_id),
    cardId: toNumber(row.card_id),
    id: toNumber(row.id),
  }));
}

/** Returns when the first email of a store that has a mail server is or was due (ms); infinity: there is none. */
export function* findNextOwnEmailAt(): Script<number> {
  const row = yield* first(sql<{ next_at: bigint }>`
    select next_at from email_deliveries where next_at is not null and ${ofOwnServer} order by next_at limit 1`);
  return row ? toNumber(row.next_at) : Number.POSITIVE_INFINITY;
}

/** Claims those of the emails that are due and not claimed by another process. Each claim counts as an attempt. */
export function* claimEmails(
  found: readonly EmailKey[],
  {
    lease,
    now,
    firstAt,
    until,
  }: {
    readonly lease: number;
    readonly now: number;
    /** Start of the retry period (ms), if this is the first attempt. */
    readonly firstAt: number;
    readonly until: number;
  },
): Script<readonly ClaimedEmail[]> {
  const due = yield* parallel(
    ...found.map(({ storeId, cardId, id }) =>
      all(sql<ClaimedRow>`
        select ${emailColumns}, lease, first_at, code, trace_context from email_deliveries
        where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and next_at <= ${now} ${forUpdateSkipLocked}`),
    ),
  );
  const rows = due.flat();
  const claims = rows.map(
    (row) => sql`
      update email_deliveries set lease = ${lease}, next_at = ${until}, attempts = attempts + 1,
        first_at = coalesce(first_at, ${firstAt}), last_at = ${now},
        state = case when state = 'scheduled' then 'queued' else state end
      where store_id = ${row.store_id} and card_id = ${row.card_id} and id = ${row.id}`,
  );
  if (claims.length > 0) yield* execute(...claims);
  return rows.map((row) => ({
    ...toEmailDelivery(row),
    attempts: toNumber(row.attempts) + 1,
    lastAt: now,
    lease,
    firstAt: toNumberOrNull(row.first_at) ?? firstAt,
    sealedCode: row.code,
    traceContext: row.trace_context,
    isReclaimed: row.lease !== null,
  }));
}

/** Returns whether the claim is still valid and the email still pending. */
export function* hasEmail({ storeId, cardId, id, lease }: ClaimedEmail): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from email_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and lease = ${lease} and next_at is not null`);
  return row !== undefined;
}

/** Returns when a card's first `gift_card` email was or will be sent (ms). */
export function* findFirstSendAt(storeId: number, cardId: number): Script<number | undefined> {
  const row = yield* first(sql<{ send_at: bigint }>`
    select send_at from email_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' order by id limit 1`);
  return row && toNumber(row.send_at);
}

/** The result of an attempt. */
export type EmailSettlement = {
  readonly state: Exclude<EmailState, 'scheduled' | 'queued'>;
  readonly response: string;
  /** Time of the next attempt (ms); null: no further attempt. */
  readonly nextAt: number | null;
  /** Whether the retry period restarts, because the error is in the service's own settings. */
  readonly startsOver: boolean;
};

/**
 * Records the result of an attempt, unless another process has claimed the email. An email that was cancelled
 * after the claim stays cancelled, unless it was sent.
 * @returns whether the result was recorded.
 */
export function* settleEmail(
  { storeId, cardId, id, lease }: ClaimedEmail,
  { state, response, nextAt, startsOver }: EmailSettlement,
  now: number,
): Script<boolean> {
  const endedAt = nextAt === null ? now : null;
  const row = yield* first(sql<{ id: bigint }>`
    update email_deliveries set state = ${state}, response = ${response}, next_at = ${nextAt}, lease = null,
      first_at = case when ${Number(startsOver)} = 1 then null else first_at end,
      code = case when ${Number(nextAt === null)} = 1 then null else code end, ended_at = ${endedAt}
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and lease = ${lease}
      and (next_at is not null or ${Number(state === 'sent')} = 1)
    returning id`);
  return row !== undefined;
}

/** Releases a claimed email that was not attempted. */
export function* releaseEmail({ storeId, cardId, id, lease }: ClaimedEmail, now: number): Script<void> {
  yield* execute(sql`
    update email_deliveries set lease = null, next_at = ${now}, attempts = attempts - 1,
      first_at = case when attempts = 1 then null else first_at end
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and lease = ${lease}
      and next_at is not null`);
}

/** Releases a claimed email that was not attempted, because it waits for its card. It is due at `until` (ms). */
export function* holdEmail(
  { storeId, cardId, id, lease }: ClaimedEmail,
  { now, until }: { readonly now: number; readonly until: number },
): Script<void> {
  yield* execute(sql`
    update email_deliveries set lease = null, next_at = ${until}, attempts = attempts - 1,
      first_at = null, state = ${until > now ? 'scheduled' : 'queued'}
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and lease = ${lease}
      and next_at is not null`);
}

/** The most of the next due emails that are examined, because thousands can be scheduled. */
const examinedMax = 1_000;

/** The oldest unsent emails, in ms since 1970 UTC; null: there is none. */
export type EmailDelay = {
  /** When the email that is due for longest became due. */
  readonly dueAt: number | null;
  /** When the first attempt of an email failed that is not sent yet. */
  readonly firstAt: number | null;
  /** The time of the earliest email that was tried without success, however often its attempts started over. */
  readonly triedSendAt: number | null;
};

export function* findEmailDelay(now: number): Script<EmailDelay> {
  const { due, earliest, tried } = yield* one(sql<
    Readonly<Record<'due' | 'earliest' | 'tried', bigint | null>>
  >`
    select min(case when next_at <= ${now} then next_at end) as due, min(first_at) as earliest,
      min(case when attempts > 0 then send_at end) as tried
    from (
      select next_at, first_at, attempts, send_at from email_deliveries where next_at < ${heldMs} and ${ofOpenStore}
      order by next_at limit ${examinedMax}
    ) as soon`);
  return {
    dueAt: toNumberOrNull(due),
    firstAt: toNumberOrNull(earliest),
    triedSendAt: toNumberOrNull(tried),
  };
}

/** A condition: the email waits for its next attempt although it was to be sent before an instant (ms). */
function lateIn(storeId: number, state: 'queued' | 'deferred', before: number): Part {
  return part`email_deliveries ${indexedBy('email_deliveries_by_state')}
    where store_id = ${storeId} and state = ${state} and next_at < ${heldMs} and send_at < ${before}`;
}

/** Returns the emails of a store that were to be sent before `before` (ms) and wait; undefined: there is none. */
export function* findLateEmails(storeId: number, before: number): Script<LateEmails | undefined> {
  const count = (state: 'queued' | 'deferred') =>
    one(sql<{ late: bigint; since: bigint | null }>`
      select count(*) as late, min(send_at) as since
      from (select send_at from ${lateIn(storeId, state, before)} limit ${lateEmailsMax}) as late`);
  const [queued, deferred, last] = yield* parallel(
    count('queued'),
    count('deferred'),
    first(sql<{ response: string | null }>`
      select response from (
        select response, last_at from ${lateIn(storeId, 'deferred', before)} limit ${lateEmailsMax}
      ) as late
      order by last_at desc limit 1`),
  );
  const since = [queued.since, deferred.since].flatMap((at) => (at === null ? [] : toNumber(at)));
  if (since.length === 0) return undefined;
  return {
    count: Math.min(toNumber(queued.late + deferred.late), lateEmailsMax),
    since: Math.min(...since),
    response: last?.response ?? null,
  };
}
