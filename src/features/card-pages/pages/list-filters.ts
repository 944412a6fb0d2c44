/** Above the list of cards: the search, the filters and the order. */

import { meaningOf, type SearchFilter } from '../../../core/cards/domain/search.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { sorts, type SortName } from '../../../core/cards/service/filter.ts';
import { findBatch } from '../../batches/service/batch-lists.ts';
import { filterText } from './parts.ts';
import { queryWith, type CardsQuery } from './query.ts';
import { hidden, inputField } from '../../../pages/kit/form.ts';
import { placeField } from '../../../pages/kit/places.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** A form with POST, because what a person types or scans can be a code, which must not be in a URL. */
export function searchForm(page: Page): Markup {
  const text = page.text.cards;
  return markup`<form method="post" action="${page.basePath}/cards/find" role="search"><label class="sr" for="q">${text.find}</label>
<div class="search"><input class="field" id="q" name="q" type="search" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="300" aria-describedby="q-hint" autofocus><button class="button">${text.search}</button></div>
<p class="hint" id="q-hint">${text.findHint}</p></form>`;
}

export function stateFilters(page: Page, query: CardsQuery): Markup {
  const text = page.text.cards;
  const { state } = query.filters;
  const isBounced = query.filters.email_status === 'bounced' && state === undefined;
  const names = [
    'all',
    'active',
    'scheduled',
    'suspended',
    'empty',
    'expired',
    'disabled',
    'bounced',
  ] as const;
  const links = names.map((name) => {
    const isState = name !== 'all' && name !== 'bounced';
    const changes = {
      state: isState ? name : undefined,
      email_status: name === 'bounced' ? 'bounced' : undefined,
    };
    const isShown = name === 'bounced' ? isBounced : !isBounced && (state ?? 'all') === name;
    const current = isShown ? markup` aria-current="true"` : undefined;
    return markup`<a href="${page.basePath}/cards${queryWith(query, changes)}"${current}>${text.states[name]}</a>`;
  });
  return markup`<nav class="pills" aria-label="${text.show}">${links}</nav>`;
}

/** The other filters and the order, for a form that sets one filter. */
function keptFields(query: CardsQuery, changes: Readonly<Record<string, undefined>> = {}): readonly Markup[] {
  return [...new URLSearchParams(queryWith(query, changes))].map(([name, value]) => hidden(name, value));
}

/** A filter by the location at which the cards were issued, for a person who sees some. */
export function placeForm(page: Page, query: CardsQuery, locations: readonly Location[]): Markup | undefined {
  const chosen = query.filters.location_id;
  const field = placeField(page.request, { locations, chosen, name: 'location_id', hasNone: false });
  if (!field) return undefined;
  return markup`<form class="filters" action="${page.basePath}/cards">${keptFields(query, { location_id: undefined })}${field}<button class="button">${page.text.cards.dormant.show}</button></form>
`;
}

/** A filter by the day after which a card was not used, as laws on unclaimed property need it. */
export function dormantForm(page: Page, query: CardsQuery): Markup | undefined {
  if (query.sent.has('last_activity_at_max')) return undefined;
  const { dormant } = page.text.cards;
  const kept = keptFields(query);
  const field = inputField({ name: 'last_activity_at_max', label: dormant.until, type: 'date' });
  return markup`<details class="small"><summary>${dormant.title}</summary><form class="filters" action="${page.basePath}/cards">${kept}${field}<button class="button">${dormant.show}</button></form></details>
`;
}

/** Returns the filters of the list, apart from the state, each with a link that removes it. */
export function searchFilters(page: Page, query: CardsQuery, batch: string | undefined): Markup | undefined {
  const text = page.text.cards;
  const path = `${page.basePath}/cards`;
  const shown = [...query.sent].filter(
    ([name]) =>
      name !== 'state' &&
      name !== 'location_id' &&
      !(name === 'email_status' && query.filters.email_status === 'bounced'),
  );
  if (shown.length === 0) return undefined;
  const items = shown.map(([name, value]) => {
    const filter = filterText(name, value, page.language, { batch });
    const remove = fillPlain(text.remove, { filter });
    return markup`<li><span class="chip">${filter} <a href="${path}${queryWith(query, { [name]: undefined })}" aria-label="${remove}">×</a></span></li>`;
  });
  const others = otherSearches(page.request.query.get('typed') ?? '', query);
  const links = others.map(
    ({ name, value }) =>
      markup`<li><a href="${path}?${new URLSearchParams({ [name]: value }).toString()}">${filterText(name, value, page.language)}</a></li>`,
  );
  const also = links.length > 0 ? markup`<li class="soft">${text.alsoSearch}</li>${links}` : undefined;
  return markup`<ul class="chips" aria-label="${text.filters}">${items}${also}</ul>
`;
}

/** The name of the batch whose cards are listed; undefined: there is no such batch. */
export async function batchNameOf(page: Page, { filters }: CardsQuery): Promise<string | undefined> {
  const { batch_id: batchId } = filters;
  if (batchId === undefined) return undefined;
  const batch = await page.read(() => findBatch({ storeId: page.store.id, batchId }));
  return batch && (batch.name ?? page.text.batches.unnamed);
}

/** The other meanings of what was typed, if the list shows one of them. */
function otherSearches(typed: string, { sent }: CardsQuery): readonly SearchFilter[] {
  const meaning = meaningOf(typed);
  if (meaning.kind !== 'filter') return [];
  const all = [meaning.filter, ...meaning.others];
  return all.some(({ name }) => sent.has(name)) ? all.filter(({ name }) => !sent.has(name)) : [];
}

export function sortLinks(page: Page, query: CardsQuery): Markup {
  const text = page.text.cards;
  const links = (Object.keys(sorts) as SortName[]).map((sort) => {
    const current = sort === query.sort ? markup` aria-current="true"` : undefined;
    return markup`<li><a href="${page.basePath}/cards${queryWith({ ...query, sort })}"${current}>${text.sorts[sort]}</a></li>`;
  });
  return markup`<details class="sort"><summary><span class="sr">${text.sortedBy}: </span>${text.sorts[query.sort]}</summary><ul>${links}</ul></details>`;
}
