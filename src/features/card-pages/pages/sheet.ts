/** A card on paper: an A4 sheet that folds to a card, in the language of the people who get it. */

import type { Card } from '../../../core/cards/domain/card.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import { shownLink } from '../../../core/stores/domain/identity.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { localeIn } from '../../../core/stores/domain/region.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Brand } from '../../../pages/kit/brand.ts';
import { barcodeOf } from '../../../core/cards/domain/symbol.ts';
import { cardPageOf, type CardPageLinks } from './recipient-page.ts';
import { groupedCode, printedBarcode, qrSvg } from '../../../pages/kit/code-view.ts';
import { giftDrawing, type Drawing } from '../../../pages/kit/gift.ts';
import { dayText, figure } from '../../../pages/kit/format.ts';
import { dotted, identityOf, placeLines, type ShownIdentity } from '../../../pages/kit/identity.ts';
import type { ConsoleServices, CustomerLanguage } from '../../../pages/kit/services.ts';

/** The width of the barcode of the longest code. */
const barcodeMmMax = 69;

/** Longer messages are cut, so that the card fits on its half of the sheet. */
const printedLengthMax = 700;
const printedLinesMax = 14;

/** A message as the sheet has room for it, and the class of its size. */
function printedMessage(message: string): Markup {
  const lines = message.split('\n').slice(0, printedLinesMax).join('\n');
  const symbols = Array.from(lines.slice(0, 2 * printedLengthMax));
  const isCut = lines.length < message.length || symbols.length > printedLengthMax;
  const cut = symbols.slice(0, printedLengthMax).join('');
  const size = cut.length > 160 || lines.split('\n').length > 5 ? 'small' : '';
  const smallest = cut.length > 380 || lines.split('\n').length > 9 ? 'tiny' : size;
  return markup`<blockquote class="${smallest}" dir="auto">${cut}${isCut ? '…' : ''}</blockquote>`;
}

/** The parts that the sheets of a store have in common. */
export type SheetLook = Pick<Sheet, 'shop' | 'brand' | 'page' | 'identity' | 'language'>;

/** @param settings of the store, which can be unsaved ones. */
export function sheetLookOf(
  services: Pick<ConsoleServices, 'brandOf' | 'customerLanguage' | 'pagesUrl'>,
  store: Store,
  settings: EmailSettings,
): SheetLook {
  return {
    shop: store.name,
    brand: services.brandOf(settings.colour),
    page: cardPageOf(services, store, settings),
    identity: identityOf(settings),
    language: services.customerLanguage(localeIn(settings.locale, store)),
  };
}

export type Sheet = {
  readonly card: Pick<Card, 'senderName' | 'recipientName' | 'message' | 'expiresOn'>;
  readonly code: Secret;
  /** On the front; null: it is not known before the card is sold. */
  readonly amount: Money | null;
  readonly shop: string;
  readonly brand: Brand;
  /** Null: the plain design. */
  readonly drawing: Drawing | null;
  readonly page: CardPageLinks;
  readonly identity: ShownIdentity;
  /** The location of the sale of the card; absent: none. */
  readonly at?: Location | undefined;
  readonly language: Pick<CustomerLanguage, 'locale' | 'direction' | 'texts'>;
  /** At the line where the sheet is folded. */
  readonly fold: string;
  /** Whether the screen does not show it. */
  readonly isOnlyPrinted?: boolean;
};

/** The ways to reach the shop on paper, where nothing can be tapped. */
export function reachedOnPaper({ phone, website, contact }: ShownIdentity): readonly string[] {
  return [phone, website === null ? null : shownLink(website), contact].filter((part) => part !== null);
}

/** The shop on paper: few lines, because the half of a sheet has little room. */
function shopOnPaper({
  shop,
  identity,
  at,
  texts,
}: Pick<Sheet, 'shop' | 'identity' | 'at'> & { readonly texts: CustomerLanguage['texts'] }): Markup {
  const { hours, terms } = identity;
  const reached = reachedOnPaper(identity);
  const lines = [
    dotted([shop, ...(at ? placeLines(at) : [])]),
    ...(reached.length > 0 ? [dotted(reached)] : []),
    ...(hours === null ? [] : [dotted(hours.split('\n'))]),
    ...(terms === null ? [] : [markup`${texts.terms}: <bdi>${shownLink(terms)}</bdi>`]),
  ];
  return markup`<p class="small soft">${lines.map((line, index) => markup`${index === 0 ? undefined : markup`<br>`}${line}`)}</p>`;
}

export function cardSheet({
  card,
  code,
  amount,
  shop,
  brand,
  drawing,
  page,
  identity,
  at,
  language: { locale, direction, texts },
  fold,
  isOnlyPrinted = false,
}: Sheet): Markup {
  const from =
    card.senderName === null
      ? undefined
      : markup`<p class="soft">${texts.senderLabel}: <bdi>${card.senderName}</bdi></p>`;
  const balance =
    page.address === null
      ? undefined
      : markup`${texts.checkBalance}: <strong dir="ltr">${page.address}</strong><br>`;
  const until =
    card.expiresOn === null
      ? undefined
      : markup`${texts.expiryLabel} <strong class="nowrap">${dayText(card.expiresOn, locale, 'long')}</strong>`;
  const where =
    balance || until
      ? markup`<p class="where">${balance}${until}</p>
`
      : undefined;
  const front = giftDrawing({
    shop,
    name: card.recipientName,
    figure: amount ? figure(amount, locale) : undefined,
    brand,
    drawing,
  });
  return markup`<div class="sheet${isOnlyPrinted ? ' only-print' : ''}" lang="${locale}" dir="${direction}"><div class="fold"><div class="front" data-fold="${fold}"><div class="face"><p class="kind">${texts.cardTitle}</p>${front}</div></div>
<div class="back"><div class="stack">${card.message === null ? undefined : printedMessage(card.message)}${from}
<p class="codeline code" dir="ltr"><strong>${groupedCode(code)}</strong></p>
${where}<p class="small soft">${texts.codeHint}</p>${shopOnPaper({ shop, identity, at, texts })}</div>
<div class="symbols">${qrSvg(code, { page: page.url, label: texts.qrAlt })}${printedBarcode(barcodeOf(code), barcodeMmMax)}</div></div></div></div>`;
}
