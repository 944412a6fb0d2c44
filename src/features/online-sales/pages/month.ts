/** A month of online sales by provider: what buyers paid, what the provider kept and paid out, and what differs. */

import { addMonths, monthOf } from '../../accountants/domain/accountant.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { listDifferences, type Difference } from '../service/compare.ts';
import { sumMonth, type ProviderMonth } from '../service/list.ts';
import { findSaleSettings } from '../service/settings.ts';
import { monthText } from '../../../pages/kit/format.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';
import { small, table } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { tableFormats, tableLinks, type TableFormat } from '../../../pages/kit/table-file.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { hasMonthSales, monthSalesFile } from './month-file.ts';
import { pathOfSale, salesPath } from './parts.ts';

const path = `${salesPath}/months`;
const monthFile = 'sales';

export function monthPath(month: string): string {
  return `${path}/${month}`;
}

function providerName(page: Page, { provider, isTest }: Pick<ProviderMonth, 'provider' | 'isTest'>): Markup {
  const { providers, test } = page.text.onlineSales;
  return markup`${providers[provider]}${isTest ? markup` ${small(test)}` : undefined}`;
}

function sumCell(html: MarkupPart) {
  return { class: 'sum', html };
}

/** Undefined: nothing was paid in the month. */
export function monthTable(page: Page, month: string, sums: readonly ProviderMonth[]): Markup | undefined {
  if (sums.length === 0) return undefined;
  const { month: text } = page.text.onlineSales;
  const rows = sums.map((sum) => [
    { heading: providerName(page, sum) },
    sumCell(new Intl.NumberFormat(page.language).format(sum.sales)),
    sumCell(page.amount(sum.paid)),
    sumCell(page.amount(sum.refunded)),
    sumCell(page.amount(sum.loss)),
    sumCell(page.amount(sum.fees)),
  ]);
  const heads = [text.sales, text.paid, text.refunded, text.loss, text.fees];
  const columns = [text.provider, ...heads.map((name) => ({ class: 'sum', name }))];
  const title = fillPlain(text.title, { month: monthText(month, page.language) });
  return markup`<section class="panel flush" aria-labelledby="month"><h2 id="month">${title}</h2><div class="scroll" tabindex="0" role="group" aria-labelledby="month">${table({ columns, rows, kind: '' })}</div></section>`;
}

function payoutPanel(page: Page, sums: readonly ProviderMonth[]): Markup | undefined {
  const { month: text } = page.text.onlineSales;
  const rows = sums.flatMap((sum) =>
    sum.payouts.map(({ id, amount, lastAt }) => [
      { heading: providerName(page, sum) },
      id === null ? text.notPaidOut : markup`<span class="code whole">${id}</span>`,
      page.time(lastAt, { dateStyle: 'medium' }),
      sumCell(page.amount(amount)),
    ]),
  );
  if (rows.length === 0) return undefined;
  const columns = [text.provider, text.payout, text.until, { class: 'sum', name: text.net }];
  return markup`<section class="panel flush" aria-labelledby="payouts"><h2 id="payouts">${text.payouts}</h2><p class="soft small">${text.payoutsHint}</p><div class="scroll" tabindex="0" role="group" aria-labelledby="payouts">${table({ columns, rows, kind: '' })}</div></section>`;
}

function differenceLine(page: Page, difference: Difference): Markup {
  const { differences, providers } = page.text.onlineSales;
  if (difference.kind === 'unknown-payment') {
    const { provider, paymentId, amount, at } = difference.payment;
    const said = fillPlain(differences['unknown-payment'], {
      provider: providers[provider],
      payment: paymentId ?? '',
      amount: page.amount(amount),
    });
    return markup`${said} ${page.time(at)}`;
  }
  const { sale } = difference;
  const money = (minor: bigint) => page.amount({ ...sale.paid, minor });
  const link = markup`<a href="${page.url(pathOfSale(page, sale))}">${String(page.publicId(sale.id))}</a>`;
  const said =
    'here' in difference
      ? fillPlain(differences[difference.kind], {
          provider: money(difference.atProvider),
          here: money(difference.here),
        })
      : fillPlain(differences[difference.kind], { amount: page.amount(sale.amount) });
  return markup`${link}: ${said}`;
}

/** Differences of the last 90 days, and until when the movements of each provider were compared. */
async function comparisonPanel(page: Page): Promise<Markup | undefined> {
  const { differences: text } = page.text.onlineSales;
  const reads = longReads(page.services);
  const settings = await reads.read(() => findSaleSettings(page.ctx, page.store));
  const compared = settings.providers.flatMap(({ kind, isTest, comparedUntil }) =>
    comparedUntil === null
      ? []
      : [
          markup`<li>${providerName(page, { provider: kind, isTest })}: ${text.comparedUntil} ${page.time(comparedUntil)}</li>`,
        ],
  );
  if (compared.length === 0) return undefined;
  const found = await reads.read(() => listDifferences(page.ctx, page.store));
  const lines =
    found.length === 0
      ? markup`<p>${text.none}</p>`
      : markup`<ul class="plain">${found.map((difference) => markup`<li>${differenceLine(page, difference)}</li>`)}</ul>`;
  return markup`<section class="panel stack"><h2>${text.title}</h2>${lines}<ul class="plain small soft">${compared}</ul></section>`;
}

function isPastMonth({ now, store }: Page, month: string): boolean {
  return /^\d{4}-(?:0[1-9]|1[0-2])$/.test(month) && month <= monthOf(now, store.timeZone);
}

async function filePanel(page: Page, month: string): Promise<Markup | undefined> {
  const { store, services } = page;
  if (!(await hasMonthSales(services, { store, month }))) return undefined;
  const files = page.url(`${monthPath(month)}/${monthFile}`);
  const links = tableLinks(files, new URLSearchParams(), page.language);
  return markup`<section class="panel stack"><p>${page.text.onlineSales.month.fileHint}</p><div class="row">${links}</div></section>`;
}

function downloadMonth(page: Page, format: TableFormat): ConsoleResponse {
  const { store, services, language } = page;
  const month = page.param('month');
  if (!isPastMonth(page, month)) return seeOther(monthPath(monthOf(page.now, store.timeZone)));
  return { status: 200, file: monthSalesFile(services, { store, month }, { format, language }) };
}

async function monthPage(page: Page): Promise<ConsoleResponse> {
  const { title, month: text } = page.text.onlineSales;
  const month = page.param('month');
  const present = monthOf(page.now, page.store.timeZone);
  if (!isPastMonth(page, month)) return seeOther(monthPath(present));
  const sums = await longReads(page.services).read(() => sumMonth(page.store, month));
  const [before, after] = [addMonths(month, -1), addMonths(month, 1)];
  const earlier = markup`<a class="button" rel="prev" href="${page.url(monthPath(before))}">${monthText(before, page.language)}</a>`;
  const later =
    after > present
      ? undefined
      : markup`<a class="button" rel="next" href="${page.url(monthPath(after))}">${monthText(after, page.language)}</a>`;
  const shown =
    monthTable(page, month, sums) ??
    markup`<section class="panel empty" role="status"><h2>${fillPlain(text.none, { month: monthText(month, page.language) })}</h2></section>`;
  const body = markup`<div class="stack"><nav class="row" aria-label="${text.all}">${earlier}${later}</nav>
${shown}
${payoutPanel(page, sums)}
${await filePanel(page, month)}
${await comparisonPanel(page)}</div>`;
  const name = monthText(month, page.language);
  const heading = markup`<span class="soft"><a href="${page.url(salesPath)}">${title}</a> /</span> ${name}`;
  return page.show(salesPath, { title: `${title} · ${name}`, heading, body });
}

export const saleMonthRoutes: readonly StaffRoute[] = [
  get(`${path}/:month`, 'readStore', monthPage),
  ...tableFormats.map((format) =>
    get(`${path}/:month/${monthFile}.${format}`, 'readStore', async (page) => downloadMonth(page, format), {
      sendsFile: 'other',
    }),
  ),
];
