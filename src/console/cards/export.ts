/** The export of cards as CSV, without codes. */

import { Fault } from '../../domain/fault.ts';
import { dayOf } from '../../domain/day.ts';
import { markup } from '../../platform/markup.ts';
import { cardExport } from '../../service/cards/export.ts';
import { customerIdOf, filterOf, limitedFilter } from '../../service/cards/filter.ts';
import { recordCardExport } from '../../service/staff-actions/card.ts';
import type { Storage } from '../../storage/storage.ts';
import { filterText } from './parts.ts';
import { filterNames, readCardsQuery, type CardsQuery } from './query.ts';
import { hidden } from '../kit/form.ts';
import { csvDialectOf } from '../kit/format.ts';
import { longReads } from '../kit/long-reads.ts';
import { shellPage } from '../kit/page.ts';
import { listPlaces } from '../kit/places.ts';
import type { ConsoleResponse, StaffRoute } from '../kit/route.ts';
import { get, post, type Page } from '../kit/page-context.ts';

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
  const filters = [...query.sent].map(([name, value]) =>
    name === 'state'
      ? text.states[value as keyof typeof text.states]
      : filterText(name, value, page.language, locations),
  );
  const which =
    filters.length === 0
      ? markup`<p>${text.exportAll}</p>`
      : markup`<p>${text.exportFilters}</p><ul class="chips">${filters.map((filter) => markup`<li><span class="chip">${filter}</span></li>`)}</ul>`;
  const sent = [...query.sent].map(([name, value]) => hidden(name, value));
  const body = markup`<section class="panel stack" aria-label="${text.exportTitle}">${which}
<p class="soft">${text.exportText}</p>
<form method="post" action="${page.basePath}/cards/export" data-repeatable>${sent}<button class="button first">${text.download}</button></form></section>`;
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
  const name = `gift-cards-${dayOf(page.ctx.clock.now(), page.store.timeZone)}.csv`;
  const parts = ending(
    cardExport(
      { ctx: page.ctx, storage: longReads(page.services) },
      page.store,
      filter,
      csvDialectOf(page.language),
    ),
    end,
  );
  return { status: 200, file: { name, type: 'text/csv; charset=utf-8; header=present', parts } };
}

/** Calls `end` after the last part, and if the browser disconnects, also before the first part. */
function ending(parts: AsyncGenerator<string, void>, end: () => void): AsyncIterable<string> {
  const result = async (
    step: Promise<IteratorResult<string, void>>,
  ): Promise<IteratorResult<string, void>> => {
    try {
      const each = await step;
      if (each.done === true) end();
      return each;
    } catch (error) {
      end();
      throw error;
    }
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => result(parts.next()),
      return: () => result(parts.return()),
      throw: (error: unknown) => result(parts.throw(error)),
    }),
  };
}

export const exportRoutes: readonly StaffRoute[] = [
  get('/cards/export', { sensitive: 'exportCards' }, exportPage),
  post('/cards/export', { sensitive: 'exportCards' }, exportCards),
];
