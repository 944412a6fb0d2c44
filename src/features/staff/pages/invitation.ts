/** Invitations, and the links with which people join or set a new password. */

import { Fault } from '../../../core/domain/fault.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import { isRole, type StaffMember } from '../../../core/staff/domain/staff.ts';
import { markup } from '../../../platform/markup.ts';
import { invitationVersionOf, invitePerson } from '../service/member.ts';
import { listAllLocations } from '../../../core/stores/service/location.ts';
import { findInvitation, type Invited } from '../../../core/staff/service/staff.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { alert, hidden, inputField } from '../../../pages/kit/form.ts';
import { findResult, hasFields, hasResult } from '../../../pages/kit/once.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import {
  locationsError,
  orErrors,
  personFields,
  readPerson,
  statusOf,
  typedPerson,
  type PersonErrors,
  type PersonValues,
} from './person-form.ts';

/** A form without a role has none, so that it cannot change the one that a person has. */
const newPerson: PersonValues = {
  name: '',
  email: '',
  role: '',
  sale_limit: '',
  refund_limit: '',
  locations: '',
};

type Form = {
  readonly values: PersonValues;
  readonly errors: PersonErrors;
  readonly status?: 200 | 422;
  /** The invitation of the same address, which the form would change. */
  readonly pending?: StaffMember | undefined;
};

async function invitePage(
  page: Page,
  { values, errors, status = statusOf(errors), pending }: Form,
): Promise<ConsoleResponse> {
  const locations = await page.read(() => listAllLocations(page.store.id));
  const {
    staff: text,
    frame: { roles },
  } = page.text;
  const notice =
    pending &&
    markup`${alert(
      fillPlain(text.pending, {
        email: pending.email,
        present: pending.name,
        role: roles[pending.role],
        name: values.name,
        next: isRole(values.role) ? roles[values.role] : values.role,
      }),
    )}
`;
  const fields = markup`${pending && hidden('replaces', invitationVersionOf(pending))}
${inputField({ name: 'email', label: text.email, type: 'email', value: values.email, error: errors.email })}
${personFields(page, { values, errors }, locations)}
<button class="button first">${pending ? text.changeInvitation : text.createLink}</button>`;
  const body = markup`<div class="stack narrow">${notice}<section class="panel stack" aria-label="${text.invite}"><p class="soft">${text.inviteHelp}</p>
${page.form('/staff/new', fields, page.key)}</section></div>`;
  return page.show('/staff', { title: text.invite, body, status });
}

/** A new link, until it is shown. */
type LinkResult = { readonly name: string; readonly token: string };

const isLink = hasFields<LinkResult>('name', 'token');

/** Creates a link once for a key, and leads to the page that shows it. */
export async function createLinkOnce(
  page: Page,
  key: string,
  script: () => Script<Invited>,
): Promise<ConsoleResponse> {
  await page.once(key, function* create() {
    const { member, token } = yield* script();
    return { name: member.name, token: token.reveal() } satisfies LinkResult;
  });
  return seeOther(`/staff/links/${key}`);
}

/** Shows the link of an earlier form. */
async function linkPage(page: Page): Promise<ConsoleResponse> {
  const { services, request } = page;
  const { staff: text } = page.text;
  const created = await findResult(services, request, page.param('key'), isLink);
  if (!created) throw new Fault('not-found');
  const { name, token } = created;
  const href = new URL(page.url(`/join/${token}`), request.pageOrigin).href;
  const body = markup`<div class="stack narrow"><section class="panel stack" aria-label="${text.createLink}"><p>${fillPlain(text.linkHelp, { name })}</p>
<p class="copy"><code id="link">${href}</code></p>
${services.origin.url ? undefined : markup`<p class="hint">${text.onlyHere}</p>`}
<p class="row"><button class="button first" type="button" data-copy="link" data-copied="${text.copied}" hidden>${text.copy}</button>${page.link('/staff', text.done)}</p></section></div>`;
  return page.show('/staff', { title: fillPlain(text.linkTitle, { name }), body });
}

async function invite(page: Page): Promise<ConsoleResponse> {
  const { ctx, services, request, store, key } = page;
  const { staff: text } = page.text;
  const values = typedPerson(page, newPerson);
  const [read, email] = [readPerson(page, values), parseEmail(values.email)];
  if ('errors' in read || !email.ok || key === undefined) {
    const errors = { ...('errors' in read && read.errors), ...(!email.ok && { email: text.emailInvalid }) };
    return await invitePage(page, { values, errors, status: 422 });
  }
  const invited = { email: email.value, ...read.fields, replaces: page.typed('replaces') };
  return await orErrors(
    () => createLinkOnce(page, key, () => invitePerson(ctx, page.by, invited)),
    async (faults) => {
      // A second submission at the same time finds the person of the first one.
      if (await hasResult(services, request, key)) return seeOther(`/staff/links/${key}`);
      if (faults['locations'])
        return await invitePage(page, { values, errors: locationsError(page, values) });
      if (!faults['pending']) return await invitePage(page, { values, errors: { email: text.emailTaken } });
      const pending = await page.read(() => findInvitation(store, email.value));
      return await invitePage(page, { values, errors: {}, status: 422, pending });
    },
  );
}

const sensitive = { sensitive: 'manageStaff' } as const;

export const invitationRoutes: readonly StaffRoute[] = [
  get('/staff/new', sensitive, (page) =>
    invitePage(page, { values: { ...newPerson, role: 'cashier' }, errors: {} }),
  ),
  post('/staff/new', sensitive, invite),
  get('/staff/links/:key', sensitive, linkPage),
];
