/** The emails with the codes of a batch: those that were not sent, and those that could not be delivered. */

import type { EmailDelivery } from '../../../core/emails/domain/email.ts';
import { heldMs } from '../../../core/domain/held.ts';
import type { BatchKey } from './batch.ts';
import { byEmailBatch } from './figures.ts';
import { emailColumns, toEmailDelivery, type DeliveryRow } from '../../../core/emails/storage/email.ts';
import {
  all,
  first,
  part,
  sql,
  toNumber,
  toNumberOrNull,
  type Part,
  type Script,
} from '../../../database/sql/sql.ts';

/** A condition: an email of the batch with a code waits to be sent. */
function isUnsent({ storeId, batchId }: BatchKey): Part {
  return part`store_id = ${storeId} and batch_id = ${batchId} and kind = 'gift_card'
    and state in ('scheduled', 'queued', 'deferred')`;
}

export type UnsentEmails = {
  readonly count: number;
  /** The number that a process is sending now. */
  readonly claimed: number;
  /** When the next one is due (ms); null: there is none. */
  readonly nextAt: number | null;
};

/** @param now instant in ms. */
export function* countUnsentEmails(key: BatchKey, now: number): Script<UnsentEmails> {
  const row = yield* first(sql<{ count: bigint; claimed: bigint; next_at: bigint | null }>`
    select count(*) as count,
      cast(coalesce(sum(case when lease is not null and next_at > ${now} then 1 else 0 end), 0) as bigint) as claimed,
      min(case when next_at < ${heldMs} then send_at end) as next_at
    from email_deliveries ${byEmailBatch} where ${isUnsent(key)}`);
  return {
    count: toNumber(row?.count ?? 0n),
    claimed: toNumber(row?.claimed ?? 0n),
    nextAt: toNumberOrNull(row?.next_at ?? null),
  };
}

/**
 * Cancels the emails that wait to be sent. An email that a process is sending now is left to it; that of an expired claim
 * keeps its lease, so that the process can still record that it was sent.
 * @returns the number of cancelled emails.
 */
export function* cancelUnsentEmails(
  key: BatchKey,
  { now, response }: { readonly now: number; readonly response: string },
): Script<number> {
  const rows = yield* all(sql<{ id: bigint }>`
    update email_deliveries set state = 'cancelled', next_at = null, code = null, ended_at = ${now},
      response = ${response}
    where ${isUnsent(key)} and (lease is null or next_at <= ${now})
    returning id`);
  return rows.length;
}

/**
 * Gives the emails that wait to be sent another time, except those that a process has claimed, and those that wait for an
 * owner after a restore.
 * @param sendAt instant in ms. @returns the number of changed emails.
 */
export function* rescheduleUnsentEmails(
  key: BatchKey,
  { now, sendAt }: { readonly now: number; readonly sendAt: number },
): Script<number> {
  const rows = yield* all(sql<{ id: bigint }>`
    update email_deliveries set send_at = ${sendAt}, next_at = ${sendAt}, first_at = null,
      state = ${sendAt > now ? 'scheduled' : 'queued'}
    where ${isUnsent(key)} and lease is null and next_at < ${heldMs}
    returning id`);
  return rows.length;
}

/** Whether a card of the batch whose email was not sent expires before a day. */
export function* hasUnsentExpiringBefore(key: BatchKey, day: string): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from email_deliveries ${byEmailBatch}
    where ${isUnsent(key)} and exists (
      select 1 from gift_cards g
      where g.store_id = ${key.storeId} and g.id = card_id and g.expires_on < ${day})
    limit 1`);
  return row !== undefined;
}

/** An email that could not be delivered, and the name on its card. */
export type UndeliveredEmail = { readonly email: EmailDelivery; readonly recipientName: string | null };

/**
 * Returns the emails with a code that could not be delivered, oldest first: those of cards that can be used today, and for
 * which no later email was written.
 * @param today a day in the store's time zone.
 */
export function* listUndeliveredOf(
  { storeId, batchId }: BatchKey,
  { today, limit }: { readonly today: string; readonly limit: number },
): Script<readonly UndeliveredEmail[]> {
  const rows = yield* all(sql<DeliveryRow & { readonly recipient_name: string | null }>`
    select ${emailColumns}, (
      select g.recipient_name from gift_cards g where g.store_id = ${storeId} and g.id = card_id) as recipient_name
    from email_deliveries ${byEmailBatch}
    where store_id = ${storeId} and batch_id = ${batchId} and kind = 'gift_card' and state in ('bounced', 'dead')
      and address <> ''
      and exists (
        select 1 from gift_cards g
        where g.store_id = ${storeId} and g.id = card_id and g.disabled_at is null and g.suspended_at is null
          and (g.expires_on is null or g.expires_on >= ${today}))
      and not exists (
        select 1 from email_deliveries later
        where later.store_id = ${storeId} and later.card_id = email_deliveries.card_id and later.kind = 'gift_card'
          and later.id > email_deliveries.id)
    order by id limit ${limit}`);
  return rows.map((row) => ({ email: toEmailDelivery(row), recipientName: row.recipient_name }));
}
