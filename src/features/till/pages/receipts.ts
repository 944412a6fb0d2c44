/** The receipt of an entry, for the paper of a till. It never contains a code. */

import { barcodeOfText } from '../../../core/cards/domain/symbol.ts';
import type { PaperMm } from '../../../core/staff/domain/till-paper.ts';
import { isDisabled } from '../../../core/cards/domain/card.ts';
import { effectOf, type Transfer } from '../../../core/money/domain/ledger.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { findReceipt, type Receipt } from '../service/till-day.ts';
import { actorName } from '../../../pages/kit/actors.ts';
import { cardTail, dayText, figure, timeElement } from '../../../pages/kit/format.ts';
import { identityOf } from '../../../pages/kit/identity.ts';
import { documentOf } from '../../../pages/kit/page.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain, type Texts } from '../../../pages/kit/texts.ts';
import { qrPicture } from '../../../pages/kit/code-view.ts';
import { groupsOfFour, paperOf, slipArticle, slipFoot, slipHead, slipLines, slipSymbols } from './slip.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';

function titleOf({ kind, debit }: Transfer, text: Texts['tillDay']): string {
  switch (kind) {
    case 'issue':
      return text.giftCardSold;
    case 'credit':
    case 'top_up':
      return text.giftCardToppedUp;
    case 'debit':
    case 'capture':
      return text.giftCardRedeemed;
    case 'reversal':
      return debit === 'card' ? text.giftCardTakenBack : text.giftCardRefunded;
    case 'adjustment':
      return text.giftCardAdjusted;
  }
}

/** The receipt, as it is printed. */
export function receiptArticle(
  page: Page,
  receipt: Omit<Receipt, 'tillId' | 'isRefundable'>,
  paperMm: PaperMm,
): Markup {
  const { transfer, card, tillName, actors, location, settings } = receipt;
  const text = page.text.tillDay;
  const identity = identityOf(settings);
  const place = { timeZone: location?.timeZone ?? page.store.timeZone };
  const { amount, balanceAfter, createdAt, reference } = transfer;
  const { currency } = amount;
  const number = String(page.publicId(transfer.id));
  const title = titleOf(transfer, text);
  const changed = effectOf(transfer);
  const before = { minor: balanceAfter.minor - changed, currency };
  const shown = (money: typeof amount): string => page.amount(money);
  const expires = card.expiresOn === null ? text.never : dayText(card.expiresOn, page.language);
  const till = tillName === null ? '' : fillPlain(text.tillName, { name: tillName });
  const symbols = slipSymbols(qrPicture(number, text.qr), barcodeOfText(number), paperMm);
  return slipArticle(
    { paperMm, label: titleOfReceipt(page, transfer) },
    markup`${slipHead(page, { identity, location, heading: 'h1' })}
<div class="center"><p>${title}</p><p>${figure(amount, page.language)}</p><p>${fill(text.cardTail, { card: cardTail(card.lastCharacters) })}</p></div>
${slipLines([
  [text.balanceBefore, shown(before)],
  [title, shown({ minor: changed, currency })],
  [markup`<strong>${text.balance}</strong>`, markup`<strong>${shown(balanceAfter)}</strong>`],
  [text.expires, expires],
])}
${slipLines([
  [text.number, markup`<span class="nowrap">${groupsOfFour(number)}</span>`],
  reference === null ? undefined : [text.reference, reference],
  [
    timeElement(createdAt, place, page.language, { dateStyle: 'medium' }),
    timeElement(createdAt, place, page.language, { timeStyle: 'short' }),
  ],
  [till, actorName(transfer.actor, actors, page.language)],
])}
${slipFoot(page, identity)}<div class="center">${symbols}</div>`,
  );
}

function titleOfReceipt(page: Page, { id }: Pick<Transfer, 'id'>): string {
  return fillPlain(page.text.tillDay.receiptTitle, { number: groupsOfFour(String(page.publicId(id))) });
}

async function receiptPage(page: Page): Promise<ConsoleResponse> {
  const text = page.text.tillDay;
  const receipt = await page.readById((id) => findReceipt(page.ctx, page.request.signedIn, id));
  const { transfer, card } = receipt;
  const refund =
    receipt.isRefundable && !isDisabled(card)
      ? markup`<a class="button" href="${page.basePath}/till/refund/entry/${page.publicId(transfer.id)}">${text.refund}</a>`
      : undefined;
  const body = markup`<main id="content"><p class="tools noprint"><button class="button" type="button" data-print hidden>${text.print}</button>${refund}<a class="button" href="${page.basePath}/till">${text.back}</a></p>
${receiptArticle(page, receipt, await paperOf(page))}</main>`;
  const title = `${titleOfReceipt(page, transfer)} · ${page.store.name}`;
  return { status: 200, body: documentOf(page.services, page.request, { title, body }) };
}

export const tillReceiptRoutes: readonly StaffRoute[] = [get('/till/receipts/:id', 'useTill', receiptPage)];
