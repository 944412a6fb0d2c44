/** What every page has: the head, the navigation and its landmarks. */

import type { Permission } from '../domain/staff.ts';
import { isPermitted } from '../domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../markup.ts';
import type { SignedIn } from '../service/staff-session.ts';

/** The URL prefix of pages and the URLs of their files. */
export type PageFrame = { readonly basePath: string; readonly styleUrl: string; readonly iconUrl: string };

const mark = markup`<svg viewBox="0 0 32 32" aria-hidden="true"><rect x="2" y="5" width="28" height="22" rx="5" fill="#1f4d3f"/><path d="M19 5h4.5v22H19zM2 16.2h28v4.3H2z" fill="#fff" opacity=".22"/><path d="M21.2 18c-5-7-9-3.6-6.3-1.2 1.8 1.5 4.5 1.2 6.3 1.2 1.8 0 5 .3 6.3-1.4 2-2.6-2-6-6.3 1.4z" fill="none" stroke="#d9b061" stroke-width="1.6" stroke-linejoin="round"/></svg>`;

export type PageContent = { readonly title: string; readonly language: string; readonly body: MarkupPart };

function document({ styleUrl, iconUrl }: PageFrame, { title, language, body }: PageContent): Markup {
  return markup`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>${title}</title>
<link rel="icon" href="${iconUrl}">
<link rel="stylesheet" href="${styleUrl}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${body}
</body>
</html>
`;
}

/** A page for people who are not signed in: one narrow column. */
export function gatePage(
  frame: PageFrame,
  { title, place, body }: { readonly title: string; readonly place: string; readonly body: MarkupPart },
): Markup {
  return document(frame, {
    title: `${title} · ${place}`,
    language: 'en',
    body: markup`<main class="gate stack" id="content">
<p class="mark">${mark}Largesse</p>
<div class="center"><h1>${title}</h1><p class="soft">${place}</p></div>
${body}
</main>`,
  });
}

/** An entry of the navigation. */
type Entry = { readonly path: string; readonly text: string; readonly permission: Permission | null };

const entries: readonly Entry[] = [
  { path: '/staff', text: 'Staff', permission: 'manageStaff' },
  { path: '/audit', text: 'Audit log', permission: 'readAuditLog' },
  { path: '/account', text: 'Your account', permission: null },
];

/** A page for a member of staff: the navigation, and the content with its heading. */
export function shellPage(
  frame: PageFrame,
  { store, member }: SignedIn,
  { title, path, body }: { readonly title: string; readonly path: string; readonly body: MarkupPart },
): Markup {
  const links = entries
    .filter(({ permission }) => permission === null || isPermitted(member.role, permission))
    .map((entry) => {
      const href = `${frame.basePath}${entry.path}`;
      return entry.path === path
        ? markup`<a href="${href}" aria-current="page">${entry.text}</a>`
        : markup`<a href="${href}">${entry.text}</a>`;
    });
  return document(frame, {
    title: `${title} · ${store.name}`,
    language: 'en',
    body: markup`<div class="shell">
<aside class="side">
<a class="mark" href="${frame.basePath}/">${mark}Largesse</a>
<nav aria-label="Pages">${links}</nav>
<div class="who"><strong>${member.name}</strong><p class="soft">${store.name}</p>
<form method="post" action="${frame.basePath}/sign-out"><button class="button quiet">Sign out</button></form></div>
</aside>
<main class="main" id="content">
<div class="top"><h1>${title}</h1></div>
${body}
</main>
</div>`,
  });
}

/** A labeled field of a form, with its error. */
export function field({
  name,
  label,
  type = 'text',
  value = '',
  autocomplete,
  hint,
  error,
  isOptional = false,
}: {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password';
  readonly value?: string;
  readonly autocomplete: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly isOptional?: boolean;
}): Markup {
  const required = isOptional ? undefined : markup` required`;
  const invalid = error === undefined ? undefined : markup` aria-invalid="true"`;
  const described = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(' ');
  const describedBy = described === '' ? undefined : markup` aria-describedby="${described}"`;
  return markup`<div><label for="${name}">${label}</label>
<input class="field" id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${describedBy}${invalid}${required}>
${error === undefined ? undefined : markup`<p class="error" id="${name}-error">${error}</p>`}
${hint === undefined ? undefined : markup`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`;
}
