/** The list of all emails of a store, and what needs attention. */

import type { EmailKind, EmailState } from '../domain/email.ts';
import { isPermitted } from '../domain/staff.ts';
import { markup, type Markup } from '../markup.ts';
import {
  countEmailConcerns,
  pageOfStoreEmails,
  waitingStates,
  type EmailConcerns,
  type EmailCount,
  type ListedEmails,
  type EmailPosition,
  type ListedEmail,
} from '../service/email-list.ts';
import type { EmailFilter } from '../storage/email-list.ts';
import { findEmailSettings } from '../storage/email.ts';
import { emailPageRoutes } from './email-page.ts';
import { emailTag, emailTexts, momentOf, reasonOfEmail } from './email-texts.ts';
import { hidden, select } from './form.ts';
import { timeElement } from './format.ts';
import { readId } from './ids.ts';
import { longReads } from './long-reads.ts';
import { shellPage } from './page.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from './route.ts';
import { fill, plural, type PageLanguage } from './texts.ts';

/** The filters, by their values in the query. */
const statesOf = {
  scheduled: ['scheduled'],
  waiting: waitingStates,
  sent: ['sent'],
  failed: ['bounced', 'dead'],
  cancelled: ['cancelled'],
} as const satisfies Readonly<Record<string, readonly EmailState[]>>;

const kindsOf = {
  gift_card: ['gift_card'],
  receipt: ['receipt'],
  reminder: ['expiry_reminder', 'balance_reminder'],
  delivery_failed: ['delivery_failed'],
} as const satisfies Readonly<Record<string, readonly EmailKind[]>>;

type StateName = keyof typeof statesOf;
type KindName = keyof typeof kindsOf;

const stateNames = Object.keys(statesOf) as readonly StateName[];
const kindNames = Object.keys(kindsOf) as readonly KindName[];

type Query = { readonly state: StateName | null; readonly kind: KindName | null };

function queryOf({ query }: StaffRequest): Query {
  return {
    state: stateNames.find((name) => name === query.get('state')) ?? null,
    kind: kindNames.find((name) => name === query.get('kind')) ?? null,
  };
}

function filterOf({ state, kind }: Query): Partial<EmailFilter> {
  return { ...(state && { states: statesOf[state] }), ...(kind && { kinds: kindsOf[kind] }) };
}

/** Another text than an id begins at the first page. */
function positionOf(services: ConsoleServices, { query }: StaffRequest): EmailPosition {
  const after = readId(services, query.get('after'));
  if (after !== undefined) return { from: after, isBackwards: true };
  return { from: readId(services, query.get('before')) ?? null, isBackwards: false };
}

function pathOf(
  { frame }: Pick<ConsoleServices, 'frame'>,
  { state, kind }: Query,
  place: Readonly<Record<string, string>> = {},
): string {
  const parameters = new URLSearchParams({ ...(state && { state }), ...(kind && { kind }), ...place });
  return `${frame.basePath}/emails${parameters.size > 0 ? '?' : ''}${parameters.toString()}`;
}

async function listPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, canSend } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const query = queryOf(request);
  const reads = longReads(services);
  const page = await reads.read(() =>
    pageOfStoreEmails(store.id, filterOf(query), positionOf(services, request)),
  );
  const concerns = await reads.read(() => countEmailConcerns(ctx, store));
  const { enabled } = await services.storage.read(() => findEmailSettings(store.id));
  const text = emailTexts[language];
  const off = enabled ? undefined : markup`<p class="notice">${text.disabled}</p>`;
  const body = markup`<div class="stack">${canSend ? off : markup`<p class="notice">${text.cannotSend}</p>`}
${undeliveredNotice(services, request, concerns, query)}
${statePills(services, language, query, concerns)}
${kindForm(services, language, query)}
${page.emails.length === 0 ? emptyPanel(services, language, query) : emailTable(services, request, page)}
<div class="row apart"><span class="small soft">${text.sentNote}</span>${pageLinks(services, language, query, page)}</div></div>`;
  return { status: 200, body: shellPage(services, request, { title: text.title, path: '/emails', body }) };
}

/** What needs attention. The list of the emails does not repeat the link to itself. */
function undeliveredNotice(
  services: ConsoleServices,
  { language, signedIn: { member } }: StaffRequest,
  { undelivered: { count, isExact } }: EmailConcerns,
  query: Query,
): Markup | undefined {
  if (count === 0) return undefined;
  const text = emailTexts[language];
  const said = plural(language, isExact ? text.undelivered : text.undeliveredAtLeast, count);
  const failed: Query = { state: 'failed', kind: 'gift_card' };
  const isShown = query.state === 'failed' || !isPermitted(member.role, 'changeCards');
  const link = isShown
    ? undefined
    : markup` <a href="${pathOf(services, failed)}">${text.undeliveredAction}</a>`;
  return markup`<p class="notice"><span>${said}${link}</span></p>`;
}

function countText({ count, isExact }: EmailCount, language: PageLanguage): string {
  return `${new Intl.NumberFormat(language).format(count)}${isExact ? '' : '+'}`;
}

function statePills(
  services: ConsoleServices,
  language: PageLanguage,
  query: Query,
  concerns: EmailConcerns,
): Markup {
  const text = emailTexts[language];
  const links = ([null, ...stateNames] as const).map((state) => {
    const counted = state === 'scheduled' || state === 'waiting' ? concerns[state] : undefined;
    const count = counted && counted.count > 0 ? markup` ${countText(counted, language)}` : undefined;
    const current = state === query.state ? markup` aria-current="true"` : undefined;
    return markup`<a href="${pathOf(services, { ...query, state })}"${current}>${text.states[state ?? 'all']}${count}</a>`;
  });
  return markup`<nav class="pills" aria-label="${text.show}">${links}</nav>`;
}

function kindForm({ frame }: ConsoleServices, language: PageLanguage, { state, kind }: Query): Markup {
  const text = emailTexts[language];
  const options = [
    { value: '', text: text.kinds.all },
    ...kindNames.map((name) => ({ value: name, text: text.kinds[name] })),
  ];
  return markup`<form class="panel filters" role="search" aria-label="${text.title}" action="${frame.basePath}/emails">${state === null ? undefined : hidden('state', state)}${select({ name: 'kind', label: text.kind, options, value: kind ?? '' })}<button class="button">${text.showKind}</button></form>`;
}

function emptyPanel(services: ConsoleServices, language: PageLanguage, query: Query): Markup {
  const text = emailTexts[language];
  if (query.state === null && query.kind === null)
    return markup`<section class="panel empty" role="status"><h2>${text.none}</h2><p><span class="soft">${text.noneText}</span></p></section>`;
  const all = pathOf(services, { state: null, kind: null });
  return markup`<section class="panel empty" role="status"><h2>${text.noMatch}</h2><p><a class="button" href="${all}">${text.all}</a></p></section>`;
}

function emailTable(services: ConsoleServices, request: StaffRequest, { emails }: ListedEmails): Markup {
  const { language } = request;
  const { caption, title, columns } = emailTexts[language];
  return markup`<section class="panel flush" aria-label="${title}"><table class="table lines emails" role="table"><caption class="sr">${caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${columns.to}</th><th scope="col" role="columnheader">${columns.what}</th><th scope="col" role="columnheader">${columns.state}</th><th scope="col" role="columnheader">${columns.reason}</th><th scope="col" role="columnheader" class="sum">${columns.when}</th></tr></thead><tbody role="rowgroup">
${emails.map((listed) => emailRow(services, request, listed))}</tbody></table></section>`;
}

function emailRow(
  { ctx, frame }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  listed: ListedEmail,
): Markup {
  const text = emailTexts[language];
  const { email, lastCharacters } = listed;
  const { publicIds } = ctx.keys;
  const path = `${frame.basePath}/emails/${String(publicIds.of(email.id))}`;
  const card = markup`<a class="soft code nowrap" href="${frame.basePath}/cards/${String(publicIds.of(email.cardId))}">•••• ${lastCharacters}</a>`;
  // The address of an erased person is empty.
  const to = email.address === '' ? markup`<em>${text.erased}</em>` : email.address;
  const retry =
    email.state === 'deferred' && email.nextAt !== null
      ? markup` ${fill(text.nextTry, { time: timeElement(email.nextAt, store, language) })}`
      : undefined;
  return markup`<tr role="row"><td role="cell"><a href="${path}">${to}</a></td><td role="cell">${text.kindOf[email.kind]} ${card}</td><td role="cell" class="aside">${emailTag(listed, language)}</td><td role="cell" class="small soft whole-line">${reasonOfEmail(email, language)}${retry}</td><td role="cell" class="sum soft whole-line">${timeElement(momentOf(email), store, language)}</td></tr>
`;
}

function pageLinks(
  services: ConsoleServices,
  language: PageLanguage,
  query: Query,
  { newer, older }: ListedEmails,
): Markup | undefined {
  if (newer === null && older === null) return undefined;
  const text = emailTexts[language];
  const to = (name: 'after' | 'before', id: number): string =>
    pathOf(services, query, { [name]: String(services.ctx.keys.publicIds.of(id)) });
  const newerLink =
    newer === null
      ? undefined
      : markup`<a class="button" rel="prev" href="${to('after', newer)}">${text.newer}</a>`;
  const olderLink =
    older === null
      ? undefined
      : markup`<a class="button" rel="next" href="${to('before', older)}">${text.older}</a>`;
  return markup`<nav class="row" aria-label="${text.pages}">${newerLink}${olderLink}</nav>`;
}

export const emailRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/emails', access: 'readCards', handle: listPage },
  ...emailPageRoutes,
];
