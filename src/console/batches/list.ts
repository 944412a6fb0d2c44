/** The list of batches, and the page of one: its progress, its errors and its codes. */

import type { Batch } from '../../domain/batches/batch.ts';
import { Fault } from '../../domain/fault.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { batchSpreadsheet } from '../../service/batches/export.ts';
import { batchKeyOf } from '../../service/batches/batch.ts';
import {
  listFailedLines,
  listPrintableCards,
  listStoreBatches,
  showBatch,
} from '../../service/batches/batch-lists.ts';
import { recordCodesRead } from '../../service/staff-actions/batch.ts';
import { actorName, listActors } from '../kit/actors.ts';
import { batchTexts, lineErrorText } from './form.ts';
import { newBatchRoutes } from './new.ts';
import { sheetPlaceOf, sheetsPage } from '../cards/sheets.ts';
import { amountText, csvDialectOf, figure, timeElement } from '../kit/format.ts';
import { placeIn, storedIdIn } from '../kit/ids.ts';
import { longReads } from '../kit/long-reads.ts';
import { newerOlder, runTag } from '../kit/parts.ts';
import { byOf } from '../kit/page-context.ts';
import { shellPage } from '../kit/page.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { catalogue, fill, fillPlain, type PageLanguage } from '../kit/texts.ts';

const batchesOnPage = 25;
const refreshSeconds = 3;

/** @throws Fault `not-found`. */
async function openBatch({ storage }: ConsoleServices, request: StaffRequest): Promise<Batch> {
  const batchId = storedIdIn(request);
  return await storage.read(() => showBatch({ storeId: request.signedIn.store.id, batchId }));
}

function progressOf({ issued, cards }: Batch, language: PageLanguage) {
  const format = new Intl.NumberFormat(language);
  return { issued: format.format(issued), count: format.format(cards) };
}

async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { basePath } = services.frame;
  const { language, signedIn } = request;
  const text = batchTexts[language];
  const place = placeIn(request, batchesOnPage);
  const page = await longReads(services).read(() => listStoreBatches(signedIn.store.id, place));
  const actions = markup`<a class="button" href="${basePath}/cards/stock">${catalogue[language].stock.link}</a><a class="button first" href="${basePath}/cards/batches/new">${text.new}</a>`;
  const empty = markup`<section class="panel empty" role="status"><h2>${text.none}</h2><p><span class="soft">${text.noneText}</span></p></section>`;
  const ids = page.items.map(({ id }) => id);
  const links = newerOlder(`${basePath}/cards/batches`, ids, page, text);
  const body =
    page.items.length === 0
      ? empty
      : markup`<div class="stack">${batchTable(services, request, page.items)}${links}</div>`;
  return {
    status: 200,
    body: shellPage(services, request, { title: text.title, path: '/cards', actions, body }),
  };
}

function batchTable(services: ConsoleServices, request: StaffRequest, batches: readonly Batch[]): Markup {
  const { language, signedIn } = request;
  const { caption, columns, title, unnamed, progress } = batchTexts[language];
  const rows = batches.map(
    (batch) =>
      markup`<tr role="row"><td role="cell"><a href="${services.frame.basePath}/cards/batches/${String(batch.id)}">${batch.name ?? unnamed}</a></td><td role="cell" class="soft whole-line">${timeElement(batch.createdAt, signedIn.store, language)}</td><td role="cell" class="aside">${runTag(batch, batchTexts[language].states)}</td><td role="cell" class="whole-line">${fillPlain(progress, progressOf(batch, language))}</td><td role="cell" class="sum whole-line">${amountText(batch.total, language)}</td></tr>
`,
  );
  return markup`<section class="panel flush" aria-label="${title}"><table class="table lines" role="table"><caption class="sr">${caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${columns.name}</th><th scope="col" role="columnheader">${columns.started}</th><th scope="col" role="columnheader">${columns.state}</th><th scope="col" role="columnheader">${columns.cards}</th><th scope="col" role="columnheader" class="sum">${columns.total}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

async function batchPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const batch = await openBatch(services, request);
  const { language, signedIn } = request;
  const { store } = signedIn;
  const text = batchTexts[language];
  const actors = await services.storage.read(() => listActors(store));
  const by = fill(text.batch.by, {
    time: timeElement(batch.createdAt, store, language),
    name: actorName(batch.actor, actors, language),
  });
  const counts = progressOf(batch, language);
  const issued = fillPlain(text.batch.issued, { ...counts, total: amountText(batch.total, language) });
  const isRunning = batch.state === 'running';
  const body = markup`<div class="grid two"><div class="stack"><section class="panel stack" aria-label="${text.columns.state}"><p>${runTag(batch, batchTexts[language].states)}</p>
<div role="status"><p>${figure(batch.issuedTotal, language)}</p><p class="soft">${issued}</p></div>
<progress value="${batch.issued + batch.failed}" max="${batch.cards}" aria-label="${text.batch.bar}">${fillPlain(text.progress, counts)}</progress>
<p class="small soft">${by}</p>${isRunning ? markup`<p class="soft">${text.batch.leave}</p>` : undefined}</section>
${await failuresOf(services, request, batch)}</div>
<aside aria-label="${text.batch.codes}">${codesPanel(services, request, batch)}</aside></div>`;
  const page = {
    title: batch.name ?? text.title,
    path: '/cards',
    body,
    ...(isRunning && { refreshSeconds }),
  };
  return { status: 200, body: shellPage(services, request, page) };
}

/** The cards that were not issued, and why. */
async function failuresOf(
  { storage }: ConsoleServices,
  { language }: StaffRequest,
  batch: Batch,
): Promise<Markup | undefined> {
  if (batch.failed === 0) return undefined;
  const { batch: text, errors, columns } = batchTexts[language];
  const failures = await storage.read(() => listFailedLines(batchKeyOf(batch)));
  const rows = failures.map(
    ({ index, line, field, message }) =>
      markup`<tr role="row"><td role="cell" class="soft">${line ?? index + 1}</td><td role="cell" class="whole-line">${lineErrorText({ line: 0, field, message }, language)}</td></tr>
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

function codesPanel(services: ConsoleServices, request: StaffRequest, batch: Batch): Markup {
  const { language, signedIn } = request;
  const { batch: text } = batchTexts[language];
  const until = codesUntil(services, batch);
  const path = `${services.frame.basePath}/cards/batches/${batch.id}`;
  const heading = markup`<h2>${text.codes}</h2>`;
  if (until === null)
    return markup`<section class="panel stack">${heading}<p class="soft">${codesMissing(batch, text)}</p></section>`;
  return markup`<section class="panel stack">${heading}<p class="soft">${fill(text.codesHint, { time: timeElement(until, signedIn.store, language) })}</p>
<form method="post" action="${path}/codes.csv" data-repeatable><button class="button">${text.csv}</button></form>
<p><a class="button" href="${path}/print">${text.print}</a></p></section>`;
}

/** Records that a person reads the codes. @throws Fault `not-found` if they cannot be read. */
async function readCodes(services: ConsoleServices, request: StaffRequest): Promise<Batch> {
  const batch = await openBatch(services, request);
  if (codesUntil(services, batch) === null) throw new Fault('not-found');
  const { ctx, storage } = services;
  await storage.write(() => recordCodesRead(ctx, byOf(request)));
  return batch;
}

async function csvFile(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const batch = await readCodes(services, request);
  const place = { ctx: services.ctx, storage: longReads(services) };
  const parts = batchSpreadsheet(place, batchKeyOf(batch), csvDialectOf(request.language));
  const name = `gift-cards-${batch.id}.csv`;
  return { status: 200, file: { name, type: 'text/csv; charset=utf-8; header=present', parts } };
}

/** The sheets of the cards that are not emailed. */
async function printPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const batch = await readCodes(services, request);
  const { store } = request.signedIn;
  const { print: text } = batchTexts[request.language];
  const place = sheetPlaceOf(request);
  const { from, limit } = place;
  const { cards, count } = await listPrintableCards(
    { ctx: services.ctx, storage: longReads(services) },
    { store, key: batchKeyOf(batch) },
    { from, limit },
  );
  const format = new Intl.NumberFormat(request.language);
  const [first, last] = [format.format(from + 1), format.format(from + cards.length)];
  return await sheetsPage(services, request, {
    path: `/cards/batches/${batch.id}`,
    place,
    cards: cards.map(({ card, code }) => ({ card, code, amount: card.initialValue })),
    hint:
      cards.length === 0
        ? text.none
        : fillPlain(text.hint, { from: first, to: last, count: format.format(count) }),
    previous: from > 0 ? from - limit : null,
    next: from + limit < count ? from + limit : null,
  });
}

export const batchRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/cards/batches', access: 'issueBatches', handle: listPage },
  ...newBatchRoutes,
  { method: 'GET', path: '/cards/batches/:id', access: 'issueBatches', handle: batchPage },
  {
    method: 'POST',
    path: '/cards/batches/:id/codes.csv',
    access: 'issueBatches',
    isSensitive: true,
    handle: csvFile,
  },
  {
    method: 'GET',
    path: '/cards/batches/:id/print',
    access: 'issueBatches',
    isSensitive: true,
    handle: printPage,
  },
];
