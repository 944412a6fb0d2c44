/** The frame of every page: the head, the navigation and its landmarks. */

import { sandboxNotice } from '../../core/domain/sandbox.ts';
import { isPermitted, type Permission } from '../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { brandFileName, type Brand } from './brand.ts';
import type { PageFrame } from './frame.ts';
import type { ConsoleRequest } from './request.ts';
import type { StaffRequest } from './route.ts';
import { timeText } from './format.ts';
import { fillPlain, textsOf, type Texts } from './texts.ts';

const texts = textsOf('frame');

export type FrameTexts = Texts['frame'];

export function frameTexts({ language }: Pick<ConsoleRequest, 'language'>): FrameTexts {
  return texts[language];
}

type Framed = { readonly frame: PageFrame };

export const mark: Markup = markup`<svg viewBox="0 0 32 32" aria-hidden="true"><rect class="card" x="2" y="5" width="28" height="22" rx="5" fill="#1f4d3f"/><path d="M19 5h4.5v22H19zM2 16.2h28v4.3H2z" fill="#fff" opacity=".22"/><path d="M21.2 18c-5-7-9-3.6-6.3-1.2 1.8 1.5 4.5 1.2 6.3 1.2 1.8 0 5 .3 6.3-1.4 2-2.6-2-6-6.3 1.4z" fill="none" stroke="#d9b061" stroke-width="1.6" stroke-linejoin="round"/></svg>`;

export const icons = {
  today: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 10.5 12 3l9 7.5V21h-6v-6H9v6H3z"/></svg>`,
  cards: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="2.5" y="5" width="19" height="14" rx="2.5"/><path d="M15 5v14M2.5 13.5h19"/></svg>`,
  till: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M7 12h10"/></svg>`,
  sales: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 8h14l1.2 12.500H3.800zM8.500 8V6.500a3.500 3.500 0 0 1 7 0V8"/></svg>`,
  reports: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 20V10M10 20V4M16 20v-7M21 20H3"/></svg>`,
  emails: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="m4 7 8 6 8-6"/></svg>`,
  staff: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="8" r="4"/><path d="M4 21c0-5 4-7 8-7s8 2 8 7"/></svg>`,
  tills: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="4" y="3" width="16" height="12" rx="2"/><path d="M3 20h18M8 15v5M16 15v5"/></svg>`,
  settings: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="3.2"/><path d="M12 2.5v3M12 18.5v3M2.5 12h3M18.5 12h3M5.3 5.3l2.1 2.1M16.6 16.6l2.1 2.1M18.7 5.3l-2.1 2.1M7.4 16.6l-2.1 2.1"/></svg>`,
  audit: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 3h9l4 4v14H6zM9 11h7M9 15h7"/></svg>`,
  developers: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="m8 7-5 5 5 5M16 7l5 5-5 5M13.5 4l-3 16"/></svg>`,
  lock: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="5" y="10.5" width="14" height="10" rx="2"/><path d="M8 10.5v-3a4 4 0 0 1 8 0v3"/></svg>`,
  signOut: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M10 4H5v16h5M14 8l4 4-4 4M18 12H9"/></svg>`,
  more: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 7h16M4 12h16M4 17h16"/></svg>`,
} as const;

export type Document = {
  readonly title: string;
  readonly body: MarkupPart;
  /** Scripts of the page, in addition to that of all pages. */
  readonly scripts?: readonly string[];
  /** Whether the page is shown when its scripts have run, so that no tap comes before them. Default: false. */
  readonly waitsForScripts?: boolean;
  /** Reloads the page after this many seconds: for a state that changes by itself. */
  readonly refreshSeconds?: number;
  /** More of its head. */
  readonly head?: Markup;
  /** The color of the parts of the class `branded`, and of drawings of cards. Default: that of all pages. */
  readonly brand?: Brand;
};

/** A whole document. Pages use the functions below, which add their landmarks. */
export function documentOf(
  services: Framed,
  { language }: Pick<ConsoleRequest, 'language'>,
  page: Document,
): Markup {
  return htmlDocument(services, { ...page, language, skip: texts[language].skip });
}

/** A document in any language. */
export function htmlDocument(
  { frame: { assetUrl, isSandbox, isPreview = false } }: Framed,
  {
    title,
    body,
    scripts = [],
    waitsForScripts = false,
    refreshSeconds,
    head,
    brand,
    language,
    direction,
    skip,
  }: Document & {
    readonly language: string;
    /** Undefined: left to right. */
    readonly direction?: 'ltr' | 'rtl';
    /** The text of the link to the content. */
    readonly skip: string;
  },
): Markup {
  const dir = direction && markup` dir="${direction}"`;
  const blocking = waitsForScripts ? markup` blocking="render"` : undefined;
  const modules = (isPreview ? [] : ['console.js', ...scripts]).map(
    (name) => markup`<script type="module" src="${assetUrl(name)}"${blocking}></script>
`,
  );
  const refresh =
    refreshSeconds === undefined
      ? undefined
      : markup`<meta http-equiv="refresh" content="${refreshSeconds}">
`;
  const brandSheet =
    brand &&
    markup`<link rel="stylesheet" href="${assetUrl(brandFileName(brand))}">
`;
  const banner = isSandbox
    ? markup`<aside class="sandbox-banner">${sandboxNotice(language)}</aside>
`
    : undefined;
  return markup`<!doctype html>
<html lang="${language}"${dir}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
${refresh}<title>${title}</title>
<link rel="icon" href="${assetUrl('mark.svg')}">
<link rel="stylesheet" href="${assetUrl('largesse.css')}">
${head}${brandSheet}${modules}</head>
<body>
<a class="skip" href="#content">${skip}</a>
${banner}${body}
</body>
</html>
`;
}

/** A page for people who are not signed in: one narrow column. */
export function gatePage(
  services: Framed,
  request: Pick<ConsoleRequest, 'language'>,
  { place, ...page }: Document & { readonly place: string },
): Markup {
  const { title, body } = page;
  return documentOf(services, request, {
    ...page,
    title: `${title} · ${place}`,
    body: markup`<main class="gate stack" id="content">
<p class="mark">${mark}Largesse</p>
<div class="center"><h1>${title}</h1><p class="soft">${place}</p></div>
${body}
</main>`,
  });
}

/** An entry of the navigation. */
type Entry = {
  readonly path: string;
  readonly name: keyof FrameTexts['pages'];
  readonly permission: Permission | null;
  /** The browser's access key of the page. */
  readonly accessKey?: string;
};

const entries: readonly Entry[] = [
  { path: '/today', name: 'today', permission: 'readCards' },
  { path: '/cards', name: 'cards', permission: 'readCards', accessKey: 'g' },
  { path: '/till', name: 'till', permission: 'useTill', accessKey: 't' },
  { path: '/sales', name: 'sales', permission: 'readStore' },
  { path: '/emails', name: 'emails', permission: 'readStore' },
  { path: '/books/liability', name: 'reports', permission: 'readStore' },
  { path: '/books/activity', name: 'reports', permission: 'readCards' },
  { path: '/tills', name: 'tills', permission: 'enrollTills' },
  { path: '/staff', name: 'staff', permission: 'manageStaff' },
  { path: '/audit', name: 'audit', permission: 'readAuditLog' },
  { path: '/developers', name: 'developers', permission: 'manageTokens' },
  { path: '/settings', name: 'settings', permission: 'changeSettings' },
];

/** The pages of every day's work; the others are below a heading. */
const dailyPages: ReadonlySet<Entry['name']> = new Set([
  'today',
  'cards',
  'till',
  'sales',
  'emails',
  'reports',
]);

function entriesOf({ signedIn: { member } }: Pick<StaffRequest, 'signedIn'>): readonly Entry[] {
  const open = entries.filter(({ permission }) => permission === null || isPermitted(member, permission));
  return open.filter(({ name }, place) => open.findIndex((entry) => entry.name === name) === place);
}

/** On every page of the demonstration. */
export function demonstrationNotice(
  { frame: { basePath } }: Framed,
  { language, signedIn }: Pick<StaffRequest, 'language' | 'signedIn'>,
): Markup | undefined {
  if (!signedIn.store.demonstration) return undefined;
  const text = texts[language];
  return markup`<p class="notice demonstration-notice" role="note">${text.demonstration} <a href="${basePath}/setup">${text.setUpShop}</a></p>
`;
}

/** On every page of a shop that a backup has restored, until an owner confirms it. */
export function restoredNotice(
  { frame: { basePath, restoredFrom } }: Framed,
  { language, signedIn: { store, member } }: Pick<StaffRequest, 'language' | 'signedIn'>,
): Markup | undefined {
  const madeAt = restoredFrom(store.id);
  if (madeAt === undefined) return undefined;
  const text = texts[language];
  const time = timeText(madeAt, store, language);
  const link = isPermitted(member, 'changeSettings')
    ? markup` <a href="${basePath}/restored">${text.restoredLink}</a>`
    : undefined;
  return markup`<p class="notice restored-notice" role="note">${fillPlain(text.restored, { time })}${link}</p>
`;
}

/** A page for a member of staff: the navigation, and the content with its heading. */
export function shellPage(
  services: Framed,
  request: Pick<StaffRequest, 'language' | 'signedIn'>,
  {
    path,
    actions,
    heading,
    ...page
  }: Document & {
    /** The page of the navigation that contains this one; null: none does. */
    readonly path: string | null;
    /** Instead of the title as the heading. */
    readonly heading?: MarkupPart;
    /** Links and buttons after the heading. */
    readonly actions?: MarkupPart;
  },
): Markup {
  const { basePath } = services.frame;
  const { language, signedIn } = request;
  const { store, member, workplace } = signedIn;
  const { pages, roles, ...text } = texts[language];
  const at = workplace && markup` · <a href="${basePath}/account">${workplace.name}</a>`;
  const link = (entry: Entry, isShort: boolean): Markup => {
    const current = entry.path === path ? markup` aria-current="page"` : undefined;
    const key = entry.accessKey && markup` accesskey="${entry.accessKey}"`;
    return markup`<a href="${basePath}${entry.path}"${current}${isShort ? undefined : key}>${icons[entry.name]}${pages[entry.name]}</a>`;
  };
  const all = entriesOf(request);
  const main = all.slice(0, 3);
  const [daily, setup] = [
    all.filter(({ name }) => dailyPages.has(name)),
    all.filter(({ name }) => !dailyPages.has(name)),
  ];
  const setupLinks =
    setup.length === 0
      ? undefined
      : markup`<h2>${text.setUp}</h2>${setup.map((entry) => link(entry, false))}`;
  const isMore = path !== null && !main.some((entry) => entry.path === path);
  const moreCurrent = isMore ? markup` aria-current="page"` : undefined;
  return documentOf(services, request, {
    ...page,
    title: `${page.title} · ${store.name}`,
    body: markup`<div class="shell">
<header class="side">
<a class="mark" href="${basePath}/">${mark}Largesse</a>
<nav aria-label="${text.main}">${daily.map((entry) => link(entry, false))}${setupLinks}</nav>
<div class="who"><a href="${basePath}/account"><strong>${member.name}</strong></a> · ${roles[member.role]}<br><span class="soft">${store.name}${at ?? undefined}</span>
<form method="post" action="${basePath}/sign-out"><button class="button quiet">${text.signOut}</button></form></div>
</header>
<main class="main" id="content">
<header class="top"><h1>${heading ?? page.title}</h1>${actions}</header>
${demonstrationNotice(services, request)}${restoredNotice(services, request)}${page.body}
</main>
<nav class="tabbar" aria-label="${text.main}">${main.map((entry) => link(entry, true))}<a href="${basePath}/more"${moreCurrent}>${icons.more}${pages.more}</a></nav>
</div>`,
  });
}

/** The entries of the navigation that a phone does not show below the page, and the person's own account. */
export function morePage(services: Framed, request: Pick<StaffRequest, 'language' | 'signedIn'>): Markup {
  const { basePath } = services.frame;
  const { pages, roles, ...text } = texts[request.language];
  const { member, store } = request.signedIn;
  const links = entriesOf(request)
    .slice(3)
    .map(
      ({
        path,
        name,
      }) => markup`<li><a href="${basePath}${path}">${icons[name]}<strong>${pages[name]}</strong></a></li>
`,
    );
  const body = markup`<div class="stack"><p><strong>${member.name}</strong> · ${roles[member.role]}<br><span class="soft">${store.name}</span></p>
<section class="panel flush" aria-label="${pages.more}"><ul class="rows">
${links}<li><a href="${basePath}/account">${icons.staff}<strong>${text.account}</strong></a></li>
</ul></section>
<form method="post" action="${basePath}/sign-out"><button class="button">${text.signOut}</button></form></div>`;
  return shellPage(services, request, { title: pages.more, path: '/more', body });
}
