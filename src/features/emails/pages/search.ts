/** The search for emails by what a person types or scans. */

import { meaningOf } from '../../../core/cards/domain/search.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { searchedCardsMax } from '../service/list.ts';
import { findCardByCode } from '../../../core/staff/service/lookup.ts';
import { runSearch } from '../../../pages/kit/lookups.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { emailTexts } from './texts.ts';
import { post, type Page } from '../../../pages/kit/page-context.ts';

/** A form with POST, because what a person types or scans can be a code, which must not be in a URL. */
export function emailSearchForm({ frame }: ConsoleServices, language: PageLanguage): Markup {
  const { search: text } = emailTexts[language];
  const count = new Intl.NumberFormat(language).format(searchedCardsMax);
  return markup`<form method="post" action="${frame.basePath}/emails/find" role="search" aria-label="${text.find}"><label class="sr" for="q">${text.find}</label>
<div class="search"><input class="field" id="q" name="q" type="search" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="300" aria-describedby="q-hint"><button class="button">${text.findButton}</button></div>
<p class="hint" id="q-hint">${fillPlain(text.findHint, { count })}</p></form>`;
}

function searchPath(name: 'email' | 'text', value: string): string {
  return `/emails?${new URLSearchParams({ [name]: value }).toString()}`;
}

/** Leads to the emails about what a person has typed or scanned. */
async function find(page: Page): Promise<ConsoleResponse> {
  const { search: text } = page.text.emails;
  const typed = page.request.form.get('q') ?? '';
  const meaning = meaningOf(typed);
  const ofCard = (id: number): ConsoleResponse => seeOther(`/emails?card=${page.publicId(id)}`);
  switch (meaning.kind) {
    case 'nothing':
      return seeOther('/emails');
    case 'filter': {
      const { filter } = meaning;
      // Other numbers and letters are looked for as they were typed.
      const isTyped = filter.name === 'email' || filter.name === 'note';
      const name = filter.name === 'email' ? 'email' : 'text';
      return seeOther(searchPath(name, isTyped ? filter.value : typed.trim()));
    }
    case 'invalid':
      return notFoundPage(page, 422, text.notSearchable);
    case 'wrong-code':
      return notFoundPage(page, 404, text.codeUnknown);
    case 'code': {
      const { readings, otherwise } = meaning;
      const found = await runSearch(page.services, page.request, (searcher) =>
        findCardByCode(page.ctx, searcher, readings),
      );
      if (found.kind === 'throttled') throw found.fault;
      if (found.kind === 'found') return ofCard(found.result.card.id);
      const [replaced] = found.kind === 'missed' ? found.retired : [];
      if (replaced !== undefined) return ofCard(replaced);
      return otherwise
        ? seeOther(searchPath('text', otherwise.value))
        : notFoundPage(page, 404, text.codeUnknown);
    }
  }
}

/** A page without a list, for a search that must not be in a URL. */
function notFoundPage(page: Page, status: 404 | 422, title: string): ConsoleResponse {
  const text = page.text.emails;
  const links = markup`<a class="button" href="${page.basePath}/cards">${text.search.cards}</a><a class="button" href="${page.basePath}/emails">${text.all}</a>`;
  const body = markup`<div class="stack">${emailSearchForm(page.services, page.language)}
<section class="panel empty" role="status"><h2>${title}</h2><p><span class="soft">${text.search.notSearchableText}</span></p><p><span class="row">${links}</span></p></section></div>`;
  return page.show('/emails', { status, title: text.title, body });
}

export const emailSearchRoutes: readonly StaffRoute[] = [post('/emails/find', 'readStore', find)];
