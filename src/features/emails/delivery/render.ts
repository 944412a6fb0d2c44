/** Renders the content of an email as a subject, HTML and plain text. Pure: equal contents give equal emails. */

import assert from 'node:assert/strict';
import type { PicturedDesign } from '../../../core/cards/domain/design.ts';
import type { EmailKind } from '../../../core/emails/domain/email.ts';
import type { Logo } from '../../../core/stores/domain/logo.ts';
import { parseLink } from '../../../core/stores/domain/identity.ts';
import { cleanLine } from './clean.ts';
import { brandOf, edgeOf, foregroundOn } from './colour.ts';
import type { EmailContent } from './content.ts';
import { drawingImage } from './drawing.ts';
import { designCid, rowOf } from './html.ts';
import { languageOf, type Language } from './language.ts';
import { page, type Frame } from './page.ts';
import { qrImage } from './qr.ts';
import { isLink, type Sender } from './sender.ts';
import { blocksOf } from './template.ts';
import { plain } from './text.ts';
import { isolate, plainOf, translator, type Translate } from './translate.ts';
import { wordingOf } from './wording.ts';

/** An image that the HTML refers to as `cid:…`. */
type InlineImage = {
  readonly cid: string;
  readonly filename: string;
  readonly contentType: Logo['type'];
  readonly content: Uint8Array;
};

export type RenderedEmail = {
  readonly kind: EmailKind;
  /** One line without control characters. */
  readonly subject: string;
  readonly html: string;
  /** Says everything that the HTML says. */
  readonly text: string;
  /** For Content-Language. */
  readonly locale: string;
  readonly images: readonly InlineImage[];
  /** For List-Unsubscribe; reminders only. */
  readonly unsubscribeUrl: string | null;
};

/** The Content-ID of the QR code. */
export const qrCid = 'gift-card-code@largesse.invalid';

/** The maximum side of the QR code in CSS pixels. */
const qrSideMax = 180;

/**
 * Renders an email in the sender's language. Its size is bounded by the lengths of the card's message and of the
 * sender's names, texts and links, which are limited where they are set.
 * @throws AssertionError if a link is neither https nor http to this machine.
 */
export function renderEmail(content: EmailContent, sender: Sender): RenderedEmail {
  const language = languageOf(sender.locale);
  const storeName = cleanLine(sender.shop);
  const store = isolate(storeName);
  const translate = translator(language, { store });
  const { locale } = language;
  const texts = sender.texts[content.kind] ?? {};
  const wording = wordingOf(content, { texts, store, translate, locale });
  const contact = isolate(cleanLine(sender.replyTo ?? sender.address), 'ltr');
  const blocks = blocksOf(content, wording, { translate, locale, designOfStore: sender.design, contact });
  const unsubscribeUrl = 'unsubscribeUrl' in content ? content.unsubscribeUrl : null;
  for (const block of blocks) if (block.block === 'button') assertLink(block.url);
  if (unsubscribeUrl !== null) assertLink(unsubscribeUrl);
  const frame = frameOf(sender, { language, storeName, translate, unsubscribeUrl });
  const qr = content.kind === 'gift_card' ? qrImage(content.code, content.cardPage) : null;
  // A whole number of pixels per module, so that the edges of the modules are sharp.
  const image = qr && { cid: qrCid, size: qr.modules * Math.floor(qrSideMax / qr.modules) };
  // Amounts have spaces that do not break, which a header cannot keep.
  const title = cleanLine(plainOf(wording.subject));
  const { preheader } = wording;
  return {
    kind: content.kind,
    subject: title,
    html: page({ title, preheader, body: blocks.map((block) => rowOf(block, frame, image)) }, frame),
    text: plain(blocks, frame),
    locale,
    images: [
      ...(sender.logo ? [logoImage(sender.logo)] : []),
      ...blocks.flatMap((block) =>
        block.block === 'card' && block.design ? [designImage(block.design, language)] : [],
      ),
      ...(qr ? [{ cid: qrCid, filename: 'qr.png', contentType: 'image/png', content: qr.png } as const] : []),
    ],
    unsubscribeUrl,
  };
}

const logoCid = 'logo@largesse.invalid';

function logoImage({ type, content }: Logo): InlineImage {
  const filename = type === 'image/png' ? 'logo.png' : 'logo.jpg';
  return { cid: logoCid, filename, contentType: type, content };
}

function designImage(design: PicturedDesign, { direction }: Pick<Language, 'direction'>): InlineImage {
  const content = drawingImage(design, direction === 'rtl');
  return { cid: designCid, filename: 'gift.png', contentType: 'image/png', content };
}

/** The longest sides of a logo in CSS pixels. Its image can have more, for sharp screens. */
const logoMax = { width: 240, height: 44 } as const;

/** Returns the URL and the size of the logo; null: the store has none. */
function shownLogo({ logo }: Sender): Frame['logo'] {
  if (!logo) return null;
  const scale = Math.min(1, logoMax.width / logo.width, logoMax.height / logo.height);
  const side = (pixels: number): number => Math.max(1, Math.round(pixels * scale));
  return { source: `cid:${logoCid}`, width: side(logo.width), height: side(logo.height) };
}

function linkOf(stored: string | null): string | null {
  const link = parseLink(stored);
  return link.ok ? link.value : null;
}

function assertLink(url: string): void {
  assert.ok(isLink(url), 'a link in an email must be https');
}

/** The name and the address of a location, as lines. */
function placeLines({ name, address }: NonNullable<Sender['place']>): readonly string[] {
  return [name, ...(address?.split('\n') ?? [])].map(cleanLine).filter((line) => line !== '');
}

function frameOf(
  sender: Sender,
  {
    language,
    storeName,
    translate,
    unsubscribeUrl,
  }: {
    readonly language: Language;
    readonly storeName: string;
    readonly translate: Translate;
    readonly unsubscribeUrl: string | null;
  },
): Frame {
  const { color, shades } = brandOf(sender.colour);
  const terms = linkOf(sender.terms);
  const address = isolate(cleanLine(sender.replyTo ?? sender.address), 'ltr');
  return {
    storeName,
    logo: shownLogo(sender),
    colour: color,
    edge: edgeOf(color),
    foreground: foregroundOn(color),
    shades,
    identity: {
      place: sender.place ? placeLines(sender.place) : [],
      phone: sender.phone,
      website: linkOf(sender.website),
      hours: sender.hours?.split('\n').map(cleanLine) ?? [],
      terms: terms === null ? null : { text: translate('terms'), url: terms },
    },
    locale: language.locale,
    direction: language.direction,
    contact: translate('contact', { address }),
    automatic: translate('automatic'),
    unsubscribe: unsubscribeUrl === null ? null : { text: translate('unsubscribe'), url: unsubscribeUrl },
  };
}
