/** The common parts of the pages of buyers: their store, language and frame. */

import { buyPath } from '../../domain/links.ts';
import { recipientPath } from '../../../../core/emails/domain/recipient-page.ts';
import { Fault } from '../../../../core/domain/fault.ts';
import { isPermitted } from '../../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { findRecipientPage } from '../../../recipient/service/recipient-lookup.ts';
import { findBuyPage, type BuyPage } from '../../service/begin.ts';
import { shopLogo } from '../../../../pages/kit/identity.ts';
import { htmlDocument, mark } from '../../../../pages/kit/page.ts';
import type { ConsoleRequest } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import {
  domainOf,
  identityFooter,
  languageMenu,
  placeWith,
  type RecipientPlace,
} from '../../../recipient/pages/place.ts';
import { buyTextsOf, chosenTag, type BuyTexts } from '../../../recipient/pages/texts.ts';

/** The buy page of a store, in the language of its visitor. */
export type BuyPlace = RecipientPlace & {
  readonly buy: BuyPage;
  readonly texts: BuyTexts;
  /** Whether a page of the shop shows it in a frame. */
  readonly isFramed: boolean;
  /** Whether a member of staff tries the page, which need not be open. */
  readonly isTrial: boolean;
};

/** The parameter of the URL of a page in a frame: it has neither a bar nor a footer. */
export const frameParameter = 'frame';

/**
 * @param options.page the path of the page below that of the buy page.
 * @param options.language of the page if the visitor chooses none; absent: that of the browser.
 * @throws Fault `not-found` if the store has no buy page.
 */
export async function buyPlaceOf(
  services: ConsoleServices,
  request: ConsoleRequest,
  { page = '', language }: { readonly page?: string; readonly language?: string } = {},
): Promise<BuyPlace> {
  const { ctx, storage, developmentMode, frame, lookups } = services;
  const showsDemonstration = developmentMode && request.isLocal;
  const options = { showsDemonstration, perHour: lookups.perHour };
  const [found, buy] = await storage.read(function* read() {
    const shown = yield* findRecipientPage(ctx, domainOf(request), options);
    return [shown, shown && (yield* findBuyPage(ctx, shown.store.domain))] as const;
  });
  if (!found || !buy) throw new Fault('not-found');
  const { store } = found;
  const place = placeWith(services, found, {
    page: `${frame.basePath}${buyPath(store.domain)}${page}`,
    acceptLanguage: request.acceptLanguage,
    chosen: chosenTag(request.query) ?? language,
  });
  const { signedIn } = request;
  return {
    ...place,
    path: withQuery(place.page, request, ['lang', frameParameter]),
    identity: { ...place.identity, terms: buy.page.termsUrl ?? place.identity.terms },
    buy,
    texts: buyTextsOf(place.language.tag),
    isFramed: request.query.has(frameParameter),
    isTrial:
      signedIn !== null && signedIn.store.id === store.id && isPermitted(signedIn.member, 'changeSettings'),
  };
}

/** A path with those of the parameters that the request has. */
function withQuery(path: string, { query }: ConsoleRequest, names: readonly string[]): string {
  const parts = names.flatMap((name) => {
    const flag = query.has(name) ? '1' : undefined;
    const value = name === 'lang' ? chosenTag(query) : flag;
    return value === undefined ? [] : [`${name}=${value}`];
  });
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** The path of the buy page. */
export function buyUrl({ frame }: Pick<ConsoleServices, 'frame'>, { store, language }: BuyPlace): string {
  return `${frame.basePath}${buyPath(store.domain)}?lang=${language.tag}`;
}

function checkLink({ frame }: ConsoleServices, { store, language }: BuyPlace): string {
  return `${frame.basePath}${recipientPath(store.domain)}?lang=${language.tag}`;
}

/** A link to the page on which a person checks a card. */
export function checkOwnLink(services: ConsoleServices, place: BuyPlace): Markup {
  return markup`<a class="button first" href="${checkLink(services, place)}">${place.texts.checkOwn}</a>`;
}

function legalLinks({ buy: { page }, texts }: BuyPlace): readonly Markup[] {
  const links = [
    [texts.privacy, page.privacyUrl],
    [texts.imprint, page.imprintUrl],
  ] as const;
  return links.flatMap(([name, url]) =>
    url === null ? [] : [markup`<a href="${url}" rel="noreferrer" target="_top">${name}</a>`],
  );
}

/** Whether the provider of the page takes no real money. */
function isTest({ frame }: Pick<ConsoleServices, 'frame'>, { buy: { provider } }: BuyPlace): boolean {
  // Every page of a sandbox has a banner.
  return provider?.isTest === true && !frame.isSandbox;
}

type Shown = {
  readonly title: string;
  readonly content: Markup;
  /** The class of the main part. */
  readonly kind: 'buy' | 'order stack';
  /** Its state, which the script compares with that of a later response; absent: the page does not change by itself. */
  readonly state?: string;
  /** The sheet that is printed instead of the page. */
  readonly sheet?: Markup | undefined;
  /** Seconds after which the page is requested again, by a script, or by the browser without one. */
  readonly refreshSeconds?: number | undefined;
};

/** A page for buyers. */
export function buyerPage(
  services: ConsoleServices,
  place: BuyPlace,
  { title, content, kind, state, sheet, refreshSeconds }: Shown,
): Markup {
  const { shop, brand, language, texts, isFramed } = place;
  const { tag, direction, texts: common } = language;
  const onScreen = sheet ? ' noprint' : '';
  const bar = markup`<header class="shopbar${onScreen}"><p class="shopname">${shopLogo(services.frame, place.store, place.logo) ?? mark}<bdi>${shop}</bdi></p><a href="${checkLink(services, place)}">${texts.check}</a>${languageMenu(services, place)}</header>
`;
  const banner = isTest(services, place)
    ? markup`<p class="notice test-mode${onScreen}" role="note">${texts.testMode}</p>
`
    : undefined;
  const more = legalLinks(place);
  const footer = isFramed
    ? markup`<footer class="embedded-links small">${more}</footer>`
    : identityFooter(place, onScreen, { more });
  const changes =
    refreshSeconds === undefined
      ? undefined
      : markup` data-refresh="${refreshSeconds}" data-state="${state ?? ''}"`;
  const body = markup`<div class="branded${isFramed ? ' embedded' : ''}">
${isFramed ? undefined : bar}<main class="${kind}${onScreen}" id="content"${changes}>
${banner}${content}
</main>
${footer}
${sheet}</div>`;
  const head = markup`<link rel="stylesheet" href="${services.frame.assetUrl('buy.css')}">
${
  refreshSeconds === undefined
    ? undefined
    : markup`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>
`
}`;
  return htmlDocument(services, {
    title: `${title} · ${shop}`,
    body,
    brand,
    head,
    language: tag,
    direction,
    skip: common.skip,
    scripts: ['buy.js'],
  });
}

/** A page that says one thing. */
export function messagePage(
  services: ConsoleServices,
  place: BuyPlace,
  { icon, title, text, actions }: Message,
): Markup {
  const content = markup`${hero({ icon, title, text })}${actions && markup`<div class="actions">${actions}</div>`}`;
  return buyerPage(services, place, { title, content, kind: 'order stack' });
}

type Message = {
  readonly icon: keyof typeof icons;
  readonly title: string;
  readonly text: Markup | string;
  readonly actions?: Markup;
};

const icons = {
  good: ['good', markup`<path d="m5 12.5 4.5 4.5L19 7.5"/>`],
  wait: ['wait', markup`<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/>`],
  paused: ['wait', markup`<circle cx="12" cy="12" r="8.5"/><path d="M9.5 8.5v7M14.5 8.5v7"/>`],
  back: ['ended', markup`<path d="M4 9h11a5 5 0 0 1 0 10H9M8 5 4 9l4 4"/>`],
  bad: ['bad', markup`<path d="M12 4 2.5 20h19zM12 10v4.5M12 17.3v.2"/>`],
  ended: ['ended', markup`<path d="M6 6l12 12M18 6 6 18"/>`],
} as const;

/** The first words of a page, with a sign that says the same. */
export function hero({ icon, title, text }: Omit<Message, 'actions'>): Markup {
  const [kind, path] = icons[icon];
  return markup`<div class="hero"><span class="badge ${kind}"><svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${path}</svg></span><h1>${title}</h1><p>${text}</p></div>
`;
}
