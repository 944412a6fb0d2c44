/** Senders, contents and emails for tests: valid by default. */

import { currencyOf } from '../../../src/core/money/domain/currency.ts';
import { emailKinds, type EmailKind } from '../../../src/core/emails/domain/email.ts';
import type { Money } from '../../../src/core/money/domain/money.ts';
import { Secret } from '../../../src/platform/secret.ts';
import type { EmailContent } from '../../../src/features/emails/delivery/content.ts';
import { messageIdOf, type Email } from '../../../src/features/emails/delivery/message.ts';
import { renderEmail } from '../../../src/features/emails/delivery/render.ts';
import type { Sender } from '../../../src/features/emails/delivery/sender.ts';

export const code = new Secret('qyw7j8tjrj3pvkhh');
export const groupedCode = 'QYW7 J8TJ RJ3P VKHH';

export function money(minor: bigint, currency = 'EUR'): Money {
  return { minor, currency: currencyOf(currency) };
}

export function senderWith(changes: Partial<Sender> = {}): Sender {
  return {
    name: 'Flowers',
    shop: changes.name ?? 'Flowers',
    address: 'hello@flowers.example',
    replyTo: 'help@flowers.example',
    website: null,
    phone: null,
    hours: null,
    terms: null,
    place: null,
    colour: null,
    design: 'plain',
    locale: 'en',
    texts: {},
    logo: null,
    ...changes,
  };
}

/** The details that a test can set in a content of any kind. */
export type Details = {
  readonly amount?: Money;
  readonly message?: string | null;
  readonly recipient?: string;
  readonly pageUrl?: string | null;
  readonly senderName?: string | null;
  readonly recipientName?: string | null;
  readonly design?: string | null;
};

export function contentWith(kind: EmailKind, details: Details = {}): EmailContent {
  const {
    amount = money(5_000n),
    message = 'Happy birthday!',
    recipient = 'grace@example.com',
    pageUrl = 'https://flowers.example/gift-card',
    senderName = 'Ada',
    recipientName = 'Grace',
    design = null,
  } = details;
  const lastCharacters = 'vkhh';
  const expiresOn = '2031-12-31';
  const unsubscribeUrl = 'https://flowers.example/unsubscribe?token=abc';
  switch (kind) {
    case 'gift_card':
      return {
        kind,
        code,
        senderName,
        recipientName,
        amount,
        design,
        message,
        expiresOn,
        pageUrl,
        cardPage: null,
        wallets: null,
        isFromBuyer: false,
      };
    case 'receipt': {
      const order = { issuedOn: '2026-01-15', sendOn: '2026-02-14', place: 'Market Street', orderId: 1017 };
      return {
        kind,
        amount,
        lastCharacters,
        senderName,
        recipientName,
        recipient,
        message,
        ...order,
        expiresOn,
        order: null,
        tax: null,
      };
    }
    case 'top_up': {
      const added = {
        amount,
        balance: money(6_500n),
        addedOn: '2026-01-15',
        place: 'Market Street',
        orderId: 1018,
      };
      return { kind, recipientName, lastCharacters, expiresOn, pageUrl, ...added };
    }
    case 'expiry_reminder':
    case 'balance_reminder':
      return { kind, recipientName, amount, lastCharacters, expiresOn, pageUrl, unsubscribeUrl };
    case 'delivery_failed':
      return { kind, senderName, amount, lastCharacters, recipient };
  }
}

/** One content of every kind. */
export function everyContent(details: Details = {}): readonly EmailContent[] {
  return emailKinds.map((kind) => contentWith(kind, details));
}

export function emailWith(changes: Partial<Email> = {}, sender: Sender = senderWith()): Email {
  return {
    messageId: messageIdOf(244_212_357_349, 'flowers.example'),
    date: Date.UTC(2026, 0, 15, 9, 30),
    from: { name: sender.name, address: sender.address },
    to: 'grace@example.com',
    replyTo: sender.replyTo,
    content: renderEmail(contentWith('gift_card'), sender),
    ...changes,
  };
}
