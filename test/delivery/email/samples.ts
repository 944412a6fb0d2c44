/** Senders, requests and mails for the tests: whole and valid, but for what a test names. */

import { currencyOf } from '../../../src/domain/currency.ts';
import { mailKinds, type MailKind } from '../../../src/domain/mail.ts';
import type { Money } from '../../../src/domain/money.ts';
import { Secret } from '../../../src/domain/secret.ts';
import type { MailRequest } from '../../../src/delivery/email/kinds.ts';
import { messageIdOf, type Mail } from '../../../src/delivery/email/message.ts';
import { renderMail } from '../../../src/delivery/email/render.ts';
import type { Sender } from '../../../src/delivery/email/sender.ts';

export const code = new Secret('qyw7j8tjrj3pvkhh');
export const groupedCode = 'QYW7 J8TJ RJ3P VKHH';

export function money(minor: bigint, currency = 'EUR'): Money {
  return { minor, currency: currencyOf(currency) };
}

export function senderWith(given: Partial<Sender> = {}): Sender {
  return {
    name: 'Flowers',
    address: 'hello@flowers.example',
    replyTo: 'help@flowers.example',
    logoUrl: null,
    colour: null,
    locale: 'en',
    ...given,
  };
}

/** What a test may change in a request of any kind. */
export type Details = {
  readonly amount?: Money;
  readonly message?: string | null;
  readonly recipient?: string;
  readonly pageUrl?: string | null;
};

export function requestOf(kind: MailKind, details: Details = {}): MailRequest {
  const {
    amount = money(5_000n),
    message = 'Happy birthday!',
    recipient = 'grace@example.com',
    pageUrl = 'https://flowers.example/gift-card',
  } = details;
  const card = { lastCharacters: 'vkhh', expiresOn: '2031-12-31' };
  const unsubscribeUrl = 'https://flowers.example/unsubscribe?token=abc';
  switch (kind) {
    case 'gift_card':
      return { kind, details: { ...card, code, value: amount, message, pageUrl } };
    case 'receipt': {
      const order = { issuedOn: '2026-01-15', sendOn: '2026-02-14', orderId: 1017 };
      return { kind, details: { ...card, ...order, value: amount, recipient, message } };
    }
    case 'expiry_reminder':
    case 'balance_reminder':
      return { kind, details: { ...card, balance: amount, pageUrl, unsubscribeUrl } };
    case 'delivery_failed':
      return { kind, details: { lastCharacters: 'vkhh', value: amount, recipient } };
  }
}

/** One request of every kind. */
export function everyRequest(details: Details = {}): readonly MailRequest[] {
  return mailKinds.map((kind) => requestOf(kind, details));
}

export function mailWith(given: Partial<Mail> = {}, sender: Sender = senderWith()): Mail {
  return {
    messageId: messageIdOf(244_212_357_349, 'flowers.example'),
    date: Date.UTC(2026, 0, 15, 9, 30),
    from: { name: sender.name, address: sender.address },
    to: 'grace@example.com',
    replyTo: sender.replyTo,
    content: renderMail(requestOf('gift_card'), sender),
    ...given,
  };
}
