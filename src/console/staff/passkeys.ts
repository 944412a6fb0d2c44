/** Signing in and confirming with a passkey, and the passkeys of a person's own account. */

import { Fault } from '../../domain/fault.ts';
import { markup } from '../../platform/markup.ts';
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
} from '../../service/staff/passkey.ts';
import { releaseSignIn, reserveSignIn } from '../../service/staff/sign-in-throttle.ts';
import { listPasskeys } from '../../service/staff/people.ts';
import { reauthenticate } from '../../service/staff/session.ts';
import { attemptPasskey } from '../../service/staff/sign-in.ts';
import type { Acting } from '../../service/staff/staff.ts';
import type { Passkey } from '../../storage/staff/passkey.ts';
import { compareCounted } from '../kit/attempt.ts';
import { alert, inputField } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { shellPage } from '../kit/page.ts';
import {
  beginCeremony,
  credentialOf,
  notHere,
  openCeremony,
  passkeyForm,
  passkeyIcon,
  withPasskeys,
} from './passkey-ceremony.ts';
import { formText, type ConsoleRequest } from '../kit/request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleRoute,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import {
  confirmPage,
  accountOf,
  localPath,
  signInKey,
  signInPage,
  startSession,
  throttledConfirm,
  throttledSignIn,
} from '../gate/sign-in.ts';
import { actingAs } from './people.ts';
import { browserText } from '../kit/user-agent.ts';
import { textsOf } from '../kit/texts.ts';
import { VisitorPage, Page } from '../kit/page-context.ts';

const texts = textsOf('account');
const gate = textsOf('gate');

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
  services: ConsoleServices,
  request: ConsoleRequest,
  { purpose, by, only }: { readonly purpose: string; readonly by: Acting; readonly only?: number },
): Promise<Checked> {
  const { ctx, storage } = services;
  const ceremony = openCeremony(services, request, purpose);
  const presented = ceremony && parsePresented(ctx, credentialOf(request));
  const found = presented && (await storage.read(() => findPresented(presented)));
  if (!ceremony || !presented || !found) return { result: 'rejected' };
  const { passkey, account } = found;
  const { member } = account;
  if (only !== undefined && member.id !== only) return { result: 'rejected' };
  const key = signInKey(new VisitorPage(services, request), accountOf(member), `passkey ${passkey.id}`);
  const attempt = await storage.write(() => reserveSignIn(ctx, key));
  if (!attempt.isAllowed) return { result: 'throttled', waitMs: attempt.waitMs };
  const verified = await compareCounted(services, {
    giveBack: () => releaseSignIn(ctx, key),
    compare: () => verifyAuthentication(ctx, ceremony, { passkey, response: presented.response }),
  });
  const isConfirmation = only !== undefined;
  const isAccepted = await storage.write(() =>
    attemptPasskey(ctx, { key, member, verified, by, isConfirmation }),
  );
  return isAccepted ? { result: 'accepted', found } : { result: 'rejected' };
}

async function signIn(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const next = localPath(formText(request, 'next'));
  const checked = await checkPasskey(services, request, { purpose: 'sign-in', by: null });
  const form = { email: '', store: '', next };
  switch (checked.result) {
    case 'accepted': {
      const { member } = checked.found.account;
      return await startSession(new VisitorPage(services, request), { member, method: 'passkey', next });
    }
    case 'throttled':
      return await throttledSignIn(new VisitorPage(services, request), checked.waitMs, form);
    case 'rejected':
      return await signInPage(new VisitorPage(services, request), 401, {
        ...form,
        error: gate[request.language].passkeyFailed,
      });
  }
}

function confirmPurpose({ signedIn: { session } }: StaffRequest): string {
  return `confirm ${session.storeId} ${session.id}`;
}

async function confirm(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const { session, member } = request.signedIn;
  const next = localPath(formText(request, 'next'));
  const [purpose, by] = [confirmPurpose(request), actingAs(request)];
  const checked = await checkPasskey(services, request, { purpose, by, only: member.id });
  switch (checked.result) {
    case 'accepted':
      await storage.write(() => reauthenticate(ctx, session));
      return seeOther(next);
    case 'throttled':
      return await throttledConfirm(new Page(services, request), checked.waitMs, next);
    case 'rejected':
      return await confirmPage(new Page(services, request), 401, {
        next,
        error: gate[request.language].passkeyFailed,
      });
  }
}

function ownerOf({ signedIn: { member, store } }: StaffRequest) {
  return { ...member, staffId: member.id, storeName: store.name };
}

function addPurpose({ signedIn: { session } }: StaffRequest): string {
  return `add ${session.storeId} ${session.id}`;
}

function newPage(
  services: ConsoleServices,
  request: StaffRequest,
  {
    name,
    nameError,
    error,
  }: { readonly name?: string; readonly nameError?: string; readonly error?: string } = {},
): ConsoleResponse {
  const { frame } = services;
  const { language, userAgent } = request;
  const text = texts[language];
  const elsewhere = notHere(services, request, '/account/passkeys/new');
  const content = markup`${inputField({
    name: 'name',
    label: text.name,
    value: name ?? browserText(userAgent, language),
    hint: text.nameHint,
    error: nameError,
  })}
<button class="button first">${passkeyIcon}${text.addPasskey}</button>`;
  const form = passkeyForm(services, {
    action: '/account/passkeys/new',
    kind: 'create',
    failed: text.notCreated,
    content,
  });
  const body = markup`<div class="stack narrow">${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${text.addPasskey}"><p class="soft">${gate[language].createHint}</p>
${elsewhere ?? markup`${withPasskeys(form)}<p class="notice" data-without-passkeys>${text.needsScript}</p>`}
</section>
<p><a class="button quiet" href="${frame.basePath}/account">${text.back}</a></p></div>`;
  const page = { title: text.addPasskey, path: '/account', body, scripts: ['passkey.js'] };
  const status = nameError === undefined && error === undefined ? 200 : 422;
  return { status, body: shellPage(services, request, page) };
}

async function add(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const text = texts[request.language];
  const typed = formText(request, 'name');
  const name = parsePasskeyName(typed);
  if (!name.ok) return newPage(services, request, { name: typed.slice(0, 200), nameError: text.nameInvalid });
  const ceremony = openCeremony(services, request, addPurpose(request));
  const passkey = ceremony && (await verifyRegistration(ctx, ceremony, credentialOf(request)));
  if (!passkey) return newPage(services, request, { name: name.value, error: text.notAccepted });
  try {
    const added = { name: name.value, by: actingAs(request), passkey };
    await storage.write(() => addPasskey(ctx, request.signedIn.member, added));
    return seeOther('/account');
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // A repeated submission: the passkey was added.
    if (error.code === 'not-found') return seeOther('/account');
    if (error.code !== 'invalid-parameter') throw error;
    const isTaken = error.errors?.['passkey']?.[0] === 'is already in use';
    const message = isTaken ? text.passkeyTaken : text.tooManyPasskeys;
    return newPage(services, request, { name: name.value, error: message });
  }
}

async function requirePasskey({ storage }: ConsoleServices, request: StaffRequest): Promise<Passkey> {
  const id = Number(request.params['id']);
  const passkeys = await storage.read(() => listPasskeys(ownerOf(request)));
  const passkey = passkeys.find((each) => each.id === id);
  if (!passkey) throw new Fault('not-found');
  return passkey;
}

function passkeyPage(
  services: ConsoleServices,
  request: StaffRequest,
  passkey: Passkey,
  {
    name = passkey.name,
    nameError,
    error,
  }: { readonly name?: string; readonly nameError?: string; readonly error?: string } = {},
): ConsoleResponse {
  const { frame } = services;
  const { language, signedIn } = request;
  const text = texts[language];
  const path = `${frame.basePath}/account/passkeys/${String(passkey.id)}`;
  const time = (at: number | null) => (at === null ? text.never : timeElement(at, signedIn.store, language));
  const body = markup`<div class="stack narrow">${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${passkey.name}">
<dl class="facts"><dt>${text.added}</dt><dd>${time(passkey.createdAt)}</dd><dt>${text.lastUsed}</dt><dd>${time(passkey.lastUsedAt)}</dd></dl>
<form class="stack" method="post" action="${path}">
${inputField({ name: 'name', label: text.name, value: name, hint: text.nameHint, error: nameError })}
<button class="button first">${text.save}</button></form></section>
<section class="panel stack" aria-label="${text.remove}"><p class="soft">${text.removeHelp}</p>
<form method="post" action="${path}/remove"><button class="button bad">${text.remove}</button></form></section>
<p><a class="button quiet" href="${frame.basePath}/account">${text.back}</a></p></div>`;
  const status = nameError === undefined && error === undefined ? 200 : 422;
  return { status, body: shellPage(services, request, { title: passkey.name, path: '/account', body }) };
}

async function rename(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const passkey = await requirePasskey(services, request);
  const typed = formText(request, 'name');
  const name = parsePasskeyName(typed);
  if (!name.ok) {
    const nameError = texts[request.language].nameInvalid;
    return passkeyPage(services, request, passkey, { name: typed.slice(0, 200), nameError });
  }
  const renamed = { id: passkey.id, name: name.value };
  await services.storage.write(() => renamePasskey(request.signedIn.member, renamed));
  return seeOther('/account');
}

async function remove(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const { store, member } = request.signedIn;
  const passkey = await requirePasskey(services, request);
  try {
    const removed = { store, member, id: passkey.id, by: actingAs(request) };
    await storage.write(() => removePasskey(ctx, removed));
    return seeOther('/account');
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'invalid-parameter') throw error;
    return passkeyPage(services, request, passkey, { error: texts[request.language].lastWay });
  }
}

const own = { access: 'staff', isSensitive: true } as const;

const signInRoutes: readonly ConsoleRoute[] = [
  {
    method: 'POST',
    path: '/sign-in/passkey/options',
    access: 'anyone',
    handle: (services, request) =>
      begun(services, request, 'sign-in', (ceremony) =>
        authenticationOptions(services.ctx, ceremony, { allowed: [] }),
      ),
  },
  { method: 'POST', path: '/sign-in/passkey', access: 'anyone', handle: signIn },
  {
    method: 'POST',
    path: '/confirm/passkey/options',
    access: 'staff',
    async handle(services, request) {
      const allowed = await services.storage.read(() => listPasskeys(ownerOf(request)));
      return await begun(services, request, confirmPurpose(request), (ceremony) =>
        authenticationOptions(services.ctx, ceremony, { allowed }),
      );
    },
  },
  { method: 'POST', path: '/confirm/passkey', access: 'staff', handle: confirm },
];

const accountRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/account/passkeys/new',
    ...own,
    handle: (services, request) => Promise.resolve(newPage(services, request)),
  },
  { method: 'POST', path: '/account/passkeys/new', ...own, handle: add },
  {
    method: 'POST',
    path: '/account/passkeys/new/options',
    ...own,
    async handle(services, request) {
      const owner = ownerOf(request);
      const existing = await services.storage.read(() => listPasskeys(owner));
      return await begun(services, request, addPurpose(request), (ceremony) =>
        registrationOptions(services.ctx, ceremony, { owner, existing }),
      );
    },
  },
  {
    method: 'GET',
    path: '/account/passkeys/:id',
    ...own,
    async handle(services, request) {
      return passkeyPage(services, request, await requirePasskey(services, request));
    },
  },
  { method: 'POST', path: '/account/passkeys/:id', ...own, handle: rename },
  { method: 'POST', path: '/account/passkeys/:id/remove', ...own, handle: remove },
];

export const passkeyRoutes: readonly ConsoleRoute[] = [...signInRoutes, ...accountRoutes];

/** @throws Fault `not-found` where browsers accept no passkeys. */
function begun(...beginning: Parameters<typeof beginCeremony>): Promise<ConsoleResponse> {
  const response = beginCeremony(...beginning);
  return response ? Promise.resolve(response) : Promise.reject(new Fault('not-found'));
}
