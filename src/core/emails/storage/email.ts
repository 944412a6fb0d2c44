/** Email settings of stores, and emails with their delivery state. */

import type { CardDesign } from '../../cards/domain/design.ts';
import type { Context } from '../../storage/context.ts';
import { timeUnlessHeld } from '../../domain/held.ts';
import {
  defaultEmailSettings,
  type EmailDelivery,
  type EmailKind,
  type EmailSettings,
  type EmailState,
} from '../domain/email.ts';
import { Secret } from '../../../platform/secret.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import {
  columns,
  flag,
  integer,
  integerOrNull,
  unchanged,
  text,
  textOrNull,
  type Column,
  type RowOf,
} from '../../../database/sql/columns.ts';
import {
  all,
  first,
  execute,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../stores/storage/store.ts';

const settings = columns({
  enabled: flag('enabled'),
  sender_name: textOrNull('senderName'),
  address: textOrNull('address'),
  reply_to: textOrNull('replyTo'),
  colour: textOrNull('colour'),
  design: unchanged<CardDesign>()('design'),
  website: textOrNull('website'),
  phone: textOrNull('phone'),
  hours: textOrNull('hours'),
  terms: textOrNull('terms'),
  locale: text('locale'),
  page_url: textOrNull('pageUrl'),
  expiry_reminder_days: days('expiryReminderDays'),
  balance_reminder_days: days('balanceReminderDays'),
  notify_failures: flag('notifyFailures'),
});

/** Numbers of days, stored with commas. */
function days<Field extends string>(field: Field): Column<string, Field, readonly number[]> {
  return {
    field,
    read: (stored) => (stored === '' ? [] : stored.split(',').map(Number)),
    write: (record) => record[field].join(','),
  };
}

export function* findEmailSettings(storeId: number): Script<EmailSettings> {
  const row = yield* first(sql<RowOf<typeof settings>>`
    select ${settings.names} from email_settings where store_id = ${storeId}`);
  return row ? settings.read(row) : defaultEmailSettings;
}

export function* saveEmailSettings(ctx: Context, storeId: number, saved: EmailSettings): Script<void> {
  yield* execute(sql`
    insert into email_settings (store_id, ${settings.names}, updated_at)
    values (${storeId}, ${settings.values(saved)}, ${ctx.clock.now()})
    on conflict (store_id) do update set ${settings.excluded}, updated_at = excluded.updated_at`);
}

const deliveries = columns({
  store_id: integer('storeId'),
  card_id: integer('cardId'),
  id: integer('id'),
  kind: unchanged<EmailKind>()('kind'),
  address: text('address'),
  occasion: textOrNull('occasion'),
  state: unchanged<EmailState>()('state'),
  send_at: integer('sendAt'),
  // An email that waits for an owner after a restore has no time.
  next_at: {
    field: 'nextAt',
    read: (stored: bigint | null) => timeUnlessHeld(toNumberOrNull(stored)),
    write: ({ nextAt }: { readonly nextAt: number | null }) => nextAt,
  },
  attempts: integer('attempts'),
  last_at: integerOrNull('lastAt'),
  response: textOrNull('response'),
  created_at: integer('createdAt'),
  ended_at: integerOrNull('endedAt'),
});

export type DeliveryRow = RowOf<typeof deliveries>;

/** The columns of `DeliveryRow`. */
export const emailColumns = deliveries.names;

export const toEmailDelivery: (row: DeliveryRow) => EmailDelivery = deliveries.read;

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
  /** Whether it waits until its card is resumed. Default: no. */
  readonly isHeld?: boolean;
};

/** Occasion of the email that is sent when a card is created. Later `gift_card` emails have no occasion. */
export const creationOccasion = 'creation';

/**
 * Enqueues an email, unless the store has disabled emails or has enqueued one for the same occasion. The insert
 * is not awaited, so the email is returned in every case.
 */
export function* enqueueEmail(ctx: Context, email: NewEmail): Script<EmailDelivery> {
  const { storeId, cardId, kind, address, occasion, code, isHeld = false } = email;
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
  const nextAt = isHeld ? Math.max(sendAt, now + heldCheckMs) : sendAt;
  const enqueued: EmailDelivery = {
    storeId,
    cardId,
    id,
    kind,
    address,
    occasion,
    state: nextAt > now ? 'scheduled' : 'queued',
    sendAt,
    nextAt,
    attempts: 0,
    lastAt: null,
    response: null,
    createdAt: now,
    endedAt: null,
  };
  yield* execute(sql`
    insert into email_deliveries (${emailColumns}, code, trace_context, batch_id)
    select ${deliveries.values(enqueued)}, ${sealed}, ${ctx.messageContext?.('emails') ?? null},
      (select batch_id from gift_cards where store_id = ${storeId} and id = ${cardId})
    where not exists (select 1 from email_settings where store_id = ${storeId} and enabled = 0)
    on conflict (store_id, card_id, occasion) where occasion is not null do nothing`);
  return enqueued;
}

/**
 * After this time, an email that waits for its suspended card is claimed again. Then it is cancelled if the card was disabled
 * or has expired.
 */
export const heldCheckMs = 24 * 60 * 60 * 1_000;

/** Makes the emails that waited for a card due at their time, or at `now` (ms) if that is later. */
export function* releaseHeldEmails(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  now: number,
): Script<void> {
  // A claimed email is not scheduled.
  yield* execute(sql`
    update email_deliveries set
      state = case when send_at > ${now} then 'scheduled' else 'queued' end,
      next_at = case when send_at > ${now} then send_at else ${now} end,
      send_at = case when send_at > ${now} then send_at else ${now} end
    where store_id = ${storeId} and card_id = ${cardId} and state = 'scheduled'`);
}

/** Cancels a card's pending emails that contain a replaced code. */
export function* cancelCodeEmails(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  { now, response }: { readonly now: number; readonly response: string },
): Script<void> {
  // The lease stays, so a process that is sending the email can still record that it was sent.
  yield* execute(sql`
    update email_deliveries set state = 'cancelled', next_at = null, code = null, ended_at = ${now},
      response = ${response}
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' and next_at is not null`);
}

export function* findEmail({ storeId, cardId, id }: EmailKey): Script<EmailDelivery | undefined> {
  const row = yield* first(sql<DeliveryRow>`
    select ${emailColumns} from email_deliveries where store_id = ${storeId} and card_id = ${cardId} and id = ${id}`);
  return row && toEmailDelivery(row);
}

/** Returns a card's emails with ids below `before`, newest first. */
export function* listEmailsBefore(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from email_deliveries where store_id = ${storeId} and card_id = ${cardId} and id < ${before}
    order by id desc limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns a card's emails with ids above `after`, oldest first. */
export function* listEmailsAfter(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from email_deliveries where store_id = ${storeId} and card_id = ${cardId} and id > ${after}
    order by id limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns a card's resent `gift_card` emails, newest first. */
export function* listRepeatedEmails(
  { storeId, cardId }: Pick<EmailKey, 'storeId' | 'cardId'>,
  limit: number,
): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from email_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'gift_card' and occasion is null
    order by id desc limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns a store's emails, those of the newest cards first. */
export function* listStoreEmails(storeId: number, limit: number): Script<readonly EmailDelivery[]> {
  const rows = yield* all(sql<DeliveryRow>`
    select ${emailColumns} from email_deliveries where store_id = ${storeId} order by card_id desc, id desc limit ${limit}`);
  return rows.map(toEmailDelivery);
}

/** Returns the number of a store's emails in each state. */
export function* countStoreEmails(storeId: number): Script<ReadonlyMap<EmailState, number>> {
  const rows = yield* all(sql<{ state: EmailState; emails: bigint }>`
    select state, count(*) as emails from email_deliveries where store_id = ${storeId} group by state`);
  return new Map(rows.map(({ state, emails }) => [state, toNumber(emails)]));
}

/** Returns the number of pending emails of all stores. */
export function* countPendingEmails(): Script<number> {
  const row = yield* first(sql<{ emails: bigint }>`
    select count(*) as emails from email_deliveries where next_at is not null and ${ofOpenStore}`);
  return toNumber(row?.emails ?? 0n);
}
