/** The people of a store: list, invite, change, and links to join. */

import { Fault, FieldErrors } from '../domain/fault.ts';
import { parseEmail } from '../domain/email-address.ts';
import { formatMoney, parseAmount, type Money } from '../domain/money.ts';
import { isRole, parseStaffName, roles, type Role, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { markup, type Markup } from '../markup.ts';
import { changeStaff, createLink, inviteStaff, recordAction, type Acting } from '../service/staff.ts';
import { findStaffMember, listStaff } from '../storage/staff.ts';
import { field } from './form.ts';
import { shellPage } from './page.ts';
import { textOf } from './request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';

const roleNames: Readonly<Record<Role, string>> = {
  owner: 'Owner: everything',
  manager: 'Manager: cards, reports, tills',
  accountant: 'Accountant: reads cards and reports',
  cashier: 'Cashier: the till only',
};

export function actingAs({ signedIn: { session } }: StaffRequest): Acting {
  return { staffId: session.staffId, tillId: session.tillId };
}

type Errors = Readonly<Record<string, readonly string[]>>;

function stateOf({ joinedAt, disabledAt }: StaffMember): Markup {
  if (disabledAt !== null) return markup`<span class="tag ended">Disabled</span>`;
  return joinedAt === null
    ? markup`<span class="tag wait">Invited</span>`
    : markup`<span class="tag good">Active</span>`;
}

async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { storage, frame } = services;
  const members = await storage.read(() => listStaff(request.signedIn.store));
  const rows = members.map(
    (
      member,
    ) => markup`<tr><td><a class="whole" href="${frame.basePath}/staff/${String(member.id)}">${member.name}</a></td><td>${member.email}</td><td>${member.role}</td><td>${stateOf(member)}</td></tr>
`,
  );
  const body = markup`<section class="panel flush" aria-label="Staff"><table class="table"><thead><tr><th scope="col">Name</th><th scope="col">Email</th><th scope="col">Role</th><th scope="col">State</th></tr></thead><tbody>
${rows}</tbody></table></section>
<p class="row"><a class="button first" href="${frame.basePath}/staff/new">Invite a person</a></p>`;
  return { status: 200, body: shellPage(services, request, { title: 'Staff', path: '/staff', body }) };
}

type FormValues = {
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly saleLimit: string;
  readonly refundLimit: string;
};

function valuesOf(request: StaffRequest): FormValues {
  const role = textOf(request, 'role');
  return {
    name: textOf(request, 'name'),
    email: textOf(request, 'email'),
    role: isRole(role) ? role : 'cashier',
    saleLimit: textOf(request, 'sale_limit'),
    refundLimit: textOf(request, 'refund_limit'),
  };
}

function fieldsOf(values: FormValues, errors: Errors): Markup {
  const options = roles.map((role) =>
    role === values.role
      ? markup`<option value="${role}" selected>${roleNames[role]}</option>`
      : markup`<option value="${role}">${roleNames[role]}</option>`,
  );
  const limit = { autocomplete: 'off', isOptional: true } as const;
  return markup`${field({ name: 'name', label: 'Name', value: values.name, autocomplete: 'off', error: errors['name']?.[0] })}
<div><label for="role">Role</label><select class="field" id="role" name="role">${options}</select>${errors['role'] && markup`<p class="error">${errors['role'][0] ?? ''}</p>`}</div>
${field({ ...limit, name: 'sale_limit', label: 'Highest sale', value: values.saleLimit, hint: 'Empty: the limit of the store.', error: errors['sale_limit']?.[0] })}
${field({ ...limit, name: 'refund_limit', label: 'Highest refund', value: values.refundLimit, hint: 'Empty: no limit.', error: errors['refund_limit']?.[0] })}`;
}

function invitePage(
  services: ConsoleServices,
  request: StaffRequest,
  { values, errors }: { readonly values: FormValues; readonly errors: Errors },
): ConsoleResponse {
  const { frame } = services;
  const body = markup`<section class="panel stack" aria-label="Invitation"><form class="stack" method="post" action="${frame.basePath}/staff/new">
${field({ name: 'email', label: 'Email', type: 'email', value: values.email, autocomplete: 'off', error: errors['email']?.[0] })}
${fieldsOf(values, errors)}
<button class="button first">Create the link</button></form></section>`;
  const status = Object.keys(errors).length > 0 ? 422 : 200;
  return {
    status,
    body: shellPage(services, request, { title: 'Invite a person', path: '/staff', body }),
  };
}

/** Shows a link, which cannot be shown again. */
function linkPage(
  services: ConsoleServices,
  request: StaffRequest,
  { member, token }: { readonly member: StaffMember; readonly token: string },
): ConsoleResponse {
  const { frame, origin } = services;
  const host = origin.url?.origin ?? '';
  const body = markup`<section class="panel stack" aria-label="Link"><p>Send this link to ${member.name}. It works once, for seven days, and is not shown again.</p>
<p><code class="mono">${host}${frame.basePath}/join/${token}</code></p>
<p><a class="button" href="${frame.basePath}/staff">Done</a></p></section>`;
  return { status: 200, body: shellPage(services, request, { title: 'Link', path: '/staff', body }) };
}

type Limits = { readonly saleLimit: Money | null; readonly refundLimit: Money | null };

function limitsOf({ saleLimit, refundLimit }: FormValues, { currency }: Store, errors: FieldErrors): Limits {
  const amountOf = (name: string, text: string): Money | null => {
    if (text === '') return null;
    const amount = parseAmount(text, { currency, zeroAllowed: true });
    if (amount.ok) return amount.value;
    errors.add(name, amount.error);
    return null;
  };
  return { saleLimit: amountOf('sale_limit', saleLimit), refundLimit: amountOf('refund_limit', refundLimit) };
}

async function invite(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const { store } = request.signedIn;
  const values = valuesOf(request);
  const errors = new FieldErrors();
  const [name, email] = [parseStaffName(values.name), parseEmail(values.email)];
  if (!name.ok) errors.add('name', name.error);
  if (!email.ok) errors.add('email', email.error);
  const limits = limitsOf(values, store, errors);
  if (!name.ok || !email.ok || errors.any)
    return invitePage(services, request, { values, errors: errors.toErrors() });
  const fields = { name: name.value, email: email.value, role: values.role, ...limits };
  return await orErrors(
    async () => {
      const by = actingAs(request);
      const { member, token } = await storage.write(() => inviteStaff(ctx, { store, by, ...fields }));
      return linkPage(services, request, { member, token: token.reveal() });
    },
    (found) => invitePage(services, request, { values, errors: found }),
  );
}

/** Runs a change, and shows the errors of its fields. */
async function orErrors(
  run: () => Promise<ConsoleResponse>,
  show: (errors: Errors) => ConsoleResponse,
): Promise<ConsoleResponse> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid-parameter' && error.errors)
      return show(error.errors);
    throw error;
  }
}

async function requireMember({ storage }: ConsoleServices, request: StaffRequest): Promise<StaffMember> {
  const id = Number(request.params['id']);
  const member = Number.isSafeInteger(id)
    ? await storage.read(() => findStaffMember(request.signedIn.store, id))
    : undefined;
  if (!member) throw new Fault('not-found');
  return member;
}

function memberPage(
  services: ConsoleServices,
  request: StaffRequest,
  {
    member,
    values,
    errors,
  }: { readonly member: StaffMember; readonly values: FormValues; readonly errors: Errors },
): ConsoleResponse {
  const { frame } = services;
  const path = `${frame.basePath}/staff/${String(member.id)}`;
  const disable = member.disabledAt === null;
  const body = markup`<section class="panel stack" aria-label="Person"><p class="row apart"><span>${member.email}</span>${stateOf(member)}</p>
<form class="stack" method="post" action="${path}">
${fieldsOf(values, errors)}
<button class="button first">Save</button></form></section>
<section class="panel stack" aria-label="Access">
${errors['disabled'] && markup`<p class="notice" role="alert">${errors['disabled'][0] ?? ''}</p>`}
<form method="post" action="${path}/link"><button class="button">Create a link for a new password</button></form>
<form method="post" action="${path}/${disable ? 'disable' : 'enable'}"><button class="button${disable ? ' bad' : ''}">${disable ? 'Disable, and sign out everywhere' : 'Enable'}</button></form></section>`;
  const status = Object.keys(errors).length > 0 ? 422 : 200;
  return { status, body: shellPage(services, request, { title: member.name, path: '/staff', body }) };
}

function shownLimit(limit: Money | null): string {
  return limit === null ? '' : formatMoney(limit);
}

function valuesOfMember(member: StaffMember): FormValues {
  const { name, email, role, saleLimit, refundLimit } = member;
  return { name, email, role, saleLimit: shownLimit(saleLimit), refundLimit: shownLimit(refundLimit) };
}

async function change(
  services: ConsoleServices,
  request: StaffRequest,
  changesOf: (member: StaffMember) => Parameters<typeof changeStaff>[1]['changes'],
  values?: FormValues,
): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const member = await requireMember(services, request);
  return await orErrors(
    async () => {
      const { store } = request.signedIn;
      const changes = changesOf(member);
      await storage.write(() => changeStaff(ctx, { store, id: member.id, changes, by: actingAs(request) }));
      return seeOther(`/staff/${String(member.id)}`);
    },
    (errors) => memberPage(services, request, { member, values: values ?? valuesOfMember(member), errors }),
  );
}

const sensitive = { access: 'manageStaff', isSensitive: true } as const;

export const staffRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/staff', access: 'manageStaff', handle: listPage },
  {
    method: 'GET',
    path: '/staff/new',
    ...sensitive,
    async handle(services, request) {
      const values: FormValues = { name: '', email: '', role: 'cashier', saleLimit: '', refundLimit: '' };
      return invitePage(services, request, { values, errors: {} });
    },
  },
  { method: 'POST', path: '/staff/new', ...sensitive, handle: invite },
  {
    method: 'GET',
    path: '/staff/:id',
    ...sensitive,
    async handle(services, request) {
      const member = await requireMember(services, request);
      return memberPage(services, request, { member, values: valuesOfMember(member), errors: {} });
    },
  },
  {
    method: 'POST',
    path: '/staff/:id',
    ...sensitive,
    async handle(services, request) {
      const values = valuesOf(request);
      return await change(
        services,
        request,
        () => {
          const errors = new FieldErrors();
          const name = parseStaffName(values.name);
          if (!name.ok) errors.add('name', name.error);
          const limits = limitsOf(values, request.signedIn.store, errors);
          errors.throwIfAny();
          return { ...(name.ok && { name: name.value }), role: values.role, ...limits };
        },
        values,
      );
    },
  },
  {
    method: 'POST',
    path: '/staff/:id/disable',
    ...sensitive,
    handle: (services, request) => change(services, request, () => ({ disabled: true })),
  },
  {
    method: 'POST',
    path: '/staff/:id/enable',
    ...sensitive,
    handle: (services, request) => change(services, request, () => ({ disabled: false })),
  },
  {
    method: 'POST',
    path: '/staff/:id/link',
    ...sensitive,
    async handle(services, request) {
      const { ctx, storage } = services;
      const member = await requireMember(services, request);
      const by = actingAs(request);
      const { storeId, id: subjectId } = member;
      const token = await storage.write(function* link() {
        yield* recordAction(ctx, by, {
          storeId,
          action: 'staff-invited',
          subjectId,
          details: { link: true },
        });
        return yield* createLink(ctx, member, by);
      });
      return linkPage(services, request, { member, token: token.reveal() });
    },
  },
];
