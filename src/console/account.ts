/** A person's own account: password, PIN and sessions. */

import { formatInstant } from '../domain/day.ts';
import { parseNewPassword, parsePin } from '../domain/staff.ts';
import { markup } from '../markup.ts';
import { recordAction, setPassword, setPin } from '../service/staff.ts';
import { pinText } from '../service/pin.ts';
import { endSession, listOpenSessions } from '../storage/staff-session.ts';
import { actingAs } from './staff-pages.ts';
import { field } from './form.ts';
import { shellPage } from './page.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';

type Errors = { readonly password?: string; readonly pin?: string };

async function accountPage(
  services: ConsoleServices,
  request: StaffRequest,
  errors: Errors,
): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { signedIn } = request;
  const { store, member, session } = signedIn;
  const open = await storage.read(() =>
    listOpenSessions(store.id, { staffId: member.id, now: ctx.clock.latest() }),
  );
  const rows = open.map(
    ({
      id,
      userAgent,
      createdAt,
    }) => markup`<tr><td>${userAgent === '' ? 'Unknown browser' : userAgent}</td><td><time datetime="${formatInstant(createdAt)}">${formatInstant(createdAt)}</time></td><td class="end">${
      id === session.id
        ? 'This one'
        : markup`<form method="post" action="${frame.basePath}/account/sessions/${String(id)}/end"><button class="button">End</button></form>`
    }</td></tr>
`,
  );
  const body = markup`<div class="grid two"><section class="panel stack" aria-label="Password"><h2>Password</h2>
<form class="stack" method="post" action="${frame.basePath}/account/password">
<input type="hidden" name="email" value="${member.email}" autocomplete="username">
${field({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: 'You are signed out everywhere else.', error: errors.password })}
<button class="button first">Set the password</button></form></section>
<section class="panel stack" aria-label="PIN"><h2>PIN for the till</h2>
<form class="stack" method="post" action="${frame.basePath}/account/pin">
${field({ name: 'pin', label: 'New PIN', type: 'password', autocomplete: 'off', hint: 'Four to eight digits. Five wrong ones lock it.', error: errors.pin })}
<button class="button">Set the PIN</button></form></section></div>
<section class="panel flush" aria-label="Sessions"><h2>Where you are signed in</h2><table class="table"><thead><tr><th scope="col">Browser</th><th scope="col">Since</th><th scope="col"><span class="sr">Action</span></th></tr></thead><tbody>
${rows}</tbody></table></section>`;
  const status = errors.password === undefined && errors.pin === undefined ? 200 : 422;
  return { status, body: shellPage(services, request, { title: 'Your account', path: '/account', body }) };
}

export const accountRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/account',
    access: 'staff',
    handle: (services, request) => accountPage(services, request, {}),
  },
  {
    method: 'POST',
    path: '/account/password',
    access: 'staff',
    isSensitive: true,
    async handle(services, request) {
      const { ctx, storage, passwords } = services;
      const { member, store, session } = request.signedIn;
      const own = [member.name, member.email, store.name, store.domain];
      const password = parseNewPassword(request.form.get('password') ?? '', own);
      if (!password.ok)
        return await accountPage(services, request, { password: `The password ${password.error}.` });
      const hashed = await passwords.hash(password.value);
      const by = actingAs(request);
      await storage.write(() =>
        setPassword(ctx, member, { password: hashed, exceptSession: session.id, by }),
      );
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
      const pin = parsePin(request.form.get('pin') ?? '');
      if (!pin.ok) return await accountPage(services, request, { pin: `The PIN ${pin.error}.` });
      const hashed = await passwords.hash(pinText(ctx, member, pin.value));
      await storage.write(() => setPin(ctx, member, hashed, actingAs(request)));
      return seeOther('/account');
    },
  },
  {
    method: 'POST',
    path: '/account/sessions/:id/end',
    access: 'staff',
    async handle({ ctx, storage }, request) {
      const { storeId, staffId } = request.signedIn.session;
      const id = Number(request.params['id']);
      await storage.write(function* end() {
        if (!Number.isSafeInteger(id) || !(yield* endSession({ storeId, id, staffId }, ctx.clock.now())))
          return;
        const entry = { storeId, action: 'session-ended', subjectId: staffId, details: {} } as const;
        yield* recordAction(ctx, actingAs(request), entry);
      });
      return seeOther('/account');
    },
  },
];
