/** Access tokens: list, create and revoke. */

import { Fault } from '../../domain/fault.ts';
import { parseStaffName } from '../../domain/staff/staff.ts';
import { scopes, type Scope } from '../../domain/stores/store.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { createToken, revoke } from '../../service/stores/token.ts';
import { findToken, listNewestTokens, type Token } from '../../storage/stores/token.ts';
import {
  beforeOf,
  confirmPanel,
  developerAccess,
  developerPage,
  developersPath,
  developerTexts,
  pathId,
  pathOfSecret,
  recordDeveloperAction,
  runOrFault,
  scopesText,
  type ShownSecret,
} from './parts.ts';
import { alert, inputField, select } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fill, fillPlain, plural } from '../kit/texts.ts';

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
export function tokenTable(
  services: ConsoleServices,
  request: StaffRequest,
  tokens: readonly Token[],
): Markup {
  const { tokens: text } = developerTexts[request.language];
  const rows = tokens.map((token) => tokenRow(services, request, token));
  return markup`<table class="table lines" role="table"><caption class="sr">${text.caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.name}</th><th scope="col" role="columnheader">${text.scopes}</th><th scope="col" role="columnheader">${text.lastUsed}</th><th scope="col" role="columnheader" class="end"><span class="sr">${text.action}</span></th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table>`;
}

/** Whether a token that is not revoked expires soon. */
export function expiresSoon(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  { expiresAt, revokedAt }: Pick<Token, 'expiresAt' | 'revokedAt'>,
): boolean {
  if (expiresAt === null || revokedAt !== null) return false;
  const leftMs = expiresAt - ctx.clock.now();
  return leftMs > 0 && leftMs <= soonDays * dayMs;
}

function expiryText(
  services: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  token: Token,
): MarkupPart {
  const { expiresAt, revokedAt } = token;
  if (expiresAt === null || revokedAt !== null) return undefined;
  const { tokens: text } = developerTexts[language];
  const now = services.ctx.clock.now();
  const time = timeElement(expiresAt, store, language, { dateStyle: 'medium' });
  if (expiresAt <= now) return markup`<br><span class="tag bad">${fill(text.expiredAt, { time })}</span>`;
  if (!expiresSoon(services, token))
    return markup`<br><span class="small soft">${fill(text.expires, { time })}</span>`;
  const days = Math.ceil((expiresAt - now) / dayMs);
  return markup`<br><span class="tag wait">${plural(language, text.expiresIn, days)}</span>`;
}

function tokenRow(services: ConsoleServices, request: StaffRequest, token: Token): Markup {
  const { id, name, scopes: granted, createdAt, lastUsedAt, revokedAt } = token;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const { tokens: text, never } = developerTexts[language];
  const day = (at: number): Markup => timeElement(at, store, language, { dateStyle: 'medium' });
  const unusedFor = Math.floor((services.ctx.clock.now() - (lastUsedAt ?? createdAt)) / dayMs);
  const used = lastUsedAt === null ? never : timeElement(lastUsedAt, store, language);
  const forgotten =
    revokedAt === null && unusedFor >= unusedDays
      ? markup`<br><span class="tag wait">${plural(language, text.unused, unusedFor)}</span>`
      : undefined;
  const action =
    revokedAt === null
      ? markup`<a class="button quiet bad" href="${services.frame.basePath}${tokensPath}/${String(id)}/revoke" aria-label="${fillPlain(text.revokeOf, { name })}">${text.action}</a>`
      : markup`<span class="tag ended">${fill(text.revokedAt, { time: day(revokedAt) })}</span>`;
  return markup`<tr role="row"><td role="cell"><strong>${name}</strong><br><span class="small soft">${fill(text.created, { time: day(createdAt) })}</span>${expiryText(services, request, token)}</td><td role="cell" class="small whole-line">${scopesText(granted, language)}</td><td role="cell" class="soft small">${used}${forgotten}</td><td role="cell" class="aside end">${action}</td></tr>
`;
}

/** All tokens, also those that are revoked. */
async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { storage, frame } = services;
  const { language, signedIn } = request;
  const { tokens: text, ...common } = developerTexts[language];
  const asked = beforeOf(request);
  const found = await storage.read(() =>
    listNewestTokens(signedIn.store.id, {
      before: asked ?? Number.MAX_SAFE_INTEGER,
      limit: pageSize + 1,
      areRevokedIncluded: true,
    }),
  );
  const shown = found.slice(0, pageSize);
  const last = found.length > pageSize ? shown.at(-1) : undefined;
  const path = `${frame.basePath}${tokensPath}`;
  const older =
    last && markup`<a class="button" rel="next" href="${path}?before=${String(last.id)}">${common.older}</a>`;
  const newest =
    asked === undefined ? undefined : markup`<a class="button quiet" href="${path}">${common.newest}</a>`;
  const panel =
    shown.length === 0
      ? markup`<section class="panel empty"><p>${text.none}</p></section>`
      : markup`<section class="panel flush">${tokenTable(services, request, shown)}</section>`;
  const body = markup`<div class="stack">${panel}
<div class="row apart"><a class="button quiet" href="${frame.basePath}${developersPath}">${common.back}</a><span class="row">${newest}${older}</span></div></div>`;
  return developerPage(services, request, { title: text.title, body });
}

type FormState = {
  readonly name: string;
  readonly chosen: ReadonlySet<Scope>;
  /** Days, as text; empty: never. */
  readonly expires: string;
  readonly nameError?: string | undefined;
  readonly scopesError?: string | undefined;
  readonly alert?: string;
};

function formPage(services: ConsoleServices, request: StaffRequest, state: FormState): ConsoleResponse {
  const { ctx, frame } = services;
  const { scopeGroups, scopes: names, scopeTexts, tokens: text } = developerTexts[request.language];
  const { chosen, scopesError } = state;
  const choice = (scope: Scope): Markup =>
    markup`<label class="check"><input type="checkbox" name="scope_${scope}" value="1"${chosen.has(scope) ? markup` checked` : undefined}><span>${names[scope]} <code class="chip">${scope}</code></span><span class="soft">${scopeTexts[scope]}</span></label>
`;
  const choices = groups.map((group) => {
    const members = scopes.filter((scope) => groupOf[scope] === group);
    return markup`<fieldset><legend class="small">${scopeGroups[group]}</legend>${members.map(choice)}</fieldset>
`;
  });
  const describedBy = scopesError === undefined ? 'scopes-hint' : 'scopes-error scopes-hint';
  const error =
    scopesError === undefined ? undefined : markup`<p class="error" id="scopes-error">${scopesError}</p>`;
  const expiries = [
    { value: '', text: text.noExpiry },
    ...expiryChoices.map((days) => ({
      value: String(days),
      text: plural(request.language, text.days, days),
    })),
  ];
  const isRejected = state.nameError !== undefined || scopesError !== undefined || state.alert !== undefined;
  const body = markup`<section class="panel stack change" aria-label="${text.create}">${state.alert === undefined ? undefined : alert(state.alert)}
<form class="stack" method="post" action="${frame.basePath}${tokensPath}/new">${keyInput(ctx, isRejected ? keyOf(request) : undefined)}
${inputField({ name: 'name', label: text.name, value: state.name, hint: text.nameHint, error: state.nameError })}
<fieldset class="stack" aria-describedby="${describedBy}"><legend>${text.scopes}</legend><p class="hint" id="scopes-hint">${text.scopesHint}</p>${error}
${choices}</fieldset>
${select({ name: 'expires', label: text.expiry, hint: text.expiryHint, options: expiries, value: state.expires })}
<p class="small soft">${text.onceText}</p>
<button class="button first">${text.submit}</button></form></section>`;
  const status = isRejected ? 422 : 200;
  return developerPage(services, request, { title: text.create, body, status });
}

async function submitNew(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { tokens: text, expiredForm } = developerTexts[request.language];
  const { store } = request.signedIn;
  const typed = formText(request, 'name');
  const name = parseStaffName(typed);
  const granted = scopes.filter((scope) => request.form.get(`scope_${scope}`) === '1');
  const expires = formText(request, 'expires');
  const days = expiryChoices.find((each) => String(each) === expires);
  const state = { name: typed.slice(0, 400), chosen: new Set(granted), expires };
  if (!name.ok || granted.length === 0) {
    const nameText = typed === '' ? text.nameMissing : text.nameInvalid;
    return formPage(services, request, {
      ...state,
      nameError: name.ok ? undefined : nameText,
      scopesError: granted.length === 0 ? text.scopesMissing : undefined,
    });
  }
  const key = keyOf(request);
  if (key === undefined || (days === undefined && expires !== ''))
    return formPage(services, request, { ...state, alert: expiredForm });
  await runOrFault<ShownSecret>(services, request, { key, codes: [] }, function* create() {
    const { token, secret } = yield* createToken(ctx, {
      store,
      name: name.value,
      scopes: granted,
      periodMs: days === undefined ? null : days * dayMs,
    });
    const details = { name: token.name, scopes: granted.join(', ') };
    yield* recordDeveloperAction(services, request, {
      action: 'token-created',
      subjectId: token.id,
      details,
    });
    return { done: 'token-created', subject: token.id, secret: secret.reveal() };
  });
  return seeOther(pathOfSecret(key));
}

/** @throws Fault `not-found`. */
async function requireToken({ storage }: ConsoleServices, request: StaffRequest): Promise<Token> {
  const id = pathId(request);
  const token = await storage.read(() => findToken(request.signedIn.store.id, id));
  if (!token) throw new Fault('not-found');
  return token;
}

async function revokePage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { tokens: text, never, back } = developerTexts[language];
  const token = await requireToken(services, request);
  const { id, name, lastUsedAt } = token;
  const title = fillPlain(text.revokeTitle, { name });
  if (token.revokedAt !== null) {
    const body = markup`<section class="panel stack change" aria-label="${name}"><p role="status">${text.alreadyRevoked}</p>
<p><a class="button first" href="${frame.basePath}${developersPath}">${back}</a></p></section>`;
    return developerPage(services, request, { title: name, body });
  }
  const used = lastUsedAt === null ? never : timeElement(lastUsedAt, signedIn.store, language);
  const body = confirmPanel(services, request, {
    label: title,
    before: markup`<dl class="facts"><dt>${text.scopes}</dt><dd>${scopesText(token.scopes, language)}</dd><dt>${text.lastUsed}</dt><dd>${used}</dd></dl>
<p>${text.revokeText}</p>`,
    form: markup`<form method="post" action="${frame.basePath}${tokensPath}/${String(id)}/revoke">${keyInput(ctx)}<button class="button bad">${text.revokeSubmit}</button></form>`,
    back: developersPath,
  });
  return developerPage(services, request, { title, body });
}

async function submitRevoke(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { id, name } = await requireToken(services, request);
  const key = keyOf(request);
  if (key === undefined) return seeOther(`${tokensPath}/${String(id)}/revoke`);
  // Another person can have revoked it: the list shows that.
  await runOrFault(services, request, { key, codes: ['not-found'] }, function* revoked() {
    yield* revoke(ctx, request.signedIn.store, id);
    yield* recordDeveloperAction(services, request, {
      action: 'token-revoked',
      subjectId: id,
      details: { name },
    });
    return { done: 'token-revoked', subject: id };
  });
  return seeOther(developersPath);
}

const sensitive = { access: developerAccess, isSensitive: true } as const;

export const developerTokenRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: tokensPath, access: developerAccess, handle: listPage },
  {
    method: 'GET',
    path: `${tokensPath}/new`,
    ...sensitive,
    handle: (services, request) =>
      Promise.resolve(formPage(services, request, { name: '', chosen: new Set(), expires: '' })),
  },
  { method: 'POST', path: `${tokensPath}/new`, ...sensitive, handle: submitNew },
  { method: 'GET', path: `${tokensPath}/:id/revoke`, ...sensitive, handle: revokePage },
  { method: 'POST', path: `${tokensPath}/:id/revoke`, ...sensitive, handle: submitRevoke },
];
