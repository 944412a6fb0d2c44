/**
 * The templates: from the content and the wording of an email to its blocks.
 *
 * `html.ts` and `text.ts` write the same blocks, so the two parts of an email say the same.
 */

import { designOf, type CardDesign, type PicturedDesign } from '../../../core/cards/domain/design.ts';
import { vatRateText } from '../../../core/money/domain/vat.ts';
import { addTexts } from '../../wallets/domain/wallet.ts';
import { cleanLine, cleanText } from './clean.ts';
import type {
  BalanceReminderContent,
  DeliveryFailedContent,
  EmailContent,
  ExpiryReminderContent,
  GiftCardContent,
  ReceiptContent,
  ReceiptTax,
  TopUpContent,
} from './content.ts';
import {
  formatAmount,
  formatCode,
  formatDay,
  isolate,
  plainOf,
  type Isolated,
  type Translate,
} from './translate.ts';
import { nameOf, type Wording } from './wording.ts';

/** Texts can contain isolated values. Those of paragraphs and of the last lines can contain newlines. */
export type Block =
  | { readonly block: 'heading'; readonly text: string }
  | { readonly block: 'paragraph'; readonly text: string }
  /** The card, in the store's colour: title, end of the code, amount, and a line below. */
  | {
      readonly block: 'card';
      readonly title: string;
      /** Null in an email with the whole code. */
      readonly ending: Fact | null;
      readonly label: string;
      readonly amount: Isolated;
      readonly caption: string | null;
      /** The picture; null: none, on the store's colour. */
      readonly design: PicturedDesign | null;
    }
  /** The buyer's message, with its line breaks. */
  | {
      readonly block: 'message';
      readonly label: string;
      readonly message: string;
      /** Whether it is what the email is about: large, and followed by who wrote it. */
      readonly signed: Fact | null;
    }
  /** The code in groups, with its QR code. */
  | {
      readonly block: 'code';
      readonly label: string;
      readonly code: string;
      readonly hint: string;
      readonly alt: string;
    }
  | { readonly block: 'facts'; readonly facts: readonly Fact[] }
  | { readonly block: 'button'; readonly text: string; readonly url: string }
  | { readonly block: 'note'; readonly text: string }
  /** A long text of the store in its own language, with its line breaks. */
  | { readonly block: 'document'; readonly label: string; readonly document: string }
  /** A paragraph of the last lines. */
  | { readonly block: 'closing'; readonly text: string; readonly isFirst: boolean };

export type Fact = { readonly label: string; readonly value: Isolated };

function note(text: string): Block {
  return { block: 'note', text };
}

function paragraph(text: string): Block {
  return { block: 'paragraph', text };
}

/** The blocks of an email: its wording, and between the first and the last lines what it is about. */
export function blocksOf(
  content: EmailContent,
  { heading, greeting, intro, closing }: Wording,
  options: Options,
): readonly Block[] {
  return [
    { block: 'heading', text: heading },
    ...(greeting === null ? [] : [paragraph(greeting)]),
    ...detailsOf(content, { ...options, intro: intro.map(paragraph) }),
    ...closing.map((text, index): Block => ({ block: 'closing', text, isFirst: index === 0 })),
  ];
}

type Options = {
  readonly translate: Translate;
  readonly locale: string;
  /** The design of cards without one of their own. */
  readonly designOfStore: CardDesign;
  /** The address that people write to. */
  readonly contact: Isolated;
};

/** The blocks of a content and its first lines, in the language of `translate` and the formats of `locale`. */
function detailsOf(
  content: EmailContent,
  options: Options & { readonly intro: readonly Block[] },
): readonly Block[] {
  const { intro, translate, locale } = options;
  switch (content.kind) {
    case 'gift_card':
      return giftCard(content, options);
    case 'receipt':
      return [...intro, ...receipt(content, translate, locale)];
    case 'top_up':
      return [...intro, ...toppedUp(content, translate, locale)];
    case 'expiry_reminder':
    case 'balance_reminder':
      return [...intro, ...reminder(content, translate, locale)];
    case 'delivery_failed':
      return [...intro, ...deliveryFailed(content, translate, locale)];
  }
}

/** The message comes first, and then the card: it is a present before it is money. */
function giftCard(
  { code, senderName, message, expiresOn, pageUrl, wallets, amount, design, isFromBuyer }: GiftCardContent,
  { intro, translate, locale, designOfStore, contact }: Options & { readonly intro: readonly Block[] },
): readonly Block[] {
  const shown = designOf(design, designOfStore);
  return [
    ...giftMessage(message, nameOf(senderName), translate),
    ...intro,
    {
      block: 'card',
      title: translate('cardTitle'),
      ending: null,
      label: translate('valueLabel'),
      amount: formatAmount(amount, locale),
      caption: expiryOf(expiresOn, translate, locale),
      design: shown === 'plain' ? null : shown,
    },
    ...button(translate('openCard'), pageUrl),
    {
      block: 'code',
      label: translate('codeLabel'),
      code: formatCode(code),
      hint: translate('codeHint'),
      alt: translate('qrAlt'),
    },
    ...(wallets?.kinds ?? []).flatMap((kind) => button(translate(addTexts[kind]), wallets?.url ?? null)),
    { block: 'note', text: translate('codeIsMoney') },
    ...(isFromBuyer ? [note(translate('addressNote', { address: contact }))] : []),
  ];
}

/** The message of the sender; without one, a line with the sender. */
function giftMessage(text: string | null, sender: Isolated | null, translate: Translate): readonly Block[] {
  const message = cleanText(text ?? '');
  const signed = sender && { label: translate('senderLabel'), value: sender };
  if (message === '') return signed ? [{ block: 'facts', facts: [signed] }] : [];
  return [{ block: 'message', label: translate('messageLabel'), message, signed }];
}

function receipt(content: ReceiptContent, translate: Translate, locale: string): readonly Block[] {
  const { lastCharacters, recipientName, recipient, message, issuedOn, place, sendOn, expiresOn, orderId } =
    content;
  const { order, tax } = content;
  const day = (value: string): Isolated => formatDay(value, locale);
  return [
    {
      block: 'card',
      title: translate('cardTitle'),
      ending: endingOf(lastCharacters, translate),
      label: translate('valueLabel'),
      amount: formatAmount(content.amount, locale),
      caption: null,
      design: null,
    },
    {
      block: 'facts',
      facts: [
        { label: translate('issuedLabel'), value: placed(day(issuedOn), place) },
        ...fact(translate('orderLabel'), order?.number ?? orderId, (id) => isolate(String(id), 'ltr')),
        ...fact(translate('paidLabel'), order?.method ?? null, (method) => isolate(cleanLine(method))),
        ...fact(translate('vatLabel'), tax, (included) => taxText(included, locale)),
        ...fact(translate('recipientLabel'), recipientOf(recipientName, recipient), (value) => value),
        ...fact(translate('sendOnLabel'), sendOn, day),
        ...fact(translate('expiryLabel'), expiresOn, day),
      ],
    },
    ...messageBlock(message, translate),
    ...button(translate('viewOrder'), order?.url ?? null),
    ...(order?.isForBuyer === true ? [] : [note(translate('receiptNoCode'))]),
    ...(order ? [note(translate('withdrawalNote'))] : []),
    ...termsBlock(order?.terms ?? null, translate),
  ];
}

/** Terms that are empty after cleaning are omitted. */
function termsBlock(text: string | null, translate: Translate): readonly Block[] {
  const document = cleanText(text ?? '');
  return document === '' ? [] : [{ block: 'document', label: translate('terms'), document }];
}

/** The rate and the tax, such as `19%: €7.98`. */
function taxText({ rate, amount }: ReceiptTax, locale: string): Isolated {
  return isolate(`${vatRateText(rate, locale)}: ${plainOf(formatAmount(amount, locale))}`);
}

/** A day, with the location if there is one. */
function placed(day: Isolated, place: string | null): Isolated {
  return place === null ? day : `${day} · ${isolate(place)}`;
}

function toppedUp(content: TopUpContent, translate: Translate, locale: string): readonly Block[] {
  const { amount, balance, lastCharacters, addedOn, place, orderId, expiresOn, pageUrl } = content;
  return [
    {
      block: 'card',
      title: translate('cardTitle'),
      ending: endingOf(lastCharacters, translate),
      label: translate('balanceLabel'),
      amount: formatAmount(balance, locale),
      caption: expiryOf(expiresOn, translate, locale),
      design: null,
    },
    {
      block: 'facts',
      facts: [
        { label: translate('topUpLabel'), value: formatAmount(amount, locale) },
        { label: translate('issuedLabel'), value: placed(formatDay(addedOn, locale), place) },
        ...fact(translate('orderLabel'), orderId, (id) => isolate(String(id), 'ltr')),
      ],
    },
    ...button(translate('checkBalance'), pageUrl),
  ];
}

function reminder(
  { amount, lastCharacters, expiresOn, pageUrl }: ExpiryReminderContent | BalanceReminderContent,
  translate: Translate,
  locale: string,
): readonly Block[] {
  return [
    {
      block: 'card',
      title: translate('cardTitle'),
      ending: endingOf(lastCharacters, translate),
      label: translate('balanceLabel'),
      amount: formatAmount(amount, locale),
      caption: expiryOf(expiresOn, translate, locale),
      design: null,
    },
    ...button(translate('checkBalance'), pageUrl),
    { block: 'note', text: translate('findCode') },
  ];
}

function deliveryFailed(
  { lastCharacters, recipient, amount }: DeliveryFailedContent,
  translate: Translate,
  locale: string,
): readonly Block[] {
  return [
    { block: 'paragraph', text: `${translate('failedSafe')} ${translate('failedNext')}` },
    {
      block: 'facts',
      facts: [
        { label: translate('recipientLabel'), value: addressOf(recipient) },
        { label: translate('valueLabel'), value: formatAmount(amount, locale) },
        endingOf(lastCharacters, translate),
      ],
    },
  ];
}

/** The end of the code, which emails without the whole code show. */
function endingOf(lastCharacters: string, translate: Translate): Fact {
  return { label: translate('endingLabel'), value: isolate(lastCharacters.toUpperCase(), 'ltr') };
}

function expiryOf(expiresOn: string | null, translate: Translate, locale: string): string | null {
  return expiresOn === null ? null : `${translate('expiryLabel')} ${formatDay(expiresOn, locale)}`;
}

function addressOf(address: string): Isolated {
  return isolate(cleanLine(address), 'ltr');
}

/** The recipient's name and address; null if neither is known. */
function recipientOf(name: string | null, address: string | null): Isolated | null {
  const cleaned = cleanLine(name ?? '');
  if (cleaned === '') return address === null ? null : addressOf(address);
  return isolate(address === null ? cleaned : `${cleaned} (${cleanLine(address)})`);
}

function fact<T>(label: string, value: T | null, format: (value: T) => Isolated): readonly Fact[] {
  return value === null ? [] : [{ label, value: format(value) }];
}

/** A message that is empty after cleaning is omitted. */
function messageBlock(text: string | null, translate: Translate): readonly Block[] {
  const message = cleanText(text ?? '');
  return message === ''
    ? []
    : [{ block: 'message', label: translate('messageLabel'), message, signed: null }];
}

function button(text: string, url: string | null): readonly Block[] {
  return url === null ? [] : [{ block: 'button', text, url }];
}
