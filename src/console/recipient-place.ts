/** What the pages of recipients share: their store, language and frame. */

import type { EmailSettings } from '../domain/email.ts';
import { Fault } from '../domain/fault.ts';
import { recipientPath } from '../domain/recipient-page.ts';
import type { Secret } from '../domain/secret.ts';
import { parseDomain, type Store } from '../domain/store.ts';
import { markup, type Markup } from '../markup.ts';
import { findStoreOfPage } from '../service/recipient-lookup.ts';
import { findEmailSettings } from '../storage/email.ts';
import type { Brand } from './code-view.ts';
import { hidden } from './form.ts';
import { htmlDocument } from './page.ts';
import {
  chosenTag,
  languageChoices,
  recipientLanguageOf,
  type RecipientLanguage,
} from './recipient-texts.ts';
import type { ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './route.ts';
import { fill } from './texts.ts';

/** A store's page, in the language of its visitor. */
export type RecipientPlace = {
  readonly store: Store;
  readonly shop: string;
  readonly language: RecipientLanguage;
  readonly brand: Brand;
  /** The path of the page, with the base path and the language that the visitor has chosen. */
  readonly path: string;
  /** Where recipients write to; null: the store has not said. */
  readonly contact: string | null;
};

/** @throws Fault `not-found` if there is no page at the path. */
export async function placeOf(services: ConsoleServices, request: ConsoleRequest): Promise<RecipientPlace> {
  const { storage, developmentMode, frame, brandOf } = services;
  const named = request.params['domain'];
  const domain = named === undefined ? null : parseDomain(named);
  if (domain?.ok === false) throw new Fault('not-found');
  const showsDemonstration = developmentMode && request.isLocal;
  const found = await storage.read(function* read() {
    const store = yield* findStoreOfPage(domain?.value ?? null, { showsDemonstration });
    return store && { store, settings: yield* findEmailSettings(store.id) };
  });
  if (!found) throw new Fault('not-found');
  const { store, settings } = found;
  const chosen = chosenTag(request.query);
  const path = `${frame.basePath}${recipientPath(domain?.value ?? null)}`;
  return {
    store,
    shop: settings.senderName ?? store.name,
    language: recipientLanguageOf(services, request.acceptLanguage, settings.locale, chosen),
    brand: brandOf(settings.colour),
    path: chosen === undefined ? path : inLanguage(path, chosen),
    contact: contactOf(settings),
  };
}

/** The page in a language. The URL keeps it, so that the page needs no cookie and a link can have it. */
function inLanguage(path: string, tag: string): string {
  return `${path.replace(/\?.*/, '')}?lang=${tag}`;
}

const globe = markup`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5"><circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18"/></svg>`;

/**
 * The languages by their own names: links, or buttons that send the code of the shown card again, because a URL never has
 * it.
 */
function languageMenu(
  services: ConsoleServices,
  { path, language }: RecipientPlace,
  code: Secret | undefined,
): Markup {
  const choices = languageChoices(services).map(({ tag, direction, name }) => {
    const url = inLanguage(path, tag);
    const current = tag === language.tag ? markup` aria-current="true"` : undefined;
    return code === undefined
      ? markup`<li><a href="${url}" lang="${tag}" dir="${direction}"${current}>${name}</a></li>
`
      : markup`<li><button formaction="${url}" lang="${tag}" dir="${direction}"${current}>${name}</button></li>
`;
  });
  const list = markup`<ul>
${choices}</ul>`;
  const { texts } = language;
  const menu =
    code === undefined
      ? list
      : markup`<form method="post" action="${path}">${hidden('code', code.reveal())}${list}</form>`;
  return markup`<details class="languages"><summary>${globe}<span class="sr">${texts.language}: </span>${texts.name}</summary><nav aria-label="${texts.language}">${menu}</nav></details>`;
}

function contactOf({ replyTo, address }: EmailSettings): string | null {
  return replyTo ?? address;
}

export function contactLine({ contact, language: { shared } }: RecipientPlace): Markup | undefined {
  if (contact === null) return undefined;
  const url = `mailto:${encodeURIComponent(contact).replace('%40', '@')}`;
  return markup`<p class="hint">${fill(shared.contact, { address: markup`<a href="${url}" dir="ltr">${contact}</a>` })}</p>
`;
}

type Shown = {
  readonly title: string;
  readonly content: Markup;
  readonly scripts?: readonly string[];
  /** What is printed instead of the page. */
  readonly sheet?: Markup | undefined;
  /** The code of the card that the page shows. */
  readonly code?: Secret;
};

export function publicPage(
  services: ConsoleServices,
  place: RecipientPlace,
  { title, content, scripts, sheet, code }: Shown,
): Markup {
  const { shop, language } = place;
  const { tag, direction, texts } = language;
  const body = markup`<main class="public stack${sheet ? ' noprint' : ''}" id="content">
<p class="mark"><bdi>${shop}</bdi></p>
${languageMenu(services, place, code)}
${content}
</main>
${sheet}`;
  return htmlDocument(services, {
    title: `${title} · ${shop}`,
    body,
    language: tag,
    direction,
    skip: texts.skip,
    ...(scripts && { scripts }),
  });
}
