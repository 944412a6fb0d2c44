/** A page of the till: one column for a thumb, and the menu behind the name instead of the navigation. */

import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { hasTillCookie } from '../../../pages/kit/cookie.ts';
import {
  demonstrationNotice,
  documentOf,
  frameTexts,
  icons,
  mark,
  restoredNotice,
  type Document,
} from '../../../pages/kit/page.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { StaffRequest } from '../../../pages/kit/route.ts';
import { shopLogo } from '../../../pages/kit/identity.ts';
import { appLinks } from './app.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type TillServices = Pick<ConsoleServices, 'frame' | 'origin'>;

export function tillPage(
  services: TillServices,
  request: StaffRequest,
  {
    isWide = false,
    ...page
  }: Document & {
    /** Whether a tablet shows two columns. */
    readonly isWide?: boolean;
  },
): Markup {
  const { store, workplace, logo } = request.signedIn;
  const { basePath } = services.frame;
  return documentOf(services, request, {
    waitsForScripts: true,
    ...page,
    scripts: ['till-app.js', ...(page.scripts ?? ['till.js'])],
    head: appLinks(services.frame),
    title: `${page.title} · ${store.name}`,
    body: markup`<main class="till${isWide ? ' wide' : ''}" id="content">
<h1 class="sr">${page.title}</h1>
<div class="tillbar"><a class="mark" href="${basePath}/till">${shopLogo(services.frame, store, logo) ?? mark}<span>${frameTexts(request).pages.till}<small>${workplace?.name ?? store.name}</small></span></a>${menu(services, request)}</div>
${demonstrationNotice(services, request)}${restoredNotice(services, request)}${page.body}
</main>`,
  });
}

/** The menu that leads to other pages. A session with a PIN needs the password for them. */
function menu({ frame, origin }: TillServices, request: StaffRequest): Markup {
  const { basePath } = frame;
  const { member, session, store, workplace } = request.signedIn;
  const { roles, ...text } = frameTexts(request);
  const link = (path: string, icon: Markup, label: string): Markup =>
    markup`<li><a href="${basePath}${path}">${icon}${label}</a></li>
`;
  const outside = (path: string, icon: Markup, label: string): Markup =>
    link(session.tillId === null ? path : `/sign-in?next=${path}`, icon, label);
  const button = (path: string, icon: Markup, label: string): Markup =>
    markup`<form method="post" action="${basePath}${path}"><button>${icon}${label}</button></form>`;
  const at = workplace ? markup` · ${workplace.name}` : undefined;
  // A device that is not enrolled has no page on which a PIN unlocks it.
  const lock = hasTillCookie({ origin }, request) ? button('/till/lock', icons.lock, text.lock) : undefined;
  return markup`<details class="menu"><summary><span class="sr">${text.menu} </span><span>${member.name}</span></summary>
<div><p><strong>${member.name}</strong><br><span class="small soft">${roles[member.role]} · ${store.name}${at}</span></p>
<ul>${link('/till/day', icons.reports, text.tillDay)}${outside('/account', icons.staff, text.accountAndPin)}${
    isPermitted(member, 'readCards') ? outside('/today', icons.today, text.office) : undefined
  }${
    workplace && isPermitted(member, 'enrollTills')
      ? outside('/tills', icons.tills, text.tillPlace)
      : undefined
  }<li id="install" hidden><button type="button">${icons.till}${text.install}</button></li>
<li class="line-above">${lock}${button('/sign-out', icons.signOut, text.signOut)}</li></ul></div></details>`;
}

/** The heading of a task of the till, with the way back. */
export function taskHeading(
  page: Page,
  { title, path = '/till' }: { readonly title: MarkupPart; readonly path?: string },
): Markup {
  return markup`<div class="row apart"><h2>${title}</h2><a class="button quiet" href="${page.basePath}${path}">${frameTexts(page.request).back}</a></div>`;
}
