/** The page that a person gets instead of an error response. */

import type { FaultCode } from '../domain/fault.ts';
import type { Role } from '../domain/staff.ts';
import { markup, type Markup } from '../markup.ts';
import de from './locales/de/errors.json' with { type: 'json' };
import deFrame from './locales/de/frame.json' with { type: 'json' };
import en from './locales/en/errors.json' with { type: 'json' };
import enFrame from './locales/en/frame.json' with { type: 'json' };
import es from './locales/es/errors.json' with { type: 'json' };
import esFrame from './locales/es/frame.json' with { type: 'json' };
import fr from './locales/fr/errors.json' with { type: 'json' };
import frFrame from './locales/fr/frame.json' with { type: 'json' };
import type { PageFrame } from './frame.ts';
import { gatePage, shellPage } from './page.ts';
import type { ConsoleRequest } from './request.ts';
import { fill, type Catalogue } from './texts.ts';

const texts: Catalogue<typeof en> = { en, de, fr, es };
const frames: Catalogue<typeof enFrame> = { en: enFrame, de: deFrame, fr: frFrame, es: esFrame };

type Kind = 'notFound' | 'crossSite' | 'tooMany' | 'busy' | 'unknown' | 'invalid';

function kindOf(code: FaultCode): Kind {
  switch (code) {
    case 'not-found':
    case 'method-not-allowed':
      return 'notFound';
    case 'cross-site-request':
      return 'crossSite';
    case 'too-many-requests':
    case 'too-many-misses':
      return 'tooMany';
    case 'overloaded':
    case 'not-writable':
    case 'store-closed':
    case 'closing':
      return 'busy';
    case 'internal-error':
    case 'unavailable':
      return 'unknown';
    default:
      return 'invalid';
  }
}

type Framed = { readonly frame: PageFrame };

/** @param signedIn the member of staff that gets the page with the navigation; null: without it. */
export function errorPage(
  services: Framed,
  { language, requestId, signedIn }: Pick<ConsoleRequest, 'language' | 'requestId' | 'signedIn'>,
  code: FaultCode,
): Markup {
  const kind = kindOf(code);
  const text = texts[language];
  const body = markup`<section class="panel stack"><p>${text[kind]}</p>
<p><a class="button first" href="${services.frame.basePath}/">${text.home}</a></p>
<p class="small soft">${fill(text.reference, { id: markup`<code>${requestId}</code>` })}</p></section>`;
  const title = text[`${kind}Title`];
  return signedIn
    ? shellPage(services, { language, signedIn }, { title, path: null, body })
    : gatePage(services, { language }, { title, place: 'Largesse', body });
}

/** For a page that the person's role does not include. */
export function forbiddenPage(
  services: Framed,
  { language }: Pick<ConsoleRequest, 'language'>,
  { role, place }: { readonly role: Role; readonly place: string },
): Markup {
  const text = texts[language];
  const body = markup`<section class="panel stack"><p>${fill(text.forbidden, { role: frames[language].roles[role] })}</p>
<p><a class="button first" href="${services.frame.basePath}/">${text.home}</a></p></section>`;
  return gatePage(services, { language }, { title: text.forbiddenTitle, place, body });
}
