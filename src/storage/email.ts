/** Email settings of stores, and emails with their delivery state. */

import type { Context } from '../context.ts';
import {
  defaultEmailSettings,
  type EmailDelivery,
  type EmailKind,
  type EmailSettings,
  type EmailState,
} from '../domain/email.ts';
import { Secret } from '../domain/secret.ts';
import { sealNonceLength } from '../keys.ts';
import { all, first, execute, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

type SettingsRow = {
  readonly enabled: bigint;
  readonly sender_name: string | null;
  readonly address: string | null;
  readonly reply_to: string | null;
  readonly logo_url: string | null;
  readonly colour: string | null;
  readonly locale: string;
  readonly page_url: string | null;
  readonly expiry_reminder_days: string;
  readonly balance_reminder_days: string;
  readonly tell_failures: bigint;
};

export function* findEmailSettings(storeId: number): Script<EmailSettings> {
  const row = yield* first(sql<SettingsRow>`select * from mail_settings where store_id = ${storeId}`);
  if (!row) return defaultEmailSettings;
  return {
    enabled: row.enabled === 1n,
    senderName: row.sender_name,
    address: row.address,
    replyTo: row.reply_to,
    logoUrl: row.logo_url,
    colour: row.colour,
    locale: row.locale,
    pageUrl: row.page_url,
    expiryReminderDays: readDays(row.expiry_reminder_days),
    balanceReminderDays: readDays(row.balance_reminder_days),
    notifyFailures: row.tell_failures === 1n,
  };
}

function readDays(text: string): readonly number[] {
  return text === '' ? [] : text.split(',').map(Number);
}

export function* saveEmailSettings(ctx: Context, storeId: number, settings: EmailSettings): Script<void> {
  const { enabled, senderName, address, replyTo, logoUrl, colour, locale, pageUrl } = settings;
  yield* execute(sql`
    insert into mail_settings (store_id, enabled, sender_name, address, reply_to, logo_url, colour, locale, page_url,
      expiry_reminder_days, balance_reminder_days, tell_failures, updated_at)
    values (${storeId}, ${Number(enabled)}, ${senderName}, ${address}, ${replyTo}, ${logoUrl}, ${colour}, ${locale},
      ${pageUrl}, ${settings.expiryReminderDays.join(',')}, ${settings.balanceReminderDays.join(',')},
      ${Number(settings.notifyFailures)}, ${ctx.clock.now()})
    on conflict (store_id) do update set enabled = excluded.enabled, sender_name = excluded.sender_name,
      address = excluded.address, reply_to = excluded.reply_to, logo_url = excluded.logo_url,
      colour = excluded.colour, locale = excluded.locale, page_url = excluded.page_url,
      expiry_reminder_days = excluded.expiry_reminder_days, balance_reminder_days = excluded.balance_reminder_days,
      tell_failures = excluded.tell_failures, updated_at = excluded.updated_at`);
}

/** Returns the ids of stores with reminders enabled. */
export function* listRemindingStores(): Script<readonly number[]> {
  const rows = yield* all(sql<{ store_id: bigint }>`
    select store_id from mail_settings
    where enabled = 1 and (expiry_reminder_days <> '' or balance_reminder_days <> '') order by store_id`);
  return rows.map((row) => toNumber(row.store_id));
}

export type DeliveryRow = {
  readonly store_id: bigint;
  readonly card_id: bigint;
  readonly id: bigint;
  readonly kind: EmailKind;
  readonly address: string;
  readonly state: EmailState;
  readonly send_at: bigint;
  readonly next_at: bigint | null;
  readonly attempts: bigint;
  readonly last_at: bigint | null;
  readonly answer: string | null;
  readonly created_at: bigint;
  readonly ended_at: bigint | null;
};

export function toEmailDelivery(row: DeliveryRow): EmailDelivery {
  return {
    storeId: toNumber(row.store_id),
    cardId: toNumber(row.card_id),
    id: toNumber(row.id),
    kind: row.kind,
    address: row.address,
    state: row.state,
    sendAt: toNumber(row.send_at),
    nextAt: toNumberOrNull(row.next_at),
    attempts: toNumber(row.attempts),
    lastAt: toNumberOrNull(row.last_at),
    response: row.answer,
    createdAt: toNumber(row.created_at),
    endedAt: toNumberOrNull(row.ended_at),
  };
}

/** Primary key of an email. */
export type EmailKey = { readonly storeId: number; readonly cardId: number; readonly id: number };

function boundTo({ storeId, cardId, id }: EmailKey): string {
  return `mail ${storeId} ${cardId} ${id}`;
}

/** Decrypts an email's code. @throws Error if the code was sealed for another row. */
export function openEmailedCode({ keys }: Pick<Context, 'keys'>, key: EmailKey, sealed: Uint8Array): Secret {
  return new Secret(Buffer.from(keys.open('mail', sealed, boundTo(key))).toString());
}

export type NewEmail = {
  readonly storeId: number;
  readonly cardId: number;
  readonly kind: EmailKind;
  readonly address: string;
  /** The code in a `gift_card` email; otherwise null. */
  readonly code: Secret | null;
  /** ms since 1970 UTC; null: now. */
  readonly sendAt: number | null;
  readonly occasion: string | null;
};

/** Occasion of the email that is sent when a card is created. Later `gift_card` emails have no occasion. */
export const creationOccasion = 'creation';

/**
 * Enqueues an email, unless the store has disabled emails or has enqueued one for the same occasion. The insert
 * is not awaited, so the email is returned in every case.
 */
export function* enqueueEmail(ctx: Context, email: NewEmail): Script<EmailDelivery> {
  const { storeId, cardId, kind, address, code } = email;
  const now = ctx.clock.earliest();
  const id = ctx.random.id();
  const sealed =
    code &&
    ctx.keys.seal(
      'mail',
      Buffer.from(code.reveal()),
      boundTo({ storeId, cardId, id }),
      ctx.random.bytes(sealNonceLength),
    );
  const sendAt = Math.max(now, email.sendAt ?? now);
  const state = sendAt > now ? 'scheduled' : 'queued';
  yield* execute(sql`
    insert into mail_deliveries (store_id, card_id, id, kind, address, state, occasion, code, send_at, next_at,
      created_at)
    select ${storeId}, ${cardId}, ${id}, ${kind}, ${address}, ${state}, ${email.occasion}, ${sealed}, ${sendAt},
      ${sendAt}, ${now}
    where not exists (select 1 from mail_settings where store_id = ${storeId} and enabled = 0)
    on conflict (store_id, card_id, occasion) where occasion is not null do nothing`);
  return {
    storeId,
    cardId,
    id,
    kind,
    address,
    state,
    sendAt,
    nextAt: sendAt,
    attempts: 0,
    lastAt: null,
    response: null,
    createdAt: now,
    endedAt: null,
  };
}

/** Cancels a card's pending emails that contain a replaced code. */
export function* cancelCodeEmails(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  { now, response }: { readonly now: number; readonly response: string },
): Script<void> {
  // The lease stays, so a process that is sending the email can still record that it was sent.
  yield* execute(sql`
    update mail_deliveries set state = 'cancelled', next_at = null, code = null, ended_at = ${now},
      answer = ${response}
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' and next_at is not null`);
}

export function* findEmail({ storeId, cardId, id }: EmailKey): Script<EmailDelivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id = ${id}`);
  return row && toEmailDelivery(row);
}

/** Returns a card's emails with ids below `before`, newest first. */
export function* listEmailsBefore(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id < ${before}
    order by id desc limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns a card's emails with ids above `after`, oldest first. */
export function* listEmailsAfter(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id > ${after}
    order by id limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns a card's resent `gift_card` emails, newest first. */
export function* listRepeatedEmails(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  limit: number,
): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' and occasion is null
    order by id desc limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns a store's emails, those of the newest cards first. */
export function* listStoreEmails(storeId: number, limit: number): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} order by card_id desc, id desc limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns the number of a store's emails in each state. */
export function* countStoreEmails(storeId: number): Script<ReadonlyMap<EmailState, number>> {
  const rows = yield* all(sql<{ state: EmailState; emails: bigint }>`
    select state, count(*) as emails from mail_deliveries where store_id = ${storeId} group by state`);
  return new Map(rows.map(({ state, emails }) => [state, toNumber(emails)]));
}

/** Returns the number of pending emails of all stores. */
export function* countPendingEmails(): Script<number> {
  const row = yield* first(sql<{ emails: bigint }>`
    select count(*) as emails from mail_deliveries where next_at is not null`);
  return toNumber(row?.emails ?? 0n);
}
