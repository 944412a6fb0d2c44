/** Links with which a member of staff joins, or sets up a new way to sign in. */

import { Fault } from '../../../../core/domain/fault.ts';
import { passwordProblem } from '../../../../core/staff/domain/staff.ts';
import { markup } from '../../../../platform/markup.ts';
import { addPasskey, registrationOptions, verifyRegistration } from '../../service/passkey.ts';
import type { PresentedToken } from '../../../../core/stores/service/secret-token.ts';
import {
  isFirstLink,
  linkTokens,
  openLink,
  useLink,
  type OpenLink,
} from '../../../../core/staff/service/staff.ts';
import { listPasskeys } from '../../service/people.ts';
import { hashClient } from '../../../../pages/kit/attempt.ts';
import { alert, inputField } from '../../../../pages/kit/form.ts';
import { gatePage } from '../../../../pages/kit/page.ts';
import {
  beginCeremony,
  credentialOf,
  notHere,
  openCeremony,
  passkeyForm,
  passkeyIcon,
  withPasskeys,
} from '../passkey-ceremony.ts';
import type { ConsoleResponse, ConsoleRoute } from '../../../../pages/kit/route.ts';
import { startSession } from './sign-in.ts';
import { fill, fillPlain } from '../../../../pages/kit/texts.ts';
import { browserText } from '../../../../pages/kit/user-agent.ts';
import { openRoute, type VisitorPage } from '../../../../pages/kit/page-context.ts';

type Presented = OpenLink & { readonly token: PresentedToken };

async function findLink(page: VisitorPage): Promise<Presented | undefined> {
  const token = linkTokens.parse(page.param('token'));
  const open = token && (await page.read(() => openLink(page.ctx, token)));
  return open && { ...open, token };
}

function endedPage(page: VisitorPage): ConsoleResponse {
  const text = page.text.gate;
  const body = markup`<section class="panel stack"><p>${text.ended}</p>
<p><a class="button first" href="${page.basePath}/sign-in">${text.signIn}</a></p></section>`;
  return {
    status: 404,
    body: gatePage(page.services, page.request, { title: text.endedTitle, place: 'Largesse', body }),
  };
}

function joinPage(
  page: VisitorPage,
  { member, store, token }: Presented,
  { passwordError, error }: { readonly passwordError?: string; readonly error?: string } = {},
): ConsoleResponse {
  const text = page.text.gate;
  const path = `/join/${token.secret.reveal()}`;
  const isNew = member.joinedAt === null;
  const role = markup`<strong>${page.text.frame.roles[member.role]}</strong>`;
  const passkey = passkeyForm(page.services, {
    action: `${path}/passkey`,
    kind: 'create',
    failed: text.passkeyCancelled,
    content: markup`<button class="button first big">${passkeyIcon}${text.createPasskey}</button>
<p class="small soft center">${text.createHint}</p>`,
  });
  const elsewhere = notHere(page.services, page.request, path);
  const body = markup`${error === undefined ? undefined : alert(error)}
<section class="panel stack" aria-label="${text.newWay}">
<p>${isNew ? fill(text.joinAs, { store: store.name, role }) : text.newWayHelp}<br><span class="soft">${member.email}</span></p>
${elsewhere ? undefined : withPasskeys(markup`${passkey}<p class="or">${text.orPassword}</p>`)}
<form class="stack" method="post" action="${page.basePath}${path}">
<input class="sr" type="text" name="email" value="${member.email}" autocomplete="username" aria-hidden="true" tabindex="-1" readonly>
${inputField({ name: 'password', label: text.newPassword, type: 'password', autocomplete: 'new-password', hint: text.newPasswordHint, error: passwordError })}
<button class="button${elsewhere ? ' first big' : ''}">${isNew ? text.join : text.setPassword}</button>
</form>
${elsewhere}</section>`;
  const title = isNew ? fillPlain(text.welcome, { name: member.name }) : text.newWay;
  return {
    status: passwordError === undefined && error === undefined ? 200 : 422,
    body: gatePage(page.services, page.request, { title, place: store.name, body, scripts: ['passkey.js'] }),
  };
}

function purposeOf({ link }: OpenLink): string {
  return `join ${link.storeId} ${link.id}`;
}

/** Runs the use of a link, which another request can have used since. */
async function used(page: VisitorPage, use: () => Promise<OpenLink>): Promise<ConsoleResponse> {
  try {
    const open = await use();
    // The first owner continues with the first card.
    const isFirst = await page.read(() => isFirstLink(open));
    const next = isFirst ? '/cards/new' : '/';
    return await startSession(page, { member: open.member, method: 'link', next });
  } catch (error) {
    if (error instanceof Fault && error.code === 'not-found') return endedPage(page);
    throw error;
  }
}

async function joinWithPassword(page: VisitorPage): Promise<ConsoleResponse> {
  const open = await findLink(page);
  if (!open) return endedPage(page);
  const { member, store, token } = open;
  const password = page.request.form.get('password') ?? '';
  const problem = passwordProblem(password, [member.name, member.email, store.name, store.domain]);
  if (problem !== undefined) {
    const passwordError = page.text.gate.passwordProblems[problem];
    return joinPage(page, open, { passwordError });
  }
  // The person has a link, which strangers do not have.
  const client = hashClient(page.request, `staff ${member.id}`);
  const hashed = await page.services.passwords.hash(client, password.normalize('NFC'));
  return await used(page, () => page.write(() => useLink(page.ctx, { token, password: hashed })));
}

async function joinWithPasskey(page: VisitorPage): Promise<ConsoleResponse> {
  const open = await findLink(page);
  if (!open) return endedPage(page);
  const ceremony = openCeremony(page.services, page.request, purposeOf(open));
  const passkey = ceremony && (await verifyRegistration(page.ctx, ceremony, credentialOf(page.request)));
  if (!passkey) return joinPage(page, open, { error: page.text.gate.passkeyFailed });
  const name = browserText(page.request.userAgent, page.language);
  return await used(page, () =>
    page.write(() =>
      useLink(page.ctx, {
        token: open.token,
        addPasskey: (member, by) => addPasskey(page.ctx, member, { name, by, passkey }),
      }),
    ),
  );
}

export const joinRoutes: readonly ConsoleRoute[] = [
  openRoute('GET', '/join/:token', async (page) => {
    const open = await findLink(page);
    return open ? joinPage(page, open) : endedPage(page);
  }),
  openRoute('POST', '/join/:token', joinWithPassword),
  openRoute('POST', '/join/:token/passkey/options', async (page) => {
    const open = await findLink(page);
    if (!open) return endedPage(page);
    const { member, store } = open;
    const owner = { ...member, staffId: member.id, storeName: store.name };
    const existing = await page.read(() => listPasskeys(owner));
    const begun = beginCeremony(page.services, page.request, purposeOf(open), (ceremony) =>
      registrationOptions(page.ctx, ceremony, { owner, existing }),
    );
    return begun ?? endedPage(page);
  }),
  openRoute('POST', '/join/:token/passkey', joinWithPasskey),
];
