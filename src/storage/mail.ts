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
import {
  columns,
  flag,
  integer,
  integerOrNull,
  plain,
  text,
  textOrNull,
  type Column,
  type RowOf,
} from './columns.ts';
import { all, first, run, sql, toNumber, type Script } from './sql.ts';

const settings = columns({
  enabled: flag('enabled'),
  sender_name: textOrNull('senderName'),
  address: textOrNull('address'),
  reply_to: textOrNull('replyTo'),
  logo_url: textOrNull('logoUrl'),
  colour: textOrNull('colour'),
  locale: text('locale'),
  page_url: textOrNull('pageUrl'),
  expiry_reminder_days: days('expiryReminderDays'),
  balance_reminder_days: days('balanceReminderDays'),
  tell_failures: flag('tellFailures'),
});

/** Numbers of days, stored with commas. */
function days<Field extends string>(field: Field): Column<string, Field, readonly number[]> {
  return {
    field,
    read: (stored) => (stored === '' ? [] : stored.split(',').map(Number)),
    write: (record) => record[field].join(','),
  };
}

export function* findMailSettings(storeId: number): Script<MailSettings> {
  const row = yield* first(sql<RowOf<typeof settings>>`
    select ${settings.names} from mail_settings where store_id = ${storeId}`);
  return row ? settings.read(row) : defaultMailSettings;
}

export function* saveMailSettings(ctx: Context, storeId: number, saved: MailSettings): Script<void> {
  yield* run(sql`
    insert into mail_settings (store_id, ${settings.names}, updated_at)
    values (${storeId}, ${settings.values(saved)}, ${ctx.clock.now()})
    on conflict (store_id) do update set ${settings.excluded}, updated_at = excluded.updated_at`);
}

/** Returns the ids of stores with reminders enabled. */
export function* listRemindingStores(): Script<readonly number[]> {
  const rows = yield* all(sql<{ store_id: bigint }>`
    select store_id from mail_settings
    where enabled = 1 and (expiry_reminder_days <> '' or balance_reminder_days <> '') order by store_id`);
  return rows.map((row) => toNumber(row.store_id));
}

const deliveries = columns({
  store_id: integer('storeId'),
  card_id: integer('cardId'),
  id: integer('id'),
  kind: plain<MailKind>()('kind'),
  address: text('address'),
  state: plain<MailState>()('state'),
  send_at: integer('sendAt'),
  next_at: integerOrNull('nextAt'),
  attempts: integer('attempts'),
  last_at: integerOrNull('lastAt'),
  answer: textOrNull('answer'),
  created_at: integer('createdAt'),
  ended_at: integerOrNull('endedAt'),
});

export type DeliveryRow = RowOf<typeof deliveries>;

/** The columns of `DeliveryRow`. */
export const emailColumns = deliveries.names;

export const toMailDelivery: (row: DeliveryRow) => MailDelivery = deliveries.read;

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
  const enqueued: MailDelivery = {
    storeId,
    cardId,
    id,
    kind,
    address,
    state: sendAt > now ? 'scheduled' : 'queued',
    sendAt,
    nextAt: sendAt,
    attempts: 0,
    lastAt: null,
    answer: null,
    createdAt: now,
    endedAt: null,
  };
  yield* run(sql`
    insert into mail_deliveries (${emailColumns}, occasion, code)
    select ${deliveries.values(enqueued)}, ${mail.occasion}, ${sealed}
    where not exists (select 1 from mail_settings where store_id = ${storeId} and enabled = 0)
    on conflict (store_id, card_id, occasion) where occasion is not null do nothing`);
  return enqueued;
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
    select ${emailColumns} from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id = ${id}`);
  return row && toMailDelivery(row);
}

/** Returns a card's emails with ids below `before`, newest first. */
export function* listMailsBefore(
  { storeId, cardId }: Pick<MailKey, 'storeId' | 'cardId'>,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id < ${before}
    order by id desc limit ${limit}`);
  return rows.map(toMailDelivery);
}

/** Returns a card's emails with ids above `after`, oldest first. */
export function* listMailsAfter(
  { storeId, cardId }: Pick<MailKey, 'storeId' | 'cardId'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from mail_deliveries where store_id = ${storeId} and card_id = ${cardId} and id > ${after}
    order by id limit ${limit}`);
  return rows.map(toMailDelivery);
}

/** Returns a card's resent `gift_card` emails, newest first. */
export function* listRepeatedMails(
  { storeId, cardId }: Pick<MailKey, 'storeId' | 'cardId'>,
  limit: number,
): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from mail_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' and occasion is null
    order by id desc limit ${limit}`);
  return rows.map(toMailDelivery);
}

/** Returns a store's emails, those of the newest cards first. */
export function* listStoreMails(storeId: number, limit: number): Script<readonly MailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from mail_deliveries where store_id = ${storeId} order by card_id desc, id desc limit ${limit}`);
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
