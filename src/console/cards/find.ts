/** The search for a card by what a person types or scans, which can be a code. */

import { meaningOf, type SearchFilter } from '../../domain/cards/search.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { findCardByCode } from '../../service/staff/lookup.ts';
import { retrieve } from '../../service/cards/card.ts';
import { cardsTexts, emptyPanelOf } from './parts.ts';
import { searchForm } from './list-filters.ts';
import { runSearch } from '../kit/lookups.ts';
import { shellPage } from '../kit/page.ts';
import { seeOther, type ConsoleResponse, type ConsoleServices, type StaffRequest } from '../kit/route.ts';
import { fill } from '../kit/texts.ts';

/** A page without the list, for a search that cannot or must not be in a URL. */
function searchResultPage(
  services: ConsoleServices,
  request: StaffRequest,
  { status, panel }: { readonly status: 404 | 422; readonly panel: Markup },
): ConsoleResponse {
  const { title } = cardsTexts[request.language];
  const body = markup`<div class="stack">${searchForm(services, request)}
${panel}</div>`;
  return { status, body: shellPage(services, request, { title, path: '/cards', body }) };
}

export async function findCards(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const text = cardsTexts[request.language];
  const typed = request.form.get('q') ?? '';
  const meaning = meaningOf(typed);
  const showAll = markup`<a class="button" href="${services.frame.basePath}/cards">${text.showAll}</a>`;
  switch (meaning.kind) {
    case 'nothing':
      return seeOther('/cards');
    case 'invalid': {
      const panel = emptyPanelOf(text.invalidTitle, [
        markup`<span class="soft">${text.invalidText}</span>`,
        showAll,
      ]);
      return searchResultPage(services, request, { status: 422, panel });
    }
    case 'filter':
      return seeOther(pathOfSearch(meaning.filter, meaning.others.length > 0 ? typed.trim() : undefined));
    case 'wrong-code':
      return unknownCode(services, request, showAll);
    case 'code': {
      const { ctx } = services;
      const { code, otherwise } = meaning;
      const found = await runSearch(services, request, (searcher) => findCardByCode(ctx, searcher, [code]));
      if (found.kind === 'throttled') throw found.fault;
      if (found.kind === 'found') return seeOther(`/cards/${ctx.keys.publicIds.of(found.result.id)}`);
      const [replaced] = found.kind === 'missed' ? found.retired : [];
      if (replaced !== undefined) return await replacedCode(services, request, replaced);
      return otherwise ? seeOther(pathOfSearch(otherwise)) : unknownCode(services, request, showAll);
    }
  }
}

/** @param typed what was typed, if it has several meanings, so that the page offers the others. */
export function pathOfSearch({ name, value }: SearchFilter, typed?: string): string {
  const parameters = new URLSearchParams({ [name]: value, ...(typed !== undefined && { typed }) });
  return `/cards?${parameters.toString()}`;
}

function unknownCode(services: ConsoleServices, request: StaffRequest, showAll: Markup): ConsoleResponse {
  const text = cardsTexts[request.language];
  const panel = emptyPanelOf(text.codeUnknownTitle, [
    markup`<span class="soft">${text.codeUnknownText}</span>`,
    showAll,
  ]);
  return searchResultPage(services, request, { status: 404, panel });
}

async function replacedCode(
  services: ConsoleServices,
  request: StaffRequest,
  cardId: number,
): Promise<ConsoleResponse> {
  const text = cardsTexts[request.language];
  const { ctx, storage, frame } = services;
  const card = await storage.read(() => retrieve(request.signedIn.store.id, cardId));
  const last = markup`<span class="code">${card.lastCharacters}</span>`;
  const open = markup`<a class="button" href="${frame.basePath}/cards/${ctx.keys.publicIds.of(cardId)}">${text.openCard}</a>`;
  const panel = emptyPanelOf(text.codeReplacedTitle, [fill(text.codeReplacedText, { last }), open]);
  return searchResultPage(services, request, { status: 404, panel });
}
