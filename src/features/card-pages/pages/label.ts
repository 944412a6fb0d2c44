/** A card on a label, of which several are on a sheet: the code, the amount, the last valid day and the shop. */

import { markup, type Markup } from '../../../platform/markup.ts';
import { barcodeOf } from '../../../core/cards/domain/symbol.ts';
import { reachedOnPaper, type Sheet } from './sheet.ts';
import { groupedCode, printedBarcode, qrSvg } from '../../../pages/kit/code-view.ts';
import { dayText, figure } from '../../../pages/kit/format.ts';
import { dotted, placeLines } from '../../../pages/kit/identity.ts';

/** A label is at least this wide, without its margins. */
const widthMm = 89;

export function cardLabel({
  card,
  code,
  amount,
  shop,
  page,
  identity,
  at,
  language: { locale, direction, texts },
}: Pick<Sheet, 'card' | 'code' | 'amount' | 'shop' | 'page' | 'identity' | 'at' | 'language'>): Markup {
  const name =
    card.recipientName === null ? undefined : markup`<p class="for"><bdi>${card.recipientName}</bdi></p>`;
  const until =
    card.expiresOn === null
      ? undefined
      : markup`<p>${texts.expiryLabel}: <span class="nowrap">${dayText(card.expiresOn, locale)}</span></p>`;
  const reach = [at ? placeLines(at) : [], reachedOnPaper(identity)]
    .filter((parts) => parts.length > 0)
    .map((parts) => markup`<p>${dotted(parts)}</p>`);
  return markup`<div class="label" lang="${locale}" dir="${direction}">${qrSvg(code, { page: page.url, label: texts.qrAlt })}
<div class="facts-cell"><p class="shop"><bdi>${shop}</bdi></p>${name}${amount ? figure(amount, locale) : undefined}${until}</div>
<div class="foot"><div class="bars-cell">${printedBarcode(barcodeOf(code), widthMm)}<p class="codeline code" dir="ltr">${groupedCode(code)}</p></div>
<div class="reach">${reach}</div></div></div>
`;
}
