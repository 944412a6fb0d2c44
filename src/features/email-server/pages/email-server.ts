/** The mail server of a store: its settings, a test email with digits to type, and what the domain of the sender says. */

import { emailServerPath, emailServerTool } from '../../emails/pages/server-tool.ts';
import { mayOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import { parseSenderAddress } from '../../../core/domain/email-address.ts';
import { emailProviders, providerOfHost } from '../domain/providers.ts';
import {
  codePeriodMs,
  parseServerPort,
  parseServerUser,
  serverPasswordLengthMax,
  serverPorts,
  tlsOfPort,
  type EmailServer,
  type EmailTrouble,
  type OpenedServer,
} from '../../emails/domain/server.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import { Secret } from '../../../platform/secret.ts';
import { readEmailServers, removeServerCode, type ServersOfStore } from '../service/server.ts';
import { reserveTestEmail } from '../../emails/service/test-email.ts';
import { draftEmailServer, removeEmailServer, verifyEmailServer } from '../service/staff-email-server.ts';
import { alert, inputField, select } from '../../../pages/kit/form.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { changeAndNotify, notifyOwners } from '../../owner-notices/pages/owner-notice.ts';
import { domainPanel } from './sender-domain.ts';

/** The page as a step of the first run. */
export const firstServerPath = `${emailServerPath}?setup=first`;

const fields = ['provider', 'sender', 'user', 'host', 'port'] as const;

type Field = (typeof fields)[number] | 'password';
type Values = Readonly<Record<(typeof fields)[number], string>>;
type Errors = Readonly<Partial<Record<Field | 'digits', string>>>;

/** The providers, and any other server. */
const other = 'other';

/** The rest of the page, in addition to the stored servers. */
type Shown = {
  readonly values?: Values;
  readonly errors?: Errors;
  readonly problem?: string;
  /** A test email that was not accepted. */
  readonly failed?: {
    readonly server: EmailServer;
    readonly trouble: EmailTrouble;
    readonly response: string;
  };
};

function valuesOf(page: Page, { draft, verified }: ServersOfStore): Values {
  const stored = draft ?? verified;
  if (!stored) return { provider: '', sender: page.member.email, user: '', host: '', port: '' };
  const { host, port, user, sender } = stored;
  const provider = providerOfHost(host);
  return {
    provider: provider?.id ?? other,
    sender,
    user,
    host: provider ? '' : host,
    port: provider?.port === port ? '' : String(port),
  };
}

type Read =
  { readonly ok: true; readonly server: EmailServer } | { readonly ok: false; readonly errors: Errors };

/** A provider decides about the host, and about the port unless another one is chosen. */
function readServer(page: Page, values: Values): Read {
  const { errors: texts } = page.text.emailServer;
  const provider = emailProviders.find(({ id }) => id === values.provider);
  const errors: Partial<Record<Field, string>> = {};
  const read = <Value>(
    name: 'sender' | 'user' | 'host' | 'port',
    parsed: Parsed<Value>,
  ): Value | undefined => {
    if (parsed.ok) return parsed.value;
    errors[name] = texts[name];
    return undefined;
  };
  if (!provider && values.provider !== other) errors.provider = texts.provider;
  const host = provider?.host ?? read('host', page.services.tools.of(emailServerTool).parseHost(values.host));
  const port = values.port === '' ? (provider?.port ?? 587) : read('port', parseServerPort(values.port));
  const user = read('user', parseServerUser(values.user));
  const sender = read('sender', parseSenderAddress(values.sender));
  if (Object.keys(errors).length > 0 || !host || port === undefined || !user || !sender)
    return { ok: false, errors };
  return { ok: true, server: { host, port, tls: tlsOfPort(port), user, sender } };
}

/** Whether the page is a step of the first run. It stays one after each form. */
function isFirstRun({ request }: Page): boolean {
  return (request.query.get('setup') ?? request.form.get('setup')) === 'first';
}

function pathWith(page: Page, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ ...parameters, ...(isFirstRun(page) && { setup: 'first' }) });
  return `${emailServerPath}${query.size > 0 ? '?' : ''}${query.toString()}`;
}

function formOf(page: Page, path: string, body: Markup): Markup {
  const setup = isFirstRun(page) ? markup`<input type="hidden" name="setup" value="first">` : undefined;
  return page.form(path, markup`${setup}${body}`);
}

/** The server that sends the emails now. */
function statePanel(page: Page, { verified }: ServersOfStore): Markup {
  const text = page.text.emailServer;
  const tag = verified
    ? markup`<span class="tag good">${text.verified}</span>`
    : markup`<span class="tag wait">${text.notSent}</span>`;
  const said = verified
    ? fillPlain(text.sends, {
        server: `${verified.host}:${verified.port}`,
        user: verified.user,
        sender: verified.sender,
      })
    : text.nothingSends;
  const remove = verified
    ? formOf(
        page,
        `${emailServerPath}/remove`,
        markup`<div><button class="button danger">${text.remove}</button></div>`,
      )
    : undefined;
  return markup`<section class="panel stack" aria-labelledby="now"><h2 id="now">${text.now}</h2><p>${tag} ${said}</p>${remove}</section>`;
}

function codePanel(page: Page, { draft }: ServersOfStore, errors: Errors): Markup | undefined {
  if (!draft || draft.codeSentAt === null || draft.codeSentAt <= page.now - codePeriodMs) return undefined;
  const text = page.text.emailServer;
  const input = inputField({
    name: 'digits',
    label: text.digits,
    inputMode: 'numeric',
    autocomplete: 'one-time-code',
    kind: 'code',
    hint: text.digitsHint,
    error: errors.digits,
    hasFocus: true,
  });
  return markup`<section class="panel stack" aria-labelledby="arrived"><h2 id="arrived">${text.arrived}</h2><p>${fillPlain(text.codeSent, { server: draft.host, address: page.member.email })}</p>
${formOf(page, `${emailServerPath}/code`, markup`<div class="fields">${input}</div><div><button class="button first">${text.confirm}</button></div>`)}</section>`;
}

/** The sentence for people above the server's own response. */
function failurePart(page: Page, { failed }: Shown): Markup | undefined {
  if (!failed) return undefined;
  const { server, trouble, response } = failed;
  const text = page.text.emailServer;
  const values = { host: server.host, port: String(server.port), user: server.user, sender: server.sender };
  const title = fillPlain(text.troubles[trouble].title, values);
  const advice = fillPlain(text.troubles[trouble].advice, values);
  const notes =
    server.host === 'smtp.office365.com' && trouble === 'signIn'
      ? markup`<p>${text.microsoft}</p>`
      : undefined;
  return markup`<div class="notice bad" role="alert"><div class="stack"><h3>${title}</h3><p>${advice}</p>${notes}<p>${text.response}</p></div></div><p class="payload" dir="ltr">${response}</p>`;
}

function settingsPanel(
  page: Page,
  stored: ServersOfStore,
  { values: typed, errors = {}, ...shown }: Shown,
): Markup {
  const text = page.text.emailServer;
  const values = typed ?? valuesOf(page, stored);
  const field = (name: Exclude<Field, 'password'>, label: string, hint?: string) => ({
    name,
    label,
    value: values[name],
    error: errors[name],
    ...(hint !== undefined && { hint }),
  });
  const options = [
    { value: '', text: text.choose },
    ...emailProviders.map(({ id, name }) => ({ value: id, text: name })),
    { value: other, text: text.other },
  ];
  const ports = [
    { value: '', text: text.usualPort },
    ...serverPorts.map((port) => ({ value: String(port), text: String(port) })),
  ];
  const set = stored.draft ?? stored.verified;
  const password = inputField({
    name: 'password',
    label: text.password,
    type: 'password',
    autocomplete: 'off',
    isOptional: set !== undefined,
    error: errors.password,
    hint: set
      ? markup`${text.passwordSet} ${page.day(set.passwordSetAt)}. ${text.passwordStays}`
      : text.passwordHint,
  });
  const body = markup`${failurePart(page, shown)}<div class="fields">${select({ ...field('provider', text.provider), options })}
${inputField({ ...field('sender', text.sender, text.senderHint), type: 'email' })}
${inputField(field('user', text.user, text.userHint))}
${password}
${inputField({ ...field('host', text.host, text.hostHint), isOptional: true })}
${select({ ...field('port', text.port, text.portHint), options: ports })}</div>
<p class="small soft">${text.microsoft}</p>
<div class="row"><button class="button first">${fillPlain(text.sendTest, { address: page.member.email })}</button></div>`;
  return markup`<section class="panel stack" aria-labelledby="server"><h2 id="server">${stored.verified ? text.change : text.set}</h2>${formOf(page, emailServerPath, body)}</section>`;
}

/** A page that only says who sets the server. */
function readOnlyPanel(page: Page): Markup {
  const text = page.text.emailServer;
  const { ofOperator } = page.services.tools.of(emailServerTool);
  const said = ofOperator
    ? fillPlain(text.byOperator, { server: `${ofOperator.host}:${ofOperator.port}` })
    : text.notAllowed;
  return markup`<section class="panel"><p>${said}</p></section>`;
}

const doneNames = ['verified', 'verifiedUnnoticed', 'removed', 'repeated'] as const;

async function serverPage(page: Page, shown: Shown = {}): Promise<PageResponse> {
  const text = page.text.emailServer;
  const { rule } = page.services.tools.of(emailServerTool);
  const may = await page.read(() => mayOwnersSetMachine(page.store, rule));
  const stored = await page.read(() => readEmailServers(page.store.id));
  const done = doneNames.find((name) => name === page.request.query.get('done'));
  const notice = done && markup`<p class="notice good" role="status">${text.done[done]}</p>`;
  const problem = shown.problem === undefined ? undefined : alert(shown.problem);
  const isFirst = isFirstRun(page);
  const lead = isFirst ? markup`<p class="lead">${text.lead}</p>` : undefined;
  const after = isFirst
    ? page.link(
        '/cards/new',
        stored.verified ? text.continue : text.later,
        stored.verified ? 'first' : 'quiet',
      )
    : page.link('/settings/emails', text.back, 'quiet');
  const panels = may
    ? markup`${statePanel(page, stored)}
${codePanel(page, stored, shown.errors ?? {})}
${settingsPanel(page, stored, shown)}
${await domainPanel(page, stored.draft ?? stored.verified, pathWith(page, { check: 'domain' }))}`
    : readOnlyPanel(page);
  const isRejected = shown.problem !== undefined || shown.failed !== undefined || shown.errors !== undefined;
  return page.show('/settings', {
    status: isRejected ? 422 : 200,
    title: text.title,
    body: markup`<div class="stack settings">${lead}${notice}${problem}${panels}
<div class="row">${after}</div></div>`,
  });
}

/** @throws Fault except `insufficient-scope`: owners may no longer set the server, as the page says then. */
async function unlessForbidden<Result>(
  page: Page,
  change: () => Promise<Result>,
): Promise<Result | PageResponse> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'insufficient-scope') throw error;
    return await serverPage(page, { problem: page.text.emailServer.notAllowed });
  }
}

/** Stores the server as a draft, and sends a test email with it. */
async function testServer(page: Page): Promise<ConsoleResponse> {
  const text = page.text.emailServer;
  const { services, ctx, key, by, member, store } = page;
  const values: Values = {
    provider: page.typed('provider'),
    sender: page.typed('sender'),
    user: page.typed('user'),
    host: page.typed('host'),
    port: page.typed('port'),
  };
  const typed = page.request.form.get('password') ?? '';
  const read = readServer(page, values);
  const isTooLong = typed.length > serverPasswordLengthMax;
  if (!read.ok || isTooLong) {
    const errors = { ...(read.ok ? {} : read.errors), ...(isTooLong && { password: text.errors.password }) };
    return await serverPage(page, { values, errors });
  }
  if (key === undefined) return await serverPage(page, { values, problem: page.text.settings.expiredForm });
  const reserved = await page.once(key, () => reserveTestEmail(ctx, member));
  if (reserved.isRepeated) return seeOther(pathWith(page, { done: 'repeated' }));
  if (reserved.result > 0)
    return throttled(
      await serverPage(page, { values, problem: page.text.settings.testThrottled }),
      reserved.result,
    );
  const password = typed === '' ? null : new Secret(typed);
  const { rule } = services.tools.of(emailServerTool);
  const { server } = read;
  try {
    const test = await unlessForbidden(page, () =>
      page.write(() => draftEmailServer(ctx, by, { rule, server, password })),
    );
    if (!('digits' in test)) return test;
    const sent = await services.tools.of(emailServerTool).send(test.server, {
      store,
      to: member.email,
      subject: text.testSubject,
      paragraphs: [text.testText, text.testEnd],
      code: test.digits,
      locale: page.language,
    });
    if (sent.trouble === null) return seeOther(pathWith(page, {}));
    await page.write(() => removeServerCode(store.id, test.sentAt));
    return await serverPage(page, {
      values,
      failed: { server, trouble: sent.trouble, response: sent.response },
    });
  } catch (error) {
    if (!(error instanceof Fault) || !error.errors?.['password']) throw error;
    return await serverPage(page, { values, errors: { password: text.errors.passwordAgain } });
  }
}

function noticeOf(page: Page, change: 'changed' | 'removed') {
  const text = page.text.emailServer;
  const { store, member } = page;
  const values = { store: store.name, name: member.name, email: member.email };
  return {
    subject: fillPlain(text.notices[change].subject, values),
    paragraphs: [fillPlain(text.notices[change].text, values), text.notices.advice],
  };
}

/** Notifies all owners of a change, through the server that sent the emails before, or else the new one. */
async function notifyThrough(page: Page, servers: readonly (OpenedServer | undefined)[]): Promise<boolean> {
  const serverTools = page.services.tools.of(emailServerTool);
  return await notifyOwners(page, async (notice) => {
    for (const server of servers)
      if (server && (await serverTools.send(server, notice)).trouble === null) return true;
    return false;
  });
}

async function verifyDigits(page: Page): Promise<ConsoleResponse> {
  const text = page.text.emailServer;
  const { rule } = page.services.tools.of(emailServerTool);
  const digits = page.typed('digits').replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(digits)) return await serverPage(page, { errors: { digits: text.errors.digits } });
  const verified = await unlessForbidden(page, () =>
    changeAndNotify(
      page,
      () => verifyEmailServer(page.ctx, page.by, { rule, digits }),
      ({ result }) => (result === 'verified' ? noticeOf(page, 'changed') : null),
    ),
  );
  if ('status' in verified) return verified;
  if (verified.result === 'wrong') return await serverPage(page, { errors: { digits: text.errors.wrong } });
  if (verified.result === 'ended') return await serverPage(page, { problem: text.codeEnded });
  const areNotified = await notifyThrough(page, [verified.before, verified.server]);
  return seeOther(pathWith(page, { done: areNotified ? 'verified' : 'verifiedUnnoticed' }));
}

async function removeServer(page: Page): Promise<ConsoleResponse> {
  const before = await changeAndNotify(
    page,
    () => removeEmailServer(page.ctx, page.by),
    (removed) => (removed ? noticeOf(page, 'removed') : null),
  );
  if (before) await notifyThrough(page, [before]);
  return seeOther(pathWith(page, { done: 'removed' }));
}

const owners = { sensitive: 'changeSettings' } as const;

export const emailServerRoutes: readonly StaffRoute[] = [
  get(emailServerPath, owners, (page) => serverPage(page)),
  post(emailServerPath, owners, testServer),
  post(`${emailServerPath}/code`, owners, verifyDigits),
  post(`${emailServerPath}/remove`, owners, removeServer),
];
