/** The audit log of a store. */

import { formatInstant } from '../domain/day.ts';
import { markup } from '../markup.ts';
import { listStaffActions, type StaffActionName } from '../storage/staff-action.ts';
import { listStaff } from '../storage/staff.ts';
import { parallel } from '../storage/sql.ts';
import { shellPage } from './page.ts';
import type { StaffRoute } from './route.ts';

const pageSize = 50;

const texts: Readonly<Record<StaffActionName, string>> = {
  'signed-in': 'signed in',
  'sign-in-failed': 'could not sign in',
  'signed-out': 'signed out',
  'pin-locked': 'locked a PIN with wrong attempts',
  'session-ended': 'ended a session',
  'password-changed': 'set a new password',
  'pin-changed': 'set a PIN',
  'passkey-added': 'added a passkey',
  'passkey-removed': 'removed a passkey',
  'staff-invited': 'created a link for',
  'staff-joined': 'joined',
  'staff-changed': 'changed',
  'staff-disabled': 'disabled',
  'staff-enabled': 'enabled',
  'till-enrolled': 'enrolled a till',
  'till-revoked': 'revoked a till',
  'card-issued': 'issued a card',
  'card-changed': 'changed a card',
  'card-disabled': 'disabled a card',
  'card-reenabled': 're-enabled a card',
  'card-redeemed': 'redeemed a card',
  'card-refunded': 'refunded to a card',
  'card-credited': 'added to a card',
  'hold-released': 'released a hold',
  'code-sent': 'sent a card again',
  'cards-exported': 'exported cards',
  'settings-changed': 'changed the settings',
  'token-created': 'created an access token',
  'token-revoked': 'revoked an access token',
  'webhook-changed': 'changed a webhook',
};

export const auditRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/audit',
    access: 'readAuditLog',
    async handle(services, request) {
      const { storage, frame } = services;
      const { signedIn, query } = request;
      const { store } = signedIn;
      const asked = Number(query.get('before') ?? Number.MAX_SAFE_INTEGER);
      const before = Number.isSafeInteger(asked) && asked > 0 ? asked : Number.MAX_SAFE_INTEGER;
      const [found, members] = await storage.read(() =>
        parallel(listStaffActions(store.id, { before, limit: pageSize + 1 }), listStaff(store)),
      );
      const names = new Map(members.map(({ id, name }) => [id, name]));
      const actions = found.slice(0, pageSize);
      const rows = actions.map(({ at, staffId, action, subjectId, details }) => {
        const who = staffId === null ? 'Nobody signed in' : (names.get(staffId) ?? 'Unknown');
        const subject = subjectId !== null && subjectId !== staffId ? (names.get(subjectId) ?? '') : '';
        const more = Object.entries(details).map(([name, value]) => `${name}: ${String(value)}`);
        const time = markup`<time datetime="${formatInstant(at)}">${formatInstant(at)}</time>`;
        return markup`<tr><td class="nowrap">${time}</td><td>${who}</td><td>${texts[action]} ${subject}</td><td class="soft">${more.join(', ')}</td></tr>
`;
      });
      const last = actions.at(-1);
      const older =
        last && found.length > pageSize
          ? markup`<p><a class="button" href="${frame.basePath}/audit?before=${String(last.id)}">Older</a></p>`
          : undefined;
      const body = markup`<section class="panel flush" aria-label="Audit log"><table class="table"><thead><tr><th scope="col">Time (UTC)</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Details</th></tr></thead><tbody>
${rows}</tbody></table></section>
${older}`;
      return {
        status: 200,
        body: shellPage(services, request, { title: 'Audit log', path: '/audit', body }),
      };
    },
  },
];
