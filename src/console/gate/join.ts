/** Links with which a member of staff joins, or sets up a new way to sign in. */

import { Fault } from '../../domain/fault.ts';
import { passwordProblem } from '../../domain/staff/staff.ts';
import { markup } from '../../platform/markup.ts';
import { addPasskey, registrationOptions, verifyRegistration } from '../../service/staff/passkey.ts';
import type { PresentedToken } from '../../service/stores/secret-token.ts';
import { isFirstLink, linkTokens, openLink, useLink, type OpenLink } from '../../service/staff/staff.ts';
import { listPasskeys } from '../../service/staff/people.ts';
import { hashClient } from '../kit/attempt.ts';
import { alert, inputField } from '../kit/form.ts';
import { gatePage } from '../kit/page.ts';
import {
  beginCeremony,
  credentialOf,
  notHere,
  openCeremony,
  passkeyForm,
  passkeyIcon,
  withPasskeys,
} from '../staff/passkey-ceremony.ts';
import type { ConsoleRequest } from '../kit/request.ts';
import type { ConsoleResponse, ConsoleRoute, ConsoleServices } from '../kit/route.ts';
import { startSession } from './sign-in.ts';
import { fill, fillPlain, textsOf } from '../kit/texts.ts';
import { browserText } from '../kit/user-agent.ts';

const texts = textsOf('gate');
const frames = textsOf('frame');

type Presented = OpenLink & { readonly token: PresentedToken };

async function findLink(
  { ctx, storage }: ConsoleServices,
  { params }: ConsoleRequest,
): Promise<Presented | undefined> {
  const token = linkTokens.parse(params['token'] ?? '');
  const open = token && (await storage.read(() => openLink(ctx, token)));
  return open && { ...open, token };
}

function endedPage(services: ConsoleServices, request: ConsoleRequest): ConsoleResponse {
  const { frame } = services;
  const text = texts[request.language];
  const body = markup`<section class="panel stack"><p>${text.ended}</p>
<p><a class="button first" href="${frame.basePath}/sign-in">${text.signIn}</a></p></section>`;
  return {
    status: 404,
    body: gatePage(services, request, { title: text.endedTitle, place: 'Largesse', body }),
  };
}

function joinPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  { member, store, token }: Presented,
  { passwordError, error }: { readonly passwordError?: string; readonly error?: string } = {},
): ConsoleResponse {
  const { frame } = services;
  const { language } = request;
  const text = texts[language];
  const path = `/join/${token.secret.reveal()}`;
  const isNew = member.joinedAt === null;
  const role = markup`<strong>${frames[language].roles[member.role]}</strong>`;
  const passkey = passkeyForm(services, {
    action: `${path}/passkey`,
    kind: 'create',
    failed: text.passkeyCancelled,
    content: markup`<button class="button first big">${passkeyIcon}${text.createPasskey}</button>
<p class="small soft center">${text.createHint}</p>`,
  });
  const elsewhere = notHere(services, request, path);
  const body = markup`${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${text.newWay}">
<p>${isNew ? fill(text.joinAs, { store: store.name, role }) : text.newWayHelp}<br><span class="soft">${member.email}</span></p>
${elsewhere ? undefined : withPasskeys(markup`${passkey}<p class="or">${text.orPassword}</p>`)}
<form class="stack" method="post" action="${frame.basePath}${path}">
<input class="sr" type="text" name="email" value="${member.email}" autocomplete="username" aria-hidden="true" tabindex="-1" readonly>
${inputField({ name: 'password', label: text.newPassword, type: 'password', autocomplete: 'new-password', hint: text.newPasswordHint, error: passwordError })}
<button class="button${elsewhere ? ' first big' : ''}">${isNew ? text.join : text.setPassword}</button>
</form>
${elsewhere}</section>`;
  const title = isNew ? fillPlain(text.welcome, { name: member.name }) : text.newWay;
  return {
    status: passwordError === undefined && error === undefined ? 200 : 422,
    body: gatePage(services, request, { title, place: store.name, body, scripts: ['passkey.js'] }),
  };
}

function purposeOf({ link }: OpenLink): string {
  return `join ${link.storeId} ${link.id}`;
}

/** Runs the use of a link, which another request can have used since. */
async function used(
  services: ConsoleServices,
  request: ConsoleRequest,
  use: () => Promise<OpenLink>,
): Promise<ConsoleResponse> {
  try {
    const open = await use();
    // The first owner continues with the first card.
    const isFirst = await services.storage.read(() => isFirstLink(open));
    const next = isFirst ? '/cards/new' : '/';
    return await startSession(services, request, { member: open.member, method: 'link', next });
  } catch (error) {
    if (error instanceof Fault && error.code === 'not-found') return endedPage(services, request);
    throw error;
  }
}

async function joinWithPassword(
  services: ConsoleServices,
  request: ConsoleRequest,
): Promise<ConsoleResponse> {
  const { ctx, storage, passwords } = services;
  const open = await findLink(services, request);
  if (!open) return endedPage(services, request);
  const { member, store, token } = open;
  const password = request.form.get('password') ?? '';
  const problem = passwordProblem(password, [member.name, member.email, store.name, store.domain]);
  if (problem !== undefined) {
    const passwordError = texts[request.language].passwordProblems[problem];
    return joinPage(services, request, open, { passwordError });
  }
  // The person has a link, which strangers do not have.
  const client = hashClient(request, `staff ${member.id}`);
  const hashed = await passwords.hash(client, password.normalize('NFC'));
  return await used(services, request, () => storage.write(() => useLink(ctx, { token, password: hashed })));
}

async function joinWithPasskey(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const open = await findLink(services, request);
  if (!open) return endedPage(services, request);
  const ceremony = openCeremony(services, request, purposeOf(open));
  const passkey = ceremony && (await verifyRegistration(ctx, ceremony, credentialOf(request)));
  if (!passkey) return joinPage(services, request, open, { error: texts[request.language].passkeyFailed });
  const name = browserText(request.userAgent, request.language);
  return await used(services, request, () =>
    storage.write(() =>
      useLink(ctx, {
        token: open.token,
        addPasskey: (member, by) => addPasskey(ctx, member, { name, by, passkey }),
      }),
    ),
  );
}

export const joinRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/join/:token',
    access: 'anyone',
    async handle(services, request) {
      const open = await findLink(services, request);
      return open ? joinPage(services, request, open) : endedPage(services, request);
    },
  },
  { method: 'POST', path: '/join/:token', access: 'anyone', handle: joinWithPassword },
  {
    method: 'POST',
    path: '/join/:token/passkey/options',
    access: 'anyone',
    async handle(services, request) {
      const { ctx, storage } = services;
      const open = await findLink(services, request);
      if (!open) return endedPage(services, request);
      const { member, store } = open;
      const owner = { ...member, staffId: member.id, storeName: store.name };
      const existing = await storage.read(() => listPasskeys(owner));
      const begun = beginCeremony(services, request, purposeOf(open), (ceremony) =>
        registrationOptions(ctx, ceremony, { owner, existing }),
      );
      return begun ?? endedPage(services, request);
    },
  },
  { method: 'POST', path: '/join/:token/passkey', access: 'anyone', handle: joinWithPasskey },
];
