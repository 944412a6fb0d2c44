/** Sign in with an address and a password, confirm, and sign out. Passkeys are in `passkeys.ts`. */

import type { StaffMember } from '../../domain/staff/staff.ts';
import { parseEmail } from '../../domain/email-address.ts';
import type { Store } from '../../domain/stores/store.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { programCommand } from '../../platform/program-files.ts';
import { signOut, type SignInMethod } from '../../service/staff/session.ts';
import { recordFailedSignIn } from '../../service/staff/failed-sign-in.ts';
import {
  confirmSession,
  findAccount,
  findAccountByEmail,
  findWaysToConfirm,
  listSignInStores,
  openBrowserSession,
  recordWrongPassword,
} from '../../service/staff/sign-in.ts';
import {
  knownBrowserToken,
  readKnownBrowser,
  releaseSignIn,
  reserveSignIn,
  type SignInAccount,
  type SignInKey,
} from '../../service/staff/sign-in-throttle.ts';
import { hasRealStores } from '../../service/stores/store.ts';
import { compareCounted, hashClient } from '../kit/attempt.ts';
import { cookieNameOf, hasTillCookie, sessionCookie, setCookie } from '../kit/cookie.ts';
import { alert, inputField, hidden } from '../kit/form.ts';
import { gatePage } from '../kit/page.ts';
import { notHere, passkeyForm, passkeyIcon, withPasskeys } from '../staff/passkey-ceremony.ts';
import { formText, type ConsoleRequest } from '../kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleRoute,
  type ConsoleServices,
  type PageResponse,
  type StaffRequest,
} from '../kit/route.ts';
import { hostOfWebsite } from './setup-form.ts';
import { fill, type PageLanguage, plural, textsOf } from '../kit/texts.ts';
import { endedNotice } from '../till/resume.ts';
import { developerLinks } from './welcome.ts';

const texts = textsOf('gate');

const knownCookieSeconds = 365 * 24 * 60 * 60;
const inputLengthMax = 1_000;

type SignInForm = {
  readonly email: string;
  readonly store: string;
  readonly next: string;
  readonly error?: MarkupPart;
};

export async function signInPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  status: 200 | 401 | 422,
  { email, store, next, error }: SignInForm,
): Promise<PageResponse> {
  const { storage, frame } = services;
  const text = texts[request.language];
  const stores = await storage.read(listSignInStores);
  const passkey = passkeyForm(services, {
    action: '/sign-in/passkey',
    kind: 'get',
    isOffered: true,
    failed: text.passkeyCancelled,
    content: markup`${hidden('next', next)}<button class="button first big">${passkeyIcon}${text.withPasskey}</button>
<p class="small soft center">${text.passkeyHint}</p>`,
  });
  const elsewhere = notHere(services, request, '/sign-in');
  const command = markup`<code class="nowrap">${programCommand} staff invite</code>`;
  const body = markup`${error === undefined ? endedNotice(request, next) : alert(error)}
<section class="panel stack" aria-label="${text.signIn}">
${elsewhere ? undefined : withPasskeys(markup`${passkey}<p class="or">${text.orPassword}</p>`)}
<form class="stack" method="post" action="${frame.basePath}/sign-in">
${hidden('next', next)}
${stores.length > 1 ? storeField(services, request, store) : undefined}
${inputField({ name: 'email', label: text.email, type: 'email', value: email, autocomplete: 'username webauthn' })}
${inputField({ name: 'password', label: text.password, type: 'password', autocomplete: 'current-password webauthn' })}
<button class="button${elsewhere ? ' first' : ''}">${text.signIn}</button>
</form>
${elsewhere}<details><summary>${text.cannot}</summary><p class="soft">${fill(text.cannotHelp, { command })}</p></details>
</section>
${
  hasTillCookie(services, request)
    ? markup`<p class="center"><a class="button quiet" href="${frame.basePath}/till/pin">${text.pinOnTill}</a></p>`
    : undefined
}
${request.isLocal ? markup`<p class="row center">${await developerLinks(services, request)}</p>` : undefined}`;
  const place = stores.length === 1 && stores[0] ? stores[0].name : 'Largesse';
  const page = { title: text.signIn, place, body, scripts: ['passkey.js'] };
  return { status, body: gatePage(services, request, page) };
}

/** A field and not a list, because strangers must not see which shops use the service. */
function storeField({ origin }: ConsoleServices, request: ConsoleRequest, typed: string): Markup {
  const text = texts[request.language];
  const remembered = request.cookies.get(cookieNameOf('store', origin)) ?? '';
  const value = typed === '' ? (request.query.get('store') ?? remembered) : typed;
  return inputField({ name: 'store', label: text.store, value, autocomplete: 'on', hint: text.storeHint });
}

async function signIn(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const { ctx, storage, passwords } = services;
  const text = texts[request.language];
  const [email, domain, next] = [
    formText(request, 'email'),
    hostOfWebsite(formText(request, 'store')).toLowerCase(),
    localPath(formText(request, 'next')),
  ];
  const password = request.form.get('password') ?? '';
  const form = { email: email.slice(0, inputLengthMax), store: domain, next };
  if (email.length + password.length > inputLengthMax)
    return signInPage(services, request, 422, { ...form, error: text.tooLong });
  const address = parseEmail(email);
  const stores = await storage.read(listSignInStores);
  const [first] = stores;
  if (!first) return signInPage(services, request, 401, { ...form, error: text.wrong });
  const store = stores.length === 1 ? first : stores.find((each) => each.domain === domain);
  const key = attemptKey(services, request, {
    store,
    first,
    domain,
    email: address.ok ? address.value.key : '',
  });
  const attempt = await storage.write(() => reserveSignIn(ctx, key));
  if (!attempt.isAllowed) return throttledSignIn(services, request, attempt.waitMs, form);
  const { found, isRight } = await compareCounted(services, {
    giveBack: () => releaseSignIn(ctx, key),
    async compare() {
      const read =
        address.ok && store ? await storage.read(() => findAccountByEmail(store, address.value)) : undefined;
      const client = hashClient(request, key.browser && `browser ${key.browser}`);
      const comparison = { texts: [password.normalize('NFC')], hashed: read?.password ?? null };
      return { found: read, isRight: await passwords.verify(client, comparison) };
    },
  });
  if (!found || !isRight) {
    const staffId = found?.member.id ?? null;
    const failed = store && { storeId: store.id, address: address.ok ? address.value : null, staffId };
    if (failed) await storage.write(() => recordFailedSignIn(ctx, failed));
    const error = stores.length > 1 ? text.wrongOrStore : text.wrong;
    return signInPage(services, request, 401, { ...form, error });
  }
  await storage.write(() => releaseSignIn(ctx, key));
  return await startSession(services, request, { member: found.member, method: 'password', next });
}

/**
 * The budgets of an attempt. An unknown domain has as many as a store, so that they do not reveal which stores exist. Their
 * rows belong to the first store.
 */
function attemptKey(
  services: ConsoleServices,
  request: ConsoleRequest,
  {
    store,
    first,
    domain,
    email,
  }: {
    readonly store: Store | undefined;
    readonly first: Store;
    readonly domain: string;
    readonly email: string;
  },
): SignInKey {
  if (store) return signInKey(services, request, { storeId: store.id, email });
  const client = `${domain} ${request.client}`;
  return signInKey(services, { ...request, client }, { storeId: first.id, email: `${domain} ${email}` });
}

/** The page after too many attempts to sign in. */
export async function throttledSignIn(
  services: ConsoleServices,
  request: ConsoleRequest,
  waitMs: number,
  form: Omit<SignInForm, 'error'>,
): Promise<ConsoleResponse> {
  const error = throttledText(request.language, waitMs);
  return throttled(await signInPage(services, request, 401, { ...form, error }), waitMs);
}

/** The page after too many attempts to confirm. */
export async function throttledConfirm(
  services: ConsoleServices,
  request: StaffRequest,
  waitMs: number,
  next: string,
): Promise<ConsoleResponse> {
  const error = throttledText(request.language, waitMs);
  return throttled(await confirmPage(services, request, 401, { next, error }), waitMs);
}

/** After too many attempts: how long to wait, and what works. */
function throttledText(language: PageLanguage, waitMs: number): Markup {
  const text = texts[language];
  return markup`<span>${plural(language, text.throttled, Math.ceil(waitMs / 60_000))}<br>${text.throttledHelp}</span>`;
}

/**
 * The budgets of an attempt: of the browser, if the person has signed in there before, or is signed in.
 * @param budget what the attempts are counted for, if that is not the address.
 */
export function signInKey(
  { ctx, origin }: Pick<ConsoleServices, 'ctx' | 'origin'>,
  { client, cookies, signedIn }: Pick<ConsoleRequest, 'client' | 'cookies' | 'signedIn'>,
  account: SignInAccount,
  budget = account.email,
): SignInKey {
  const token = cookies.get(cookieNameOf('known', origin)) ?? '';
  const browser = readKnownBrowser(ctx, account, token) ?? sessionOf(signedIn, account);
  return { ...account, email: budget, client, browser };
}

/** Names the session of the account, if the browser has one. A session with a PIN does not count. */
function sessionOf(signedIn: ConsoleRequest['signedIn'], { storeId, email }: SignInAccount): string | null {
  if (signedIn?.session.tillId !== null) return null;
  const own = accountOf(signedIn.member);
  return own.storeId === storeId && own.email === email ? `session ${signedIn.session.id}` : null;
}

/** Opens a session, ends the one that the browser had, and sets its cookie. */
export async function startSession(
  { ctx, storage, origin }: ConsoleServices,
  { signedIn, userAgent, cookies }: ConsoleRequest,
  {
    member,
    method,
    next,
  }: { readonly member: StaffMember; readonly method: SignInMethod; readonly next: string },
): Promise<ConsoleResponse> {
  const replaces = signedIn?.session ?? null;
  const { opened, domain } = await storage.write(() =>
    openBrowserSession(ctx, { member, method, userAgent, replaces }),
  );
  const before = cookies.get(cookieNameOf('known', origin)) ?? '';
  const value = knownBrowserToken(ctx, accountOf(member), before);
  const known = { value, maxAgeSeconds: knownCookieSeconds };
  return seeOther(next, [
    sessionCookie({ ctx, origin }, opened),
    setCookie('known', known, origin),
    setCookie('store', { value: domain, maxAgeSeconds: knownCookieSeconds }, origin),
  ]);
}

/** The account of a member, as attempts to sign in are counted. */
export function accountOf({ storeId, email }: StaffMember): SignInAccount {
  const address = parseEmail(email);
  return { storeId, email: address.ok ? address.value.key : '' };
}

/** A path of these pages, to continue at after signing in; `/` for anything else. */
export function localPath(path: string): string {
  return /^\/(?![/\\])[\w./-]{0,200}(?:\?[\w.=&%+*-]{0,600})?$/.test(path) ? path : '/';
}

export const signInRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/sign-in',
    access: 'anyone',
    async handle(services, request) {
      // Without a store there are no accounts.
      if (!(await services.storage.read(hasRealStores))) return seeOther('/setup');
      const next = localPath(request.query.get('next') ?? '/');
      return await signInPage(services, request, 200, { email: '', store: '', next });
    },
  },
  { method: 'POST', path: '/sign-in', access: 'anyone', handle: signIn },
  {
    method: 'POST',
    path: '/sign-out',
    access: 'staff',
    async handle({ ctx, storage, origin }, { signedIn }) {
      await storage.write(() => signOut(ctx, signedIn.session));
      return seeOther('/sign-in', [setCookie('session', { value: '', maxAgeSeconds: 0 }, origin)]);
    },
  },
  {
    method: 'GET',
    path: '/confirm',
    access: 'staff',
    handle: (services, request) =>
      confirmPage(services, request, 200, { next: localPath(request.query.get('next') ?? '/') }),
  },
  { method: 'POST', path: '/confirm', access: 'staff', handle: confirm },
];

async function confirm(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, passwords } = services;
  const { member, session, store } = request.signedIn;
  const text = texts[request.language];
  const next = localPath(formText(request, 'next'));
  const password = request.form.get('password') ?? '';
  if (password.length > inputLengthMax)
    return confirmPage(services, request, 422, { next, error: text.tooLong });
  const key = signInKey(services, request, accountOf(member));
  const attempt = await storage.write(() => reserveSignIn(ctx, key));
  if (!attempt.isAllowed) return throttledConfirm(services, request, attempt.waitMs, next);
  const isRight = await compareCounted(services, {
    giveBack: () => releaseSignIn(ctx, key),
    async compare() {
      const account = await storage.read(() => findAccount(store, member.id));
      const comparison = { texts: [password.normalize('NFC')], hashed: account?.password ?? null };
      return await passwords.verify(hashClient(request, `staff ${member.id}`), comparison);
    },
  });
  if (!isRight) {
    await storage.write(() => recordWrongPassword(ctx, session));
    return confirmPage(services, request, 401, { next, error: text.wrongPassword });
  }
  await storage.write(() => confirmSession(ctx, key, session));
  return seeOther(next);
}

export async function confirmPage(
  services: ConsoleServices,
  request: StaffRequest,
  status: 200 | 401 | 422,
  { next, error }: { readonly next: string; readonly error?: MarkupPart },
): Promise<PageResponse> {
  const { frame, storage } = services;
  const { store, member } = request.signedIn;
  const text = texts[request.language];
  const { hasPassword, hasPasskeys } = await storage.read(() => findWaysToConfirm(store, member));
  const passkey = passkeyForm(services, {
    action: '/confirm/passkey',
    kind: 'get',
    failed: text.passkeyCancelled,
    content: markup`${hidden('next', next)}<button class="button first big">${passkeyIcon}${text.withPasskey}</button>`,
  });
  const elsewhere = hasPasskeys ? notHere(services, request, next) : undefined;
  const usable = hasPasskeys && !elsewhere;
  const command = markup`<code class="nowrap">${programCommand} staff invite</code>`;
  const withoutPassword = markup`${elsewhere ? undefined : markup`<p class="notice" data-without-passkeys>${text.confirmNeedsScript}</p>`}
<p class="small soft">${fill(text.cannotHelp, { command })}</p>`;
  const password = markup`<form class="stack" method="post" action="${frame.basePath}/confirm">
${hidden('next', next)}
<input class="sr" type="text" name="email" value="${member.email}" autocomplete="username" aria-hidden="true" tabindex="-1" readonly>
${inputField({ name: 'password', label: text.password, type: 'password', autocomplete: 'current-password' })}
<button class="button${usable ? '' : ' first big'}">${text.continue}</button>
</form>`;
  const body = markup`${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${text.confirm}">
<p class="soft">${text.confirmHelp}</p>
${usable ? withPasskeys(markup`${passkey}${hasPassword ? markup`<p class="or">${text.orPassword}</p>` : undefined}`) : undefined}
${elsewhere}${hasPassword ? password : withoutPassword}
</section>
<p class="center"><a class="button quiet" href="${frame.basePath}/">${text.cancel}</a></p>`;
  const page = { title: text.confirm, place: store.name, body, scripts: ['passkey.js'] };
  return { status, body: gatePage(services, request, page) };
}
