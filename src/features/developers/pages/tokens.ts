/** Access tokens: list, create and revoke. */

import { parseStaffName } from '../../../core/staff/domain/staff.ts';
import { scopes, type Scope } from '../../../core/stores/domain/store.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { grantToken, endToken } from '../service/token.ts';
import { listNewestTokens, showToken } from '../../../core/stores/service/token.ts';
import type { Token } from '../../../core/stores/storage/token.ts';
import { alert, inputField, select } from '../../../pages/kit/form.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { readStoredId } from '../../../pages/kit/ids.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { facts, panel, small, table, tag, type Row } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import {
  confirmPanel,
  developerAccess,
  developersPath,
  pathOfSecret,
  runOrFault,
  scopesText,
  type ShownSecret,
} from '../../webhooks/pages/developer-parts.ts';

const pageSize = 50;
const dayMs = 24 * 60 * 60 * 1_000;
/** A token that has not been used for longer is probably forgotten. */
const unusedDays = 90;
/** The days after which a token can expire. */
const expiryChoices = [30, 90, 365] as const;
/** Tokens that expire in fewer days are marked. */
const soonDays = 14;

const tokensPath = `${developersPath}/tokens`;

const groups = ['cards', 'connections', 'books', 'people'] as const;

const groupOf: Readonly<Record<Scope, (typeof groups)[number]>> = {
  read_gift_cards: 'cards',
  redeem_gift_cards: 'cards',
  write_gift_cards: 'cards',
  read_events: 'connections',
  manage_webhooks: 'connections',
  read_reports: 'books',
  manage_customers: 'people',
};

/** Tokens as a table, the newest first. */
export function tokenTable(page: Page, tokens: readonly Token[]): Markup {
  const { tokens: text } = page.text.developers;
  return table({
    caption: text.caption,
    columns: [text.name, text.scopes, text.lastUsed, { class: 'end', name: text.action, isHidden: true }],
    rows: tokens.map((token) => tokenRow(page, token)),
  });
}

/** Whether a token that is not revoked expires soon. */
export function expiresSoon({ realNow: now }: Page, { expiresAt, revokedAt }: Token): boolean {
  return expiresAt !== null && revokedAt === null && expiresAt > now && expiresAt - now <= soonDays * dayMs;
}

function expiryText(page: Page, token: Token): MarkupPart {
  const { expiresAt, revokedAt } = token;
  if (expiresAt === null || revokedAt !== null) return undefined;
  const { tokens: text } = page.text.developers;
  const time = page.day(expiresAt);
  if (expiresAt <= page.realNow) return markup`<br>${tag('bad', fill(text.expiredAt, { time }))}`;
  if (!expiresSoon(page, token)) return markup`<br>${small(fill(text.expires, { time }))}`;
  const days = Math.ceil((expiresAt - page.realNow) / dayMs);
  return markup`<br>${tag('wait', plural(page.language, text.expiresIn, days))}`;
}

function tokenRow(page: Page, token: Token): Row {
  const { id, name, createdAt, lastUsedAt, revokedAt } = token;
  const { tokens: text, never } = page.text.developers;
  const unusedFor = Math.floor((page.realNow - (lastUsedAt ?? createdAt)) / dayMs);
  const used = lastUsedAt === null ? never : page.time(lastUsedAt);
  const forgotten =
    revokedAt === null && unusedFor >= unusedDays
      ? markup`<br>${tag('wait', plural(page.language, text.unused, unusedFor))}`
      : undefined;
  const action =
    revokedAt === null
      ? page.link(`${tokensPath}/${id}/revoke`, text.action, 'quiet bad', fillPlain(text.revokeOf, { name }))
      : tag('ended', fill(text.revokedAt, { time: page.day(revokedAt) }));
  return [
    markup`<strong>${name}</strong><br>${small(fill(text.created, { time: page.day(createdAt) }))}${expiryText(page, token)}`,
    { class: 'small whole-line', html: scopesText(page, token.scopes) },
    { class: 'soft small', html: markup`${used}${forgotten}` },
    { class: 'aside end', html: action },
  ];
}

/** All tokens, also those that are revoked. */
async function listPage(page: Page): Promise<ConsoleResponse> {
  const { tokens: text, back, newest, older } = page.text.developers;
  const asked = readStoredId(page.request.query.get('before'));
  const before = asked ?? Number.MAX_SAFE_INTEGER;
  const found = await page.read(() =>
    listNewestTokens(page.store.id, { before, limit: pageSize + 1, areRevokedIncluded: true }),
  );
  const shown = found.slice(0, pageSize);
  const last = found.length > pageSize ? shown.at(-1) : undefined;
  const path = page.url(tokensPath);
  const olderLink =
    last && markup`<a class="button" rel="next" href="${path}?before=${String(last.id)}">${older}</a>`;
  const newestLink = asked === undefined ? undefined : page.link(tokensPath, newest, 'quiet');
  const list =
    shown.length === 0
      ? markup`<section class="panel empty"><p>${text.none}</p></section>`
      : markup`<section class="panel flush">${tokenTable(page, shown)}</section>`;
  const body = markup`<div class="stack">${list}
<div class="row apart">${page.link(developersPath, back, 'quiet')}<span class="row">${newestLink}${olderLink}</span></div></div>`;
  return page.show(developersPath, { title: text.title, body });
}

type FormErrors = {
  readonly name?: string | undefined;
  readonly scopes?: string | undefined;
  /** Above the form. */
  readonly alert?: string;
};

function grantedScopes({ request: { form } }: Page): readonly Scope[] {
  return scopes.filter((scope) => form.get(`scope_${scope}`) === '1');
}

function scopesField(page: Page, error: string | undefined): Markup {
  const { scopeGroups, scopes: names, scopeTexts, tokens: text } = page.text.developers;
  const chosen = new Set(grantedScopes(page));
  const choice = (scope: Scope): Markup =>
    markup`<label class="check"><input type="checkbox" name="scope_${scope}" value="1"${chosen.has(scope) ? markup` checked` : undefined}><span>${names[scope]} <code class="chip">${scope}</code></span><span class="soft">${scopeTexts[scope]}</span></label>
`;
  const choices = groups.map((group) => {
    const members = scopes.filter((scope) => groupOf[scope] === group);
    return markup`<fieldset><legend class="small">${scopeGroups[group]}</legend>${members.map(choice)}</fieldset>
`;
  });
  const describedBy = error === undefined ? 'scopes-hint' : 'scopes-error scopes-hint';
  const shown = error === undefined ? undefined : markup`<p class="error" id="scopes-error">${error}</p>`;
  return markup`<fieldset class="stack" aria-describedby="${describedBy}"><legend>${text.scopes}</legend><p class="hint" id="scopes-hint">${text.scopesHint}</p>${shown}
${choices}</fieldset>`;
}

function formPage(page: Page, errors: FormErrors = {}): ConsoleResponse {
  const { tokens: text } = page.text.developers;
  const expiries = expiryChoices.map((days) => ({
    value: String(days),
    text: plural(page.language, text.days, days),
  }));
  const options = [{ value: '', text: text.noExpiry }, ...expiries];
  const isRejected = Object.values(errors).some((error) => error !== undefined);
  const fields = markup`${inputField({ name: 'name', label: text.name, value: page.typed('name').slice(0, 400), hint: text.nameHint, error: errors.name })}
${scopesField(page, errors.scopes)}
${select({ name: 'expires', label: text.expiry, hint: text.expiryHint, options, value: page.typed('expires') })}
<p class="small soft">${text.onceText}</p>
<button class="button first">${text.submit}</button>`;
  const notice = errors.alert === undefined ? undefined : alert(errors.alert);
  const form = page.form(`${tokensPath}/new`, fields, isRejected ? page.key : undefined);
  const body = panel(text.create, markup`${notice}\n${form}`);
  return page.show(developersPath, { title: text.create, body, status: isRejected ? 422 : 200 });
}

async function submitNew(page: Page): Promise<ConsoleResponse> {
  const { tokens: text, expiredForm } = page.text.developers;
  const [typed, expires] = [page.typed('name'), page.typed('expires')];
  const [name, granted, key] = [parseStaffName(typed), grantedScopes(page), page.key];
  const days = expiryChoices.find((each) => String(each) === expires);
  if (!name.ok || granted.length === 0) {
    const nameText = typed === '' ? text.nameMissing : text.nameInvalid;
    return formPage(page, {
      name: name.ok ? undefined : nameText,
      scopes: granted.length === 0 ? text.scopesMissing : undefined,
    });
  }
  if (key === undefined || (days === undefined && expires !== ''))
    return formPage(page, { alert: expiredForm });
  const periodMs = days === undefined ? null : days * dayMs;
  await runOrFault(page, key, {
    script: () => grantToken(page.ctx, page.by, { name: name.value, scopes: granted, periodMs }),
    resultOf: ({ token, secret }): ShownSecret => ({
      done: 'token-created',
      subject: token.id,
      secret: secret.reveal(),
    }),
  });
  return seeOther(pathOfSecret(key));
}

async function requireToken(page: Page): Promise<Token> {
  return await page.read(() => showToken(page.store.id, page.storedId()));
}

async function revokePage(page: Page): Promise<ConsoleResponse> {
  const { tokens: text, never, back } = page.text.developers;
  const { id, name, lastUsedAt, revokedAt, scopes: granted } = await requireToken(page);
  if (revokedAt !== null) {
    const body = markup`<p role="status">${text.alreadyRevoked}</p>
<p>${page.link(developersPath, back, 'first')}</p>`;
    return page.show(developersPath, { title: name, body: panel(name, body) });
  }
  const title = fillPlain(text.revokeTitle, { name });
  const about = facts({
    [text.scopes]: scopesText(page, granted),
    [text.lastUsed]: lastUsedAt === null ? never : page.time(lastUsedAt),
  });
  const body = confirmPanel(page, {
    label: title,
    before: markup`${about}
<p>${text.revokeText}</p>`,
    form: markup`<form method="post" action="${page.url(tokensPath)}/${String(id)}/revoke">${keyInput(page.ctx)}<button class="button bad">${text.revokeSubmit}</button></form>`,
    back: developersPath,
  });
  return page.show(developersPath, { title, body });
}

async function submitRevoke(page: Page): Promise<ConsoleResponse> {
  const { id } = await requireToken(page);
  const { key } = page;
  if (key === undefined) return seeOther(`${tokensPath}/${String(id)}/revoke`);
  // Another person can have revoked it: the list shows that.
  await runOrFault(page, key, {
    script: () => endToken(page.ctx, page.by, id),
    resultOf: () => ({ done: 'token-revoked', subject: id }),
    codes: ['not-found'],
  });
  return seeOther(developersPath);
}

const sensitive = { sensitive: developerAccess } as const;

export const developerTokenRoutes: readonly StaffRoute[] = [
  get(tokensPath, developerAccess, listPage),
  get(`${tokensPath}/new`, sensitive, (page) => formPage(page)),
  post(`${tokensPath}/new`, sensitive, submitNew),
  get(`${tokensPath}/:id/revoke`, sensitive, revokePage),
  post(`${tokensPath}/:id/revoke`, sensitive, submitRevoke),
];
