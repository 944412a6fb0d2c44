/** Sign in with an address and a password, confirm, and sign out. Passkeys are in `passkeys.ts`. */

import { localPath } from '../../../../pages/kit/local-path.ts';
import type { StaffMember } from '../../../../core/staff/domain/staff.ts';
import { parseEmail } from '../../../../core/domain/email-address.ts';
import { markup, type Markup, type MarkupPart } from '../../../../platform/markup.ts';
import { programCommand } from '../../../../platform/program-files.ts';
import { signOut, type SignInMethod } from '../../../../core/staff/service/session.ts';
import { recordFailedSignIn } from '../../service/failed-sign-in.ts';
import {
  confirmSession,
  findAccount,
  findAccountByEmail,
  findWaysToConfirm,
  listSignInStores,
  openBrowserSession,
  recordWrongPassword,
} from '../../service/sign-in.ts';
import {
  knownBrowserToken,
  readKnownBrowser,
  releaseSignIn,
  reserveSignIn,
  type SignInAccount,
  type SignInKey,
} from '../../service/sign-in-throttle.ts';
import { hasRealStores } from '../../../../core/stores/service/store.ts';
import { compareCounted, hashClient } from '../../../../pages/kit/attempt.ts';
import { cookieNameOf, hasTillCookie, sessionCookie, setCookie } from '../../../../pages/kit/cookie.ts';
import { alert, inputField, hidden } from '../../../../pages/kit/form.ts';
import { gatePage } from '../../../../pages/kit/page.ts';
import { notHere, passkeyForm, passkeyIcon, withPasskeys } from '../passkey-ceremony.ts';
import type { ConsoleRequest } from '../../../../pages/kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleRoute,
  type PageResponse,
} from '../../../../pages/kit/route.ts';
import { hostOfWebsite, type Store } from '../../../../core/stores/domain/store.ts';
import { fill, type PageLanguage, plural, textsOf } from '../../../../pages/kit/texts.ts';
import { endedNotice } from '../../../till/pages/resume.ts';
import { developerLinks } from './developer-links.ts';
import { openRoute, type VisitorPage, get, post, type Page } from '../../../../pages/kit/page-context.ts';

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
  page: VisitorPage,
  status: 200 | 401 | 422,
  { email, store, next, error }: SignInForm,
): Promise<PageResponse> {
  const text = page.text.gate;
  const stores = await page.read(listSignInStores);
  const passkey = passkeyForm(page.services, {
    action: '/sign-in/passkey',
    kind: 'get',
    isOffered: true,
    failed: text.passkeyCancelled,
    content: markup`${hidden('next', next)}<button class="button first big">${passkeyIcon}${text.withPasskey}</button>
<p class="small soft center">${text.passkeyHint}</p>`,
  });
  const elsewhere = notHere(page.services, page.request, '/sign-in');
  const command = markup`<code class="nowrap">${programCommand} staff invite</code>`;
  const body = markup`${error === undefined ? endedNotice(page.request, next) : alert(error)}
<section class="panel stack" aria-label="${text.signIn}">
${elsewhere ? undefined : withPasskeys(markup`${passkey}<p class="or">${text.orPassword}</p>`)}
<form class="stack" method="post" action="${page.basePath}/sign-in">
${hidden('next', next)}
${stores.length > 1 ? storeField(page, store) : undefined}
${inputField({ name: 'email', label: text.email, type: 'email', value: email, autocomplete: 'username webauthn' })}
${inputField({ name: 'password', label: text.password, type: 'password', autocomplete: 'current-password webauthn' })}
<button class="button${elsewhere ? ' first' : ''}">${text.signIn}</button>
</form>
${elsewhere}<details><summary>${text.cannot}</summary><p class="soft">${fill(text.cannotHelp, { command })}</p></details>
</section>
${
  hasTillCookie(page.services, page.request)
    ? markup`<p class="center"><a class="button quiet" href="${page.basePath}/till/pin">${text.pinOnTill}</a></p>`
    : undefined
}
${page.request.isLocal ? markup`<p class="row center">${await developerLinks(page.services, page.request)}</p>` : undefined}`;
  const place = stores.length === 1 && stores[0] ? stores[0].name : 'Largesse';
  const shown = { title: text.signIn, place, body, scripts: ['passkey.js'] };
  return { status, body: gatePage(page.services, page.request, shown) };
}

/** A field and not a list, because strangers must not see which shops use the service. */
function storeField(page: VisitorPage, typed: string): Markup {
  const text = page.text.gate;
  const remembered = page.request.cookies.get(cookieNameOf('store', page.services.origin)) ?? '';
  const value = typed === '' ? (page.request.query.get('store') ?? remembered) : typed;
  return inputField({ name: 'store', label: text.store, value, autocomplete: 'on', hint: text.storeHint });
}

async function signIn(page: VisitorPage): Promise<ConsoleResponse> {
  const text = page.text.gate;
  const [email, domain, next] = [
    page.typed('email'),
    hostOfWebsite(page.typed('store')).toLowerCase(),
    localPath(page.typed('next')),
  ];
  const password = page.request.form.get('password') ?? '';
  const form = { email: email.slice(0, inputLengthMax), store: domain, next };
  if (email.length + password.length > inputLengthMax)
    return signInPage(page, 422, { ...form, error: text.tooLong });
  const address = parseEmail(email);
  const stores = await page.read(listSignInStores);
  const [first] = stores;
  if (!first) return signInPage(page, 401, { ...form, error: text.wrong });
  const store = stores.length === 1 ? first : stores.find((each) => each.domain === domain);
  const key = attemptKey(page, {
    store,
    first,
    domain,
    email: address.ok ? address.value.key : '',
  });
  const attempt = await page.write(() => reserveSignIn(page.ctx, key));
  if (!attempt.isAllowed) return throttledSignIn(page, attempt.waitMs, form);
  const { found, isRight } = await compareCounted(page.services, {
    giveBack: () => releaseSignIn(page.ctx, key),
    async compare() {
      const read =
        address.ok && store ? await page.read(() => findAccountByEmail(store, address.value)) : undefined;
      const client = hashClient(page.request, key.browser && `browser ${key.browser}`);
      const comparison = { texts: [password.normalize('NFC')], hashed: read?.password ?? null };
      return { found: read, isRight: await page.services.passwords.verify(client, comparison) };
    },
  });
  if (!found || !isRight) {
    const staffId = found?.member.id ?? null;
    const failed = store && { store, address: address.ok ? address.value : null, staffId };
    if (failed) await page.write(() => recordFailedSignIn(page.ctx, failed));
    const error = stores.length > 1 ? text.wrongOrStore : text.wrong;
    return signInPage(page, 401, { ...form, error });
  }
  await page.write(() => releaseSignIn(page.ctx, key));
  return await startSession(page, { member: found.member, method: 'password', next });
}

/**
 * The budgets of an attempt. An unknown domain has as many as a store, so that they do not reveal which stores exist. Their
 * rows belong to the first store.
 */
function attemptKey(
  page: VisitorPage,
  of: {
    readonly store: Store | undefined;
    readonly first: Store;
    readonly domain: string;
    readonly email: string;
  },
): SignInKey {
  const { store, first, domain, email } = of;
  if (store) return signInKey(page, { storeId: store.id, email });
  const key = signInKey(page, { storeId: first.id, email: `${domain} ${email}` });
  return { ...key, client: `${domain} ${key.client}` };
}

/** The page after too many attempts to sign in. */
export async function throttledSignIn(
  page: VisitorPage,
  waitMs: number,
  form: Omit<SignInForm, 'error'>,
): Promise<ConsoleResponse> {
  const error = throttledText(page.language, waitMs);
  return throttled(await signInPage(page, 401, { ...form, error }), waitMs);
}

/** The page after too many attempts to confirm. */
export async function throttledConfirm(page: Page, waitMs: number, next: string): Promise<ConsoleResponse> {
  const error = throttledText(page.language, waitMs);
  return throttled(await confirmPage(page, 401, { next, error }), waitMs);
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
export function signInKey(page: VisitorPage, account: SignInAccount, budget = account.email): SignInKey {
  const token = page.request.cookies.get(cookieNameOf('known', page.services.origin)) ?? '';
  const browser = readKnownBrowser(page.ctx, account, token) ?? sessionOf(page.request.signedIn, account);
  return { ...account, email: budget, client: page.request.client, browser };
}

/** Names the session of the account, if the browser has one. A session with a PIN does not count. */
function sessionOf(signedIn: ConsoleRequest['signedIn'], { storeId, email }: SignInAccount): string | null {
  if (signedIn?.session.tillId !== null) return null;
  const own = accountOf(signedIn.member);
  return own.storeId === storeId && own.email === email ? `session ${signedIn.session.id}` : null;
}

/** Opens a session, ends the one that the browser had, and sets its cookie. */
export async function startSession(
  page: VisitorPage,
  {
    member,
    method,
    next,
  }: { readonly member: StaffMember; readonly method: SignInMethod; readonly next: string },
): Promise<ConsoleResponse> {
  const replaces = page.request.signedIn?.session ?? null;
  const { opened, domain } = await page.write(() =>
    openBrowserSession(page.ctx, { member, method, userAgent: page.request.userAgent, replaces }),
  );
  const before = page.request.cookies.get(cookieNameOf('known', page.services.origin)) ?? '';
  const value = knownBrowserToken(page.ctx, accountOf(member), before);
  const known = { value, maxAgeSeconds: knownCookieSeconds };
  return seeOther(next, [
    sessionCookie({ ctx: page.ctx, origin: page.services.origin }, opened),
    setCookie('known', known, page.services.origin),
    setCookie('store', { value: domain, maxAgeSeconds: knownCookieSeconds }, page.services.origin),
  ]);
}

/** The account of a member, as attempts to sign in are counted. */
export function accountOf({ storeId, email }: StaffMember): SignInAccount {
  const address = parseEmail(email);
  return { storeId, email: address.ok ? address.value.key : '' };
}

export const signInRoutes: readonly ConsoleRoute[] = [
  openRoute('GET', '/sign-in', async (page) => {
    // Without a store there are no accounts.
    if (!(await page.read(hasRealStores))) return seeOther('/setup');
    const next = localPath(page.request.query.get('next') ?? '/');
    return await signInPage(page, 200, { email: '', store: '', next });
  }),
  openRoute('POST', '/sign-in', signIn),
  post('/sign-out', 'staff', async (page) => {
    await page.write(() => signOut(page.ctx, page.request.signedIn.session));
    return seeOther('/sign-in', [
      setCookie('session', { value: '', maxAgeSeconds: 0 }, page.services.origin),
    ]);
  }),
  get('/confirm', 'staff', (page) =>
    confirmPage(page, 200, { next: localPath(page.request.query.get('next') ?? '/') }),
  ),
  post('/confirm', 'staff', confirm),
];

async function confirm(page: Page): Promise<ConsoleResponse> {
  const text = page.text.gate;
  const next = localPath(page.typed('next'));
  const password = page.request.form.get('password') ?? '';
  if (password.length > inputLengthMax) return confirmPage(page, 422, { next, error: text.tooLong });
  const key = signInKey(page, accountOf(page.member));
  const attempt = await page.write(() => reserveSignIn(page.ctx, key));
  if (!attempt.isAllowed) return throttledConfirm(page, attempt.waitMs, next);
  const isRight = await compareCounted(page.services, {
    giveBack: () => releaseSignIn(page.ctx, key),
    async compare() {
      const account = await page.read(() => findAccount(page.store, page.member.id));
      const comparison = { texts: [password.normalize('NFC')], hashed: account?.password ?? null };
      return await page.services.passwords.verify(
        hashClient(page.request, `staff ${page.member.id}`),
        comparison,
      );
    },
  });
  if (!isRight) {
    await page.write(() => recordWrongPassword(page.ctx, page.request.signedIn.session));
    return confirmPage(page, 401, { next, error: text.wrongPassword });
  }
  await page.write(() => confirmSession(page.ctx, key, page.request.signedIn.session));
  return seeOther(next);
}

export async function confirmPage(
  page: Page,
  status: 200 | 401 | 422,
  { next, error }: { readonly next: string; readonly error?: MarkupPart },
): Promise<PageResponse> {
  const text = page.text.gate;
  const { hasPassword, hasPasskeys } = await page.read(() => findWaysToConfirm(page.store, page.member));
  const passkey = passkeyForm(page.services, {
    action: '/confirm/passkey',
    kind: 'get',
    failed: text.passkeyCancelled,
    content: markup`${hidden('next', next)}<button class="button first big">${passkeyIcon}${text.withPasskey}</button>`,
  });
  const elsewhere = hasPasskeys ? notHere(page.services, page.request, next) : undefined;
  const usable = hasPasskeys && !elsewhere;
  const command = markup`<code class="nowrap">${programCommand} staff invite</code>`;
  const withoutPassword = markup`${elsewhere ? undefined : markup`<p class="notice" data-without-passkeys>${text.confirmNeedsScript}</p>`}
<p class="small soft">${fill(text.cannotHelp, { command })}</p>`;
  const password = markup`<form class="stack" method="post" action="${page.basePath}/confirm">
${hidden('next', next)}
<input class="sr" type="text" name="email" value="${page.member.email}" autocomplete="username" aria-hidden="true" tabindex="-1" readonly>
${inputField({ name: 'password', label: text.password, type: 'password', autocomplete: 'current-password' })}
<button class="button${usable ? '' : ' first big'}">${text.continue}</button>
</form>`;
  const body = markup`${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${text.confirm}">
<p class="soft">${text.confirmHelp}</p>
${usable ? withPasskeys(markup`${passkey}${hasPassword ? markup`<p class="or">${text.orPassword}</p>` : undefined}`) : undefined}
${elsewhere}${hasPassword ? password : withoutPassword}
</section>
<p class="center"><a class="button quiet" href="${page.basePath}/">${text.cancel}</a></p>`;
  const shown = { title: text.confirm, place: page.store.name, body, scripts: ['passkey.js'] };
  return { status, body: gatePage(page.services, page.request, shown) };
}
