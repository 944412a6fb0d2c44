/** The list of stocks: how many codes of each were printed, sold, voided, and are left. */

import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { leftOf, type CountedStock } from '../../../core/stocks/domain/stock.ts';
import { markup } from '../../../platform/markup.ts';
import { listStoreStocks } from '../service/stock.ts';
import { placeIn } from '../../../pages/kit/ids.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { newerOlder, table, type Row } from '../../../pages/kit/parts.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
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

export async function listPage(page: Page): Promise<ConsoleResponse> {
  const { stock: text } = page.text;
  const found = await longReads(page.services).read(() =>
    listStoreStocks(page.store.id, placeIn(page.request, stocksOnPage)),
  );
  const { added, name, value, ...counts } = text.columns;
  const columns = [
    name,
    added,
    value,
    ...Object.values(counts).map((each) => ({ class: 'sum', name: each })),
  ];
  const rows = found.items.map((each) => rowOf(page, each));
  const ids = found.items.map(({ stock }) => stock.id);
  const links = newerOlder(page.url('/cards/stock'), ids, found, page.text.batches);
  const body =
    rows.length === 0
      ? markup`<section class="panel empty" role="status"><h2>${text.none}</h2><p><span class="soft">${text.noneText}</span></p></section>`
      : markup`<div class="stack"><section class="panel flush" aria-label="${text.title}">${table({ caption: text.caption, columns, rows })}</section>${links}</div>`;
  const actions = isPermitted(page.member, 'issueBatches')
    ? { actions: page.link('/cards/stock/new', text.new, 'first') }
    : {};
  return page.show('/cards', { title: text.title, body, ...actions });
}
