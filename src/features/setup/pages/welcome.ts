/** The layout of the first run: a wide page with the drawing of a card, and links for developers. */

import { currencyOf, type Currency } from '../../../core/money/domain/currency.ts';
import { pagePaths } from '../../../http/page-paths.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { figure } from '../../../pages/kit/format.ts';
import { documentOf, mark } from '../../../pages/kit/page.ts';
import { fill, type PageLanguage, textsOf } from '../../../pages/kit/texts.ts';
import type { VisitorPage } from '../../../pages/kit/page-context.ts';

export const setupTexts = textsOf('setup');

/** The steps of the first run, with the current one. */
export function trail(language: PageLanguage, current: 'shop' | 'you'): Markup {
  const text = setupTexts[language];
  const isYou = current === 'you';
  const [shop, you] = isYou
    ? [markup` class="done"`, markup` aria-current="step"`]
    : [markup` aria-current="step"`, undefined];
  return markup`<ol class="trail" aria-label="${text.steps}"><li${shop}>${text.stepShop}</li><li${you}>${text.stepYou}</li><li>${text.stepCard}</li></ol>`;
}

/** The card as a customer sees it. It is a picture: screen readers skip it. */
function drawing(language: PageLanguage, { shop, currency }: Shown): Markup {
  const text = setupTexts[language];
  const value = { minor: 50n * 10n ** BigInt(currency.decimals), currency };
  return markup`<div class="gift" aria-hidden="true"><svg class="knot" viewBox="0 0 48 48"><path d="M24 24C12 6 2 13 8 20c4 4 11 4 16 4 5 0 12 0 16-4 6-7-4-14-16 4zM24 24c-3 7-7 11-11 15M24 24c3 7 7 11 11 15"/></svg><span class="shop">${shop === '' ? text.shopExample : shop}</span><span class="tail name">${text.forGrace}</span>${figure(value, language)}</div>`;
}

type Shown = { readonly shop: string; readonly currency: Currency };

const shownDefault: Shown = { shop: '', currency: currencyOf('EUR') };

/** A page of the first run. */
export function welcomePage(
  page: VisitorPage,
  {
    title,
    lead,
    body,
    top,
    aside,
    after,
    shown = shownDefault,
  }: {
    readonly title: string;
    readonly lead: MarkupPart;
    readonly body: MarkupPart;
    /** At the end of the first line. */
    readonly top: MarkupPart;
    /** Below the drawing. */
    readonly aside?: MarkupPart;
    readonly after?: MarkupPart;
    readonly shown?: Shown;
  },
): Markup {
  return documentOf(page.services, page.request, {
    title: `${title} · Largesse`,
    scripts: ['setup.js'],
    body: markup`<main class="welcome" id="content">
<div class="row apart"><a class="mark" href="${page.basePath}/">${mark}Largesse</a>${top}</div>
<div class="hero"><div><h1>${title}</h1><p class="lead">${lead}</p>
${body}</div>
<div class="grid">${drawing(page.language, shown)}${aside}</div></div>
${after}
</main>`,
  });
}

/** Returns the purposes of the service, below the first page. */
export function purposes(language: PageLanguage, basePath: string): Markup {
  const text = setupTexts[language];
  const reference = markup`<a href="${basePath}${pagePaths.reference}">${text.reference}</a>`;
  return markup`<div class="grid three"><section class="panel"><h2>${text.counterTitle}</h2><p class="soft">${text.counter}</p></section><section class="panel"><h2>${text.accountingTitle}</h2><p class="soft">${text.accounting}</p></section><section class="panel"><h2>${text.developersTitle}</h2><p class="soft">${fill(text.developers, { reference })}</p></section></div>`;
}
