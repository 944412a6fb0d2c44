/** The receipt of an entry, for 80 mm paper. It never contains a code. */

import { isDisabled } from '../domain/card.ts';
import { Fault } from '../domain/fault.ts';
import { effectOf, type Transfer } from '../domain/ledger.ts';
import { markup } from '../markup.ts';
import { findReceipt } from '../service/till-day.ts';
import { parallel } from '../storage/sql.ts';
import { findTillNames } from '../storage/till.ts';
import { actorName, listActors } from './actors.ts';
import { cardTail, amountText, dayText, figure, timeElement } from './format.ts';
import de from './locales/de/till-day.json' with { type: 'json' };
import en from './locales/en/till-day.json' with { type: 'json' };
import es from './locales/es/till-day.json' with { type: 'json' };
import fr from './locales/fr/till-day.json' with { type: 'json' };
import { documentOf } from './page.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from './route.ts';
import { fill, fillPlain, type Catalogue } from './texts.ts';
import { groupsOfFour, qrPicture, slipLines } from './till-slip.ts';
import { idIn } from './ids.ts';

const texts: Catalogue<typeof en> = { en, de, fr, es };

function titleOf({ kind, debit }: Transfer, text: typeof en): string {
  switch (kind) {
    case 'issue':
      return text.giftCardSold;
    case 'credit':
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

async function receiptPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const text = texts[language];
  const id = idIn(services, request);
  const receipt = await storage.read(() => findReceipt(ctx, store.id, id));
  if (!receipt) throw new Fault('not-found');
  const { transfer, card, tillId } = receipt;
  const [actors, tills] = await storage.read(() =>
    parallel(listActors(store), findTillNames(store.id, tillId === null ? [] : [tillId])),
  );
  const { amount, balanceAfter, createdAt, reference } = transfer;
  const { currency } = amount;
  const number = String(ctx.keys.publicIds.of(id));
  const title = titleOf(transfer, text);
  const changed = effectOf(transfer);
  const before = { minor: balanceAfter.minor - changed, currency };
  const shown = (money: typeof amount): string => amountText(money, language);
  const expires = card.expiresOn === null ? text.never : dayText(card.expiresOn, language);
  const tillName = tillId === null ? undefined : tills.get(tillId);
  const till = tillName === undefined ? '' : fillPlain(text.tillName, { name: tillName });
  const refund =
    receipt.isRefundable && !isDisabled(card)
      ? markup`<a class="button" href="${frame.basePath}/till/refund/entry/${number}">${text.refund}</a>`
      : undefined;
  const body = markup`<main id="content"><p class="tools noprint"><button class="button" type="button" data-print hidden>${text.print}</button>${refund}<a class="button" href="${frame.basePath}/till">${text.back}</a></p>
<article class="receipt" aria-label="${fillPlain(text.receiptTitle, { number: groupsOfFour(number) })}"><header><h1>${store.name}</h1><p>${store.domain}</p></header>
<div class="center"><p>${title}</p><p>${figure(amount, language)}</p><p>${fill(text.cardTail, { card: cardTail(card.lastCharacters) })}</p></div>
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
    timeElement(createdAt, store, language, { dateStyle: 'medium' }),
    timeElement(createdAt, store, language, { timeStyle: 'short' }),
  ],
  [till, actorName(transfer.actor, actors, language)],
])}
<div class="center"><div class="qr">${qrPicture(number, text.qr)}</div></div></article></main>`;
  const documentTitle = `${fillPlain(text.receiptTitle, { number: groupsOfFour(number) })} · ${store.name}`;
  return { status: 200, body: documentOf(services, request, { title: documentTitle, body }) };
}

export const tillReceiptRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/till/receipts/:id', access: 'useTill', handle: receiptPage },
];
