/** Signing in and confirming with a passkey, and the passkeys of a person's own account. */

import { Fault } from '../../../core/domain/fault.ts';
import { markup } from '../../../platform/markup.ts';
import {
  addPasskey,
  authenticationOptions,
  findPresented,
  parsePasskeyName,
  parsePresented,
  registrationOptions,
  removePasskey,
  renamePasskey,
  verifyAuthentication,
  verifyRegistration,
  type FoundPasskey,
} from '../service/passkey.ts';
import type { Ceremony } from '../service/passkey-challenge.ts';
import { releaseSignIn, reserveSignIn } from '../service/sign-in-throttle.ts';
import { listPasskeys } from '../service/people.ts';
import { reauthenticate } from '../../../core/staff/service/session.ts';
import { attemptPasskey } from '../service/sign-in.ts';
import type { Acting } from '../../../core/staff/service/staff.ts';
import type { Passkey } from '../storage/passkey.ts';
import { compareCounted } from '../../../pages/kit/attempt.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import {
  beginCeremony,
  credentialOf,
  notHere,
  openCeremony,
  passkeyForm,
  passkeyIcon,
  withPasskeys,
} from './passkey-ceremony.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleRoute,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import {
  confirmPage,
  accountOf,
  signInKey,
  signInPage,
  startSession,
  throttledConfirm,
  throttledSignIn,
} from './gate/sign-in.ts';
import { localPath } from '../../../pages/kit/local-path.ts';
import { actingAs } from './people.ts';
import { browserText } from '../../../pages/kit/user-agent.ts';
import { get, openRoute, post, type Page, type VisitorPage } from '../../../pages/kit/page-context.ts';

type Checked =
  | { readonly result: 'accepted'; readonly found: FoundPasskey }
  | { readonly result: 'rejected' }
  | { readonly result: 'throttled'; readonly waitMs: number };

/**
 * Checks the response of a passkey. Attempts are counted for each passkey and not for each address, so that wrong passwords
 * do not use up the budget of a passkey. A response of an unknown passkey is cheap and has no budget.
 * @param only the member whose passkey it must be.
 */
async function checkPasskey(
  page: VisitorPage,
  { purpose, by, only }: { readonly purpose: string; readonly by: Acting; readonly only?: number },
): Promise<Checked> {
  const { services, request, ctx } = page;
  const ceremony = openCeremony(services, request, purpose);
  const presented = ceremony && parsePresented(ctx, credentialOf(request));
  const found = presented && (await page.read(() => findPresented(presented)));
  if (!ceremony || !presented || !found) return { result: 'rejected' };
  const { passkey, account } = found;
  const { member } = account;
  if (only !== undefined && member.id !== only) return { result: 'rejected' };
  const key = signInKey(page, accountOf(member), `passkey ${passkey.id}`);
  const attempt = await page.write(() => reserveSignIn(ctx, key));
  if (!attempt.isAllowed) return { result: 'throttled', waitMs: attempt.waitMs };
  const verified = await compareCounted(services, {
    giveBack: () => releaseSignIn(ctx, key),
    compare: () => verifyAuthentication(ctx, ceremony, { passkey, response: presented.response }),
  });
  const isConfirmation = only !== undefined;
  const isAccepted = await page.write(() =>
    attemptPasskey(ctx, { key, member, verified, by, isConfirmation }),
  );
  return isAccepted ? { result: 'accepted', found } : { result: 'rejected' };
}

async function signIn(page: VisitorPage): Promise<ConsoleResponse> {
  const next = localPath(page.typed('next'));
  const checked = await checkPasskey(page, { purpose: 'sign-in', by: null });
  const form = { email: '', store: '', next };
  switch (checked.result) {
    case 'accepted': {
      const { member } = checked.found.account;
      return await startSession(page, { member, method: 'passkey', next });
    }
    case 'throttled':
      return await throttledSignIn(page, checked.waitMs, form);
    case 'rejected':
      return await signInPage(page, 401, { ...form, error: page.text.gate.passkeyFailed });
  }
}

function confirmPurpose(page: Page): string {
  return `confirm ${page.request.signedIn.session.storeId} ${page.request.signedIn.session.id}`;
}

async function confirm(page: Page): Promise<ConsoleResponse> {
  const next = localPath(page.typed('next'));
  const [purpose, by] = [confirmPurpose(page), actingAs(page)];
  const checked = await checkPasskey(page, { purpose, by, only: page.member.id });
  switch (checked.result) {
    case 'accepted':
      await page.write(() => reauthenticate(page.ctx, page.request.signedIn.session));
      return seeOther(next);
    case 'throttled':
      return await throttledConfirm(page, checked.waitMs, next);
    case 'rejected':
      return await confirmPage(page, 401, {
        next,
        error: page.text.gate.passkeyFailed,
      });
  }
}

function ownerOf(page: Page) {
  return { ...page.member, staffId: page.member.id, storeName: page.store.name };
}

function addPurpose(page: Page): string {
  return `add ${page.request.signedIn.session.storeId} ${page.request.signedIn.session.id}`;
}

function newPage(
  page: Page,
  {
    name,
    nameError,
    error,
  }: { readonly name?: string; readonly nameError?: string; readonly error?: string } = {},
): ConsoleResponse {
  const text = page.text.account;
  const elsewhere = notHere(page.services, page.request, '/account/passkeys/new');
  const content = markup`${inputField({
    name: 'name',
    label: text.name,
    value: name ?? browserText(page.request.userAgent, page.language),
    hint: text.nameHint,
    error: nameError,
  })}
<button class="button first">${passkeyIcon}${text.addPasskey}</button>`;
  const form = passkeyForm(page.services, {
    action: '/account/passkeys/new',
    kind: 'create',
    failed: text.notCreated,
    content,
  });
  const body = markup`<div class="stack narrow">${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${text.addPasskey}"><p class="soft">${page.text.gate.createHint}</p>
${elsewhere ?? markup`${withPasskeys(form)}<p class="notice" data-without-passkeys>${text.needsScript}</p>`}
</section>
<p><a class="button quiet" href="${page.basePath}/account">${text.back}</a></p></div>`;
  const status = nameError === undefined && error === undefined ? 200 : 422;
  return page.show('/account', { status, title: text.addPasskey, body, scripts: ['passkey.js'] });
}

async function add(page: Page): Promise<ConsoleResponse> {
  const text = page.text.account;
  const typed = page.typed('name');
  const name = parsePasskeyName(typed);
  if (!name.ok) return newPage(page, { name: typed.slice(0, 200), nameError: text.nameInvalid });
  const ceremony = openCeremony(page.services, page.request, addPurpose(page));
  const passkey = ceremony && (await verifyRegistration(page.ctx, ceremony, credentialOf(page.request)));
  if (!passkey) return newPage(page, { name: name.value, error: text.notAccepted });
  try {
    const added = { name: name.value, by: actingAs(page), passkey };
    await page.write(() => addPasskey(page.ctx, page.member, added));
    return seeOther('/account');
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // A repeated submission: the passkey was added.
    if (error.code === 'not-found') return seeOther('/account');
    if (error.code !== 'invalid-parameter') throw error;
    const isTaken = error.errors?.['passkey']?.[0] === 'is already in use';
    const message = isTaken ? text.passkeyTaken : text.tooManyPasskeys;
    return newPage(page, { name: name.value, error: message });
  }
}

async function requirePasskey(page: Page): Promise<Passkey> {
  const id = Number(page.param('id'));
  const passkeys = await page.read(() => listPasskeys(ownerOf(page)));
  const passkey = passkeys.find((each) => each.id === id);
  if (!passkey) throw new Fault('not-found');
  return passkey;
}

function passkeyPage(
  page: Page,
  passkey: Passkey,
  {
    name = passkey.name,
    nameError,
    error,
  }: { readonly name?: string; readonly nameError?: string; readonly error?: string } = {},
): ConsoleResponse {
  const text = page.text.account;
  const path = `${page.basePath}/account/passkeys/${String(passkey.id)}`;
  const time = (at: number | null) => (at === null ? text.never : page.time(at));
  const body = markup`<div class="stack narrow">${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${passkey.name}">
<dl class="facts"><dt>${text.added}</dt><dd>${time(passkey.createdAt)}</dd><dt>${text.lastUsed}</dt><dd>${time(passkey.lastUsedAt)}</dd></dl>
<form class="stack" method="post" action="${path}">
${inputField({ name: 'name', label: text.name, value: name, hint: text.nameHint, error: nameError })}
<button class="button first">${text.save}</button></form></section>
<section class="panel stack" aria-label="${text.remove}"><p class="soft">${text.removeHelp}</p>
<form method="post" action="${path}/remove"><button class="button bad">${text.remove}</button></form></section>
<p><a class="button quiet" href="${page.basePath}/account">${text.back}</a></p></div>`;
  const status = nameError === undefined && error === undefined ? 200 : 422;
  return page.show('/account', { status, title: passkey.name, body });
}

async function rename(page: Page): Promise<ConsoleResponse> {
  const passkey = await requirePasskey(page);
  const typed = page.typed('name');
  const name = parsePasskeyName(typed);
  if (!name.ok) {
    const nameError = page.text.account.nameInvalid;
    return passkeyPage(page, passkey, { name: typed.slice(0, 200), nameError });
  }
  const renamed = { id: passkey.id, name: name.value };
  await page.write(() => renamePasskey(page.member, renamed));
  return seeOther('/account');
}

async function remove(page: Page): Promise<ConsoleResponse> {
  const passkey = await requirePasskey(page);
  try {
    const removed = { store: page.store, member: page.member, id: passkey.id, by: actingAs(page) };
    await page.write(() => removePasskey(page.ctx, removed));
    return seeOther('/account');
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'invalid-parameter') throw error;
    return passkeyPage(page, passkey, { error: page.text.account.lastWay });
  }
}

const signInRoutes: readonly ConsoleRoute[] = [
  openRoute('POST', '/sign-in/passkey/options', (page) =>
    begun(page, 'sign-in', (ceremony) => authenticationOptions(page.ctx, ceremony, { allowed: [] })),
  ),
  openRoute('POST', '/sign-in/passkey', signIn),
  post('/confirm/passkey/options', 'staff', async (page) => {
    const allowed = await page.read(() => listPasskeys(ownerOf(page)));
    return await begun(page, confirmPurpose(page), (ceremony) =>
      authenticationOptions(page.ctx, ceremony, { allowed }),
    );
  }),
  post('/confirm/passkey', 'staff', confirm),
];

const owned = { sensitive: 'staff' } as const;

const accountRoutes: readonly StaffRoute[] = [
  get('/account/passkeys/new', owned, (page) => newPage(page)),
  post('/account/passkeys/new', owned, add),
  post('/account/passkeys/new/options', owned, async (page) => {
    const owner = ownerOf(page);
    const existing = await page.read(() => listPasskeys(owner));
    return await begun(page, addPurpose(page), (ceremony) =>
      registrationOptions(page.ctx, ceremony, { owner, existing }),
    );
  }),
  get('/account/passkeys/:id', owned, async (page) => passkeyPage(page, await requirePasskey(page))),
  post('/account/passkeys/:id', owned, rename),
  post('/account/passkeys/:id/remove', owned, remove),
];

export const passkeyRoutes: readonly ConsoleRoute[] = [...signInRoutes, ...accountRoutes];

/** @throws Fault `not-found` where browsers accept no passkeys. */
async function begun(
  page: VisitorPage,
  purpose: string,
  optionsOf: (ceremony: Ceremony) => object,
): Promise<ConsoleResponse> {
  const response = beginCeremony(page.services, page.request, purpose, optionsOf);
  if (!response) throw new Fault('not-found');
  return response;
}
