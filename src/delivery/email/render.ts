/** Rendering: from what a mail is about to its subject and its two parts. Pure: the same in, the same out. */

import assert from 'node:assert/strict';
import type { MailKind } from '../../domain/mail.ts';
import { cleanLine, cleanText } from './clean.ts';
import { defaultColour, edgeOf, foregroundOn, parseColour } from './colour.ts';
import { formatAmount, formatDay } from './format.ts';
import type { MailRequest } from './kinds.ts';
import { languageOf, type Language } from './language.ts';
import { phraseOf, plainOf, valueOf } from './phrase.ts';
import { qrImage, type QrImage } from './qr.ts';
import { isLink, parseLogoUrl, type Sender } from './sender.ts';
import type { Content, Voice } from './templates/blocks.ts';
import { deliveryFailed } from './templates/delivery-failed.ts';
import { giftCard } from './templates/gift-card.ts';
import { rowOf } from './templates/html.ts';
import { page, type Frame } from './templates/page.ts';
import { plain } from './templates/plain.ts';
import { receipt } from './templates/receipt.ts';
import { balanceReminder, expiryReminder } from './templates/reminder.ts';

/** An image that the HTML names as `cid:…`. */
type InlineImage = {
  readonly cid: string;
  readonly filename: string;
  readonly contentType: 'image/png';
  readonly content: Uint8Array;
};

export type RenderedMail = {
  readonly kind: MailKind;
  /** One line without control characters. */
  readonly subject: string;
  readonly html: string;
  /** Says everything that the HTML says. */
  readonly text: string;
  /** The locale of the texts: for Content-Language. */
  readonly locale: string;
  readonly images: readonly InlineImage[];
  /** For List-Unsubscribe; reminders only. */
  readonly unsubscribeUrl: string | null;
};

const qrCid = 'gift-card-code@largesse.invalid';

/** CSS pixels that the QR code's side has at most. */
const qrSideMax = 180;

/**
 * Renders a mail in the sender's language.
 * @throws AssertionError if a link is neither https nor, in development, http to this machine.
 */
export function renderMail(request: MailRequest, sender: Sender): RenderedMail {
  const language = languageOf(sender.locale);
  const storeName = cleanLine(sender.name);
  const qr = request.kind === 'gift_card' ? qrImage(request.details.code) : null;
  const { subject, preheader, blocks } = contentOf(cleaned(request), voiceOf(language, storeName), qr);
  const unsubscribeUrl = unsubscribeUrlOf(request);
  for (const block of blocks) if (block.block === 'button') assertLink(block.url);
  if (unsubscribeUrl !== null) assertLink(unsubscribeUrl);
  const frame = frameOf(sender, { language, storeName, unsubscribeUrl });
  const title = plainOf(subject, { isolating: false });
  return {
    kind: request.kind,
    subject: title,
    html: page({ title, preheader, body: blocks.map((block) => rowOf(block, frame)) }, frame),
    text: plain(blocks, frame),
    locale: language.locale,
    images: qr ? [{ cid: qrCid, filename: 'qr.png', contentType: 'image/png', content: qr.png }] : [],
    unsubscribeUrl,
  };
}

function assertLink(url: string): void {
  assert.ok(isLink(url), 'a link in a mail must be https');
}

function voiceOf({ texts, locale }: Language, storeName: string): Voice {
  return {
    say: (name, values) => phraseOf(texts[name], { store: valueOf(storeName), ...values }),
    amount: (money) => valueOf(formatAmount(money, locale)),
    day: (day) => valueOf(formatDay(day, locale)),
  };
}

function contentOf(request: MailRequest, voice: Voice, qr: QrImage | null): Content {
  switch (request.kind) {
    case 'gift_card': {
      assert.ok(qr);
      // A whole number of pixels a module, so that the edges of the modules stay sharp.
      const size = qr.modules * Math.floor(qrSideMax / qr.modules);
      return giftCard(request.details, voice, { cid: qrCid, size });
    }
    case 'receipt':
      return receipt(request.details, voice);
    case 'expiry_reminder':
      return expiryReminder(request.details, voice);
    case 'balance_reminder':
      return balanceReminder(request.details, voice);
    case 'delivery_failed':
      return deliveryFailed(request.details, voice);
  }
}

/** The request with what strangers wrote cleaned. A message of which nothing is left is none. */
function cleaned(request: MailRequest): MailRequest {
  switch (request.kind) {
    case 'gift_card':
      return { ...request, details: { ...request.details, message: messageOf(request.details.message) } };
    case 'receipt': {
      const { recipient, message } = request.details;
      return {
        ...request,
        details: {
          ...request.details,
          recipient: recipient === null ? null : cleanLine(recipient),
          message: messageOf(message),
        },
      };
    }
    case 'delivery_failed': {
      const recipient = cleanLine(request.details.recipient);
      return { ...request, details: { ...request.details, recipient } };
    }
    case 'expiry_reminder':
    case 'balance_reminder':
      return request;
  }
}

function messageOf(message: string | null): string | null {
  return cleanText(message ?? '') || null;
}

function unsubscribeUrlOf(request: MailRequest): string | null {
  const isReminder = request.kind === 'expiry_reminder' || request.kind === 'balance_reminder';
  return isReminder ? request.details.unsubscribeUrl : null;
}

function frameOf(
  sender: Sender,
  {
    language,
    storeName,
    unsubscribeUrl,
  }: { readonly language: Language; readonly storeName: string; readonly unsubscribeUrl: string | null },
): Frame {
  const { say } = voiceOf(language, storeName);
  const colour = parseColour(sender.colour);
  const logoUrl = parseLogoUrl(sender.logoUrl);
  const background = colour.ok ? colour.value : defaultColour;
  return {
    storeName,
    logoUrl: logoUrl.ok ? logoUrl.value : null,
    colour: background,
    edge: edgeOf(background),
    foreground: foregroundOn(background),
    locale: language.locale,
    direction: language.direction,
    contact: say('contact', { address: valueOf(cleanLine(sender.replyTo ?? sender.address), 'ltr') }),
    automatic: say('automatic'),
    unsubscribe: unsubscribeUrl === null ? null : { text: say('unsubscribe'), url: unsubscribeUrl },
  };
}
