/** Links with which a member of staff joins, or sets a new password. */

import { parseNewPassword } from '../domain/staff.ts';
import { markup } from '../markup.ts';
import { linkTokens, openLink, useLink, type OpenLink } from '../service/staff.ts';
import { field } from './form.ts';
import { gatePage } from './page.ts';
import type { ConsoleRequest } from './request.ts';
import type { ConsoleResponse, ConsoleRoute, ConsoleServices } from './route.ts';
import { startSession } from './sign-in.ts';

async function findLink(
  { ctx, storage }: ConsoleServices,
  { params }: ConsoleRequest,
): Promise<OpenLink | undefined> {
  const token = linkTokens.parse(params['token'] ?? '');
  return token && (await storage.read(() => openLink(ctx, token)));
}

function endedPage(services: ConsoleServices, request: ConsoleRequest): ConsoleResponse {
  const { frame } = services;
  const body = markup`<section class="panel stack"><p>A link works once and for seven days. An owner can send you a new one.</p>
<p><a class="button" href="${frame.basePath}/sign-in">Sign in</a></p></section>`;
  return {
    status: 404,
    body: gatePage(services, request, { title: 'This link has ended', place: 'Largesse', body }),
  };
}

function joinPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  { member, store }: OpenLink,
  { token, error }: { readonly token: string; readonly error?: string },
): ConsoleResponse {
  const { frame } = services;
  const isNew = member.joinedAt === null;
  const body = markup`<section class="panel stack" aria-label="Password">
<form class="stack" method="post" action="${frame.basePath}/join/${token}">
<p>${isNew ? `You join ${store.name} as ${member.role}.` : 'Set a new password. You are signed out everywhere else.'}</p>
<input type="hidden" name="email" value="${member.email}" autocomplete="username">
${field({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: 'At least ten characters. A few random words are easy to remember.', error })}
<button class="button first big">${isNew ? 'Join' : 'Set the password'}</button>
</form>
</section>`;
  const title = isNew ? `Welcome, ${member.name}` : 'New password';
  return {
    status: error === undefined ? 200 : 422,
    body: gatePage(services, request, { title, place: store.name, body }),
  };
}

export const joinRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/join/:token',
    access: 'anyone',
    async handle(services, request) {
      const open = await findLink(services, request);
      return open
        ? joinPage(services, request, open, { token: request.params['token'] ?? '' })
        : endedPage(services, request);
    },
  },
  {
    method: 'POST',
    path: '/join/:token',
    access: 'anyone',
    async handle(services, request) {
      const { ctx, storage, passwords } = services;
      const open = await findLink(services, request);
      const token = linkTokens.parse(request.params['token'] ?? '');
      if (!open || !token) return endedPage(services, request);
      const { member, store } = open;
      const own = [member.name, member.email, store.name, store.domain];
      const password = parseNewPassword(request.form.get('password') ?? '', own);
      if (!password.ok)
        return joinPage(services, request, open, {
          token: token.secret.reveal(),
          error: `The password ${password.error}.`,
        });
      const hashed = await passwords.hash(password.value);
      const used = await storage.write(() => useLink(ctx, { token, password: hashed }));
      return await startSession(services, request, { member: used.member, method: 'link', next: '/' });
    },
  },
];
