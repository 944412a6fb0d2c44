/** Email settings of stores, and emails with their delivery state. */

import type { Context } from '../context.ts';
import {
  defaultMailSettings,
  type MailDelivery,
  type MailKind,
  type MailSettings,
  type MailState,
} from '../domain/mail.ts';
import { Secret } from '../domain/secret.ts';
import { sealNonceLength } from '../keys.ts';
import { all, first, run, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

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

export function* findMailSettings(storeId: number): Script<MailSettings> {
  const row = yield* first(sql<SettingsRow>`select * from mail_settings where store_id = ${storeId}`);
  if (!row) return defaultMailSettings;
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
    tellFailures: row.tell_failures === 1n,
  };
}

function readDays(text: string): readonly number[] {
  return text === '' ? [] : text.split(',').map(Number);
}

export function* saveMailSettings(ctx: Context, storeId: number, settings: MailSettings): Script<void> {
  const { enabled, senderName, address, replyTo, logoUrl, colour, locale, pageUrl } = settings;
  yield* run(sql`
    insert into mail_settings (store_id, enabled, sender_name, address, reply_to, logo_url, colour, locale, page_url,
      expiry_reminder_days, balance_reminder_days, tell_failures, updated_at)
    values (${storeId}, ${Number(enabled)}, ${senderName}, ${address}, ${replyTo}, ${logoUrl}, ${colour}, ${locale},
      ${pageUrl}, ${settings.expiryReminderDays.join(',')}, ${settings.balanceReminderDays.join(',')},
      ${Number(settings.tellFailures)}, ${ctx.clock.now()})
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
  readonly kind: MailKind;
  readonly address: string;
  readonly state: MailState;
  readonly send_at: bigint;
  readonly next_at: bigint | null;
  readonly attempts: bigint;
  readonly last_at: bigint | null;
  readonly answer: string | null;
  readonly created_at: bigint;
  readonly ended_at: bigint | null;
};

export function toMailDelivery(row: DeliveryRow): MailDelivery {
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
    answer: row.answer,
    createdAt: toNumber(row.created_at),
    endedAt: toNumberOrNull(row.ended_at),
  };
}

/** Primary key of an email. */
export type MailKey = { readonly storeId: number; readonly cardId: number; readonly id: number };

function boundTo({ storeId, cardId, id }: MailKey): string {
  return `mail ${storeId} ${cardId} ${id}`;
}

/** Decrypts an email's code. @throws Error if the code was sealed for another row. */
export function openMailedCode({ keys }: Pick<Context, 'keys'>, key: MailKey, sealed: Uint8Array): Secret {
  return new Secret(Buffer.from(keys.open('mail', sealed, boundTo(key))).toString());
}

export type NewMail = {
  readonly storeId: number;
  readonly cardId: number;
  readonly kind: MailKind;
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
export function* enqueueEmail(ctx: Context, mail: NewMail): Script<MailDelivery> {
  const { storeId, cardId, kind, address, code } = mail;
  const now = ctx.clock.earliest();
  const id = ctx.chance.id();
  const sealed =
    code &&
    ctx.keys.seal(
      'mail',
      Buffer.from(code.reveal()),
      boundTo({ storeId, cardId, id }),
      ctx.chance.bytes(sealNonceLength),
    );
  const sendAt = Math.max(now, mail.sendAt ?? now);
  const state = sendAt > now ? 'scheduled' : 'queued';
  yield* run(sql`
    insert into mail_deliveries (store_id, card_id, id, kind, address, state, occasion, code, send_at, next_at,
      created_at)
    select ${storeId}, ${cardId}, ${id}, ${kind}, ${address}, ${state}, ${mail.occasion}, ${sealed}, ${sendAt},
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
    answer: null,
    createdAt: now,
    endedAt: null,
  };
}

/** Cancels a card's pending emails that contain a replaced code. */
export function* cancelCodeMails(
  { storeId, cardId }: Pick<MailKey, 'storeId' | 'cardId'>,
  { now, answer }: { readonly now: number; readonly answer: string },
): Script<void> {
  // The lease stays, so a process that is sending the email can still record that it was sent.
  yield* run(sql`
    update mail_deliveries set state = 'cancelled', next_at = null, code = null, ended_at = ${now},
      answer = ${answer}
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' and next_at is not null`);
}

export function* findMail({ storeId, cardId, id }: MailKey): Script<MailDelivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id = ${id}`);
  return row && toMailDelivery(row);
}

/** Returns a card's emails with ids below `before`, newest first. */
export function* listMailsBefore(
  { storeId, cardId }: Pick<MailKey, 'storeId' | 'cardId'>,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id < ${before}
    order by id desc limit ${limit}`);
  return rows.map(toMailDelivery);
}

/** Returns a card's emails with ids above `after`, oldest first. */
export function* listMailsAfter(
  { storeId, cardId }: Pick<MailKey, 'storeId' | 'cardId'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id > ${after}
    order by id limit ${limit}`);
  return rows.map(toMailDelivery);
}

/** Returns a card's resent `gift_card` emails, newest first. */
export function* listRepeatedMails(
  { storeId, cardId }: Pick<MailKey, 'storeId' | 'cardId'>,
  limit: number,
): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' and occasion is null
    order by id desc limit ${limit}`);
  return rows.map(toMailDelivery);
}

/** Returns a store's emails, those of the newest cards first. */
export function* listStoreMails(storeId: number, limit: number): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select * from mail_deliveries where store_id = ${storeId} order by card_id desc, id desc limit ${limit}`);
  return rows.map(toMailDelivery);
}

/** Returns the number of a store's emails in each state. */
export function* countStoreMails(storeId: number): Script<ReadonlyMap<MailState, number>> {
  const rows = yield* all(sql<{ state: MailState; mails: bigint }>`
    select state, count(*) as mails from mail_deliveries where store_id = ${storeId} group by state`);
  return new Map(rows.map(({ state, mails }) => [state, toNumber(mails)]));
}

/** Returns the number of pending emails of all stores. */
export function* countPendingMails(): Script<number> {
  const row = yield* first(sql<{ mails: bigint }>`
    select count(*) as mails from mail_deliveries where next_at is not null`);
  return toNumber(row?.mails ?? 0n);
}
