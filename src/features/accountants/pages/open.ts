/**
 * The page of a link in an email to an accountant, and the files of its month. The link needs no session: its token is
 * signed for one email. Opening it changes nothing but the audit log, because scanners of emails open links as well.
 */

import { reportRunsTool } from '../../books/service/report-runs.ts';
import { accountantFormats, daysOfMonth, type AccountantFormat } from '../domain/accountant.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { journalFile, journalFileProblem, type JournalFormat } from '../../books/service/journal-file.ts';
import { readJournal, type JournalReport } from '../../books/service/reports.ts';
import { openMonth, recordMonthRead, type OpenMonth } from '../service/accountants.ts';
import { dayText, monthText, timeText } from '../../../pages/kit/format.ts';
import { openRoute, type VisitorPage } from '../../../pages/kit/page-context.ts';
import { gatePage } from '../../../pages/kit/page.ts';
import type { ConsoleResponse, ConsoleRoute, FileResponse } from '../../../pages/kit/route.ts';
import { tableFormats, type TableFormat } from '../../../pages/kit/table-file.ts';
import { catalogue, fillPlain, pageLanguageOf, type PageLanguage } from '../../../pages/kit/texts.ts';
import { hasMonthSales, monthSalesFile } from '../../online-sales/pages/month-file.ts';
import { reportTableFile } from '../../books/pages/file.ts';
import { journalSourceOf, problemSentence } from '../../books/pages/journal-programs.ts';
import { totalRows } from './notice.ts';

/** A link that works, and the language of its email. */
type Opened = OpenMonth & { readonly language: PageLanguage };

async function findOpened(page: VisitorPage): Promise<Opened | undefined> {
  const open = await page.read(() => openMonth(page.ctx, page.param('token')));
  return open && { ...open, language: pageLanguageOf(open.accountant.language, open.store) };
}

/** The link is wrong, has ended, or was ended by an owner: the page does not say which. */
function endedPage({ services, request, text }: VisitorPage): ConsoleResponse {
  const { ended, endedText } = text.accountant.page;
  const body = markup`<section class="panel"><p>${endedText}</p></section>`;
  return { status: 404, body: gatePage(services, request, { title: ended, place: 'Largesse', body }) };
}

/** The journal of the month. Equal requests share a run, and runs are limited in number and time. */
async function readMonth(
  { services, request }: VisitorPage,
  { store, email }: Opened,
): Promise<JournalReport> {
  const days = daysOfMonth(email.month);
  const requested = {
    store,
    name: 'journal',
    made: ['page', { ...days, limit: null }],
    isPast: true,
    signal: request.signal,
  } as const;
  return await services.tools.of(reportRunsTool)(requested, (source) =>
    readJournal({ ...source, store }, days),
  );
}

/** A first reading is listed. Others only read. */
async function listRead(page: VisitorPage, opened: Opened, isDownload: boolean): Promise<void> {
  const { openedAt, downloadedAt } = opened.email;
  if ((isDownload ? downloadedAt : openedAt) !== null) return;
  await page.write(() => recordMonthRead(page.ctx, opened, { isDownload }));
}

function isTable(format: AccountantFormat): format is TableFormat {
  return tableFormats.some((each) => each === format);
}

/** The formats that a link offers: that of its email first, and the tables for people. */
function formatsOf({ format }: OpenMonth['email']): readonly AccountantFormat[] {
  return [format, ...tableFormats.filter((each) => each !== format)];
}

async function monthPage(page: VisitorPage): Promise<ConsoleResponse> {
  const opened = await findOpened(page);
  if (!opened) return endedPage(page);
  const { store, email, language } = opened;
  const journal = await readMonth(page, opened);
  await listRead(page, opened, false);
  const text = catalogue[language].accountant;
  const { from, to } = daysOfMonth(email.month);
  const rows = totalRows(store, journal.totals, language).map(
    ([name, amount]) => markup`<tr><th scope="row">${name}</th><td class="sum">${amount}</td></tr>
`,
  );
  const period = fillPlain(text.page.period, {
    from: dayText(from, language),
    to: dayText(to, language),
    zone: store.timeZone,
  });
  const until = timeText(email.linkUntil, store, language, { dateStyle: 'long' });
  const body = markup`<section class="panel flush" aria-labelledby="figures"><div class="head"><h2 id="figures">${text.page.figures}</h2><p class="soft small">${period}</p></div>
<table class="table"><tbody>
${rows}</tbody></table></section>
<section class="panel stack" aria-labelledby="files"><h2 id="files">${text.page.files}</h2>${fileLinks(page, opened, journal)}<p class="soft small">${text.page.noNames}</p></section>
${await salesPanel(page, opened)}
<p class="small soft center">${fillPlain(text.page.until, { day: until })}</p>`;
  const title = fillPlain(text.page.title, { month: monthText(email.month, language) });
  const { services } = page;
  return { status: 200, body: gatePage(services, { language }, { title, place: store.name, body }) };
}

function fileLinks(page: VisitorPage, { store, email, language }: Opened, journal: JournalReport): Markup {
  const { formats } = catalogue[language].accountant;
  const links: Markup[] = [];
  const problems: Markup[] = [];
  for (const format of formatsOf(email)) {
    const problem = isTable(format)
      ? undefined
      : journalFileProblem(format, journalSourceOf({ store, language, now: page.ctx.clock.now() }, journal));
    if (problem) {
      problems.push(
        markup`<p>${formats[format]}: <span class="soft">${problemSentence(problem, language)}</span></p>`,
      );
      continue;
    }
    const kind = links.length === 0 ? 'button first' : 'button';
    const path = page.url(`/accountant/${page.param('token')}/${format}`);
    links.push(markup`<a class="${kind}" href="${path}" download>${formats[format]}</a>`);
  }
  return markup`${problems}<div class="row">${links}</div>`;
}

const salesFile = 'online-sales';

/** The table of online sales; undefined: the month has none. */
async function salesPanel(
  page: VisitorPage,
  { store, email, language }: Opened,
): Promise<Markup | undefined> {
  if (!(await hasMonthSales(page.services, { store, month: email.month }))) return undefined;
  const { accountant, onlineSales, tables } = catalogue[language];
  const names = { csv: tables.csv, xlsx: tables.excel } as const;
  const links = tableFormats.map((format) => {
    const path = page.url(`/accountant/${page.param('token')}/${salesFile}/${format}`);
    return markup`<a class="button" href="${path}" download>${names[format]}</a>`;
  });
  return markup`<section class="panel stack" aria-labelledby="sales"><h2 id="sales">${onlineSales.title}</h2><p>${accountant.page.salesHint}</p><div class="row">${links}</div></section>`;
}

async function downloadSales(page: VisitorPage, format: TableFormat): Promise<ConsoleResponse> {
  const opened = await findOpened(page);
  if (!opened) return endedPage(page);
  const { store, email, language } = opened;
  await listRead(page, opened, true);
  const file = monthSalesFile(page.services, { store, month: email.month }, { format, language });
  return { status: 200, file };
}

async function download(page: VisitorPage, format: AccountantFormat): Promise<ConsoleResponse> {
  const opened = await findOpened(page);
  if (!opened || !formatsOf(opened.email).includes(format)) return endedPage(page);
  const file = fileOf(page, opened, { format, journal: await readMonth(page, opened) });
  // The page says why there is none.
  if (!file) return await monthPage(page);
  await listRead(page, opened, true);
  return { status: 200, file };
}

/** Undefined: the file of the program cannot be made. */
function fileOf(
  { ctx }: VisitorPage,
  { store, language, email }: Opened,
  { format, journal }: { readonly format: AccountantFormat; readonly journal: JournalReport },
): FileResponse['file'] | undefined {
  if (isTable(format)) {
    const { from, to } = daysOfMonth(email.month);
    const table = { rows: journal.rows, about: `${from}-${to}` };
    return reportTableFile(store, 'journal', table, { format, language });
  }
  const program: JournalFormat = format;
  const source = journalSourceOf({ store, language, now: ctx.clock.now() }, journal);
  if (journalFileProblem(program, source)) return undefined;
  const { name, bytes } = journalFile(program, source);
  return { name, type: 'text/csv', parts: partsOf(bytes) };
}

async function* partsOf(file: Buffer): AsyncGenerator<Buffer, void> {
  yield file;
}

export const monthRoutes: readonly ConsoleRoute[] = [
  openRoute('GET', '/accountant/:token', monthPage),
  ...accountantFormats.map((format) =>
    openRoute('GET', `/accountant/:token/${format}`, (page) => download(page, format), {
      sendsFile: 'other',
    }),
  ),
  ...tableFormats.map((format) =>
    openRoute('GET', `/accountant/:token/${salesFile}/${format}`, (page) => downloadSales(page, format), {
      sendsFile: 'other',
    }),
  ),
];
