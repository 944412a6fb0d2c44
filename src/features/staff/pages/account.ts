/** A person's own account: passkeys, password, PIN and sessions. */

import { Fault } from '../../../core/domain/fault.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { isPermitted, parsePin, passwordProblem } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { setPassword, setPin } from '../../../core/staff/service/staff.ts';
import { chooseWorkplace, endAllSessions, endOneSession } from '../../../core/staff/service/session.ts';
import { pinText } from '../../till/service/pin.ts';
import { showAccount } from '../service/people.ts';
import { listWorkplaces } from '../../../core/stores/service/location.ts';
import type { Passkey } from '../storage/passkey.ts';
import { hashClient } from '../../../pages/kit/attempt.ts';
import { inputField, select } from '../../../pages/kit/form.ts';
import { notHere, passkeyIcon } from './passkey-ceremony.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { sessionList } from './session-list.ts';
import { actingAs } from './people.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { readStoredId } from '../../../pages/kit/ids.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

type Errors = { readonly password?: string; readonly pin?: string };

async function accountPage(page: Page, errors: Errors = {}): Promise<ConsoleResponse> {
  const text = page.text.account;
  const { passkeys, ...places } = await page.read(() => showAccount(page.ctx, page.member));
  const workplaces = await page.read(() => listWorkplaces(page.member));
  const pin = isPermitted(page.member, 'useTill')
    ? markup`<section class="panel stack"><h2>${text.pin}</h2>
<form class="stack" method="post" action="${page.basePath}/account/pin">
${inputField({ name: 'pin', label: text.newPin, type: 'password', inputMode: 'numeric', autocomplete: 'off', hint: text.pinHint, error: errors.pin })}
<button class="button">${text.setPin}</button></form></section>`
    : undefined;
  const listed = { heading: text.sessions, none: '', path: '/account', ...places };
  const body = markup`<div class="stack">${passkeyPanel(page, passkeys)}
<div class="grid two"><section class="panel stack"><h2>${text.password}</h2>
<form class="stack" method="post" action="${page.basePath}/account/password">
<input class="sr" type="text" name="email" value="${page.member.email}" autocomplete="username" aria-hidden="true" tabindex="-1" readonly>
${inputField({ name: 'password', label: text.newPassword, type: 'password', autocomplete: 'new-password', hint: text.passwordHint, error: errors.password })}
<button class="button">${text.setPassword}</button></form></section>
${pin}</div>
${workplacePanel(page, workplaces)}${sessionList(page, listed)}</div>`;
  const status = errors.password === undefined && errors.pin === undefined ? 200 : 422;
  return page.show('/account', { status, title: text.title, body });
}

/** The choice of where a person works in the office who is limited to several locations. */
function workplacePanel(page: Page, workplaces: readonly Location[]): Markup | undefined {
  if (workplaces.length < 2) return undefined;
  const text = page.text.account;
  const options = workplaces.map(({ id, name }) => ({ value: String(id), text: name }));
  const value = String(page.request.signedIn.workplace?.id ?? '');
  const field = select({ name: 'location', label: text.workplace, options, value, hint: text.workplaceHint });
  return markup`<section class="panel stack"><form class="stack" method="post" action="${page.basePath}/account/location">
${field}
<button class="button">${text.setWorkplace}</button></form></section>
`;
}

function passkeyPanel(page: Page, passkeys: readonly Passkey[]): Markup {
  const text = page.text.account;
  const elsewhere = notHere(page.services, page.request, '/account');
  const add = elsewhere
    ? undefined
    : markup`<a class="button${passkeys.length === 0 ? ' first' : ''}" href="${page.basePath}/account/passkeys/new">${passkeyIcon}${text.addPasskey}</a>`;
  const time = (at: number | null) => (at === null ? text.never : page.time(at, { dateStyle: 'medium' }));
  if (passkeys.length === 0)
    return markup`<section class="panel stack"><h2>${text.passkeys}</h2><p class="soft">${text.noPasskeys}</p>
${elsewhere ?? markup`<p>${add}</p>`}</section>`;
  const rows = passkeys.map(({ id, name, createdAt, lastUsedAt }) => {
    const label = fillPlain(text.changeOf, { name });
    return markup`<tr role="row"><td role="cell"><strong>${name}</strong></td><td role="cell" class="soft small wide">${time(createdAt)}</td><td role="cell" class="soft small whole-line">${time(lastUsedAt)}</td><td role="cell" class="aside end"><a class="button quiet" href="${page.basePath}/account/passkeys/${String(id)}" aria-label="${label}">${text.change}</a></td></tr>
`;
  });
  return markup`<section class="panel flush"><div class="head row apart"><h2>${text.passkeys}</h2>${add}</div>
<table class="table lines" role="table"><caption class="sr">${text.passkeys}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.name}</th><th scope="col" role="columnheader">${text.added}</th><th scope="col" role="columnheader">${text.lastUsed}</th><th scope="col" role="columnheader" class="end"><span class="sr">${text.change}</span></th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table>${elsewhere === undefined ? undefined : markup`<div class="head">${elsewhere}</div>`}</section>`;
}

export const accountRoutes: readonly StaffRoute[] = [
  get('/account', 'staff', (page) => accountPage(page)),
  post('/account/password', { sensitive: 'staff' }, async (page) => {
    const password = page.request.form.get('password') ?? '';
    const problem = passwordProblem(password, [
      page.member.name,
      page.member.email,
      page.store.name,
      page.store.domain,
    ]);
    if (problem !== undefined) {
      const { passwordProblems } = page.text.gate;
      return await accountPage(page, { password: passwordProblems[problem] });
    }
    const client = hashClient(page.request, `staff ${page.member.id}`);
    const hashed = await page.services.passwords.hash(client, password.normalize('NFC'));
    const change = { password: hashed, exceptSession: page.request.signedIn.session.id, by: actingAs(page) };
    await page.write(() => setPassword(page.ctx, page.member, change));
    return seeOther('/account');
  }),
  post('/account/pin', { sensitive: 'useTill' }, async (page) => {
    const typed = page.request.form.get('pin') ?? '';
    const pin = parsePin(typed);
    if (!pin.ok) {
      const text = page.text.account;
      const error = /^\d{4,8}$/.test(typed) ? text.pinSequence : text.pinForm;
      return await accountPage(page, { pin: error });
    }
    const client = hashClient(page.request, `staff ${page.member.id}`);
    const hashed = await page.services.passwords.hash(client, pinText(page.ctx, page.member, pin.value));
    await page.write(() => setPin(page.ctx, page.member, hashed, actingAs(page)));
    return seeOther('/account');
  }),
  post('/account/location', 'staff', async (page) => {
    const locationId = readStoredId(page.request.form.get('location'));
    if (locationId === undefined) throw new Fault('not-found');
    await page.write(() => chooseWorkplace(page.request.signedIn, locationId));
    return seeOther('/account');
  }),
  post('/account/sessions/end', 'staff', async (page) => {
    const ended = { except: page.request.signedIn.session.id, by: actingAs(page) };
    await page.write(() => endAllSessions(page.ctx, page.member, ended));
    return seeOther('/account');
  }),
  post('/account/sessions/:session/end', 'staff', async (page) => {
    const session = page.storedId('session');
    const by = actingAs(page);
    await page.write(() => endOneSession(page.ctx, page.member, { session, by }));
    return seeOther('/account');
  }),
];
