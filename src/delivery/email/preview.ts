/** Mails with sample data, as files to look at. */

import { currencyOf, type Currency } from '../../domain/currency.ts';
import type { MailKind } from '../../domain/mail.ts';
import type { Money } from '../../domain/money.ts';
import { Secret } from '../../domain/secret.ts';
import type { MailRequest } from './kinds.ts';
import { languageOf } from './language.ts';
import { toEml, type Mail } from './message.ts';
import { renderMail, type RenderedMail } from './render.ts';
import type { Sender } from './sender.ts';

export type PreviewFile = {
  /** Such as `gift_card.html`. */
  readonly name: string;
  readonly content: string | Uint8Array;
};

export type PreviewOptions = {
  /** The store's currency; its amounts are samples. */
  readonly currency: Currency;
  /** The store's domain, for links that lead nowhere. */
  readonly domain: string;
};

/** The instant that previews are dated: nothing in them depends on when they are made. */
const sampleDate = Date.UTC(2026, 0, 15, 9, 30);

/** A mail with sample data in the store's own look. */
export function sampleMail(kind: MailKind, sender: Sender, options: PreviewOptions): Mail {
  return {
    messageId: `<preview.${kind}@${options.domain}>`,
    date: sampleDate,
    from: { name: sender.name, address: sender.address },
    to: 'grace@example.com',
    replyTo: sender.replyTo,
    content: renderMail(sampleRequest(kind, { ...options, locale: sender.locale }), sender),
  };
}

/** A mail with sample data, as HTML that a browser shows, as text, and as a whole message. */
export async function previewMail(
  kind: MailKind,
  sender: Sender,
  options: PreviewOptions,
): Promise<readonly PreviewFile[]> {
  const mail = sampleMail(kind, sender, options);
  return [
    { name: `${kind}.html`, content: browserHtml(mail.content) },
    { name: `${kind}.txt`, content: mail.content.text },
    { name: `${kind}.eml`, content: await toEml(mail) },
  ];
}

/** The HTML of a mail with its images in it, for a browser, which knows no `cid:` addresses. */
export function browserHtml({ html, images }: Pick<RenderedMail, 'html' | 'images'>): string {
  return images.reduce((shown, { cid, contentType, content }) => {
    const data = `data:${contentType};base64,${Buffer.from(content).toString('base64')}`;
    return shown.replaceAll(`src="cid:${cid}"`, `src="${data}"`);
  }, html);
}

function sampleRequest(
  kind: MailKind,
  { currency, domain, locale }: PreviewOptions & { readonly locale: string },
): MailRequest {
  const card = { lastCharacters: 'vkhh', expiresOn: '2028-12-31' };
  const links = {
    pageUrl: `https://${domain}/gift-card`,
    unsubscribeUrl: `https://${domain}/gift-card/unsubscribe`,
  };
  const message = languageOf(locale).texts.sampleMessage;
  const recipient = 'grace@example.com';
  const value = units(currency, 50n);
  const balance = units(currency, 15n);
  switch (kind) {
    case 'gift_card': {
      const code = new Secret('qyw7j8tjrj3pvkhh');
      return { kind, details: { ...card, code, value, message, pageUrl: links.pageUrl } };
    }
    case 'receipt': {
      const order = { issuedOn: '2026-01-15', sendOn: '2026-02-14', orderId: 1017 };
      return { kind, details: { ...card, ...order, value, recipient, message } };
    }
    case 'expiry_reminder':
      return { kind, details: { ...card, ...links, balance } };
    case 'balance_reminder':
      return { kind, details: { ...card, ...links, balance } };
    case 'delivery_failed':
      return { kind, details: { lastCharacters: card.lastCharacters, value, recipient } };
  }
}

/** So many units of a currency; a hundred times as many where it has no decimals, as a yen is worth about a cent. */
function units(currency: Currency, count: bigint): Money {
  const minorInUnit = currency.decimals === 0 ? 100n : 10n ** BigInt(currency.decimals);
  return { minor: count * minorInUnit, currency: currencyOf(currency.code) };
}
