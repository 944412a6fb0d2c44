/** The stock of printed cards: how many codes of each stock were printed, sold, voided, and are left. */

import { leftOf, type CountedStock } from '../../domain/stocks/stock.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { listStoreStocks } from '../../service/stocks/stock.ts';
import { amountText, timeElement } from '../kit/format.ts';
import { longReads } from '../kit/long-reads.ts';
import { shellPage } from '../kit/page.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { textsOf, type PageLanguage } from '../kit/texts.ts';

export const stockTexts = textsOf('stock');

/** Older stocks are listed by the API and the command line. */
const stocksOnPage = 50;

function valueText({ stock }: CountedStock, language: PageLanguage): string {
  const { fixedValue, minimumValue, maximumValue } = stock;
  const limits = [fixedValue, minimumValue, maximumValue].flatMap((value) =>
    value ? [amountText(value, language)] : [],
  );
  return limits.join(' – ');
}

function rowOf(counted: CountedStock, { language, signedIn }: StaffRequest): Markup {
  const { stock, counts } = counted;
  const format = new Intl.NumberFormat(language);
  const cell = (count: number): Markup => markup`<td role="cell" class="sum">${format.format(count)}</td>`;
  return markup`<tr role="row"><td role="cell">${stock.name ?? stockTexts[language].unnamed}</td><td role="cell" class="soft whole-line">${timeElement(stock.createdAt, signedIn.store, language)}</td><td role="cell" class="whole-line">${valueText(counted, language)}</td>${cell(stock.printed)}${cell(counts.sold)}${cell(leftOf(counted))}${cell(counts.voided)}</tr>
`;
}

async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { language, signedIn } = request;
  const text = stockTexts[language];
  const page = { limit: stocksOnPage, before: null, after: null };
  const { items } = await longReads(services).read(() => listStoreStocks(signedIn.store.id, page));
  const head = Object.values(text.columns).map(
    (name, place) =>
      markup`<th scope="col" role="columnheader"${place > 2 ? markup` class="sum"` : undefined}>${name}</th>`,
  );
  const body =
    items.length === 0
      ? markup`<section class="panel empty" role="status"><h2>${text.none}</h2><p><span class="soft">${text.noneText}</span></p></section>`
      : markup`<section class="panel flush" aria-label="${text.title}"><table class="table lines" role="table"><caption class="sr">${text.caption}</caption><thead role="rowgroup"><tr role="row">${head}</tr></thead><tbody role="rowgroup">
${items.map((each) => rowOf(each, request))}</tbody></table></section>`;
  return { status: 200, body: shellPage(services, request, { title: text.title, path: '/cards', body }) };
}

export const stockRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/cards/stock', access: 'readCards', handle: listPage },
];
