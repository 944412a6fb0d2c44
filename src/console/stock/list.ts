/** The list of stocks: how many codes of each were printed, sold, voided, and are left. */

import { isPermitted } from '../../domain/staff/staff.ts';
import { leftOf, type CountedStock } from '../../domain/stocks/stock.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import type { ListPage } from '../../service/money/movements.ts';
import { listStoreStocks } from '../../service/stocks/stock.ts';
import { longReads } from '../kit/long-reads.ts';
import type { Page } from '../kit/page-context.ts';
import { table, type Row } from '../kit/parts.ts';
import type { ConsoleResponse } from '../kit/route.ts';
import { valueText } from './parts.ts';

const stocksOnPage = 50;

function rowOf(page: Page, counted: CountedStock): Row {
  const { stock, counts } = counted;
  const format = new Intl.NumberFormat(page.language);
  const sum = (count: number) => ({ class: 'sum', html: format.format(count) });
  const name = markup`<a href="${page.url(`/cards/stock/${stock.id}`)}">${stock.name ?? page.text.stock.unnamed}</a>`;
  return [
    name,
    { class: 'soft whole-line', html: page.time(stock.createdAt) },
    { class: 'whole-line', html: valueText(page, stock) },
    sum(stock.printed),
    sum(counts.sold),
    sum(leftOf(counted)),
    sum(counts.voided),
  ];
}

/** An id in the query; null: there is none. */
function placeOf(text: string | undefined): number | null {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : 0;
  return id > 0 && Number.isSafeInteger(id) ? id : null;
}

export async function listPage(page: Page): Promise<ConsoleResponse> {
  const { query } = page.request;
  const { stock: text } = page.text;
  const [before, after] = [placeOf(query.get('before')), placeOf(query.get('after'))];
  const found = await longReads(page.services).read(() =>
    listStoreStocks(page.store.id, { limit: stocksOnPage, before: after === null ? before : null, after }),
  );
  const { added, name, value, ...counts } = text.columns;
  const columns = [
    name,
    added,
    value,
    ...Object.values(counts).map((each) => ({ class: 'sum', name: each })),
  ];
  const rows = found.items.map((each) => rowOf(page, each));
  const body =
    rows.length === 0
      ? markup`<section class="panel empty" role="status"><h2>${text.none}</h2><p><span class="soft">${text.noneText}</span></p></section>`
      : markup`<div class="stack"><section class="panel flush" aria-label="${text.title}">${table({ caption: text.caption, columns, rows })}</section>${pageLinks(page, found)}</div>`;
  const actions = isPermitted(page.member.role, 'issueBatches')
    ? { actions: page.link('/cards/stock/new', text.new, 'first') }
    : {};
  return page.show('/cards', { title: text.title, body, ...actions });
}

function pageLinks(page: Page, { items, hasNewer, hasOlder }: ListPage<CountedStock>): Markup | undefined {
  const [newest, oldest] = [items.at(0)?.stock.id, items.at(-1)?.stock.id];
  if (newest === undefined || oldest === undefined || !(hasNewer || hasOlder)) return undefined;
  const { newer, older, pages } = page.text.batches;
  const path = page.url('/cards/stock');
  const newerLink = hasNewer
    ? markup`<a class="button" rel="prev" href="${path}?after=${newest}">${newer}</a>`
    : undefined;
  const olderLink = hasOlder
    ? markup`<a class="button" rel="next" href="${path}?before=${oldest}">${older}</a>`
    : undefined;
  return markup`<nav class="row" aria-label="${pages}">${newerLink}${olderLink}</nav>`;
}
