/** The people of a store: list, invite, change, links, and sessions. */

import { Fault, type ErrorsByField } from '../../domain/fault.ts';
import { parseEmail } from '../../domain/email-address.ts';
import {
  isRole,
  parseStaffName,
  roles,
  wrongPinsMax,
  type Role,
  type StaffMember,
} from '../../domain/staff/staff.ts';
import { formatMoney, type Money } from '../../domain/money/money.ts';
import type { Store } from '../../domain/stores/store.ts';
import { joinMarkup, markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { endAllSessions, endOneSession } from '../../service/staff/session.ts';
import {
  changeStaff,
  createLink,
  findInvitation,
  inviteStaff,
  recordAction,
  unlockPin,
  type Acting,
  type StaffChanges,
} from '../../service/staff/staff.ts';
import { countPasskeys } from '../../storage/staff/passkey.ts';
import { listOpenSessions } from '../../storage/staff/session.ts';
import { findStaffMember, listStaff, listStaffAccess, type StaffAccess } from '../../storage/staff/staff.ts';
import { parallel } from '../../storage/sql/sql.ts';
import { listTillNames } from '../../storage/staff/till-name.ts';
import { alert, hidden, inputField, select } from '../kit/form.ts';
import { amountText, amountValue, parseTypedAmount, timeElement } from '../kit/format.ts';
import { findResult, hasFields, hasResult, keyInput, keyOf, runOnce } from '../kit/once.ts';
import { shellPage } from '../kit/page.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { sessionList } from './session-list.ts';
import { formText, typedFields } from '../kit/request.ts';
import { fillPlain, type PageLanguage, textsOf } from '../kit/texts.ts';

const texts = textsOf('staff');
const accounts = textsOf('account');
const frames = textsOf('frame');

export function actingAs({ signedIn: { session } }: Pick<StaffRequest, 'signedIn'>): Acting {
  return { staffId: session.staffId, tillId: session.tillId };
}

/** Links between the pages of the people and of the audit log. */
export function staffPills(
  { frame }: Pick<ConsoleServices, 'frame'>,
  language: PageLanguage,
  current: 'people' | 'audit',
): Markup {
  const text = texts[language];
  const link = (name: 'people' | 'audit', path: string): Markup =>
    markup`<a href="${frame.basePath}${path}"${name === current ? markup` aria-current="true"` : undefined}>${text[name]}</a>`;
  return markup`<nav class="pills" aria-label="${text.title}">${link('people', '/staff')}${link('audit', '/audit')}</nav>`;
}

function stateTag({ joinedAt, disabledAt }: StaffMember, language: PageLanguage): Markup {
  const text = texts[language];
  if (disabledAt !== null) return markup`<span class="tag ended">${text.disabled}</span>`;
  return joinedAt === null
    ? markup`<span class="tag wait">${text.invited}</span>`
    : markup`<span class="tag good">${text.active}</span>`;
}

/** How a person signs in, or why the person cannot. */
function waysOf(
  member: StaffMember,
  {
    access,
    passkeys,
    language,
  }: {
    readonly access: StaffAccess | undefined;
    readonly passkeys: number;
    readonly language: PageLanguage;
  },
): Markup {
  if (member.disabledAt !== null || member.joinedAt === null) return stateTag(member, language);
  const text = texts[language];
  const ways = [
    passkeys > 0 && text.passkey,
    access?.hasPassword === true && text.password,
    access?.hasPin === true && text.pin,
  ].filter((way) => way !== false);
  const locked =
    access?.hasPin === true && access.pinFailures >= wrongPinsMax
      ? markup` <span class="tag bad">${text.pinLocked}</span>`
      : undefined;
  return markup`${ways.join(', ')}${locked}`;
}

async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { storage, frame } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const text = texts[language];
  const [members, accesses, passkeys] = await storage.read(() =>
    parallel(listStaff(store), listStaffAccess(store.id), countPasskeys(store.id)),
  );
  const roleNames = frames[language].roles;
  const rows = members.map((member) => {
    const { id, name, email, role, saleLimit } = member;
    const access = accesses.get(id);
    const limit =
      saleLimit && markup`<br>${fillPlain(text.sellsUpTo, { amount: amountText(saleLimit, language) })}`;
    const lastUsedAt = access?.lastUsedAt ?? null;
    const seen = lastUsedAt === null ? undefined : timeElement(lastUsedAt, store, language);
    const lastSeen = id === signedIn.member.id ? text.now : seen;
    const ways = waysOf(member, { access, passkeys: passkeys.get(id) ?? 0, language });
    const label = fillPlain(text.changeOf, { name });
    return markup`<tr role="row"><td role="cell"><strong>${name}</strong><br><span class="small soft">${email}${limit ?? undefined}</span></td><td role="cell" class="aside">${roleNames[role]}</td><td role="cell" class="soft small">${ways}</td><td role="cell" class="soft small wide">${lastSeen}</td><td role="cell" class="aside"><a class="button quiet" href="${frame.basePath}/staff/${String(id)}" aria-label="${label}">${text.changeColumn}</a></td></tr>
`;
  });
  const facts = roles.map((role) => markup`<dt>${roleNames[role]}</dt><dd>${text.roleTexts[role]}</dd>`);
  const alone = members.length > 1 ? undefined : markup`<p class="soft">${text.alone}</p>`;
  const body = markup`<div class="stack">${staffPills(services, language, 'people')}
<section class="panel flush"><table class="table lines" role="table"><caption class="sr">${text.title}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.name}</th><th scope="col" role="columnheader">${text.role}</th><th scope="col" role="columnheader">${text.signsInWith}</th><th scope="col" role="columnheader">${text.lastSeen}</th><th scope="col" role="columnheader" class="end"><span class="sr">${text.changeColumn}</span></th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>
${alone}
<section class="panel"><h2>${text.rolesTitle}</h2><dl class="facts">${facts}</dl></section></div>`;
  const actions = markup`<a class="button first" href="${frame.basePath}/staff/new">${text.invite}</a>`;
  const page = { title: text.title, path: '/staff', body, actions };
  return { status: 200, body: shellPage(services, request, page) };
}

const fields = ['name', 'email', 'role', 'sale_limit', 'refund_limit'] as const;

/** The texts of the fields. */
type FormValues = Readonly<Record<(typeof fields)[number], string>>;

type Errors = Partial<Record<keyof FormValues | 'disabled', string>>;

const typedLengthMax = 400;

/** A form without a role has none, so that it cannot change the one that a person has. */
const newPerson: FormValues = { name: '', email: '', role: '', sale_limit: '', refund_limit: '' };

function typedValues(request: StaffRequest, present: FormValues): FormValues {
  const entries = Object.entries(typedFields(request, fields, present));
  const shortened = entries.map(([name, value]) => [name, value.slice(0, typedLengthMax)]);
  return Object.fromEntries(shortened) as FormValues;
}

function fieldsOf(language: PageLanguage, values: FormValues, errors: Errors): Markup {
  const text = texts[language];
  const options = roles.map((role) => ({
    value: role,
    text: `${frames[language].roles[role]} · ${text.roleTexts[role]}`,
  }));
  const limit = { kind: 'limit', inputMode: 'decimal', isOptional: true } as const;
  return markup`${inputField({ name: 'name', label: text.name, value: values.name, error: errors.name })}
${select({ name: 'role', label: text.role, options, value: values.role, error: errors.role })}
<div class="fields">${inputField({ ...limit, name: 'sale_limit', label: text.saleLimit, value: values.sale_limit, hint: text.saleLimitHint, error: errors.sale_limit })}
${inputField({ ...limit, name: 'refund_limit', label: text.refundLimit, value: values.refund_limit, hint: text.refundLimitHint, error: errors.refund_limit })}</div>`;
}

function statusOf(errors: Errors): 200 | 422 {
  return Object.values(errors).some((error) => error !== undefined) ? 422 : 200;
}

function invitePage(
  services: ConsoleServices,
  request: StaffRequest,
  {
    values,
    errors,
    status = statusOf(errors),
    pending,
  }: {
    readonly values: FormValues;
    readonly errors: Errors;
    readonly status?: 200 | 422;
    /** The invitation of the same address, which the form would change. */
    readonly pending?: StaffMember | undefined;
  },
): ConsoleResponse {
  const { frame, ctx } = services;
  const { language } = request;
  const text = texts[language];
  const { roles: roleNames } = frames[language];
  const notice =
    pending &&
    markup`${alert(
      fillPlain(text.pending, {
        email: pending.email,
        present: pending.name,
        role: roleNames[pending.role],
        name: values.name,
        next: isRole(values.role) ? roleNames[values.role] : values.role,
      }),
    )}
`;
  const replaces = pending && hidden('replaces', versionOf(pending));
  const body = markup`<div class="stack narrow">${notice}<section class="panel stack" aria-label="${text.invite}"><p class="soft">${text.inviteHelp}</p>
<form class="stack" method="post" action="${frame.basePath}/staff/new">${keyInput(ctx, keyOf(request))}${replaces}
${inputField({ name: 'email', label: text.email, type: 'email', value: values.email, error: errors.email })}
${fieldsOf(language, values, errors)}
<button class="button first">${pending ? text.changeInvitation : text.createLink}</button></form></section></div>`;
  const page = { title: text.invite, path: '/staff', body };
  return { status, body: shellPage(services, request, page) };
}

/** The version of an invitation that a person saw before changing it. */
function versionOf({ id, name, role, saleLimit, refundLimit }: StaffMember): string {
  const limits = [saleLimit, refundLimit].map((limit) => limit && formatMoney(limit));
  return JSON.stringify([id, name, role, ...limits]);
}

/** A new link, until it is shown. */
type LinkResult = { readonly name: string; readonly token: string };

const isLink = hasFields<LinkResult>('name', 'token');

/** Shows the link of an earlier form. */
async function linkPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { frame, origin } = services;
  const { language, pageOrigin } = request;
  const text = texts[language];
  const created = await findResult(services, request, request.params['key'] ?? '', isLink);
  if (!created) throw new Fault('not-found');
  const { name, token } = created;
  const href = new URL(`${frame.basePath}/join/${token}`, pageOrigin).href;
  const body = markup`<div class="stack narrow"><section class="panel stack" aria-label="${text.createLink}"><p>${fillPlain(text.linkHelp, { name })}</p>
<p class="copy"><code id="link">${href}</code></p>
${origin.url ? undefined : markup`<p class="hint">${text.onlyHere}</p>`}
<p class="row"><button class="button first" type="button" data-copy="link" data-copied="${text.copied}" hidden>${text.copy}</button><a class="button" href="${frame.basePath}/staff">${text.done}</a></p></section></div>`;
  const page = { title: fillPlain(text.linkTitle, { name }), path: '/staff', body };
  return { status: 200, body: shellPage(services, request, page) };
}

type Limits = { readonly saleLimit: Money | null; readonly refundLimit: Money | null };

type ReadForm = { readonly fields: Limits & { readonly name: string; readonly role: Role } };

/** The fields of the form, or their errors. */
function readForm(
  values: FormValues,
  store: Store,
  language: PageLanguage,
): ReadForm | { readonly errors: Errors } {
  const text = texts[language];
  const name = parseStaffName(values.name);
  const limitOf = (typed: string) =>
    typed === ''
      ? { ok: true as const, value: null }
      : parseTypedAmount(typed, store, { language, zeroAllowed: true });
  const [sale, refund] = [limitOf(values.sale_limit), limitOf(values.refund_limit)];
  const example = amountValue(
    { minor: 100n * 10n ** BigInt(store.currency.decimals), currency: store.currency },
    language,
  );
  const limitInvalid = fillPlain(text.limitInvalid, { example });
  const { role } = values;
  if (name.ok && isRole(role) && sale.ok && refund.ok)
    return {
      fields: { name: name.value, role, saleLimit: sale.value, refundLimit: refund.value },
    };
  return {
    errors: {
      ...(!name.ok && { name: text.nameInvalid }),
      ...(!isRole(role) && { role: text.roleInvalid }),
      ...(!sale.ok && { sale_limit: limitInvalid }),
      ...(!refund.ok && { refund_limit: limitInvalid }),
    },
  };
}

async function invite(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const text = texts[language];
  const values = typedValues(request, newPerson);
  const [read, email, key] = [readForm(values, store, language), parseEmail(values.email), keyOf(request)];
  if ('errors' in read || !email.ok || key === undefined) {
    const errors = { ...('errors' in read && read.errors), ...(!email.ok && { email: text.emailInvalid }) };
    return invitePage(services, request, { values, errors, status: 422 });
  }
  return await orErrors(
    async () => {
      const invited = { store, by: actingAs(request), email: email.value, ...read.fields };
      await runOnce<LinkResult>(services, request, key, function* run() {
        const pending = yield* findInvitation(store, email.value);
        const isChanged = pending && versionOf({ ...pending, ...read.fields }) !== versionOf(pending);
        if (isChanged && formText(request, 'replaces') !== versionOf(pending))
          throw new Fault('invalid-parameter', { errors: { pending: ['is invited already'] } });
        const { member, token } = yield* inviteStaff(ctx, invited);
        return { name: member.name, token: token.reveal() };
      });
      return seeOther(`/staff/links/${key}`);
    },
    async (faults) => {
      // A second submission at the same time finds the person of the first one.
      if (await hasResult(services, request, key)) return seeOther(`/staff/links/${key}`);
      if (faults['pending']) {
        const pending = await services.storage.read(() => findInvitation(store, email.value));
        return invitePage(services, request, { values, errors: {}, status: 422, pending });
      }
      return invitePage(services, request, { values, errors: { email: text.emailTaken } });
    },
  );
}

/** Runs a change, and shows the errors of its fields. */
async function orErrors(
  run: () => Promise<ConsoleResponse>,
  show: (errors: ErrorsByField) => ConsoleResponse | Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid-parameter' && error.errors)
      return await show(error.errors);
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

async function memberPage(
  services: ConsoleServices,
  request: StaffRequest,
  {
    member,
    values,
    errors = {},
  }: { readonly member: StaffMember; readonly values?: FormValues; readonly errors?: Errors },
): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language } = request;
  const text = texts[language];
  const { id, storeId, name } = member;
  const [accesses, sessions, tills] = await storage.read(() =>
    parallel(
      listStaffAccess(storeId),
      listOpenSessions(storeId, { staffId: id, now: ctx.clock.latest() }),
      listTillNames(storeId),
    ),
  );
  const account = accounts[language];
  const listed = {
    heading: fillPlain(account.sessionsOf, { name }),
    none: fillPlain(account.noSessions, { name }),
    path: `/staff/${String(id)}`,
    sessions,
    tills,
  };
  const shown = values ?? valuesOfMember(member, language);
  const path = `${frame.basePath}/staff/${String(id)}`;
  const body = markup`<div class="stack"><div class="grid two"><section class="panel stack" aria-label="${name}"><p class="row apart"><span>${member.email}</span>${stateTag(member, language)}</p>
<form class="stack" method="post" action="${path}">
${fieldsOf(language, shown, errors)}
<button class="button first">${text.save}</button></form></section>
${accessPanel(services, request, { member, access: accesses.get(id), error: errors.disabled })}</div>
${sessionList(services, request, listed)}
<p class="row"><a class="button" href="${frame.basePath}/audit?staff=${String(id)}">${fillPlain(text.actionsOf, { name })}</a></p></div>`;
  return {
    status: statusOf(errors),
    body: shellPage(services, request, { title: name, path: '/staff', body }),
  };
}

function accessPanel(
  { frame, ctx }: ConsoleServices,
  { language }: StaffRequest,
  {
    member,
    access,
    error,
  }: {
    readonly member: StaffMember;
    readonly access: StaffAccess | undefined;
    readonly error: string | undefined;
  },
): Markup {
  const text = texts[language];
  const path = `${frame.basePath}/staff/${String(member.id)}`;
  const isLocked = access?.hasPin === true && access.pinFailures >= wrongPinsMax;
  const parts: MarkupPart[] = [
    isLocked
      ? markup`<form class="row apart" method="post" action="${path}/unlock"><span class="tag bad">${text.pinLocked}</span><button class="button">${text.unlock}</button></form>`
      : undefined,
    member.disabledAt === null
      ? markup`<form class="stack" method="post" action="${path}/link">${keyInput(ctx)}<p class="soft">${text.newLinkHelp}</p><button class="button">${text.newLink}</button></form>`
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

function valuesOfMember(member: StaffMember, language: PageLanguage): FormValues {
  const { name, email, role, saleLimit, refundLimit } = member;
  const shown = (limit: Money | null): string => (limit === null ? '' : amountValue(limit, language));
  return { name, email, role, sale_limit: shown(saleLimit), refund_limit: shown(refundLimit) };
}

async function change(
  services: ConsoleServices,
  request: StaffRequest,
  changes: StaffChanges,
  values?: FormValues,
): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const member = await requireMember(services, request);
  return await orErrors(
    async () => {
      const { store } = request.signedIn;
      await storage.write(() => changeStaff(ctx, { store, id: member.id, changes, by: actingAs(request) }));
      return seeOther(values ? '/staff' : `/staff/${String(member.id)}`);
    },
    (found) => {
      const errors = { [found['disabled'] ? 'disabled' : 'role']: texts[request.language].ownerNeeded };
      return memberPage(services, request, { member, ...(values && { values }), errors });
    },
  );
}

async function save(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const member = await requireMember(services, request);
  const values = typedValues(request, valuesOfMember(member, request.language));
  const read = readForm(values, request.signedIn.store, request.language);
  if ('fields' in read) return await change(services, request, read.fields, values);
  return await memberPage(services, request, { member, values, errors: read.errors });
}

async function newLink(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const member = await requireMember(services, request);
  const key = keyOf(request);
  if (key === undefined || member.disabledAt !== null) return seeOther(`/staff/${String(member.id)}`);
  const by = actingAs(request);
  await runOnce<LinkResult>(services, request, key, function* link() {
    const details = { link: true };
    const entry = {
      storeId: member.storeId,
      action: 'staff-invited',
      subjectId: member.id,
      details,
    } as const;
    yield* recordAction(ctx, by, entry);
    return { name: member.name, token: (yield* createLink(ctx, member, by)).reveal() };
  });
  return seeOther(`/staff/links/${key}`);
}

const sensitive = { access: 'manageStaff', isSensitive: true } as const;

export const staffRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/staff', access: 'manageStaff', handle: listPage },
  {
    method: 'GET',
    path: '/staff/new',
    ...sensitive,
    handle(services, request) {
      const values: FormValues = { ...newPerson, role: 'cashier' };
      return Promise.resolve(invitePage(services, request, { values, errors: {} }));
    },
  },
  { method: 'POST', path: '/staff/new', ...sensitive, handle: invite },
  { method: 'GET', path: '/staff/links/:key', ...sensitive, handle: linkPage },
  {
    method: 'GET',
    path: '/staff/:id',
    ...sensitive,
    async handle(services, request) {
      return await memberPage(services, request, { member: await requireMember(services, request) });
    },
  },
  { method: 'POST', path: '/staff/:id', ...sensitive, handle: save },
  {
    method: 'POST',
    path: '/staff/:id/disable',
    ...sensitive,
    handle: (services, request) => change(services, request, { disabled: true }),
  },
  {
    method: 'POST',
    path: '/staff/:id/enable',
    ...sensitive,
    handle: (services, request) => change(services, request, { disabled: false }),
  },
  { method: 'POST', path: '/staff/:id/link', ...sensitive, handle: newLink },
  {
    method: 'POST',
    path: '/staff/:id/unlock',
    ...sensitive,
    async handle(services, request) {
      const { ctx, storage } = services;
      const member = await requireMember(services, request);
      await storage.write(() => unlockPin(ctx, member, actingAs(request)));
      return seeOther(`/staff/${String(member.id)}`);
    },
  },
  {
    method: 'POST',
    path: '/staff/:id/sessions/end',
    ...sensitive,
    async handle(services, request) {
      const { ctx, storage } = services;
      const member = await requireMember(services, request);
      const { id: own, staffId } = request.signedIn.session;
      const ended = { except: staffId === member.id ? own : null, by: actingAs(request) };
      await storage.write(() => endAllSessions(ctx, member, ended));
      return seeOther(`/staff/${String(member.id)}`);
    },
  },
  {
    method: 'POST',
    path: '/staff/:id/sessions/:session/end',
    ...sensitive,
    async handle(services, request) {
      const { ctx, storage } = services;
      const member = await requireMember(services, request);
      const session = Number(request.params['session']);
      const by = actingAs(request);
      if (Number.isSafeInteger(session))
        await storage.write(() => endOneSession(ctx, member, { session, by }));
      return seeOther(`/staff/${String(member.id)}`);
    },
  },
];
