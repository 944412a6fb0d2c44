/** The people of a store, with how each signs in. */

import { roles, wrongPinsMax } from '../../../core/staff/domain/staff.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { listPeople, type ListedPerson } from '../service/people.ts';
import { listAllLocations } from '../../../core/stores/service/location.ts';
import { actingOf } from '../../../core/staff/service/as-staff.ts';
import type { Acting } from '../../../core/staff/service/staff.ts';
import { small, table, tag, type Row } from '../../../pages/kit/parts.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { invitationRoutes } from './invitation.ts';
import { personRoutes } from './person.ts';
import { memberTag, staffPills } from './pills.ts';
import { type Page, get } from '../../../pages/kit/page-context.ts';

export function actingAs(page: Page): Acting {
  return actingOf(page.by);
}

/** The ways in which a person signs in, or why the person cannot. */
function waysOf(page: Page, { member, access, passkeys }: ListedPerson): Markup {
  if (member.disabledAt !== null || member.joinedAt === null) return memberTag(page, member);
  const { staff: text } = page.text;
  const ways = [
    passkeys > 0 && text.passkey,
    access?.hasPassword === true && text.password,
    access?.hasPin === true && text.pin,
  ].filter((way) => way !== false);
  const locked =
    access?.hasPin === true && access.pinFailures >= wrongPinsMax
      ? markup` ${tag('bad', text.pinLocked)}`
      : undefined;
  return markup`${ways.join(', ')}${locked}`;
}

function personRow(page: Page, person: ListedPerson, locations: readonly Location[]): Row {
  const { staff: text, frame } = page.text;
  const { id, name, email, role, saleLimit, locationIds } = person.member;
  const own = locations.filter((location) => locationIds?.includes(location.id) === true);
  const at =
    own.length === 0
      ? undefined
      : markup`<br>${fillPlain(text.worksAt, { locations: own.map((location) => location.name).join(', ') })}${own.every(({ closedAt }) => closedAt !== null) ? markup` ${tag('bad', page.text.locations.closedTag)}` : undefined}`;
  const limit = saleLimit && markup`<br>${fillPlain(text.sellsUpTo, { amount: page.amount(saleLimit) })}`;
  const lastUsedAt = person.access?.lastUsedAt ?? null;
  const seen = lastUsedAt === null ? undefined : page.time(lastUsedAt);
  const label = fillPlain(text.changeOf, { name });
  return [
    markup`<strong>${name}</strong><br>${small(markup`${email}${limit ?? undefined}${at}`)}`,
    { class: 'aside', html: frame.roles[role] },
    { class: 'soft small', html: waysOf(page, person) },
    { class: 'soft small wide', html: id === page.member.id ? text.now : seen },
    { class: 'aside', html: page.link(`/staff/${String(id)}`, text.changeColumn, 'quiet', label) },
  ];
}

async function listPage(page: Page): Promise<ConsoleResponse> {
  const { staff: text, frame } = page.text;
  const people = await page.read(() => listPeople(page.store));
  const locations = await page.read(() => listAllLocations(page.store.id));
  const list = table({
    caption: text.title,
    columns: [
      text.name,
      text.role,
      text.signsInWith,
      text.lastSeen,
      { class: 'end', name: text.changeColumn, isHidden: true },
    ],
    rows: people.map((person) => personRow(page, person, locations)),
  });
  const about = roles.map((role) => markup`<dt>${frame.roles[role]}</dt><dd>${text.roleTexts[role]}</dd>`);
  const alone = people.length > 1 ? undefined : markup`<p class="soft">${text.alone}</p>`;
  const body = markup`<div class="stack">${staffPills(page, 'people')}
<section class="panel flush">${list}</section>
${alone}
<section class="panel"><h2>${text.rolesTitle}</h2><dl class="facts">${about}</dl></section></div>`;
  const actions = page.link('/staff/new', text.invite, 'first');
  return page.show('/staff', { title: text.title, body, actions });
}

export const staffRoutes: readonly StaffRoute[] = [
  get('/staff', 'manageStaff', listPage),
  ...invitationRoutes,
  ...personRoutes,
];
