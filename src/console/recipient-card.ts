/** A card as its recipient sees it: on the screen, and as a sheet that folds to a card. */

import type { Card } from '../domain/card.ts';
import { effectOf, increases, type Transfer } from '../domain/ledger.ts';
import type { Secret } from '../domain/secret.ts';
import { linesOf, markup, type Markup } from '../markup.ts';
import { balanceRibbon } from './card-parts.ts';
import { cardSheet } from './card-sheet.ts';
import { barcodeSvg, giftDrawing, groupedCode, qrSvg } from './code-view.ts';
import { amountText, dayText, figure, signedText, timeElement } from './format.ts';
import { contactLine, publicPage, type RecipientPlace } from './recipient-place.ts';
import type { RecipientLanguage } from './recipient-texts.ts';
import type { ConsoleServices, PageResponse } from './route.ts';
import { fill } from './texts.ts';

/** The name of a movement. It names no member of staff, till, order or reference. */
function movementName({ kind, credit }: Transfer, { texts }: RecipientLanguage): string {
  switch (kind) {
    case 'issue':
      return texts.issued;
    case 'debit':
    case 'capture':
      return texts.redeemed;
    case 'credit':
      return texts.added;
    case 'adjustment':
      return texts.adjusted;
    case 'reversal':
      return increases(credit) ? texts.refunded : texts.takenBack;
  }
}

function history({ store, language }: RecipientPlace, transfers: readonly Transfer[]): Markup {
  const { locale, texts } = language;
  const rows = transfers.map((transfer) => {
    const { amount, createdAt } = transfer;
    const change = signedText({ ...amount, minor: effectOf(transfer) }, locale);
    const day = timeElement(createdAt, store, locale, { dateStyle: 'long' });
    return markup`<li class="row apart stub"><span><strong>${movementName(transfer, language)}</strong><br><span class="small soft">${day}</span></span><span class="sum"><bdi>${change}</bdi></span></li>
`;
  });
  return markup`<section class="panel" aria-labelledby="history"><h2 id="history">${texts.history}</h2><ul>
${rows}</ul></section>
`;
}

/** The code for the counter, with its symbols. */
function codePanel({ language: { texts, shared } }: RecipientPlace, code: Secret): Markup {
  return markup`<section class="panel stack" aria-label="${shared.codeLabel}"><div class="qr shown">${qrSvg(code, shared.qrAlt)}</div>
<p class="codeline shown" id="shown-code" dir="ltr">${groupedCode(code)}</p>
${barcodeSvg(code)}
<div class="actions"><button class="button" type="button" data-copy="shown-code" data-copied="${texts.copied}" hidden>${texts.copy}</button><button class="button" type="button" data-print hidden>${texts.print}</button></div>
<p class="hint">${shared.codeHint} ${texts.private}</p></section>
`;
}

type ShownCard = {
  readonly card: Card;
  readonly code: Secret;
  readonly transfers: readonly Transfer[];
  readonly isOver: boolean;
};

function stateTag({ card, isOver }: ShownCard, { texts }: RecipientLanguage): Markup {
  if (isOver) return markup`<span class="tag ended">${texts.expired}</span>`;
  if (card.balance.minor === 0n) return markup`<span class="tag ended">${texts.spent}</span>`;
  return markup`<span class="tag good">${texts.active}</span>`;
}

function facts(
  { language: { locale, shared } }: RecipientPlace,
  { expiresOn, senderName, message }: Card,
): Markup | undefined {
  if (expiresOn === null && senderName === null && message === null) return undefined;
  const until =
    expiresOn === null
      ? undefined
      : markup`<dt>${shared.expiryLabel}</dt><dd>${dayText(expiresOn, locale, 'long')}</dd>`;
  const from =
    senderName === null ? undefined : markup`<dt>${shared.senderLabel}</dt><dd><bdi>${senderName}</bdi></dd>`;
  const words =
    message === null
      ? undefined
      : markup`<dt>${shared.messageLabel}</dt><dd dir="auto">${linesOf(message)}</dd>`;
  return markup`<dl class="facts">${until}${from}${words}</dl>
`;
}

/** An amount in a sentence, which keeps its own direction. */
function isolated(amount: string): Markup {
  return markup`<bdi>${amount}</bdi>`;
}

export function recipientCardPage(
  services: ConsoleServices,
  place: RecipientPlace,
  shown: ShownCard,
): PageResponse {
  const { shop, brand, language, path } = place;
  const { locale, texts, shared } = language;
  const { card, code, transfers, isOver } = shown;
  const [left, initial] = [amountText(card.balance, locale), amountText(card.initialValue, locale)];
  const held =
    card.held.minor > 0n
      ? markup`<p class="small soft">${fill(texts.held, { amount: isolated(amountText(card.held, locale)) })}</p>
`
      : undefined;
  const over = isOver
    ? markup`<p class="notice" role="note">${texts.expiredText}</p>
`
    : undefined;
  const drawing = giftDrawing({
    shop,
    name: card.recipientName,
    figure: figure(card.balance, locale),
    brand,
  });
  const content = markup`<h1 class="sr">${shared.cardTitle}</h1>
${drawing}
${balanceRibbon(card, `${shared.balanceLabel}: ${left}`)}
<p class="row apart small"><span class="soft">${fill(texts.left, { left: isolated(left), initial: isolated(initial) })}</span>${stateTag(shown, language)}</p>
${held}${over}${facts(place, card)}${isOver ? undefined : codePanel(place, code)}${history(place, transfers)}<p class="small center"><a href="${path}">${texts.another}</a></p>
${contactLine(place)}`;
  const sheet = isOver
    ? undefined
    : cardSheet({
        card,
        code,
        amount: card.balance,
        shop,
        brand,
        language: { ...language, texts: shared },
        fold: texts.fold,
        isOnlyPrinted: true,
      });
  return {
    status: 200,
    body: publicPage(services, place, { title: shared.cardTitle, content, sheet, code }),
  };
}
