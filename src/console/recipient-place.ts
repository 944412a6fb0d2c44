/** What the pages of recipients share: their store, language and frame. */

import type { EmailSettings } from '../domain/email.ts';
import { Fault } from '../domain/fault.ts';
import { recipientPath } from '../domain/recipient-page.ts';
import { parseDomain, type Store } from '../domain/store.ts';
import { markup, type Markup } from '../markup.ts';
import { findStoreOfPage } from '../service/recipient-lookup.ts';
import { findEmailSettings } from '../storage/email.ts';
import type { Brand } from './code-view.ts';
import { htmlDocument } from './page.ts';
import { recipientLanguageOf, type RecipientLanguage } from './recipient-texts.ts';
import type { ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './route.ts';
import { fill } from './texts.ts';

/** A store's page, in the language of its visitor. */
export type RecipientPlace = {
  readonly store: Store;
  readonly shop: string;
  readonly language: RecipientLanguage;
  readonly brand: Brand;
  /** The path of the page, with the base path. */
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
  return {
    store,
    shop: settings.senderName ?? store.name,
    language: recipientLanguageOf(services, request.acceptLanguage, settings.locale),
    brand: brandOf(settings.colour),
    path: `${frame.basePath}${recipientPath(domain?.value ?? null)}`,
    contact: contactOf(settings),
  };
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
};

export function publicPage(
  services: ConsoleServices,
  place: RecipientPlace,
  { title, content, scripts, sheet }: Shown,
): Markup {
  const { shop, language } = place;
  const { tag, direction, texts } = language;
  const body = markup`<main class="public stack${sheet ? ' noprint' : ''}" id="content">
<p class="mark"><bdi>${shop}</bdi></p>
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
