/**
 * The queue of mails: which are due, which process has them, and what came of them.
 *
 * A process has what it has claimed until the claim's end: then whoever comes may claim it. So a mail may be sent
 * twice by processes that die between a mail server's acceptance and its record, and is never not sent at all.
 */

import type { MailDelivery, MailState } from '../domain/mail.ts';
import { toMailDelivery, type DeliveryRow } from './mail.ts';
import { all, first, forUpdateSkipLocked, run, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

/** A mail that this process has. */
export type ClaimedMail = MailDelivery & {
  readonly lease: number;
  /** When the first attempt was begun that its time for attempts is counted from. */
  readonly firstAt: number;
  readonly sealedCode: Uint8Array | null;
  /** Whether a claim has run out before: then it may have been sent already. */
  readonly isTakenOver: boolean;
};

type ClaimedRow = DeliveryRow & {
  readonly lease: bigint | null;
  readonly first_at: bigint | null;
  readonly code: Uint8Array | null;
};

export function* hasDueMails(now: number): Script<boolean> {
  const row = yield* first(
    sql<{ id: bigint }>`select id from mail_deliveries where next_at <= ${now} limit 1`,
  );
  return row !== undefined;
}

/** Claims up to `limit` mails that are due, those that have been for longest first. Each counts as an attempt. */
export function* claimMails({
  lease,
  now,
  firstAt,
  until,
  limit,
}: {
  readonly lease: number;
  readonly now: number;
  /** From when on the time for attempts is counted, if this is the first one. */
  readonly firstAt: number;
  readonly until: number;
  readonly limit: number;
}): Script<readonly ClaimedMail[]> {
  const rows = yield* all(sql<ClaimedRow>`
    select * from mail_deliveries where next_at <= ${now}
    order by next_at limit ${limit} ${forUpdateSkipLocked}`);
  const claims = rows.map(
    (row) => sql`
      update mail_deliveries set lease = ${lease}, next_at = ${until}, attempts = attempts + 1,
        first_at = coalesce(first_at, ${firstAt}), last_at = ${now},
        state = case when state = 'scheduled' then 'queued' else state end
      where store_id = ${row.store_id} and card_id = ${row.card_id} and id = ${row.id}`,
  );
  if (claims.length > 0) yield* run(...claims);
  return rows.map((row) => ({
    ...toMailDelivery(row),
    attempts: toNumber(row.attempts) + 1,
    lastAt: now,
    lease,
    firstAt: toNumberOrNull(row.first_at) ?? firstAt,
    sealedCode: row.code,
    isTakenOver: row.lease !== null,
  }));
}

/** Whether a process still has a mail, and it is still to be sent. */
export function* hasMail({ storeId, cardId, id, lease }: ClaimedMail): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from mail_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and lease = ${lease} and next_at is not null`);
  return row !== undefined;
}

/** When the first mail of a card's code was, or is, to be sent. */
export function* findFirstSendAt(storeId: number, cardId: number): Script<number | undefined> {
  const row = yield* first(sql<{ send_at: bigint }>`
    select send_at from mail_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' order by id limit 1`);
  return row && toNumber(row.send_at);
}

/** What came of an attempt. */
export type MailSettlement = {
  readonly state: Exclude<MailState, 'scheduled' | 'queued'>;
  readonly answer: string;
  /** When it is tried again; null if it has ended. */
  readonly nextAt: number | null;
  /** Whether its time for attempts starts over: nothing was wrong with it, but with the service's own settings. */
  readonly startsOver: boolean;
};

/**
 * Records what came of an attempt, unless somebody else has the mail by now. One that was cancelled meanwhile stays
 * so, unless it was sent.
 * @returns whether it was recorded.
 */
export function* settleMail(
  { storeId, cardId, id, lease }: ClaimedMail,
  { state, answer, nextAt, startsOver }: MailSettlement,
  now: number,
): Script<boolean> {
  const endedAt = nextAt === null ? now : null;
  const row = yield* first(sql<{ id: bigint }>`
    update mail_deliveries set state = ${state}, answer = ${answer}, next_at = ${nextAt}, lease = null,
      first_at = case when ${Number(startsOver)} = 1 then null else first_at end,
      code = case when ${Number(nextAt === null)} = 1 then null else code end, ended_at = ${endedAt}
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and lease = ${lease}
      and (next_at is not null or ${Number(state === 'sent')} = 1)
    returning id`);
  return row !== undefined;
}

/** Gives back a mail that was claimed and not attempted. */
export function* releaseMail({ storeId, cardId, id, lease }: ClaimedMail, now: number): Script<void> {
  yield* run(sql`
    update mail_deliveries set lease = null, next_at = ${now}, attempts = attempts - 1,
      first_at = case when attempts = 1 then null else first_at end
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and lease = ${lease}
      and next_at is not null`);
}
