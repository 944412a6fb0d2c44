/** Emails with sample data, for previews. */

import { sample, sampleAmount } from '../../../core/cards/domain/sample-card.ts';
import type { Currency } from '../../../core/money/domain/currency.ts';
import type { EmailKind } from '../../../core/emails/domain/email.ts';
import type { WalletLink } from '../../wallets/domain/wallet.ts';
import { Secret } from '../../../platform/secret.ts';
import type { EmailContent } from './content.ts';
import { languageOf } from './language.ts';
import { toEml, type Email } from './message.ts';
import { renderEmail, type RenderedEmail } from './render.ts';
import type { Sender } from './sender.ts';

export type PreviewFile = {
  /** Such as `gift_card.html`. */
  readonly name: string;
  readonly content: string | Uint8Array;
};

export type PreviewOptions = {
  /** The store's currency. */
  readonly currency: Currency;
  /** The store's domain, for sample links. */
  readonly domain: string;
  /** The page that emails link to; null: none. Absent: sample links. */
  readonly pageUrl?: string | null;
  /** Absent: the store has set no wallet up. */
  readonly wallets?: WalletLink;
};

/** An email with sample data and the store's appearance. */
export function sampleEmail(kind: EmailKind, sender: Sender, options: PreviewOptions): Email {
  return {
    messageId: `<preview.${kind}@${options.domain}>`,
    date: sample.at,
    from: { name: sender.name, address: sender.address },
    to: 'grace@example.com',
    replyTo: sender.replyTo,
    content: renderEmail(sampleContent(kind, { ...options, locale: sender.locale }), sender),
  };
}

/** An email with sample data as HTML for a browser, as text, and as a message. */
export async function previewEmail(
  kind: EmailKind,
  sender: Sender,
  options: PreviewOptions,
): Promise<readonly PreviewFile[]> {
  const email = sampleEmail(kind, sender, options);
  return [
    { name: `${kind}.html`, content: browserHtml(email.content) },
    { name: `${kind}.txt`, content: email.content.text },
    { name: `${kind}.eml`, content: await toEml(email) },
  ];
}

/** The HTML of an email for a browser: with `data:` images, because a browser cannot load `cid:` images. */
export function browserHtml({ html, images }: Pick<RenderedEmail, 'html' | 'images'>): string {
  return images.reduce((shown, { cid, contentType, content }) => {
    const data = `data:${contentType};base64,${Buffer.from(content).toString('base64')}`;
    return shown.replaceAll(`src="cid:${cid}"`, `src="${data}"`);
  }, html);
}

function sampleContent(
  kind: EmailKind,
  { currency, domain, locale, pageUrl: linked, wallets }: PreviewOptions & { readonly locale: string },
): EmailContent {
  const { lastCharacters, expiresOn, senderName, recipientName } = sample;
  const samplePage = `https://${domain}/gift-card`;
  const pageUrl = linked === undefined ? samplePage : linked;
  const unsubscribeUrl = linked === undefined ? `${samplePage}/unsubscribe` : null;
  const message = languageOf(locale).texts.sampleMessage;
  const recipient = 'grace@example.com';
  const value = sampleAmount(currency, 50n);
  const balance = sampleAmount(currency, 15n);
  const named = { recipientName, lastCharacters, expiresOn };
  switch (kind) {
    case 'gift_card': {
      const code = new Secret(sample.code);
      const shown = { senderName, recipientName, amount: value, design: null, message, expiresOn, pageUrl };
      return { kind, code, ...shown, cardPage: null, wallets: wallets ?? null, isFromBuyer: false };
    }
    case 'receipt': {
      const sold = { issuedOn: '2026-01-15', sendOn: '2026-02-14', place: null, orderId: 1017 };
      return {
        kind,
        ...named,
        ...sold,
        order: null,
        tax: null,
        amount: value,
        senderName,
        recipient,
        message,
      };
    }
    case 'top_up': {
      const added = { amount: value, balance: sampleAmount(currency, 65n), addedOn: '2026-01-15' };
      return { kind, ...named, ...added, place: null, orderId: 1018, pageUrl };
    }
    case 'expiry_reminder':
    case 'balance_reminder':
      return { kind, ...named, amount: balance, pageUrl, unsubscribeUrl };
    case 'delivery_failed':
      return { kind, senderName, amount: value, lastCharacters, recipient };
  }
}
