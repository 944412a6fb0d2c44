/** The page of one online sale: what happened to its payment and its card, and what staff can do. */

import { checkoutTool } from './tools.ts';
import { isAwaitingPayment, keyOfSale, type OnlineRefund } from '../domain/sale.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { refundableOf } from '../service/going-back.ts';
import { listCardEmails } from '../../../core/emails/service/email.ts';
import { endingOf, pathOfCard } from '../../../pages/kit/card-texts.ts';
import { emailTag } from '../../emails/pages/texts.ts';
import { figure } from '../../../pages/kit/format.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { facts, small } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { decisionForm, mayDecide, openedSale, saleDecisionRoutes, type OpenedSale } from './decide.ts';
import { saleListRoutes } from './list.ts';
import { saleMonthRoutes } from './month.ts';
import {
  pathOfSale,
  personOf,
  reasonList,
  recipientOf,
  salesPath,
  stateNote,
  saleStateTag,
} from './parts.ts';

const emailsShown = 5;

const icons = {
  resend: 'M9 8h12v12H8zM16 8V4H4v12h4',
  refund: 'M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
} as const;

type SaleEvent = {
  readonly at: number;
  readonly what: string;
  readonly details: MarkupPart;
  readonly kind?: 'money' | 'fail';
  readonly amount?: string;
};

async function salePage(page: Page): Promise<ConsoleResponse> {
  const opened = await openedSale(page);
  const { sale } = opened;
  const text = page.text.onlineSales;
  const number = String(page.publicId(sale.id));
  const note = stateNote(page, sale);
  const head = markup`<section class="panel"><div class="row apart"><div>${figure(sale.amount, page.language)}<p class="soft">${paymentLine(page, opened)}</p></div><div>${saleStateTag(page, sale)}${note === undefined ? undefined : markup`<br>${small(note)}`}</div></div></section>`;
  const review =
    sale.state === 'review'
      ? markup`<section class="panel stack"><h2>${text.reviewTitle}</h2><p class="soft">${text.reviewHint}</p>${decisionForm(page, sale)}</section>`
      : undefined;
  const body = markup`<div class="grid two"><div class="grid">${head}
${review}${await historyPanel(page, opened)}
${riskPanel(page, opened)}</div><div class="grid">${factsPanel(page, opened)}
${actionsPanel(page, opened)}</div></div>`;
  const heading = markup`<span class="soft"><a href="${page.url(salesPath)}">${text.title}</a> /</span> ${number}`;
  return page.show(salesPath, { title: `${text.title} · ${number}`, heading, body });
}

function paymentLine(page: Page, { sale }: OpenedSale): Markup {
  const { providers } = page.text.onlineSales;
  const method = sale.method ?? providers[sale.provider];
  return markup`${method} · ${page.time(sale.paidAt ?? sale.createdAt)}`;
}

async function historyPanel(page: Page, opened: OpenedSale): Promise<Markup> {
  // The newest is first. Events of one instant, such as a payment and its card, keep the order in which they happen.
  const events = [...eventsOf(page, opened), ...(await emailEvents(page, opened))];
  const lines = events
    .toSorted((one, other) => one.at - other.at)
    .toReversed()
    .map(({ at, what, details, kind, amount }) => {
      const mark = kind && markup` class="${kind}"`;
      return markup`<li${mark}><div><strong>${what}</strong> <span class="soft">${details}</span></div><span class="sum">${amount}</span><span class="soft">${page.time(at)}</span></li>
`;
    });
  return markup`<section class="panel"><h2>${page.text.onlineSales.history.title}</h2><ol class="timeline">
${lines}</ol></section>`;
}

/** In the order in which they happen at one instant. */
function eventsOf(page: Page, { sale, refunds, card }: OpenedSale): readonly SaleEvent[] {
  const { history, providers } = page.text.onlineSales;
  const amount = page.amount(sale.paid);
  const events: SaleEvent[] = [
    { at: sale.createdAt, what: history.ordered, details: providers[sale.provider] },
  ];
  if (sale.paidAt !== null)
    events.push({
      at: sale.paidAt,
      what: history.paid,
      details: sale.paymentId ?? '',
      kind: 'money',
      amount,
    });
  if (sale.decidedAt !== null) events.push(decisionEvent(page, { sale, card }, sale.decidedAt));
  if (sale.disputedAt !== null && sale.dispute !== null) {
    const taken = sale.disputed.minor > 0n ? `−${page.amount(sale.disputed)}` : '';
    const what = history.disputes[sale.dispute];
    events.push({ at: sale.disputedAt, what, details: '', kind: 'fail', amount: taken });
  }
  events.push(...refunds.map((refund) => refundEvent(page, refund)));
  return events;
}

function decisionEvent(page: Page, { sale, card }: Pick<OpenedSale, 'sale' | 'card'>, at: number): SaleEvent {
  const { history, returnReasons } = page.text.onlineSales;
  if (card) {
    const path = page.url(pathOfCard(page.services, card));
    const details = markup`<a class="code nowrap" href="${path}">${endingOf(card)}</a>`;
    return { at, what: history.issued, details, kind: 'money', amount: page.amount(sale.amount) };
  }
  const details = sale.returnReason === null ? '' : returnReasons[sale.returnReason];
  return { at, what: sale.state === 'returned' ? history.returned : history.unpaid, details, kind: 'fail' };
}

function refundEvent(page: Page, refund: OnlineRefund): SaleEvent {
  const { refunds } = page.text.onlineSales;
  const { state, by, reason, detail, amount, settledAt, createdAt } = refund;
  const details = [refunds.by[by], reason, detail].filter((part) => part !== null).join(' · ');
  const kind = state === 'failed' ? 'fail' : 'money';
  return {
    at: settledAt ?? createdAt,
    what: refunds.states[state],
    details,
    kind,
    amount: `−${page.amount(amount)}`,
  };
}

async function emailEvents(page: Page, { card }: OpenedSale): Promise<readonly SaleEvent[]> {
  if (!card) return [];
  const key = { storeId: page.store.id, cardId: card.id };
  const { items } = await page.read(() =>
    listCardEmails(key, { limit: emailsShown, before: null, after: null }),
  );
  return items.toReversed().map((email) => ({
    at: email.endedAt ?? email.createdAt,
    what: page.text.emails.kindOf[email.kind],
    details: markup`<bdi>${email.address}</bdi> ${emailTag({ email, isReplaced: false }, page.language)}`,
  }));
}

function riskPanel(page: Page, { sale }: OpenedSale): Markup | undefined {
  const { risk } = page.text.onlineSales;
  if (sale.reviewReasons.length === 0 && sale.isBankChecked === null) return undefined;
  const country =
    sale.cardCountry === null
      ? undefined
      : markup`<p class="small soft">${fillPlain(risk.country, { country: sale.cardCountry })}</p>`;
  return markup`<section class="panel"><h2>${risk.title}</h2>${reasonList(page, sale)}${country}</section>`;
}

function factsPanel(page: Page, { sale, card }: OpenedSale): Markup {
  const { columns, facts: names, erased } = page.text.onlineSales;
  const { choices } = page.text.fields;
  const message = sale.message ?? (sale.erasedAt === null ? undefined : erased);
  const rows: Record<string, MarkupPart> = {
    [columns.buyer]: personOf(page, sale.buyerName, sale.buyerAddress),
    [columns.recipient]: recipientOf(page, sale),
    ...(message !== undefined && {
      [names.message]: markup`<span class="lines"><bdi>${message}</bdi></span>`,
    }),
    [names.design]: choices[sale.design],
    ...(card && { [names.left]: page.amount(card.balance) }),
    ...(sale.refunded.minor > 0n && { [names.refunded]: page.amount(sale.refunded) }),
    ...(sale.loss.minor > 0n && { [names.loss]: page.amount(sale.loss) }),
    ...(sale.paymentId !== null && {
      [names.payment]: markup`<span class="code whole">${sale.paymentId}</span>`,
    }),
  };
  return markup`<section class="panel">${facts(rows)}</section>`;
}

type Action = {
  readonly path: string;
  readonly icon: string;
  readonly name: string;
  readonly effect: string;
};

function actionRow({ path, icon, name, effect }: Action, kind?: 'bad'): Markup {
  const look = kind && markup` class="${kind}"`;
  return markup`<li><a href="${path}"${look}><svg viewBox="0 0 24 24" aria-hidden="true"><path d="${icon}"/></svg><span><strong>${name}</strong> <span class="soft">${effect}</span></span></a></li>
`;
}

function actionsPanel(page: Page, opened: OpenedSale): Markup | undefined {
  if (!mayDecide(page)) return undefined;
  const { sale, card } = opened;
  const { actions } = page.text.onlineSales;
  const own = page.url(pathOfSale(page, sale));
  if (isAwaitingPayment(sale.state))
    return markup`<form class="panel stack" method="post" action="${own}/read"><p class="soft">${actions.readHint}</p><button class="button">${actions.read}</button></form>`;
  const refundable = refundableOf(sale, card ?? null);
  const items: Markup[] = [];
  if (card && sale.delivery === 'email') {
    const path = `${page.url(pathOfCard(page.services, card))}/resend`;
    items.push(actionRow({ path, icon: icons.resend, name: actions.resend, effect: actions.resendHint }));
  }
  if (refundable.minor > 0n && sale.state !== 'review') {
    const name = fillPlain(actions.refund, { amount: page.amount(refundable) });
    const path = `${own}/refund`;
    items.push(actionRow({ path, icon: icons.refund, name, effect: actions.refundHint }, 'bad'));
  }
  if (items.length === 0) return undefined;
  return markup`<section class="panel flush" aria-label="${actions.title}"><ul class="rows">
${items}</ul></section>`;
}

/** Reads the payment at the provider now. */
async function readNow(page: Page): Promise<ConsoleResponse> {
  const { sale } = await openedSale(page);
  await page.services.tools.of(checkoutTool)?.refresh(keyOfSale(sale));
  return seeOther(pathOfSale(page, sale));
}

export const onlineSaleRoutes: readonly StaffRoute[] = [
  ...saleListRoutes,
  ...saleMonthRoutes,
  get(`${salesPath}/:id`, 'readStore', salePage),
  post(`${salesPath}/:id/read`, 'manageSales', readNow),
  ...saleDecisionRoutes,
];
