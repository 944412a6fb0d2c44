/** The page of a stock: its progress, how many codes were printed, sold, voided, and are left, and its codes. */

import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { leftOf, type CountedStock } from '../../../core/stocks/domain/stock.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { actorName, listActors } from '../../../pages/kit/actors.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { facts, runTag } from '../../../pages/kit/parts.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { codesForm } from '../../../pages/kit/table-file.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { codesUntil, openStock, valueText } from './parts.ts';

const refreshSeconds = 3;

export async function stockPage(page: Page): Promise<ConsoleResponse> {
  const counted = await openStock(page);
  const { stock } = counted;
  const { language, store } = page;
  const { stock: text, batches } = page.text;
  const actors = await page.read(() => listActors(store));
  const by = fill(batches.batch.by, {
    time: page.time(stock.createdAt),
    name: actorName(stock.actor, actors, language),
  });
  const format = new Intl.NumberFormat(language);
  const progress = fillPlain(text.stock.progress, {
    printed: format.format(stock.printed),
    count: format.format(stock.codes),
  });
  const isRunning = stock.state === 'running';
  const mayPrint = isPermitted(page.member, 'issueBatches');
  const body = markup`<div class="grid two"><section class="panel stack" aria-label="${batches.columns.state}"><p>${runTag(stock, page.text.stock.states)}</p>
<div role="status"><p>${progress}</p></div>
<progress value="${stock.printed + stock.failed}" max="${stock.codes}" aria-label="${text.stock.bar}">${progress}</progress>
${countsOf(page, counted)}
<p class="small soft">${by}</p>${isRunning ? markup`<p class="soft">${text.stock.leave}</p>` : undefined}</section>
${mayPrint ? markup`<aside class="stack" aria-label="${text.stock.codes}">${codesPanel(page, counted)}${voidPanel(page, counted)}</aside>` : undefined}</div>`;
  return page.show('/cards', {
    title: stock.name ?? text.unnamed,
    body,
    ...(isRunning && { refreshSeconds }),
  });
}

function countsOf(page: Page, counted: CountedStock): Markup {
  const { stock, counts } = counted;
  const { columns, stock: text } = page.text.stock;
  const format = new Intl.NumberFormat(page.language);
  const { validMonths } = stock;
  return facts({
    [columns.value]: valueText(page, stock),
    [text.validity]: validMonths === null ? text.unlimited : plural(page.language, text.months, validMonths),
    [columns.printed]: format.format(stock.printed),
    [columns.sold]: format.format(counts.sold),
    [columns.left]: format.format(leftOf(counted)),
    [columns.voided]: format.format(counts.voided),
    ...(stock.failed > 0 && { [text.failed]: format.format(stock.failed) }),
  });
}

function codesPanel(page: Page, { stock }: CountedStock): Markup {
  const { stock: text } = page.text.stock;
  const { print } = page.text.batches.batch;
  const until = codesUntil(page, stock);
  const heading = markup`<h2>${text.codes}</h2>`;
  if (until === null)
    return markup`<section class="panel stack">${heading}<p class="soft">${stock.state === 'running' ? text.codesLater : text.codesOver}</p></section>`;
  const path = `/cards/stock/${stock.id}`;
  return markup`<section class="panel stack">${heading}<p class="soft">${fill(text.codesHint, { time: page.time(until) })}</p>
${codesForm(page.url(path), page.language)}
<p>${page.link(`${path}/print`, print)}</p></section>`;
}

function voidPanel(page: Page, counted: CountedStock): Markup | undefined {
  const { stock } = counted;
  if (stock.state === 'running' || leftOf(counted) === 0) return undefined;
  const { void: text } = page.text.stock;
  return markup`<section class="panel stack"><h2>${text.title}</h2><p class="soft">${text.hint}</p><p>${page.link(`/cards/stock/${stock.id}/void`, text.open, 'bad')}</p></section>`;
}
