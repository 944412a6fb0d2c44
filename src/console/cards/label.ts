/** A card on a label, of which several are on a sheet: the code, the amount and the last valid day. */

import { markup, type Markup } from '../../platform/markup.ts';
import type { Sheet } from './sheet.ts';
import { groupedCode, qrSvg } from '../kit/code-view.ts';
import { dayText, figure } from '../kit/format.ts';

export function cardLabel({
  card,
  code,
  amount,
  shop,
  page,
  language: { locale, direction, texts },
}: Pick<Sheet, 'card' | 'code' | 'amount' | 'shop' | 'page' | 'language'>): Markup {
  const name =
    card.recipientName === null ? undefined : markup`<p class="for"><bdi>${card.recipientName}</bdi></p>`;
  const until =
    card.expiresOn === null
      ? undefined
      : markup`<p>${texts.expiryLabel}: <span class="nowrap">${dayText(card.expiresOn, locale)}</span></p>`;
  return markup`<div class="label" lang="${locale}" dir="${direction}"><div class="qr-cell">${qrSvg(code, { page: page.url, label: texts.qrAlt })}<p class="codeline code" dir="ltr">${groupedCode(code)}</p></div>
<div class="facts-cell"><p class="shop"><bdi>${shop}</bdi></p>${name}${amount ? figure(amount, locale) : undefined}${until}</div></div>
`;
}
