/** Decisions about online sales: whether the card of a paid one is made, and refunds. */

import { checkoutTool } from './tools.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { keyOfSale, type OnlineRefund, type OnlineSale } from '../domain/sale.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { findCard } from '../../emails/service/list.ts';
import { refundableOf } from '../service/going-back.ts';
import { findSaleWithRefunds } from '../service/list.ts';
import { refundSale, releaseReviewed, returnReviewed } from '../service/staff-online-sales.ts';
import { amountError } from '../../card-pages/pages/change-form.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { figure } from '../../../pages/kit/format.ts';
import { idIn } from '../../../pages/kit/ids.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { panel } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { pathOfSale, salesPath } from './parts.ts';

export type OpenedSale = {
  readonly sale: OnlineSale;
  readonly refunds: readonly OnlineRefund[];
  /** Undefined: no card was made. */
  readonly card: Card | undefined;
};

/** The sale in the path. @throws Fault `not-found`. */
export async function openedSale(page: Page): Promise<OpenedSale> {
  const saleId = idIn(page.services, page.request);
  const storeId = page.store.id;
  const found = await page.read(() => findSaleWithRefunds({ storeId, saleId }));
  if (!found) throw new Fault('not-found');
  const { cardId } = found.sale;
  return { ...found, card: cardId === null ? undefined : await page.read(() => findCard(storeId, cardId)) };
}

export function mayDecide(page: Page): boolean {
  return isPermitted(page.member, 'manageSales');
}

/** The two decisions about a sale in review. */
export function decisionForm(page: Page, sale: OnlineSale): Markup | undefined {
  if (!mayDecide(page)) return undefined;
  const { decide } = page.text.onlineSales;
  const path = page.url(pathOfSale(page, sale));
  return markup`<form class="row" method="post" action="${path}/release"><button class="button first">${decide.release}</button><a class="button bad" href="${path}/return">${decide.return}</a></form>`;
}

async function release(page: Page): Promise<ConsoleResponse> {
  const saleId = idIn(page.services, page.request);
  try {
    await page.write(() => releaseReviewed(page.ctx, page.by, saleId));
    return seeOther(`${salesPath}/${page.param('id')}`);
  } catch (error) {
    const response = error instanceof Fault ? withoutAccess(page, error) : undefined;
    if (!response) throw error;
    return response;
  }
}

/** The page that says the consequences of a refund, or of no card for a paid sale. */
function confirmPage(
  page: Page,
  opened: OpenedSale,
  {
    kind,
    reason = '',
    error,
  }: { readonly kind: 'refund' | 'return'; readonly reason?: string; readonly error?: string },
): ConsoleResponse {
  const { sale, card } = opened;
  const { decide, ...text } = page.text.onlineSales;
  const number = String(page.publicId(sale.id));
  const amount = refundableOf(sale, card ?? null);
  const isPossible = amount.minor > 0n && (sale.state === 'review') === (kind === 'return');
  const back = markup`<a class="button" href="${page.url(pathOfSale(page, sale))}">${decide.keep}</a>`;
  const title = kind === 'return' ? decide.returnTitle : decide.refundTitle;
  const heading = markup`<span class="soft"><a href="${page.url(salesPath)}">${text.title}</a> / <a href="${page.url(pathOfSale(page, sale))}">${number}</a> /</span> ${title}`;
  if (!isPossible) {
    const body = panel(
      title,
      markup`<p role="status">${decide.impossible}</p><div class="row">${back}</div>`,
    );
    return page.show(salesPath, { title, heading, body });
  }
  const paid = sale.method ?? text.providers[sale.provider];
  const steps = [
    ...(card ? [fillPlain(decide.cardStops, { card: `•••• ${card.lastCharacters}` })] : [decide.noCard]),
    fillPlain(decide.moneyBack, { amount: page.amount(amount), method: paid }),
    ...(kind === 'refund' && amount.minor < sale.paid.minor
      ? [fillPlain(decide.partly, { amount: page.amount(sale.paid) })]
      : []),
    decide.fee,
    card?.recipient ? decide.emails : decide.buyerEmail,
  ];
  const body = panel(
    title,
    markup`${figure(amount, page.language)}<ol>${steps.map((step) => markup`<li>${step}</li>`)}</ol>
<form class="stack" method="post" action="${page.url(pathOfSale(page, sale))}/${kind}">${inputField({ name: 'reason', label: decide.reason, value: reason, isOptional: true, hint: decide.reasonHint, error })}
<div class="row">${back}<button class="button bad">${fillPlain(decide.refund, { amount: page.amount(amount) })}</button></div></form>`,
  );
  return page.show(salesPath, { title, heading, body, status: error === undefined ? 200 : 422 });
}

/** Stops the card, and asks the provider to pay at once: the page after it says what the provider responded. */
async function sendBack(page: Page, kind: 'refund' | 'return'): Promise<ConsoleResponse> {
  const opened = await openedSale(page);
  const typed = page.typed('reason');
  const reason = parseText(typed);
  if (!reason.ok)
    return confirmPage(page, opened, { kind, reason: typed, error: page.text.cardActions.errors.badText });
  const request = { saleId: opened.sale.id, reason: reason.value };
  try {
    if (kind === 'refund') await page.write(() => refundSale(page.ctx, page.by, request));
    else await page.write(() => returnReviewed(page.ctx, page.by, request));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const response = withoutAccess(page, error);
    if (response) return response;
    const message = amountError(error, { currency: page.store.currency, language: page.language });
    if (message !== undefined) return confirmPage(page, opened, { kind, reason: typed, error: message });
    // A refund at the same time, or a purchase, has left nothing.
    if (error.code !== 'not-reversible') throw error;
    return confirmPage(page, await openedSale(page), { kind });
  }
  await page.services.tools.of(checkoutTool)?.sendRefunds(keyOfSale(opened.sale));
  return seeOther(pathOfSale(page, opened.sale));
}

const path = `${salesPath}/:id`;

export const saleDecisionRoutes: readonly StaffRoute[] = [
  post(`${path}/release`, 'manageSales', release),
  ...(['refund', 'return'] as const).flatMap((kind) => [
    get(`${path}/${kind}`, 'manageSales', async (page) =>
      confirmPage(page, await openedSale(page), { kind }),
    ),
    post(`${path}/${kind}`, 'manageSales', (page) => sendBack(page, kind)),
  ]),
];
