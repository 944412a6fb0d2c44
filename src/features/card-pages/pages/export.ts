/** The export of cards as a table, without codes. */

import { Fault } from '../../../core/domain/fault.ts';
import { dayOf } from '../../../core/domain/day.ts';
import type { ExportRow } from '../../../core/tables/domain/export-table.ts';
import { markup } from '../../../platform/markup.ts';
import { cardExport } from '../../../core/cards/service/export.ts';
import { customerIdOf, filterOf, limitedFilter } from '../../../core/cards/service/filter.ts';
import { recordCardExport } from '../service/card.ts';
import type { Storage } from '../../../database/storage.ts';
import { batchNameOf } from './list-filters.ts';
import { filterText } from './parts.ts';
import { filterNames, readCardsQuery, type CardsQuery } from './query.ts';
import { hidden } from '../../../pages/kit/form.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { shellPage } from '../../../pages/kit/page.ts';
import { listPlaces } from '../../../pages/kit/places.ts';
import { shownTable, tableFile, wordOf } from '../../../pages/kit/table-file.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { catalogue, type PageLanguage } from '../../../pages/kit/texts.ts';

/** Exports that run at the same time, from the request to the last part. Each reads until its end. */
const runningMax = 2;
const running = new WeakMap<Storage, number>();

/** Counts an export. @returns what ends it, once. @throws Fault `overloaded`. */
function startExport(storage: Storage): () => void {
  const count = running.get(storage) ?? 0;
  if (count >= runningMax) throw new Fault('overloaded', { retryAfterSeconds: 10 });
  running.set(storage, count + 1);
  let hasEnded = false;
  return () => {
    if (hasEnded) return;
    hasEnded = true;
    running.set(storage, (running.get(storage) ?? 1) - 1);
  };
}

async function exportPage(page: Page): Promise<ConsoleResponse> {
  const text = page.text.cards;
  const query = readCardsQuery(page.request.query, page.store);
  const locations = await page.read(() => listPlaces(page.request.signedIn));
  const batch = await batchNameOf(page, query);
  const filters = [...query.sent].map(([name, value]) =>
    name === 'state'
      ? text.states[value as keyof typeof text.states]
      : filterText(name, value, page.language, { locations, batch }),
  );
  const which =
    filters.length === 0
      ? markup`<p>${text.exportAll}</p>`
      : markup`<p>${text.exportFilters}</p><ul class="chips">${filters.map((filter) => markup`<li><span class="chip">${filter}</span></li>`)}</ul>`;
  const sent = [...query.sent].map(([name, value]) => hidden(name, value));
  const body = markup`<section class="panel stack" aria-label="${text.exportTitle}">${which}
<p class="soft">${text.exportText}</p>
<form method="post" action="${page.basePath}/cards/export" data-repeatable>${sent}<div class="row"><button class="button first" name="format" value="xlsx">${text.downloadExcel}</button><button class="button" name="format" value="csv">${text.download}</button></div></form></section>`;
  const shown = shellPage(page.services, page.request, { title: text.exportTitle, path: '/cards', body });
  return { status: 200, body: shown };
}

async function exportCards(page: Page): Promise<ConsoleResponse> {
  const query = readCardsQuery(page.request.form, page.store);
  const end = startExport(page.services.storage);
  try {
    return await exportOf(page, { query, end });
  } catch (error) {
    end();
    throw error;
  }
}

async function exportOf(
  page: Page,
  { query, end }: { readonly query: CardsQuery; readonly end: () => void },
): Promise<ConsoleResponse> {
  const customerId = query.email ? await page.read(() => customerIdOf(page.store.id, query.email)) : null;
  const filter = limitedFilter(page.member, filterOf(query.filters, customerId));
  const filters = filterNames.filter((each) => each !== 'state' && query.sent.has(each));
  const exported = { state: query.filters.state, filters };
  await page.write(() => recordCardExport(page.ctx, page.by, exported));
  const { language, store } = page;
  const cards = cardExport({ ctx: page.ctx, storage: longReads(page.services) }, store, filter);
  const { parts, ...file } = tableFile(
    shownTable(cards, { language, timeZone: store.timeZone, toRow: (row) => shownRow(row, language) }),
    {
      format: page.typed('format') === 'xlsx' ? 'xlsx' : 'csv',
      language,
      name: `gift-cards-${dayOf(page.ctx.clock.now(), store.timeZone)}`,
      title: page.text.cards.title,
    },
  );
  return { status: 200, file: { ...file, parts: ending(parts, end) } };
}

/** A row with the states of cards and emails as the pages write them. */
function shownRow(row: ExportRow, language: PageLanguage): ExportRow {
  const { cards, emails, fields } = catalogue[language];
  return {
    ...row,
    state: wordOf(row['state'], cards.stateOf),
    design: wordOf(row['design'], fields.choices),
    email_status: wordOf(row['email_status'], { none: null, ...emails.stateOf }),
  };
}

/** Calls `end` after the last part, and if the browser disconnects, also before the first part. */
function ending<Part>(parts: AsyncIterable<Part>, end: () => void): AsyncIterable<Part> {
  const iterator = parts[Symbol.asyncIterator]();
  const result = async (step: Promise<IteratorResult<Part>> | undefined): Promise<IteratorResult<Part>> => {
    try {
      const each = (await step) ?? { done: true, value: undefined };
      if (each.done === true) end();
      return each;
    } catch (error) {
      end();
      throw error;
    }
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => result(iterator.next()),
      return: () => result(iterator.return?.()),
      throw: (error: unknown) => result(iterator.throw?.(error)),
    }),
  };
}

export const exportRoutes: readonly StaffRoute[] = [
  get('/cards/export', { sensitive: 'exportCards' }, exportPage),
  post('/cards/export', { sensitive: 'exportCards' }, exportCards, { sendsFile: 'export' }),
];
