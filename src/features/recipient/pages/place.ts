/** The common parts of the pages of recipients: their store, language and frame. */

import type { Assets } from '../../../pages/kit/assets.ts';
import { sendDocument } from '../../../http/documents.ts';
import type { FastifyInstance } from 'fastify';
import type { CardDesign } from '../../../core/cards/domain/design.ts';
import type { LogoMark } from '../../../core/stores/domain/logo.ts';
import { Fault, type FaultCode } from '../../../core/domain/fault.ts';
import { recipientPath } from '../../../core/emails/domain/recipient-page.ts';
import type { Secret } from '../../../platform/secret.ts';
import { parseDomain, type Store } from '../../../core/stores/domain/store.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { findRecipientPage, type RecipientPage } from '../service/recipient-lookup.ts';
import type { Brand } from '../../../pages/kit/brand.ts';
import { cardPageOf, type CardPageLinks } from '../../card-pages/pages/recipient-page.ts';
import { hidden } from '../../../pages/kit/form.ts';
import {
  dotted,
  hoursLines,
  identityOf,
  placeLines,
  reachLinks,
  shopLogo,
  writeLink,
  type ShownIdentity,
} from '../../../pages/kit/identity.ts';
import { htmlDocument, mark } from '../../../pages/kit/page.ts';
import {
  chosenTag,
  languageChoices,
  recipientLanguageOf,
  textsOfVisitor,
  type RecipientLanguage,
} from './texts.ts';
import type { ConsoleRequest } from '../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { fill } from '../../../pages/kit/texts.ts';

/** The service worker of all these pages. Its folder is its scope. */
const recipientWorkerPath = '/b/worker.js';

/** A store's page, in the language of its visitor. */
export type RecipientPlace = {
  readonly store: Store;
  readonly shop: string;
  readonly language: RecipientLanguage;
  readonly brand: Brand;
  /** The design of cards without one of their own. */
  readonly design: CardDesign;
  /** The path of the page, with the base path and the language that the visitor has chosen. */
  readonly path: string;
  /** The path without the language. */
  readonly page: string;
  /** The page as QR codes and paper name it. */
  readonly cardPage: CardPageLinks;
  /** The ways to reach the shop, and its terms. */
  readonly identity: ShownIdentity;
  readonly logo: LogoMark | null;
  /** Whether cards with codes that the store chose are shown only with the email address of the card. */
  readonly asksAddress: boolean;
};

/** The domain in the path of a page; null: that of the first store. @throws Fault `not-found` if it cannot be one. */
export function domainOf({ params }: Pick<ConsoleRequest, 'params'>): string | null {
  const named = params['domain'];
  if (named === undefined) return null;
  const domain = parseDomain(named);
  if (!domain.ok) throw new Fault('not-found');
  return domain.value;
}

/** @throws Fault `not-found` if there is no page at the path. */
export async function placeOf(services: ConsoleServices, request: ConsoleRequest): Promise<RecipientPlace> {
  const { ctx, storage, developmentMode, frame, lookups } = services;
  const domain = domainOf(request);
  const showsDemonstration = developmentMode && request.isLocal;
  const found = await storage.read(() =>
    findRecipientPage(ctx, domain, { showsDemonstration, perHour: lookups.perHour }),
  );
  if (!found) throw new Fault('not-found');
  return placeWith(services, found, {
    page: `${frame.basePath}${recipientPath(domain)}`,
    acceptLanguage: request.acceptLanguage,
    chosen: chosenTag(request.query),
  });
}

/** The place of a store with settings, which can be unsaved ones. */
export function placeWith(
  services: Pick<ConsoleServices, 'brandOf' | 'customerLanguage' | 'pagesUrl'>,
  { store, settings, logo, asksAddress }: RecipientPage,
  {
    page,
    acceptLanguage,
    chosen,
  }: { readonly page: string; readonly acceptLanguage: string; readonly chosen: string | undefined },
): RecipientPlace {
  const { brandOf } = services;
  return {
    store,
    shop: store.name,
    language: recipientLanguageOf(services, acceptLanguage, { emailLocale: settings.locale, store }, chosen),
    brand: brandOf(settings.colour),
    design: settings.design,
    path: chosen === undefined ? page : inLanguage(page, chosen),
    page,
    cardPage: cardPageOf(services, store, settings),
    identity: identityOf(settings),
    logo,
    asksAddress,
  };
}

/** The page in a language. The URL keeps it, so that the page needs no cookie and a link can have it. */
export function inLanguage(page: string, tag: string): string {
  return `${page}?lang=${tag}`;
}

const globe = markup`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5"><circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18"/></svg>`;

/** The search that found the card of a page. */
export type ShownBy = { readonly code: Secret; readonly address: string | null };

/**
 * The languages by their own names: links, or buttons that send the code of the shown card again, because a URL never has
 * it.
 */
export function languageMenu(
  services: Pick<ConsoleServices, 'customerLanguage'>,
  { page, path, language }: Pick<RecipientPlace, 'page' | 'path' | 'language'>,
  shownBy?: ShownBy,
): Markup {
  const choices = languageChoices(services).map(({ tag, direction, name }) => {
    const url = inLanguage(page, tag);
    const current = tag === language.tag ? markup` aria-current="true"` : undefined;
    return shownBy === undefined
      ? markup`<li><a href="${url}" lang="${tag}" dir="${direction}"${current}>${name}</a></li>
`
      : markup`<li><button formaction="${url}" lang="${tag}" dir="${direction}"${current}>${name}</button></li>
`;
  });
  const list = markup`<ul>
${choices}</ul>`;
  const { texts } = language;
  const address =
    shownBy === undefined || shownBy.address === null ? undefined : hidden('email', shownBy.address);
  const menu =
    shownBy === undefined
      ? list
      : markup`<form method="post" action="${path}">${hidden('code', shownBy.code.reveal())}${address}${list}</form>`;
  return markup`<details class="languages"><summary>${globe}<span class="sr">${texts.language}: </span>${texts.name}</summary><nav aria-label="${texts.language}">${menu}</nav></details>`;
}

function contactLine({ identity, language: { shared } }: RecipientPlace): Markup | undefined {
  const { contact } = identity;
  if (contact === null) return undefined;
  const link = markup`<a href="${writeLink(contact)}" dir="ltr">${contact}</a>`;
  return markup`<p class="hint">${fill(shared.contact, { address: link })}</p>
`;
}

/**
 * The shop, and the location of the sale of the card, below the page.
 * @param more links after those to the terms.
 */
export function identityFooter(
  place: RecipientPlace,
  onScreen: string,
  { at, more = [] }: { readonly at?: Location | undefined; readonly more?: readonly Markup[] },
): Markup {
  const { identity, shop, language } = place;
  const { terms } = identity;
  const address = at && markup`<p>${dotted(placeLines(at))}</p>`;
  const links = [
    ...reachLinks(identity),
    ...(terms === null ? [] : [markup`<a href="${terms}" rel="noreferrer">${language.shared.terms}</a>`]),
    ...more,
  ];
  const reached = links.length === 0 ? undefined : markup`<p class="reach">${links}</p>`;
  return markup`<footer class="identity${onScreen}"><p class="shopname"><bdi>${shop}</bdi></p><div class="small soft">${address}${hoursLines(identity)}</div>${reached}${contactLine(place)}</footer>`;
}

/** The texts that the script of the page shows until it has the card, and if it does not get it. */
function waiting({ language: { texts } }: RecipientPlace): Markup {
  return markup`<div class="waiting stack" id="waiting" hidden><p class="soft" role="status">${texts.loading}</p><div class="stack" hidden><p class="notice" role="alert">${texts.failed}</p><button class="button first" type="button">${texts.retry}</button></div></div>`;
}

type Shown = {
  readonly title: string;
  readonly content: Markup;
  /** Whether the content is a card, which is wider on large screens. Default: a narrow column. */
  readonly isCard?: boolean;
  /** Whether the script of the page shows the card whose code the tab or the link has. Default: false. */
  readonly opensCard?: boolean;
  /** The location of the sale of the card. */
  readonly at?: Location | undefined;
  /** The sheet that is printed instead of the page. */
  readonly sheet?: Markup | undefined;
  /** Absent: the page shows no card. */
  readonly shownBy?: ShownBy;
};

export function publicPage(
  services: ConsoleServices,
  place: RecipientPlace,
  { title, content, isCard = false, opensCard = false, at, sheet, shownBy }: Shown,
): Markup {
  const { shop, language, brand, page } = place;
  const { tag, direction, texts } = language;
  const onScreen = sheet ? ' noprint' : '';
  const opens = opensCard ? markup` data-opens` : undefined;
  const body = markup`<div class="branded" id="recipient" data-page="${page}" data-worker="${services.frame.basePath}${recipientWorkerPath}"${opens}>
<header class="shopbar${onScreen}"><p class="shopname">${shopLogo(services.frame, place.store, place.logo) ?? mark}<bdi>${shop}</bdi></p>${languageMenu(services, place, shownBy)}</header>
<main class="${isCard ? 'card-mode' : 'public stack'}${onScreen}" id="content">
${content}${waiting(place)}
</main>
${identityFooter(place, onScreen, { at })}
${sheet}</div>`;
  return htmlDocument(services, {
    title: `${title} · ${shop}`,
    body,
    brand,
    language: tag,
    direction,
    skip: texts.skip,
    scripts: ['recipient.js'],
    waitsForScripts: opensCard,
  });
}

function errorWords(
  texts: RecipientLanguage['texts'],
  code: FaultCode,
): readonly [title: string, text: string] {
  switch (code) {
    case 'too-many-requests':
      return [texts.limitedTitle, texts.limited];
    case 'not-found':
      return [texts.missingTitle, texts.missing];
    default:
      return [texts.brokenTitle, texts.broken];
  }
}

/** The page for an error of a visitor. It reads nothing from the database, so it names no store. */
export function visitorErrorPage(
  services: ConsoleServices,
  { acceptLanguage, query }: Pick<ConsoleRequest, 'acceptLanguage' | 'query'>,
  code: FaultCode,
): Markup {
  const { tag, texts } = textsOfVisitor(acceptLanguage, chosenTag(query));
  const [title, text] = errorWords(texts, code);
  const body = markup`<main class="public stack" id="content"><h1>${title}</h1>
<p class="soft">${text}</p></main>`;
  const { direction } = services.customerLanguage(tag);
  return htmlDocument(services, { title, body, language: tag, direction, skip: texts.skip });
}

export function addRecipientWorker(app: FastifyInstance, { frame }: ConsoleServices, assets: Assets): void {
  app.get(`${frame.basePath}${recipientWorkerPath}`, { config: { isFile: true } }, async (request, reply) => {
    const worker = assets.find('recipient-worker.js');
    if (!worker) throw new Fault('not-found');
    reply.header('x-content-type-options', 'nosniff');
    return sendDocument(request, reply, worker);
  });
}
