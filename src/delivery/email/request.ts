/** From a delivery to its mail: what it says is read when it is sent, so that it says what is true then. */

import { isDisabled, isExpired, type Card } from '../../domain/card.ts';
import { dayOf } from '../../domain/day.ts';
import { buyerOf, type MailDelivery, type MailSettings } from '../../domain/mail.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Store } from '../../domain/store.ts';
import { parseColour } from './colour.ts';
import type { MailRequest } from './kinds.ts';
import type { Sender } from './sender.ts';

/** Everything that a mail is made of. */
export type MailMatter = {
  readonly delivery: MailDelivery;
  readonly card: Card;
  readonly store: Store;
  readonly settings: MailSettings;
  /** Of a gift card's mail. */
  readonly code: Secret | null;
  /** When the card itself is sent, ms. */
  readonly cardSentAt: number;
  readonly now: number;
};

/** How a store's mails look. @param from the sender of stores that have no address of their own. */
export function senderOf(store: Store, settings: MailSettings, from: string): Sender {
  const colour = parseColour(settings.colour);
  return {
    name: settings.senderName ?? store.name,
    address: settings.address ?? from,
    replyTo: settings.replyTo,
    logoUrl: settings.logoUrl,
    colour: colour.ok ? colour.value : null,
    locale: settings.locale,
  };
}

/** Why a mail has nothing to say any more; null if it has. */
export function refusalOf({ delivery, card, store, now }: MailMatter): string | null {
  const { kind } = delivery;
  // What was bought, and that it did not arrive, stays true.
  if (kind === 'receipt' || kind === 'delivery_failed') return null;
  if (isDisabled(card)) return 'the card is disabled';
  if (isExpired(card, dayOf(now, store.timeZone))) return 'the card has expired';
  if (kind === 'gift_card') return null;
  if (card.balance.minor === 0n) return 'the card is spent';
  return kind === 'expiry_reminder' && card.expiresOn === null ? 'the card does not expire any more' : null;
}

/** What a mail says. @throws Error if what it is about is not there. */
export function requestOf({ delivery, card, store, settings, code, cardSentAt }: MailMatter): MailRequest {
  const { kind } = delivery;
  const { balance, message, expiresOn, lastCharacters } = card;
  const { pageUrl } = settings;
  const { timeZone } = store;
  switch (kind) {
    case 'gift_card':
      if (!code) throw new Error('a gift card is mailed with its code');
      return { kind, details: { code, value: balance, message, expiresOn, pageUrl } };
    case 'receipt': {
      const issuedOn = dayOf(card.createdAt, timeZone);
      const sendOn = dayOf(cardSentAt, timeZone);
      return {
        kind,
        details: {
          value: card.initialValue,
          lastCharacters,
          recipient: card.recipient?.email ?? null,
          message,
          issuedOn,
          sendOn: sendOn === issuedOn ? null : sendOn,
          expiresOn,
          orderId: card.orderId,
        },
      };
    }
    case 'expiry_reminder':
      if (expiresOn === null) throw new Error('a card that does not expire needs no reminder of it');
      return { kind, details: { balance, lastCharacters, expiresOn, pageUrl, unsubscribeUrl: null } };
    case 'balance_reminder':
      return { kind, details: { balance, lastCharacters, expiresOn, pageUrl, unsubscribeUrl: null } };
    case 'delivery_failed': {
      if (!card.recipient || !buyerOf(card)) throw new Error('nobody else bought the card');
      const recipient = card.recipient.email;
      return { kind, details: { value: card.initialValue, lastCharacters, recipient } };
    }
  }
}
