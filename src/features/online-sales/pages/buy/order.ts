/**
 * The page of one order. Its link is not guessable, needs no session, and never has a code. A buyer never sees the code of a
 * card for another person; that of an own card is shown for 30 days after a press of a button.
 */

import { checkoutTool } from '../tools.ts';
import { isSuspended } from '../../../../core/cards/domain/card.ts';
import { orderPath } from '../../domain/links.ts';
import { isAwaitingPayment, keyOfSale } from '../../domain/sale.ts';
import { cardLink, recipientPath } from '../../../../core/emails/domain/recipient-page.ts';
import { phoneLink } from '../../../../core/stores/domain/identity.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { taxIn, vatRateText } from '../../../../core/money/domain/vat.ts';
import { openSale, type OpenSale } from '../../service/begin.ts';
import { readOrder, type OrderedCard } from '../../service/order.ts';
import { cardSheet } from '../../../card-pages/pages/sheet.ts';
import { groupedCode, qrSvg } from '../../../../pages/kit/code-view.ts';
import { amountText, figure, timeText } from '../../../../pages/kit/format.ts';
import { drawingOf, giftDrawing } from '../../../../pages/kit/gift.ts';
import { writeLink } from '../../../../pages/kit/identity.ts';
import type { ConsoleRequest } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import type { PageResponse } from '../../../../pages/kit/route.ts';
import { fillPlain } from '../../../../pages/kit/texts.ts';
import { buyerDesignName } from './fields.ts';
import { changeForm, isOfferedAgain, orderButtons, type ShownChange } from './order-forms.ts';
import { timelineOf, wordsOf, type OpenedOrder, type ShownOrder } from './order-state.ts';
import { buyerPage, buyPlaceOf, buyUrl, hero, messagePage, type BuyPlace } from './place.ts';

/** The link of a request, and the language of its order if the visitor chooses none. */
async function findSale(
  { ctx, storage }: ConsoleServices,
  { params }: ConsoleRequest,
): Promise<OpenSale | undefined> {
  const [domain = '', token = ''] = [params['domain'], params['token']];
  return await storage.read(() => openSale(ctx, domain, token));
}

/** @returns the page that says that there is no such order, if the link is wrong. */
export async function orderOf(
  services: ConsoleServices,
  request: ConsoleRequest,
): Promise<OpenedOrder | { readonly response: PageResponse }> {
  const { ctx, storage } = services;
  const onlineSales = services.tools.of(checkoutTool);
  const found = await findSale(services, request);
  const page = orderPath('', request.params['token'] ?? '').slice('/buy/'.length);
  if (!found) {
    const { texts, ...place } = await buyPlaceOf(services, request);
    const words = { icon: 'ended', title: texts.unknownTitle, text: texts.unknownText } as const;
    return { response: { status: 404, body: messagePage(services, { ...place, texts }, words) } };
  }
  const language = found.sale.language;
  const place = await buyPlaceOf(services, request, { page, language });
  if (isAwaitingPayment(found.sale.state) && onlineSales) await onlineSales.follow(keyOfSale(found.sale));
  const facts = await storage.read(() => readOrder(ctx, found.sale));
  // The code exists only after the card was made, which can have been now.
  const { code } =
    (facts.sale.state === found.sale.state ? found : await findSale(services, request)) ?? found;
  return { place, order: { ...facts, now: ctx.clock.now() }, code, path: place.page };
}

function drawing(
  services: ConsoleServices,
  { shop, brand, language }: BuyPlace,
  { sale }: ShownOrder,
): Markup {
  return giftDrawing({
    shop,
    name: sale.recipientName,
    figure: figure(sale.amount, language.locale),
    brand,
    drawing: drawingOf(services.frame, sale.design),
  });
}

/** The tax in the price of a single-purpose card. A multi-purpose card has none when it is sold. */
function taxText({ ordered, sale: { amount } }: ShownOrder, locale: string): string | null {
  const vat = ordered?.card.vat;
  if (vat?.kind !== 'single_purpose') return null;
  const tax = { ...amount, minor: taxIn(amount.minor, vat.rate) };
  return `${vatRateText(vat.rate, locale)}: ${amountText(tax, locale)}`;
}

function orderRows(place: BuyPlace, order: ShownOrder): Markup {
  const { texts, language } = place;
  const { locale } = language;
  const { sale } = order;
  const rows: readonly (readonly [string, Markup | string | null])[] = [
    [texts.method, sale.method],
    [texts.tax, taxText(order, locale)],
    [
      texts.card,
      markup`${buyerDesignName(sale.design, texts)}, <bdi>${amountText(sale.amount, locale)}</bdi>`,
    ],
    [texts.for, recipientOf(sale)],
    [texts.message, sale.message],
    [
      texts.receipt,
      sale.buyerAddress === null ? null : markup`<bdi dir="ltr">${veiledAddress(sale.buyerAddress)}</bdi>`,
    ],
  ];
  return markup`<dl class="facts">${rows.flatMap(([name, value]) => (value === null ? [] : [markup`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`]))}</dl>`;
}

/** Enough for the buyer to notice a typing error. A withdrawal needs the whole address. */
function veiledAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const [first = ''] = address;
  return `${first}•••${address.slice(at)}`;
}

function recipientOf({ recipientName, recipientAddress }: ShownOrder['sale']): Markup | null {
  const parts = [recipientName, recipientAddress].filter((part) => part !== null);
  if (parts.length === 0) return null;
  return markup`${parts.map((part, index) => markup`${index === 0 ? '' : ', '}<bdi>${part}</bdi>`)}`;
}

/** The ways on: another card, the payment, or the shop. */
function mainActions(services: ConsoleServices, { place, order, path }: OpenedOrder): Markup | undefined {
  const { texts, identity, language } = place;
  const { sale } = order;
  if (sale.state === 'open' && sale.sessionUrl !== null)
    return markup`<a class="button first" href="${sale.sessionUrl}" rel="noreferrer">${texts.continue}</a>`;
  if (sale.state === 'waiting' || sale.state === 'review') return undefined;
  if (sale.dispute !== null && sale.dispute !== 'won') {
    const { phone, contact } = identity;
    if (phone !== null)
      return markup`<a class="button first" href="${phoneLink(phone)}">${language.texts.call} <bdi dir="ltr">${phone}</bdi></a>`;
    return contact === null
      ? undefined
      : markup`<a class="button first" href="${writeLink(contact)}">${language.texts.write}</a>`;
  }
  const token = path.split('/').at(-1) ?? '';
  const again = isOfferedAgain(sale) ? `&order=${encodeURIComponent(token)}` : '';
  const first = order.ordered && hasOwnCard(order, order.ordered) ? '' : ' first';
  return markup`<a class="button${first}" href="${buyUrl(services, place)}${again}">${texts.another}</a>`;
}

/** Whether the page is that of a card which the buyer can use. */
function hasOwnCard({ sale }: ShownOrder, { card }: OrderedCard): boolean {
  return sale.delivery === 'self' && !isSuspended(card) && card.disabledAt === null;
}

/** The card of the buyer: a button, and after it the code with the page of recipients, which has the wallets of phones. */
function ownCard(
  { frame: { basePath } }: ConsoleServices,
  place: BuyPlace,
  { order, code, path }: OpenedOrder,
  isShown: boolean,
): Markup | undefined {
  const { texts, language, cardPage, store } = place;
  const { texts: common, shared } = language;
  if (!order.ordered || !hasOwnCard(order, order.ordered)) return undefined;
  if (!code)
    return markup`<p class="soft center">${texts.selfOver}</p>
`;
  if (!isShown)
    return markup`<form class="actions" method="post" action="${path}/card?lang=${language.tag}"><button class="button first">${texts.showCard}</button></form>
<p class="small soft center">${texts.showHint}</p>
`;
  const link = cardLink(`${basePath}${recipientPath(store.domain)}`, code);
  const qr = qrSvg(code, { page: cardPage.url, label: shared.qrAlt });
  return markup`<section class="show-code" aria-label="${shared.codeLabel}"><div class="qr-tap">${qr}</div><p class="codeline" id="shown-code" dir="ltr">${groupedCode(code)}</p></section>
<div class="actions"><a class="button first" href="${link}">${shared.openCard}</a><button class="button" type="button" data-copy="shown-code" data-copied="${common.copied}" hidden><span>${common.copy}</span></button><button class="button" type="button" data-print hidden>${common.print}</button></div>
`;
}

function sheetOf(
  services: ConsoleServices,
  place: BuyPlace,
  { order, code }: OpenedOrder,
): Markup | undefined {
  if (!code || !order.ordered) return undefined;
  const { shop, brand, language, cardPage, identity } = place;
  return cardSheet({
    card: order.ordered.card,
    code,
    amount: order.sale.amount,
    shop,
    brand,
    drawing: drawingOf(services.frame, order.sale.design),
    page: cardPage,
    identity,
    language: { ...language, texts: language.shared },
    fold: language.texts.fold,
    isOnlyPrinted: true,
  });
}

const notices = ['sentAgain', 'changed', 'withdrawn', 'tooLate', 'tooSoon', 'withdrawLimit'] as const;

export type DoneAction = (typeof notices)[number];

/** The path of an order after a change, below the base path. */
export function orderAfter(
  { request, place }: { readonly request: ConsoleRequest; readonly place: BuyPlace },
  notice: DoneAction,
): string {
  const path = orderPath(place.store.domain, request.params['token'] ?? '');
  return `${path}?lang=${place.language.tag}&done=${notice}`;
}

function noticeText(place: BuyPlace, { refunds }: ShownOrder, name: string | undefined): string | undefined {
  const { texts, store, language } = place;
  const notice = notices.find((each) => each === name);
  if (notice !== 'withdrawn') return notice && texts[notice];
  const withdrawal = refunds.find(({ by }) => by === 'buyer');
  if (!withdrawal) return undefined;
  return fillPlain(texts.withdrawn, { time: timeText(withdrawal.createdAt, store, language.locale) });
}

export type OrderView = {
  readonly status?: PageResponse['status'];
  /** Whether the code of the buyer's own card is shown. */
  readonly showsCode?: boolean;
  readonly notice?: string | undefined;
  readonly change?: ShownChange;
};

export function orderPage(
  services: ConsoleServices,
  opened: OpenedOrder,
  { status = 200, showsCode = false, notice, change }: OrderView = {},
): PageResponse {
  const { place, order } = opened;
  const { texts } = place;
  const { refreshSeconds, ...words } = wordsOf(place, order);
  const number = String(services.ctx.keys.publicIds.of(order.sale.id));
  const shown = noticeText(place, order, notice);
  const said =
    shown === undefined
      ? undefined
      : markup`<p class="notice good" role="status">${shown}</p>
`;
  const content = markup`${hero(words)}${said}${ownCard(services, place, opened, showsCode)}${showsCode ? undefined : drawing(services, place, order)}
<div class="actions">${mainActions(services, opened)}${orderButtons(opened)}</div>
${changeForm(opened, change)}${timelineOf(place, order)}<section class="panel" aria-labelledby="facts"><h2 id="facts">${fillPlain(texts.number, { number })}</h2>${orderRows(place, order)}</section>
<p class="small soft center">${order.sale.delivery === 'self' ? texts.keepLinkSelf : texts.keepLink}</p>`;
  return {
    status,
    body: buyerPage(services, place, {
      title: words.title,
      content,
      kind: 'order stack',
      state: `${order.sale.state} ${words.title}`,
      refreshSeconds: showsCode ? undefined : refreshSeconds,
      sheet: showsCode ? sheetOf(services, place, opened) : undefined,
    }),
  };
}
