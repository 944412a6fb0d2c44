/** The page of a person: the role and the limits, access, and sessions. */

import { wrongPinsMax, type StaffMember } from '../../../core/staff/domain/staff.ts';
import { joinMarkup, markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { changePerson, linkPerson, signOutPerson, unlockPerson } from '../service/member.ts';
import { showAccess, showMember } from '../service/people.ts';
import { listAllLocations } from '../../../core/stores/service/location.ts';
import type { StaffChanges } from '../../../core/staff/service/staff.ts';
import type { StaffAccess } from '../../../core/staff/storage/staff.ts';
import { alert } from '../../../pages/kit/form.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { createLinkOnce } from './invitation.ts';
import {
  locationsError,
  orErrors,
  personFields,
  readPerson,
  statusOf,
  typedPerson,
  valuesOfMember,
  type PersonErrors,
  type PersonValues,
} from './person-form.ts';
import { memberTag } from './pills.ts';
import { sessionList } from './session-list.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

/** The person in the path. @throws Fault `not-found`. */
async function requireMember(page: Page): Promise<StaffMember> {
  const id = page.storedId();
  return await page.read(() => showMember(page.store, id));
}

type Form = { readonly values?: PersonValues; readonly errors?: PersonErrors };

async function memberPage(
  page: Page,
  member: StaffMember,
  { values = valuesOfMember(page, member), errors = {} }: Form = {},
): Promise<ConsoleResponse> {
  const { staff: text, account } = page.text;
  const { id, name } = member;
  const { access, ...places } = await page.read(() => showAccess(page.ctx, member));
  const locations = await page.read(() => listAllLocations(page.store.id));
  const listed = {
    ...places,
    heading: fillPlain(account.sessionsOf, { name }),
    none: fillPlain(account.noSessions, { name }),
    path: pathOf(member),
  };
  const body = markup`<div class="stack"><div class="grid two"><section class="panel stack" aria-label="${name}"><p class="row apart"><span>${member.email}</span>${memberTag(page, member)}</p>
<form class="stack" method="post" action="${page.url(pathOf(member))}">
${personFields(page, { values, errors }, locations)}
<button class="button first">${text.save}</button></form></section>
${accessPanel(page, member, access, errors.disabled)}</div>
${sessionList(page, listed)}
<p class="row">${page.link(`/audit?staff=${String(id)}`, fillPlain(text.actionsOf, { name }))}</p></div>`;
  return page.show('/staff', { title: name, body, status: statusOf(errors) });
}

function pathOf({ id }: StaffMember): string {
  return `/staff/${String(id)}`;
}

function accessPanel(
  page: Page,
  member: StaffMember,
  access: StaffAccess | undefined,
  error: string | undefined,
): Markup {
  const { staff: text } = page.text;
  const path = page.url(pathOf(member));
  const isLocked = access?.hasPin === true && access.pinFailures >= wrongPinsMax;
  const parts: MarkupPart[] = [
    isLocked
      ? markup`<form class="row apart" method="post" action="${path}/unlock"><span class="tag bad">${text.pinLocked}</span><button class="button">${text.unlock}</button></form>`
      : undefined,
    member.disabledAt === null
      ? markup`<form class="stack" method="post" action="${path}/link">${keyInput(page.ctx)}<p class="soft">${text.newLinkHelp}</p><button class="button">${text.newLink}</button></form>`
      : undefined,
    member.disabledAt === null
      ? markup`<form class="stack" method="post" action="${path}/disable"><p class="soft">${text.disableHelp}</p><button class="button bad">${text.disable}</button></form>`
      : markup`<form method="post" action="${path}/enable"><button class="button">${text.enable}</button></form>`,
  ];
  return markup`<section class="panel stack"><h2>${text.access}</h2>
${error === undefined ? undefined : alert(error)}${joinMarkup(
    parts.filter((part) => part !== undefined),
    markup`<hr>`,
  )}</section>`;
}

/** @param values of the form; absent: a button makes the change. */
async function change(page: Page, changes: StaffChanges, values?: PersonValues): Promise<ConsoleResponse> {
  const member = await requireMember(page);
  return await orErrors(
    async () => {
      await page.write(() => changePerson(page.ctx, page.by, member.id, changes));
      return seeOther(values ? '/staff' : pathOf(member));
    },
    (found) => {
      const errors = found['locations']
        ? locationsError(page, changes.role ? { role: changes.role } : member)
        : { [found['disabled'] ? 'disabled' : 'role']: page.text.staff.ownerNeeded };
      return memberPage(page, member, { ...(values && { values }), errors });
    },
  );
}

async function save(page: Page): Promise<ConsoleResponse> {
  const member = await requireMember(page);
  const values = typedPerson(page, valuesOfMember(page, member));
  const read = readPerson(page, values);
  if ('fields' in read) return await change(page, read.fields, values);
  return await memberPage(page, member, { values, errors: read.errors });
}

async function newLink(page: Page): Promise<ConsoleResponse> {
  const { ctx, by, key } = page;
  const member = await requireMember(page);
  if (key === undefined || member.disabledAt !== null) return seeOther(pathOf(member));
  return await createLinkOnce(page, key, () => linkPerson(ctx, by, member.id));
}

async function unlock(page: Page): Promise<ConsoleResponse> {
  const member = await requireMember(page);
  await page.write(() => unlockPerson(page.ctx, page.by, member.id));
  return seeOther(pathOf(member));
}

async function endSessions(page: Page): Promise<ConsoleResponse> {
  const member = await requireMember(page);
  const { id: own, staffId } = page.request.signedIn.session;
  const except = staffId === member.id ? own : null;
  await page.write(() => signOutPerson(page.ctx, page.by, member.id, { except }));
  return seeOther(pathOf(member));
}

async function endSession(page: Page): Promise<ConsoleResponse> {
  const member = await requireMember(page);
  const session = page.storedId('session');
  await page.write(() => signOutPerson(page.ctx, page.by, member.id, session));
  return seeOther(pathOf(member));
}

const sensitive = { sensitive: 'manageStaff' } as const;

export const personRoutes: readonly StaffRoute[] = [
  get('/staff/:id', sensitive, async (page) => await memberPage(page, await requireMember(page))),
  post('/staff/:id', sensitive, save),
  post('/staff/:id/disable', sensitive, (page) => change(page, { disabled: true })),
  post('/staff/:id/enable', sensitive, (page) => change(page, { disabled: false })),
  post('/staff/:id/link', sensitive, newLink),
  post('/staff/:id/unlock', sensitive, unlock),
  post('/staff/:id/sessions/end', sensitive, endSessions),
  post('/staff/:id/sessions/:session/end', sensitive, endSession),
];
