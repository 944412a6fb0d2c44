/** Sign in with an address and a password, and sign out. */

import type { StaffMember } from '../domain/staff.ts';
import { parseEmail } from '../domain/email-address.ts';
import type { Store } from '../domain/store.ts';
import { markup, type Markup } from '../markup.ts';
import { openSession, reauthenticate, signOut, type SignInMethod } from '../service/staff-session.ts';
import { recordAction } from '../service/staff.ts';
import {
  knownBrowserToken,
  readKnownBrowser,
  releaseSignIn,
  reserveSignIn,
  type SignInAccount,
} from '../service/sign-in-throttle.ts';
import { findAccountByEmail } from '../storage/staff.ts';
import { listStores } from '../storage/store.ts';
import { cookieNameOf, setCookie } from './cookie.ts';
import { field } from './form.ts';
import { gatePage } from './page.ts';
import { textOf, type ConsoleRequest } from './request.ts';
import { seeOther, type ConsoleResponse, type ConsoleRoute, type ConsoleServices } from './route.ts';

const sessionCookieSeconds = 12 * 60 * 60;
const knownCookieSeconds = 365 * 24 * 60 * 60;
const inputLengthMax = 1_000;

type SignInForm = {
  readonly email: string;
  readonly store: string;
  readonly next: string;
  readonly error?: string;
};

async function signInPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  status: 200 | 401 | 422 | 429,
  { email, store, next, error }: SignInForm,
): Promise<ConsoleResponse> {
  const { storage, frame } = services;
  const stores = await storesOf(storage);
  const body = markup`<section class="panel stack" aria-label="Sign in">
<form class="stack" method="post" action="${frame.basePath}/sign-in">
${error === undefined ? undefined : markup`<p class="notice" role="alert">${error}</p>`}
<input type="hidden" name="next" value="${next}">
${stores.length > 1 ? storeField(stores, store) : undefined}
${field({ name: 'email', label: 'Email', type: 'email', value: email, autocomplete: 'username webauthn' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password webauthn' })}
<button class="button first big">Sign in</button>
</form>
</section>
<p class="soft small center">No password any more? An owner can send you a new link, and so can <code>npx largesse staff invite</code> on the server.</p>`;
  const place = stores.length === 1 && stores[0] ? stores[0].name : 'Largesse';
  return { status, body: gatePage(services, request, { title: 'Sign in', place, body }) };
}

function storeField(stores: readonly Store[], chosen: string): Markup {
  const options = stores.map(({ domain, name }) =>
    domain === chosen
      ? markup`<option value="${domain}" selected>${name}</option>`
      : markup`<option value="${domain}">${name}</option>`,
  );
  return markup`<div><label for="store">Store</label><select class="field" id="store" name="store">${options}</select></div>`;
}

async function storesOf(storage: ConsoleServices['storage']): Promise<readonly Store[]> {
  const records = await storage.read(listStores);
  return records.map(({ store }) => store).filter(({ demonstration }) => !demonstration);
}

async function signIn(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const { ctx, storage, passwords } = services;
  const [email, domain, next] = [
    textOf(request, 'email'),
    textOf(request, 'store'),
    localPath(textOf(request, 'next')),
  ];
  const password = request.form.get('password') ?? '';
  const form = { email, store: domain, next };
  if (email.length + password.length > inputLengthMax)
    return signInPage(services, request, 422, { ...form, error: 'The address or the password is too long.' });
  const address = parseEmail(email);
  const stores = await storesOf(storage);
  const store = stores.length === 1 ? stores[0] : stores.find((each) => each.domain === domain);
  if (!store) return signInPage(services, request, 422, { ...form, error: 'Choose a store.' });
  const key = signInKey(services, request, { storeId: store.id, email: address.ok ? address.value.key : '' });
  const attempt = await storage.write(() => reserveSignIn(ctx, key));
  if (!attempt.isAllowed) {
    const minutes = Math.ceil(attempt.waitMs / 60_000);
    const error = `Too many attempts. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`;
    return signInPage(services, request, 429, { ...form, error });
  }
  const account = address.ok ? await storage.read(() => findAccountByEmail(store, address.value)) : undefined;
  const isRight = await passwords.verify(password.normalize('NFC'), account?.password ?? null);
  if (!account || !isRight) {
    const details = { email: address.ok ? address.value.address : null };
    const { storeId } = key;
    const entry = {
      storeId,
      action: 'sign-in-failed',
      subjectId: account?.member.id ?? null,
      details,
    } as const;
    await storage.write(() => recordAction(ctx, null, entry));
    return signInPage(services, request, 401, { ...form, error: 'The address or the password is wrong.' });
  }
  await storage.write(() => releaseSignIn(ctx, key));
  const opened = { member: account.member, method: 'password', next } as const;
  return await startSession(services, request, opened);
}

/** The budgets of an attempt: of the browser, if the person has signed in there before. */
function signInKey(
  { ctx, origin }: ConsoleServices,
  { client, cookies }: ConsoleRequest,
  account: SignInAccount,
) {
  const token = cookies.get(cookieNameOf('known', origin)) ?? '';
  return { ...account, client, browser: readKnownBrowser(ctx, account, token) };
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
    return yield* openSession(ctx, member, { method, tillId: null, userAgent });
  });
  const address = parseEmail(member.email);
  const account = { storeId: member.storeId, email: address.ok ? address.value.key : '' };
  const known = { value: knownBrowserToken(ctx, account), maxAgeSeconds: knownCookieSeconds };
  const session = { value: token.reveal(), maxAgeSeconds: sessionCookieSeconds };
  return seeOther(next, [setCookie('session', session, origin), setCookie('known', known, origin)]);
}

/** A path of these pages, to continue at after signing in; `/` for anything else. */
function localPath(path: string): string {
  return /^\/(?![/\\])[\w./-]{0,200}(?:\?[\w.=&%+*-]{0,600})?$/.test(path) ? path : '/';
}

export const signInRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/sign-in',
    access: 'anyone',
    handle: (services, request) =>
      signInPage(services, request, 200, {
        email: '',
        store: '',
        next: localPath(request.query.get('next') ?? '/'),
      }),
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
  {
    method: 'POST',
    path: '/confirm',
    access: 'staff',
    async handle(services, request) {
      const { ctx, storage, passwords } = services;
      const { member, session, store } = request.signedIn;
      const next = localPath(textOf(request, 'next'));
      const password = request.form.get('password') ?? '';
      const address = parseEmail(member.email);
      const email = address.ok ? address.value.key : '';
      const key = signInKey(services, request, { storeId: store.id, email });
      const attempt = await storage.write(() => reserveSignIn(ctx, key));
      if (!attempt.isAllowed || password.length > inputLengthMax)
        return confirmPage(services, request, 429, { next, error: 'Too many attempts. Try again later.' });
      const account = address.ok
        ? await storage.read(() => findAccountByEmail(store, address.value))
        : undefined;
      if (!(await passwords.verify(password.normalize('NFC'), account?.password ?? null)))
        return confirmPage(services, request, 401, { next, error: 'The password is wrong.' });
      await storage.write(function* confirm() {
        yield* releaseSignIn(ctx, key);
        yield* reauthenticate(ctx, session);
      });
      return seeOther(next);
    },
  },
];

async function confirmPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  status: 200 | 401 | 429,
  { next, error }: { readonly next: string; readonly error?: string },
): Promise<ConsoleResponse> {
  const body = markup`<section class="panel stack" aria-label="Confirm">
<form class="stack" method="post" action="${services.frame.basePath}/confirm">
${error === undefined ? undefined : markup`<p class="notice" role="alert">${error}</p>`}
<input type="hidden" name="next" value="${next}">
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
<button class="button first big">Continue</button>
</form>
</section>`;
  return {
    status,
    body: gatePage(services, request, { title: 'Confirm that it is you', place: 'Largesse', body }),
  };
}
