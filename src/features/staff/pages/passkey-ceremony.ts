/**
 * The common parts of the pages with passkeys: the form that the script `passkey.js` completes, the cookie that binds a
 * challenge to the browser, and the explanation where browsers do not accept passkeys.
 */

import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { passkeySiteOf } from '../service/passkey.ts';
import type { Ceremony } from '../service/passkey-challenge.ts';
import { cookieNameOf, setCookie } from '../../../pages/kit/cookie.ts';
import { hidden } from '../../../pages/kit/form.ts';
import type { ConsoleRequest } from '../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { fill, textsOf } from '../../../pages/kit/texts.ts';

const texts = textsOf('gate');

/** A challenge is valid for five minutes. */
const cookieSeconds = 5 * 60;
const browserForm = /^[\w-]{22}$/;

/**
 * The ceremony of a response to an earlier challenge. Undefined if the browser has no challenge, or no passkeys at this
 * address.
 */
export function openCeremony(
  { origin }: Pick<ConsoleServices, 'origin'>,
  { cookies, pageOrigin }: Pick<ConsoleRequest, 'cookies' | 'pageOrigin'>,
  purpose: string,
): Ceremony | undefined {
  const browser = cookies.get(cookieNameOf('passkey', origin)) ?? '';
  const site = passkeySiteOf(pageOrigin);
  return site && browserForm.test(browser) ? { site, browser, purpose } : undefined;
}

/** Begins a ceremony: the response has the options for the browser, and the cookie. */
export function beginCeremony(
  services: Pick<ConsoleServices, 'ctx' | 'origin'>,
  request: Pick<ConsoleRequest, 'cookies' | 'pageOrigin'>,
  purpose: string,
  optionsOf: (ceremony: Ceremony) => object,
): ConsoleResponse | undefined {
  const site = passkeySiteOf(request.pageOrigin);
  if (!site) return undefined;
  const browser =
    openCeremony(services, request, purpose)?.browser ??
    Buffer.from(services.ctx.random.bytes(16)).toString('base64url');
  // Another tab of the browser can have a challenge for the same value.
  const cookie = setCookie('passkey', { value: browser, maxAgeSeconds: cookieSeconds }, services.origin);
  return { status: 200, json: optionsOf({ site, browser, purpose }), cookies: [cookie] };
}

/** The text of the browser's response in the form. */
export function credentialOf({ form }: Pick<ConsoleRequest, 'form'>): string {
  return form.get('credential') ?? '';
}

/**
 * A form with a button that creates or uses a passkey. It is hidden until the script `passkey.js` runs in a browser with
 * passkeys.
 */
export function passkeyForm(
  { frame }: Pick<ConsoleServices, 'frame'>,
  {
    action,
    kind,
    isOffered = false,
    failed,
    content,
  }: {
    /** The path of the form; the options are below it. */
    readonly action: string;
    readonly kind: 'create' | 'get';
    /** Whether the browser also offers passkeys at the field of the email. */
    readonly isOffered?: boolean;
    /** The text if the browser did not create or use a passkey. */
    readonly failed: string;
    /** The fields, and the button. */
    readonly content: MarkupPart;
  },
): Markup {
  const path = `${frame.basePath}${action}`;
  const offered = isOffered ? markup` data-offered` : undefined;
  return markup`<form class="stack" method="post" action="${path}" data-passkey="${kind}" data-options="${path}/options"${offered}>
${content}
<p class="notice" role="alert" hidden>${failed}</p>
${hidden('credential', '')}</form>`;
}

export const passkeyIcon: Markup = markup`<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="8" cy="15" r="4.5"/><path d="m11.5 11.5 8-8M16 7l3 3M13.5 9.5l2 2"/></svg>`;

/** Shown only with passkeys. */
export function withPasskeys(content: MarkupPart): Markup {
  return markup`<div class="stack" data-needs-passkeys hidden>${content}</div>`;
}

/** Returns the notice at an address at which browsers accept no passkey: why, and what to open instead. */
export function notHere(
  { frame, origin }: Pick<ConsoleServices, 'frame' | 'origin'>,
  { language, pageOrigin }: Pick<ConsoleRequest, 'language' | 'pageOrigin'>,
  path: string,
): Markup | undefined {
  if (passkeySiteOf(pageOrigin)) return undefined;
  const text = texts[language];
  if (origin.url) return markup`<p class="hint">${text.notAtAddress}</p>`;
  const local = new URL(`${frame.basePath}${path}`, pageOrigin);
  local.hostname = 'localhost';
  const link = markup`<a href="${local.href}">${local.href}</a>`;
  return markup`<p class="hint">${fill(text.notHere, { link })}</p>`;
}
