/** A person's own account: passkeys, password, PIN and sessions. */

import { Fault } from '../../domain/fault.ts';
import type { Location } from '../../domain/stores/location.ts';
import { isPermitted, parsePin, passwordProblem } from '../../domain/staff/staff.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { setPassword, setPin } from '../../service/staff/staff.ts';
import { chooseWorkplace, endAllSessions, endOneSession } from '../../service/staff/session.ts';
import { pinText } from '../../service/staff/pin.ts';
import { showAccount } from '../../service/staff/people.ts';
import { listWorkplaces } from '../../service/stores/location.ts';
import type { Passkey } from '../../storage/staff/passkey.ts';
import { hashClient } from '../kit/attempt.ts';
import { inputField, select } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { shellPage } from '../kit/page.ts';
import { notHere, passkeyIcon } from './passkey-ceremony.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { sessionList } from './session-list.ts';
import { actingAs } from './people.ts';
import { fillPlain, textsOf } from '../kit/texts.ts';
import { readStoredId, storedIdIn } from '../kit/ids.ts';

const texts = textsOf('account');
const gate = textsOf('gate');

type Errors = { readonly password?: string; readonly pin?: string };

async function accountPage(
  services: ConsoleServices,
  request: StaffRequest,
  errors: Errors = {},
): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn } = request;
  const { member } = signedIn;
  const text = texts[language];
  const { passkeys, ...places } = await storage.read(() => showAccount(ctx, member));
  const workplaces = await storage.read(() => listWorkplaces(member));
  const pin = isPermitted(member, 'useTill')
    ? markup`<section class="panel stack"><h2>${text.pin}</h2>
<form class="stack" method="post" action="${frame.basePath}/account/pin">
${inputField({ name: 'pin', label: text.newPin, type: 'password', inputMode: 'numeric', autocomplete: 'off', hint: text.pinHint, error: errors.pin })}
<button class="button">${text.setPin}</button></form></section>`
    : undefined;
  const listed = { heading: text.sessions, none: '', path: '/account', ...places };
  const body = markup`<div class="stack">${passkeyPanel(services, request, passkeys)}
<div class="grid two"><section class="panel stack"><h2>${text.password}</h2>
<form class="stack" method="post" action="${frame.basePath}/account/password">
<input class="sr" type="text" name="email" value="${member.email}" autocomplete="username" aria-hidden="true" tabindex="-1" readonly>
${inputField({ name: 'password', label: text.newPassword, type: 'password', autocomplete: 'new-password', hint: text.passwordHint, error: errors.password })}
<button class="button">${text.setPassword}</button></form></section>
${pin}</div>
${workplacePanel(services, request, workplaces)}${sessionList(services, request, listed)}</div>`;
  const status = errors.password === undefined && errors.pin === undefined ? 200 : 422;
  return { status, body: shellPage(services, request, { title: text.title, path: '/account', body }) };
}

/** The choice of where a person works in the office who is limited to several locations. */
function workplacePanel(
  { frame }: ConsoleServices,
  { language, signedIn: { workplace } }: StaffRequest,
  workplaces: readonly Location[],
): Markup | undefined {
  if (workplaces.length < 2) return undefined;
  const text = texts[language];
  const options = workplaces.map(({ id, name }) => ({ value: String(id), text: name }));
  const value = String(workplace?.id ?? '');
  const field = select({ name: 'location', label: text.workplace, options, value, hint: text.workplaceHint });
  return markup`<section class="panel stack"><form class="stack" method="post" action="${frame.basePath}/account/location">
${field}
<button class="button">${text.setWorkplace}</button></form></section>
`;
}

function passkeyPanel(
  services: ConsoleServices,
  request: StaffRequest,
  passkeys: readonly Passkey[],
): Markup {
  const { basePath } = services.frame;
  const { language, signedIn } = request;
  const text = texts[language];
  const elsewhere = notHere(services, request, '/account');
  const add = elsewhere
    ? undefined
    : markup`<a class="button${passkeys.length === 0 ? ' first' : ''}" href="${basePath}/account/passkeys/new">${passkeyIcon}${text.addPasskey}</a>`;
  const time = (at: number | null) =>
    at === null ? text.never : timeElement(at, signedIn.store, language, { dateStyle: 'medium' });
  if (passkeys.length === 0)
    return markup`<section class="panel stack"><h2>${text.passkeys}</h2><p class="soft">${text.noPasskeys}</p>
${elsewhere ?? markup`<p>${add}</p>`}</section>`;
  const rows = passkeys.map(({ id, name, createdAt, lastUsedAt }) => {
    const label = fillPlain(text.changeOf, { name });
    return markup`<tr role="row"><td role="cell"><strong>${name}</strong></td><td role="cell" class="soft small wide">${time(createdAt)}</td><td role="cell" class="soft small whole-line">${time(lastUsedAt)}</td><td role="cell" class="aside end"><a class="button quiet" href="${basePath}/account/passkeys/${String(id)}" aria-label="${label}">${text.change}</a></td></tr>
`;
  });
  return markup`<section class="panel flush"><div class="head row apart"><h2>${text.passkeys}</h2>${add}</div>
<table class="table lines" role="table"><caption class="sr">${text.passkeys}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.name}</th><th scope="col" role="columnheader">${text.added}</th><th scope="col" role="columnheader">${text.lastUsed}</th><th scope="col" role="columnheader" class="end"><span class="sr">${text.change}</span></th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table>${elsewhere === undefined ? undefined : markup`<div class="head">${elsewhere}</div>`}</section>`;
}

export const accountRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/account',
    access: 'staff',
    handle: (services, request) => accountPage(services, request),
  },
  {
    method: 'POST',
    path: '/account/password',
    access: 'staff',
    isSensitive: true,
    async handle(services, request) {
      const { ctx, storage, passwords } = services;
      const { member, store, session } = request.signedIn;
      const password = request.form.get('password') ?? '';
      const problem = passwordProblem(password, [member.name, member.email, store.name, store.domain]);
      if (problem !== undefined) {
        const { passwordProblems } = gate[request.language];
        return await accountPage(services, request, { password: passwordProblems[problem] });
      }
      const client = hashClient(request, `staff ${member.id}`);
      const hashed = await passwords.hash(client, password.normalize('NFC'));
      const change = { password: hashed, exceptSession: session.id, by: actingAs(request) };
      await storage.write(() => setPassword(ctx, member, change));
      return seeOther('/account');
    },
  },
  {
    method: 'POST',
    path: '/account/pin',
    access: 'useTill',
    isSensitive: true,
    async handle(services, request) {
      const { ctx, storage, passwords } = services;
      const { member } = request.signedIn;
      const typed = request.form.get('pin') ?? '';
      const pin = parsePin(typed);
      if (!pin.ok) {
        const text = texts[request.language];
        const error = /^\d{4,8}$/.test(typed) ? text.pinSequence : text.pinForm;
        return await accountPage(services, request, { pin: error });
      }
      const client = hashClient(request, `staff ${member.id}`);
      const hashed = await passwords.hash(client, pinText(ctx, member, pin.value));
      await storage.write(() => setPin(ctx, member, hashed, actingAs(request)));
      return seeOther('/account');
    },
  },
  {
    method: 'POST',
    path: '/account/location',
    access: 'staff',
    async handle({ storage }, request) {
      const locationId = readStoredId(request.form.get('location'));
      if (locationId === undefined) throw new Fault('not-found');
      await storage.write(() => chooseWorkplace(request.signedIn, locationId));
      return seeOther('/account');
    },
  },
  {
    method: 'POST',
    path: '/account/sessions/end',
    access: 'staff',
    async handle({ ctx, storage }, request) {
      const { member, session } = request.signedIn;
      const ended = { except: session.id, by: actingAs(request) };
      await storage.write(() => endAllSessions(ctx, member, ended));
      return seeOther('/account');
    },
  },
  {
    method: 'POST',
    path: '/account/sessions/:session/end',
    access: 'staff',
    async handle({ ctx, storage }, request) {
      const session = storedIdIn(request, 'session');
      const by = actingAs(request);
      await storage.write(() => endOneSession(ctx, request.signedIn.member, { session, by }));
      return seeOther('/account');
    },
  },
];
