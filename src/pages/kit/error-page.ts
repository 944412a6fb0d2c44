/** The page that a person gets instead of an error response. */

import type { Fault } from '../../core/domain/fault.ts';
import type { Role } from '../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import type { PageFrame } from './frame.ts';
import { gatePage, shellPage } from './page.ts';
import type { ConsoleRequest } from './request.ts';
import { fill, textsOf } from './texts.ts';

const texts = textsOf('errors');
const frames = textsOf('frame');

type Kind =
  'notFound' | 'crossSite' | 'tooMany' | 'busy' | 'unknown' | 'invalid' | 'closedPlace' | 'otherFile';

function kindOf({ code, errors }: Pick<Fault, 'code' | 'errors'>): Kind {
  // Only a till at a closed location has this error: a page names no location of a movement.
  if (errors?.['location_id']) return 'closedPlace';
  // Only the turns of files with tables have this one.
  if (errors?.['file']) return 'otherFile';
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
  fault: Pick<Fault, 'code' | 'errors'>,
): Markup {
  const kind = kindOf(fault);
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
