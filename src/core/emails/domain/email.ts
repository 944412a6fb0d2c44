/**
 * Emails about gift cards. A *delivery* is one email to one address. An *occasion* identifies a reminder, which is
 * enqueued only once, the email of a new card, and the transfer of a top-up.
 */

import type { Card, Customer } from '../../cards/domain/card.ts';
import type { CardDesign } from '../../cards/domain/design.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { noIdentity, type Identity } from '../../stores/domain/identity.ts';

export const emailKinds = [
  'gift_card',
  'receipt',
  'top_up',
  'expiry_reminder',
  'balance_reminder',
  'delivery_failed',
] as const;

export type EmailKind = (typeof emailKinds)[number];

/**
 * `scheduled` until it is due, `queued` until the first attempt, `deferred` until the next one. It ends as `sent`
 * (accepted by a mail server), `kept` (on the service's machine, because there is no mail server), `bounced` (rejected
 * permanently), `dead` (the time for attempts is over) or `cancelled` (obsolete, for example because the card was disabled).
 */
export const deliveryStates = [
  'scheduled',
  'queued',
  'deferred',
  'sent',
  'kept',
  'bounced',
  'dead',
  'cancelled',
] as const;

export type EmailState = (typeof deliveryStates)[number];

/** A store's settings for its emails, and what they show of it. */
export type EmailSettings = Identity & {
  /** Whether the store sends emails. */
  readonly enabled: boolean;
  /** The name in the From header, which some shops need to be another one; null: the store's name. */
  readonly senderName: string | null;
  /** The sender's address; null: the service's address. */
  readonly address: string | null;
  /** The address for replies; null: the sender's address. */
  readonly replyTo: string | null;
  /** `#rrggbb`; null: the default. */
  readonly colour: string | null;
  /** The design of cards without one of their own. */
  readonly design: CardDesign;
  /** A BCP 47 tag. */
  readonly locale: string;
  /** The https URL that emails link to; null: none. The code is not added to it. */
  readonly pageUrl: string | null;
  /** Days before a card's last valid day on which its holder is reminded, the largest first. */
  readonly expiryReminderDays: readonly number[];
  /** Days after the issue of a card on which its holder is reminded of the balance, the largest first. */
  readonly balanceReminderDays: readonly number[];
  /** Whether the buyer is notified of an email that the recipient did not receive. */
  readonly notifyFailures: boolean;
};

export const defaultEmailSettings: EmailSettings = Object.freeze({
  ...noIdentity,
  enabled: true,
  senderName: null,
  address: null,
  replyTo: null,
  colour: null,
  design: 'plain',
  locale: 'en',
  pageUrl: null,
  expiryReminderDays: [],
  balanceReminderDays: [],
  notifyFailures: false,
});

/** Maximum number of reminders of one kind for one card. */
const remindersMax = 5;
const reminderDayMax = 3_650;

/** Parses days such as `30,7`; `none` is an empty list. Returns the largest first. */
export function parseReminderDays(text: string): Parsed<readonly number[]> {
  if (text === 'none') return accepted([]);
  const parts = text.split(',').map((part) => part.trim());
  const days = parts.map((part) => (/^[1-9]\d{0,3}$/.test(part) ? Number(part) : Number.NaN));
  if (!days.every((day) => day <= reminderDayMax) || days.length > remindersMax)
    return rejected(
      `must list at most ${remindersMax} numbers of days from 1 to ${reminderDayMax}, such as 30,7, or be none`,
    );
  return accepted([...new Set(days)].toSorted((left, right) => right - left));
}

export type EmailDelivery = {
  readonly storeId: number;
  readonly cardId: number;
  readonly id: number;
  readonly kind: EmailKind;
  readonly address: string;
  /** The occasion, such as a reminder's day; null: the email is about the card alone. */
  readonly occasion: string | null;
  readonly state: EmailState;
  /** When it is or was due (ms). */
  readonly sendAt: number;
  /** When the next attempt is due (ms); null after it has ended. */
  readonly nextAt: number | null;
  readonly attempts: number;
  readonly lastAt: number | null;
  /** The mail server's last response, the last error, or the reason for the cancellation, on one line. */
  readonly response: string | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
};

/** The *holder*, who receives the card and its reminders: the recipient or, without one, the customer. */
export function holderOf({ recipient, customer }: Pick<Card, 'recipient' | 'customer'>): Customer | null {
  return recipient ?? customer;
}

/** The *buyer*: the customer of a card for another recipient; null if there is none. */
export function buyerOf({ recipient, customer }: Pick<Card, 'recipient' | 'customer'>): Customer | null {
  return recipient && customer && recipient.id !== customer.id ? customer : null;
}

const topUpPrefix = 'top_up ';

/** The occasion of the receipt of a top-up. @param transferId its transfer. */
export function topUpOccasion(transferId: number): string {
  return `${topUpPrefix}${transferId}`;
}

/** The id of the transfer that an email is the receipt of; null: it is not that of a top-up. */
export function toppedUpBy({ kind, occasion }: Pick<EmailDelivery, 'kind' | 'occasion'>): number | null {
  return kind === 'top_up' && occasion !== null ? Number(occasion.slice(topUpPrefix.length)) : null;
}

/** The state at `now` (ms): a scheduled delivery is queued from the time at which it is due. */
export function stateAt({ state, nextAt }: Pick<EmailDelivery, 'state' | 'nextAt'>, now: number): EmailState {
  return state === 'scheduled' && nextAt !== null && nextAt <= now ? 'queued' : state;
}

/** The local part of the Message-ID. It is unique and the same on every attempt, so receivers can detect duplicates. */
export function messageName({ cardId, id }: Pick<EmailDelivery, 'cardId' | 'id'>): string {
  return `${cardId}.${id}`;
}
