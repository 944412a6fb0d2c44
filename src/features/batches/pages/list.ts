/** The list of batches, and the page of one: its progress, its errors and its codes. */

import type { Batch } from '../domain/batch.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { batchSpreadsheet } from '../service/export.ts';
import { batchKeyOf } from '../service/batch.ts';
import { listFailedLines, listPrintableCards, listStoreBatches, showBatch } from '../service/batch-lists.ts';
import { letterList } from './letters.ts';
import { findSalePlaces } from '../../../core/cards/service/sale-place.ts';
import { recordCodesRead } from '../service/staff-batch.ts';
import { actorName, listActors } from '../../../pages/kit/actors.ts';
import { type batchTexts, lineErrorText } from './form.ts';
import { campaignPanels } from './campaign.ts';
import { batchEmailRoutes, doneNotice } from './emails.ts';
import { undeliveredRoutes } from './undelivered.ts';
import { newBatchRoutes } from './new.ts';
import { sheetPlaceOf, sheetsPage } from '../../card-pages/pages/sheets.ts';
import { figure } from '../../../pages/kit/format.ts';
import { placeIn, storedIdIn } from '../../../pages/kit/ids.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { newerOlder, runTag } from '../../../pages/kit/parts.ts';
import { shellPage } from '../../../pages/kit/page.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import {
  codesForm,
  shownTable,
  tableFile,
  tableFormats,
  type TableFormat,
} from '../../../pages/kit/table-file.ts';
import { catalogue, fill, fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

const batchesOnPage = 25;
const refreshSeconds = 3;

/** @throws Fault `not-found`. */
async function openBatch(page: Page): Promise<Batch> {
  const batchId = storedIdIn(page.request);
  return await page.read(() => showBatch({ storeId: page.store.id, batchId }));
}

function progressOf({ issued, cards }: Batch, language: PageLanguage) {
  const format = new Intl.NumberFormat(language);
  return { issued: format.format(issued), count: format.format(cards) };
}

async function listPage(page: Page): Promise<ConsoleResponse> {
  const text = page.text.batches;
  const place = placeIn(page.request, batchesOnPage);
  const shown = await longReads(page.services).read(() => listStoreBatches(page.store.id, place));
  const stock = markup`<a class="button" href="${page.basePath}/cards/stock">${catalogue[page.language].stock.link}</a>`;
  const actions = isPermitted(page.member, 'issueBatches')
    ? markup`${stock}<a class="button first" href="${page.basePath}/cards/batches/new">${text.new}</a>`
    : stock;
  const empty = markup`<section class="panel empty" role="status"><h2>${text.none}</h2><p><span class="soft">${text.noneText}</span></p></section>`;
  const ids = shown.items.map(({ id }) => id);
  const links = newerOlder(`${page.basePath}/cards/batches`, ids, shown, text);
  const body =
    shown.items.length === 0
      ? empty
      : markup`<div class="stack">${batchTable(page, shown.items)}${links}</div>`;
  return page.show('/cards', { title: text.title, actions, body });
}

function batchTable(page: Page, batches: readonly Batch[]): Markup {
  const { caption, columns, title, unnamed, progress } = page.text.batches;
  const rows = batches.map(
    (batch) =>
      markup`<tr role="row"><td role="cell"><a href="${page.basePath}/cards/batches/${String(batch.id)}">${batch.name ?? unnamed}</a></td><td role="cell" class="soft whole-line">${page.time(batch.createdAt)}</td><td role="cell" class="aside">${runTag(batch, page.text.batches.states)}</td><td role="cell" class="whole-line">${fillPlain(progress, progressOf(batch, page.language))}</td><td role="cell" class="sum whole-line">${page.amount(batch.total)}</td></tr>
`,
  );
  return markup`<section class="panel flush" aria-label="${title}"><table class="table lines" role="table"><caption class="sr">${caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${columns.name}</th><th scope="col" role="columnheader">${columns.started}</th><th scope="col" role="columnheader">${columns.state}</th><th scope="col" role="columnheader">${columns.cards}</th><th scope="col" role="columnheader" class="sum">${columns.total}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

async function batchPage(page: Page): Promise<ConsoleResponse> {
  const batch = await openBatch(page);
  const text = page.text.batches;
  const actors = await page.read(() => listActors(page.store));
  const by = fill(text.batch.by, {
    time: page.time(batch.createdAt),
    name: actorName(batch.actor, actors, page.language),
  });
  const counts = progressOf(batch, page.language);
  const issued = fillPlain(text.batch.issued, { ...counts, total: page.amount(batch.total) });
  const isRunning = batch.state === 'running';
  const body = markup`${await doneNotice(page, batch)}<div class="grid two"><div class="stack"><section class="panel stack" aria-label="${text.columns.state}"><p>${runTag(batch, page.text.batches.states)}</p>
<div role="status"><p>${figure(batch.issuedTotal, page.language)}</p><p class="soft">${issued}</p></div>
<progress value="${batch.issued + batch.failed}" max="${batch.cards}" aria-label="${text.batch.bar}">${fillPlain(text.progress, counts)}</progress>
<p class="small soft">${by}</p>${isRunning ? markup`<p class="soft">${text.batch.leave}</p>` : undefined}</section>
${await campaignPanels(page, batch)}
${await failuresOf(page, batch)}</div>
<aside aria-label="${text.batch.codes}">${codesPanel(page, batch)}</aside></div>`;
  const shown = {
    title: batch.name ?? text.title,
    path: '/cards',
    body,
    ...(isRunning && { refreshSeconds }),
  };
  return { status: 200, body: shellPage(page.services, page.request, shown) };
}

/** The cards that were not issued, and why. */
async function failuresOf(page: Page, batch: Batch): Promise<Markup | undefined> {
  if (batch.failed === 0) return undefined;
  const { batch: text, errors, columns } = page.text.batches;
  const failures = await page.read(() => listFailedLines(batchKeyOf(batch)));
  const rows = failures.map(
    ({ index, line, field, message }) =>
      markup`<tr role="row"><td role="cell" class="soft">${line ?? index + 1}</td><td role="cell" class="whole-line">${lineErrorText({ line: 0, field, message }, page.language)}</td></tr>
`,
  );
  return markup`<section class="panel flush"><h2>${text.failures}</h2><table class="table lines" role="table"><caption class="sr">${text.failures}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${failures.some(({ line }) => line !== null) ? errors.line : columns.cards}</th><th scope="col" role="columnheader">${errors.error}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

/** The reason why there are no codes to read. A batch without a time for them never had any: its cards were emailed. */
function codesMissing(
  { state, codesUntil: until, issued }: Batch,
  text: Pick<(typeof batchTexts)['en']['batch'], 'codesLater' | 'codesEmailed' | 'codesOver'>,
): string {
  if (state === 'running') return text.codesLater;
  return until === null && issued > 0 ? text.codesEmailed : text.codesOver;
}

/** Until when the codes of a complete batch can be read (ms); null: they cannot. */
function codesUntil({ ctx }: ConsoleServices, { state, codesUntil: until }: Batch): number | null {
  return state === 'complete' && until !== null && ctx.clock.earliest() < until ? until : null;
}

function codesPanel(page: Page, batch: Batch): Markup {
  const { batch: text } = page.text.batches;
  const until = codesUntil(page.services, batch);
  const path = `/cards/batches/${batch.id}`;
  const heading = markup`<h2>${text.codes}</h2>`;
  if (until === null || !isPermitted(page.member, 'issueBatches'))
    return markup`<section class="panel stack">${heading}<p class="soft">${codesMissing(batch, text)}</p></section>`;
  return markup`<section class="panel stack">${heading}<p class="soft">${fill(text.codesHint, { time: page.time(until) })}</p>
${codesForm(page.url(path), page.language)}
<form method="post" action="${page.url(path)}/letters.csv" data-repeatable><button class="button">${text.letters}</button></form>
<p>${page.link(`${path}/print`, text.print)}</p></section>`;
}

/** Records that a person reads the codes. @throws Fault `not-found` if they cannot be read. */
async function readCodes(page: Page): Promise<Batch> {
  const batch = await openBatch(page);
  if (codesUntil(page.services, batch) === null) throw new Fault('not-found');
  await page.write(() => recordCodesRead(page.ctx, page.by));
  return batch;
}

async function codesFile(page: Page, format: TableFormat): Promise<ConsoleResponse> {
  const batch = await readCodes(page);
  const place = { ctx: page.ctx, storage: longReads(page.services) };
  const { language, store } = page;
  const cards = batchSpreadsheet(place, batchKeyOf(batch));
  const table = shownTable(cards, { language, timeZone: store.timeZone });
  const title = batch.name ?? page.text.batches.unnamed;
  return { status: 200, file: tableFile(table, { format, language, name: `gift-cards-${batch.id}`, title }) };
}

/** The cards that are not emailed, for a letter to each recipient. */
async function lettersFile(page: Page): Promise<ConsoleResponse> {
  const batch = await readCodes(page);
  const name = `letters-${batch.id}.csv`;
  const type = 'text/csv; charset=utf-8; header=present';
  return { status: 200, file: { name, type, parts: letterList(page, batch) } };
}

/** The sheets of the cards that are not emailed. */
async function printPage(page: Page): Promise<ConsoleResponse> {
  const batch = await readCodes(page);
  const { print: text } = page.text.batches;
  const place = sheetPlaceOf(page);
  const { from, limit } = place;
  const { cards, count } = await listPrintableCards(
    { ctx: page.ctx, storage: longReads(page.services) },
    { store: page.store, key: batchKeyOf(batch) },
    { from, limit },
  );
  const places = await page.read(() =>
    findSalePlaces(
      page.store.id,
      cards.map(({ card }) => card.id),
    ),
  );
  const format = new Intl.NumberFormat(page.language);
  const [first, last] = [format.format(from + 1), format.format(from + cards.length)];
  return await sheetsPage(page, {
    path: `/cards/batches/${batch.id}`,
    place,
    cards: cards.map(({ card, code }) => {
      const at = places.get(card.id);
      return { card, code, amount: card.initialValue, design: card.design, at };
    }),
    hint:
      cards.length === 0
        ? text.none
        : fillPlain(text.hint, { from: first, to: last, count: format.format(count) }),
    previous: from > 0 ? from - limit : null,
    next: from + limit < count ? from + limit : null,
  });
}

export const batchRoutes: readonly StaffRoute[] = [
  get('/cards/batches', 'readStore', listPage),
  ...newBatchRoutes,
  get('/cards/batches/:id', 'readStore', batchPage),
  ...batchEmailRoutes,
  ...undeliveredRoutes,
  ...tableFormats.map((format) =>
    post(
      `/cards/batches/:id/codes.${format}`,
      { sensitive: 'issueBatches' },
      (page) => codesFile(page, format),
      {
        sendsFile: 'export',
      },
    ),
  ),
  post('/cards/batches/:id/letters.csv', { sensitive: 'issueBatches' }, lettersFile, { sendsFile: 'export' }),
  get('/cards/batches/:id/print', { sensitive: 'issueBatches' }, printPage),
];
