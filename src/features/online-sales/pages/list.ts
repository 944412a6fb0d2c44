/** The list of online sales, and those about which staff decide. */

import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { buyPath } from '../domain/links.ts';
import type { OnlineSale, SaleState } from '../domain/sale.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { countSales, listSales, sumMonth, type SaleCounts, type SaleFilter } from '../service/list.ts';
import { findNoticedVolume } from '../service/limited-network.ts';
import { findSaleSettings, type SaleSettings } from '../service/settings.ts';
import { monthOf } from '../../accountants/domain/accountant.ts';
import { readId } from '../../../pages/kit/ids.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';
import { facts, small, table, tag } from '../../../pages/kit/parts.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { saleSettingsPath } from './settings/change.ts';
import { decisionForm } from './decide.ts';
import { monthPath, monthTable } from './month.ts';
import {
  pathOfSale,
  personOf,
  reasonList,
  recipientOf,
  salesPath,
  stateNote,
  saleStateTag,
} from './parts.ts';

const statesOf = {
  review: ['review'],
  waiting: ['new', 'open', 'waiting'],
  issued: ['issued'],
  returned: ['returned'],
  unpaid: ['expired', 'failed'],
} as const satisfies Readonly<Record<string, readonly SaleState[]>>;

/** `attention`: those that need staff. */
const filterNames = ['attention', 'review', 'waiting', 'issued', 'returned', 'unpaid'] as const;

type FilterName = (typeof filterNames)[number];

type Query = { readonly filter: FilterName | null; readonly search: string | null };

const searchLengthMax = 254;
const pageSize = 50;

function queryOf(page: Page): Query {
  const { query } = page.request;
  const search = (query.get('search') ?? '').trim();
  return {
    filter: filterNames.find((name) => name === query.get('state')) ?? null,
    search: search === '' ? null : search.slice(0, searchLengthMax),
  };
}

function filterOf({ filter, search }: Query): SaleFilter {
  const states = filter === null || filter === 'attention' ? null : statesOf[filter];
  return { states, search, needsStaff: filter === 'attention' };
}

function pathOf(page: Page, { filter, search }: Query, before?: number): string {
  const parameters = new URLSearchParams({
    ...(search !== null && { search }),
    ...(filter !== null && { state: filter }),
    ...(before !== undefined && { before: String(page.publicId(before)) }),
  });
  return page.url(`${salesPath}${parameters.size > 0 ? '?' : ''}${parameters.toString()}`);
}

async function listPage(page: Page): Promise<ConsoleResponse> {
  const text = page.text.onlineSales;
  const settings = await page.read(() => findSaleSettings(page.ctx, page.store));
  if (!settings.isSaved) return notSetUp(page);
  const query = queryOf(page);
  const before = readId(page.services, page.request.query.get('before') ?? undefined) ?? null;
  const reads = longReads(page.services);
  const found = await reads.read(() =>
    listSales(page.ctx, page.store, { filter: filterOf(query), before, limit: pageSize + 1 }),
  );
  const counts = await reads.read(() => countSales(page.store.id));
  const shown = found.slice(0, pageSize);
  const last = found.length > pageSize ? shown.at(-1) : undefined;
  const older =
    last && markup`<a class="button" rel="next" href="${pathOf(page, query, last.id)}">${text.older}</a>`;
  const newest =
    before === null ? undefined : markup`<a class="button" href="${pathOf(page, query)}">${text.newest}</a>`;
  const body = markup`<div class="stack">${stateOfPage(page, settings)}
${await volumeNotice(page)}
${await monthPanel(page, counts)}
${searchForm(page, query)}
${filterLinks(page, query, counts)}
${salesOf(page, query, shown)}
<nav class="row" aria-label="${text.pages}">${newest}${older}</nav></div>`;
  return page.show(salesPath, { title: text.title, body, actions: actions(page, settings) });
}

/** A store that has never set up its buy page. */
function notSetUp(page: Page): ConsoleResponse {
  const { title, none } = page.text.onlineSales;
  const setUp = isPermitted(page.member, 'changeSettings')
    ? page.link(saleSettingsPath, none.setUp, 'first')
    : undefined;
  const body = markup`<section class="panel empty" role="status"><h2>${none.title}</h2><p><span class="soft">${none.text}</span></p>${setUp}</section>`;
  return page.show(salesPath, { title, body });
}

function actions(page: Page, { page: { isOpen }, obstacles }: SaleSettings): Markup | undefined {
  if (!isOpen || obstacles.length > 0) return undefined;
  return page.link(buyPath(page.store.domain), page.text.onlineSales.openPage);
}

/** Whether customers can buy now. */
function stateOfPage(page: Page, { page: { isOpen }, obstacles }: SaleSettings): Markup | undefined {
  const { closed, settings } = page.text.onlineSales;
  if (isOpen && obstacles.length === 0) return undefined;
  const link = isPermitted(page.member, 'changeSettings')
    ? markup` <a href="${page.url(saleSettingsPath)}">${settings}</a>`
    : undefined;
  return markup`<p class="notice"><span>${closed}${link}</span></p>`;
}

/** Shops of the EU report a year of more than 1,000,000 EUR. */
async function volumeNotice(page: Page): Promise<Markup | undefined> {
  const volume = await longReads(page.services).read(() => findNoticedVolume(page.store));
  if (!volume) return undefined;
  const text = fillPlain(page.text.onlineSales.volume, { amount: page.amount(volume) });
  return markup`<p class="notice"><span>${text}</span></p>`;
}

/** The present month by provider. */
async function monthPanel(page: Page, { withoutCard }: SaleCounts): Promise<Markup> {
  const month = monthOf(page.now, page.store.timeZone);
  const sums = await longReads(page.services).read(() => sumMonth(page.store, month));
  const { month: text } = page.text.onlineSales;
  const held = { minor: withoutCard, currency: page.store.currency };
  const note =
    withoutCard === 0n
      ? undefined
      : markup`<p class="small soft">${fillPlain(text.withoutCard, { amount: page.amount(held) })}</p>`;
  return markup`${monthTable(page, month, sums)}${note}<p class="row">${page.link(monthPath(month), text.all)}</p>`;
}

function searchForm(page: Page, { filter, search }: Query): Markup {
  const text = page.text.onlineSales;
  const kept = filter === null ? undefined : markup`<input type="hidden" name="state" value="${filter}">`;
  return markup`<form class="search" role="search" action="${page.url(salesPath)}">${kept}<label class="sr" for="search">${text.searchLabel}</label><input class="field" id="search" name="search" type="search" maxlength="${String(searchLengthMax)}" value="${search ?? ''}" placeholder="${text.searchLabel}"><button class="button">${text.searchButton}</button></form>`;
}

function countOf(name: FilterName | null, { review, waiting, disputed, owed }: SaleCounts): number {
  switch (name) {
    case 'attention':
      return review + disputed + owed;
    case 'review':
      return review;
    case 'waiting':
      return waiting;
    default:
      return 0;
  }
}

function filterLinks(page: Page, query: Query, counts: SaleCounts): Markup {
  const { filters, show } = page.text.onlineSales;
  const links = ([null, ...filterNames] as const).map((filter) => {
    const count = countOf(filter, counts);
    const shown = count === 0 ? undefined : markup` ${new Intl.NumberFormat(page.language).format(count)}`;
    const current = filter === query.filter ? markup` aria-current="true"` : undefined;
    return markup`<a href="${pathOf(page, { ...query, filter })}"${current}>${filters[filter ?? 'all']}${shown}</a>`;
  });
  return markup`<nav class="pills" aria-label="${show}">${links}</nav>`;
}

function salesOf(page: Page, query: Query, sales: readonly OnlineSale[]): Markup {
  const text = page.text.onlineSales;
  if (sales.length === 0)
    return markup`<section class="panel empty" role="status"><h2>${text.noMatch}</h2></section>`;
  if (query.filter === 'review')
    return markup`<p class="soft">${text.reviewHint}</p>${sales.map((sale) => reviewPanel(page, sale))}`;
  const { columns, caption } = text;
  const rows = sales.map((sale) => saleRow(page, sale));
  const heads = [
    columns.sale,
    { class: 'wide', name: columns.buyer },
    columns.recipient,
    columns.state,
    { class: 'sum', name: columns.amount },
  ];
  return markup`<section class="panel flush">${table({ caption, columns: heads, rows })}</section>`;
}

function saleRow(page: Page, sale: OnlineSale) {
  const note = stateNote(page, sale);
  const number = markup`<a class="whole" href="${page.url(pathOfSale(page, sale))}">${String(page.publicId(sale.id))}</a>`;
  return [
    markup`${number}<br>${small(page.time(sale.paidAt ?? sale.createdAt))}`,
    { class: 'wide', html: personOf(page, sale.buyerName, sale.buyerAddress) },
    recipientOf(page, sale),
    {
      class: 'aside',
      html: markup`${saleStateTag(page, sale)}${note === undefined ? undefined : markup`<br>${small(note)}`}`,
    },
    { class: 'sum aside', html: markup`<strong>${page.amount(sale.amount)}</strong>` },
  ];
}

/** A paid sale without a card, with the decision. */
function reviewPanel(page: Page, sale: OnlineSale): Markup {
  const text = page.text.onlineSales;
  const number = String(page.publicId(sale.id));
  const until =
    sale.reviewUntil === null
      ? undefined
      : markup`<p class="small soft">${text.deadline} ${page.time(sale.reviewUntil)}</p>`;
  const people = facts({
    [text.columns.buyer]: personOf(page, sale.buyerName, sale.buyerAddress),
    [text.columns.recipient]: recipientOf(page, sale),
  });
  return markup`<section class="panel stack" aria-label="${number}"><div class="row apart"><h2><a href="${page.url(pathOfSale(page, sale))}">${number}</a> · ${page.amount(sale.amount)}</h2>${tag('wait', text.stateOf.review)}</div>
${people}${reasonList(page, sale)}${until}${decisionForm(page, sale)}</section>`;
}

export const saleListRoutes: readonly StaffRoute[] = [get(salesPath, 'readStore', listPage)];
