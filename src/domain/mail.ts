/**
 * Mails: what a store sends about its cards, and what became of each.
 *
 * Terms: a *delivery* is one mail to one address. It is *scheduled* until its time has come, *queued* until its
 * first attempt, *deferred* while it is to be tried again, and ends as *sent* (a mail server took it), *bounced* (a
 * mail server will never take it), *dead* (the time for attempts is over) or *cancelled* (there is nothing to say any
 * more: the card was disabled, has another code, …). The *holder* of a card is its recipient, else its customer; the
 * *buyer* of a card that somebody else receives is its customer. An *occasion* names what a reminder is booked for,
 * so that it is booked once, and marks the email that goes with a new card.
 */

import type { Card, Customer } from './card.ts';
import { formatInstant } from './day.ts';
import { accepted, refused, type Parsed } from './parsed.ts';
import type { PublicIds } from './public-id.ts';
import type { MailDeliveryRecord } from './schemas.ts';

export const mailKinds = [
  'gift_card',
  'receipt',
  'expiry_reminder',
  'balance_reminder',
  'delivery_failed',
] as const;

export type MailKind = (typeof mailKinds)[number];

export const deliveryStates = [
  'scheduled',
  'queued',
  'deferred',
  'sent',
  'bounced',
  'dead',
  'cancelled',
] as const;

export type MailState = (typeof deliveryStates)[number];

/** How a store's mails look and speak, and which it sends. */
export type MailSettings = {
  /** Whether the store sends mails at all. */
  readonly enabled: boolean;
  /** Null: the store's name. */
  readonly senderName: string | null;
  /** Null: the service's own address. */
  readonly address: string | null;
  /** Where replies go; null: to the sender's address. */
  readonly replyTo: string | null;
  /** An https address; null: none. */
  readonly logoUrl: string | null;
  /** `#rrggbb`; null: the usual one. */
  readonly colour: string | null;
  /** A BCP 47 tag. */
  readonly locale: string;
  /** The https page that mails lead to; null: none. No code is added to it. */
  readonly pageUrl: string | null;
  /** Days before a card's last good day on which its holder is reminded, the largest first. */
  readonly expiryReminderDays: readonly number[];
  /** Days after a card was issued on which its holder is reminded of a balance, the largest first. */
  readonly balanceReminderDays: readonly number[];
  /** Whether the buyer is told of a mail that the recipient did not get. */
  readonly tellFailures: boolean;
};

export const defaultMailSettings: MailSettings = Object.freeze({
  enabled: true,
  senderName: null,
  address: null,
  replyTo: null,
  logoUrl: null,
  colour: null,
  locale: 'en',
  pageUrl: null,
  expiryReminderDays: [],
  balanceReminderDays: [],
  tellFailures: false,
});

/** Reminders of one kind that a store may send for one card. */
const remindersMax = 5;
const reminderDayMax = 3_650;

/** Reads days such as `30,7`; `none` is an empty list. The largest comes first. */
export function parseReminderDays(text: string): Parsed<readonly number[]> {
  if (text === 'none') return accepted([]);
  const parts = text.split(',').map((part) => part.trim());
  const days = parts.map((part) => (/^[1-9]\d{0,3}$/.test(part) ? Number(part) : Number.NaN));
  if (!days.every((day) => day <= reminderDayMax) || days.length > remindersMax)
    return refused(
      `takes up to ${remindersMax} numbers of days, 1 to ${reminderDayMax}, such as 30,7, or none`,
    );
  return accepted([...new Set(days)].toSorted((left, right) => right - left));
}

export type MailDelivery = {
  readonly storeId: number;
  readonly cardId: number;
  readonly id: number;
  readonly kind: MailKind;
  readonly address: string;
  readonly state: MailState;
  /** When it was to be sent, ms. */
  readonly sendAt: number;
  /** When it is tried next, ms; null once it has ended. */
  readonly nextAt: number | null;
  readonly attempts: number;
  readonly lastAt: number | null;
  /** What the mail server said last, on one line. */
  readonly answer: string | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
};

/** Whose card it is: they get the card and its reminders. */
export function holderOf({ recipient, customer }: Pick<Card, 'recipient' | 'customer'>): Customer | null {
  return recipient ?? customer;
}

/** Who bought the card for somebody else; null if it is nobody, or the holder. */
export function buyerOf({ recipient, customer }: Pick<Card, 'recipient' | 'customer'>): Customer | null {
  return recipient && customer && recipient.id !== customer.id ? customer : null;
}

/** A delivery as it stands at an instant: one whose time has come is not scheduled any more. */
export function stateAt({ state, nextAt }: Pick<MailDelivery, 'state' | 'nextAt'>, now: number): MailState {
  return state === 'scheduled' && nextAt !== null && nextAt <= now ? 'queued' : state;
}

/** The id of the mail itself: the same on every attempt, and no other mail's, so that receivers fold what comes twice. */
export function messageName({ cardId, id }: Pick<MailDelivery, 'cardId' | 'id'>): string {
  return `${cardId}.${id}`;
}

/** A delivery as the world reads it. @param domain the store's. */
export function mailRecordOf(
  ids: PublicIds,
  delivery: MailDelivery,
  { domain, now }: { readonly domain: string; readonly now: number },
): MailDeliveryRecord {
  return {
    id: delivery.id,
    gift_card_id: ids.of(delivery.cardId),
    kind: delivery.kind,
    recipient: delivery.address,
    status: stateAt(delivery, now),
    message_id: `<${messageName(delivery)}@${domain}>`,
    send_at: formatInstant(delivery.sendAt),
    created_at: formatInstant(delivery.createdAt),
    attempts: delivery.attempts,
    next_attempt_at: formatOrNull(delivery.nextAt),
    last_attempt: lastAttemptOf(delivery),
    cancel_reason: delivery.state === 'cancelled' ? delivery.answer : null,
    ended_at: formatOrNull(delivery.endedAt),
  };
}

function lastAttemptOf({
  state,
  attempts,
  lastAt,
  answer,
}: MailDelivery): MailDeliveryRecord['last_attempt'] {
  if (attempts === 0 || lastAt === null) return null;
  const said = state === 'cancelled' ? null : answer;
  const isResponse = said !== null && (state === 'sent' || isReply(said));
  return {
    attempted_at: formatInstant(lastAt),
    response: isResponse ? said : null,
    failure: said === null || isResponse ? null : { reason: 'no-response', detail: said },
  };
}

/** Whether a text is a reply of a mail server and not an error on the way to it: replies begin with a code (RFC 5321, 4.2). */
function isReply(text: string): boolean {
  return /^[2-5]\d\d(?:[ -]|$)/.test(text);
}

function formatOrNull(instant: number | null): string | null {
  return instant === null ? null : formatInstant(instant);
}
