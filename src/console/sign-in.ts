/** Sign in with an address and a password, confirm, and sign out. Passkeys are in `passkeys.ts`. */

import type { StaffMember } from '../domain/staff.ts';
import { parseEmail } from '../domain/email-address.ts';
import type { Secret } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import { markup, type Markup, type MarkupPart } from '../markup.ts';
import { programCommand } from '../program-files.ts';
import { createSession, reauthenticate, signOut, type SignInMethod } from '../service/staff-session.ts';
import { recordAction } from '../service/staff.ts';
import {
  knownBrowserToken,
  readKnownBrowser,
  releaseSignIn,
  reserveSignIn,
  type SignInAccount,
  type SignInKey,
} from '../service/sign-in-throttle.ts';
import { listPasskeys } from '../storage/passkey.ts';
import { findAccount, findAccountByEmail, type StaffAccount } from '../storage/staff.ts';
import { hasRealStores, listOpenStores } from '../storage/store.ts';
import { cookieNameOf, setCookie } from './cookie.ts';
import { alert, inputField, hidden, select } from './form.ts';
import de from './locales/de/gate.json' with { type: 'json' };
import en from './locales/en/gate.json' with { type: 'json' };
import es from './locales/es/gate.json' with { type: 'json' };
import fr from './locales/fr/gate.json' with { type: 'json' };
import { gatePage } from './page.ts';
import { notHere, passkeyForm, passkeyIcon, withPasskeys } from './passkey-ceremony.ts';
import { formText, type ConsoleRequest } from './request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleRoute,
  type ConsoleServices,
  type PageResponse,
  type StaffRequest,
} from './route.ts';
import { fill, plural, type Catalogue, type PageLanguage } from './texts.ts';
import { developerLinks } from './welcome.ts';

const texts: Catalogue<typeof en> = { en, de, fr, es };

const sessionCookieSeconds = 12 * 60 * 60;
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
  const { storage, frame, origin } = services;
  const text = texts[request.language];
  const stores = await storesOf(storage);
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
  const body = markup`${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${text.signIn}">
${elsewhere ? undefined : withPasskeys(markup`${passkey}<p class="or">${text.orPassword}</p>`)}
<form class="stack" method="post" action="${frame.basePath}/sign-in">
${hidden('next', next)}
${stores.length > 1 ? storeField(text.store, stores, store) : undefined}
${inputField({ name: 'email', label: text.email, type: 'email', value: email, autocomplete: 'username webauthn' })}
${inputField({ name: 'password', label: text.password, type: 'password', autocomplete: 'current-password webauthn' })}
<button class="button${elsewhere ? ' first' : ''}">${text.signIn}</button>
</form>
${elsewhere}<details><summary>${text.cannot}</summary><p class="soft">${fill(text.cannotHelp, { command })}</p></details>
</section>
${
  request.cookies.has(cookieNameOf('till', origin))
    ? markup`<p class="center"><a class="button quiet" href="${frame.basePath}/till/pin">${text.pinOnTill}</a></p>`
    : undefined
}
${request.isLocal ? markup`<p class="row center">${developerLinks(services, request)}</p>` : undefined}`;
  const place = stores.length === 1 && stores[0] ? stores[0].name : 'Largesse';
  const page = { title: text.signIn, place, body, scripts: ['passkey.js'] };
  return { status, body: gatePage(services, request, page) };
}

function storeField(label: string, stores: readonly Store[], value: string): Markup {
  const options = stores.map(({ domain, name }) => ({ value: domain, text: name }));
  return select({ name: 'store', label, options, value });
}

async function storesOf(storage: ConsoleServices['storage']): Promise<readonly Store[]> {
  const records = await storage.read(listOpenStores);
  return records.map(({ store }) => store).filter(({ demonstration }) => !demonstration);
}

async function signIn(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const { ctx, storage, passwords } = services;
  const text = texts[request.language];
  const [email, domain, next] = [
    formText(request, 'email'),
    formText(request, 'store'),
    localPath(formText(request, 'next')),
  ];
  const password = request.form.get('password') ?? '';
  const form = { email: email.slice(0, inputLengthMax), store: domain, next };
  if (email.length + password.length > inputLengthMax)
    return signInPage(services, request, 422, { ...form, error: text.tooLong });
  const address = parseEmail(email);
  const stores = await storesOf(storage);
  const store = stores.length === 1 ? stores[0] : stores.find((each) => each.domain === domain);
  if (!store) return signInPage(services, request, 422, { ...form, error: text.chooseStore });
  const account: SignInAccount = { storeId: store.id, email: address.ok ? address.value.key : '' };
  const key = signInKey(services, request, account);
  const attempt = await storage.write(() => reserveSignIn(ctx, key));
  if (!attempt.isAllowed) return throttledSignIn(services, request, attempt.waitMs, form);
  const found = address.ok ? await storage.read(() => findAccountByEmail(store, address.value)) : undefined;
  const isRight = await passwords.verify(password.normalize('NFC'), found?.password ?? null);
  if (!found || !isRight) {
    const details = { method: 'password', email: address.ok ? address.value.address : null };
    const subjectId = found?.member.id ?? null;
    const entry = { storeId: store.id, action: 'sign-in-failed', subjectId, details } as const;
    await storage.write(() => recordAction(ctx, null, entry));
    return signInPage(services, request, 401, { ...form, error: text.wrong });
  }
  await storage.write(() => releaseSignIn(ctx, key));
  return await startSession(services, request, { member: found.member, method: 'password', next });
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
 * The budgets of an attempt: of the browser, if the person has signed in there before.
 * @param budget what the attempts are counted for, if that is not the address.
 */
export function signInKey(
  { ctx, origin }: Pick<ConsoleServices, 'ctx' | 'origin'>,
  { client, cookies }: Pick<ConsoleRequest, 'client' | 'cookies'>,
  account: SignInAccount,
  budget = account.email,
): SignInKey {
  const token = cookies.get(cookieNameOf('known', origin)) ?? '';
  return { ...account, email: budget, client, browser: readKnownBrowser(ctx, account, token) };
}

/** Opens a session, ends the one that the browser had, and sets its cookie. */
export async function startSession(
  { ctx, storage, origin }: ConsoleServices,
  { signedIn, userAgent }: ConsoleRequest,
  {
    member,
    method,
    next,
  }: { readonly member: StaffMember; readonly method: SignInMethod; readonly next: string },
): Promise<ConsoleResponse> {
  const { token } = await storage.write(function* open() {
    if (signedIn) yield* signOut(ctx, signedIn.session);
    return yield* createSession(ctx, member, { method, tillId: null, userAgent });
  });
  const known = { value: knownBrowserToken(ctx, accountOf(member)), maxAgeSeconds: knownCookieSeconds };
  return seeOther(next, [sessionCookie(token, origin), setCookie('known', known, origin)]);
}

export function sessionCookie(token: Secret, origin: ConsoleServices['origin']): string {
  const session = { value: token.reveal(), maxAgeSeconds: sessionCookieSeconds };
  return setCookie('session', session, origin);
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
  const account = await storage.read(() => findAccount(store, member.id));
  if (!(await passwords.verify(password.normalize('NFC'), account?.password ?? null))) {
    const { staffId, tillId } = session;
    const details = { method: 'password', confirm: true };
    const entry = { storeId: store.id, action: 'sign-in-failed', subjectId: staffId, details } as const;
    await storage.write(() => recordAction(ctx, { staffId, tillId }, entry));
    return confirmPage(services, request, 401, { next, error: text.wrongPassword });
  }
  await storage.write(function* confirmed() {
    yield* releaseSignIn(ctx, key);
    yield* reauthenticate(ctx, session);
  });
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
  const owner = { storeId: store.id, staffId: member.id };
  const [account, passkeys]: readonly [StaffAccount | undefined, { readonly length: number }] =
    await storage.read(function* ways() {
      return [yield* findAccount(store, member.id), yield* listPasskeys(owner)] as const;
    });
  const hasPassword = typeof account?.password === 'string';
  const passkey = passkeyForm(services, {
    action: '/confirm/passkey',
    kind: 'get',
    failed: text.passkeyCancelled,
    content: markup`${hidden('next', next)}<button class="button first big">${passkeyIcon}${text.withPasskey}</button>`,
  });
  const elsewhere = passkeys.length > 0 ? notHere(services, request, next) : undefined;
  const usable = passkeys.length > 0 && !elsewhere;
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
