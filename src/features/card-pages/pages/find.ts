/** The search for a card by what a person types or scans, which can be a code. */

import { meaningOf, type SearchFilter } from '../../../core/cards/domain/search.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { findCardByCode } from '../../../core/staff/service/lookup.ts';
import { retrieve } from '../../../core/cards/service/card.ts';
import { emptyPanelOf } from './parts.ts';
import { searchForm } from './list-filters.ts';
import { runSearch } from '../../../pages/kit/lookups.ts';
import { seeOther, type ConsoleResponse } from '../../../pages/kit/route.ts';
import { fill } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** A page without the list, for a search that cannot or must not be in a URL. */
function searchResultPage(
  page: Page,
  { status, panel }: { readonly status: 404 | 422; readonly panel: Markup },
): ConsoleResponse {
  const { title } = page.text.cards;
  const body = markup`<div class="stack">${searchForm(page)}
${panel}</div>`;
  return page.show('/cards', { status, title, body });
}

export async function findCards(page: Page): Promise<ConsoleResponse> {
  const text = page.text.cards;
  const typed = page.request.form.get('q') ?? '';
  const meaning = meaningOf(typed);
  const showAll = markup`<a class="button" href="${page.basePath}/cards">${text.showAll}</a>`;
  switch (meaning.kind) {
    case 'nothing':
      return seeOther('/cards');
    case 'invalid': {
      const panel = emptyPanelOf(text.invalidTitle, [
        markup`<span class="soft">${text.invalidText}</span>`,
        showAll,
      ]);
      return searchResultPage(page, { status: 422, panel });
    }
    case 'filter':
      return seeOther(pathOfSearch(meaning.filter, meaning.others.length > 0 ? typed.trim() : undefined));
    case 'wrong-code':
      return unknownCode(page, showAll);
    case 'code': {
      const { readings, otherwise } = meaning;
      const found = await runSearch(page.services, page.request, (searcher) =>
        findCardByCode(page.ctx, searcher, readings),
      );
      if (found.kind === 'throttled') throw found.fault;
      if (found.kind === 'found') return seeOther(`/cards/${page.publicId(found.result.card.id)}`);
      const [replaced] = found.kind === 'missed' ? found.retired : [];
      if (replaced !== undefined) return await replacedCode(page, replaced);
      return otherwise ? seeOther(pathOfSearch(otherwise)) : unknownCode(page, showAll);
    }
  }
}

/** @param typed what was typed, if it has several meanings, so that the page offers the others. */
export function pathOfSearch({ name, value }: SearchFilter, typed?: string): string {
  const parameters = new URLSearchParams({ [name]: value, ...(typed !== undefined && { typed }) });
  return `/cards?${parameters.toString()}`;
}

function unknownCode(page: Page, showAll: Markup): ConsoleResponse {
  const text = page.text.cards;
  const panel = emptyPanelOf(text.codeUnknownTitle, [
    markup`<span class="soft">${text.codeUnknownText}</span>`,
    showAll,
  ]);
  return searchResultPage(page, { status: 404, panel });
}

async function replacedCode(page: Page, cardId: number): Promise<ConsoleResponse> {
  const text = page.text.cards;
  const card = await page.read(() => retrieve(page.store.id, cardId));
  const last = markup`<span class="code">${card.lastCharacters}</span>`;
  const open = markup`<a class="button" href="${page.basePath}/cards/${page.publicId(cardId)}">${text.openCard}</a>`;
  const panel = emptyPanelOf(text.codeReplacedTitle, [fill(text.codeReplacedText, { last }), open]);
  return searchResultPage(page, { status: 404, panel });
}
