/** The list of all emails of a store, and what needs attention. */

import { searchedTextMax } from '../../../core/cards/domain/search.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import type { EmailKind, EmailState } from '../../../core/emails/domain/email.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import {
  countEmailConcerns,
  findCard,
  pageOfStoreEmails,
  searchStoreEmails,
  waitingStates,
  type EmailConcerns,
  type EmailCount,
  type ListedEmails,
  type EmailPosition,
  type ListedEmail,
  type WantedEmails,
} from '../service/list.ts';
import { customerIdOf } from '../../../core/cards/service/filter.ts';
import { listAccountantEmails, listAccountants } from '../../accountants/service/accountants.ts';
import { findBatch } from '../../batches/service/batch-lists.ts';
import { readEmailSettings } from '../service/settings.ts';
import type { SearchedText } from '../storage/list.ts';
import type { Storage } from '../../../database/storage.ts';
import { sentTable } from '../../accountants/pages/emails.ts';
import { accountantPath } from '../../accountants/pages/paths.ts';
import { emailPageRoutes } from './email.ts';
import { emailSearchRoutes, emailSearchForm } from './search.ts';
import { emailTag, emailTexts, keepsEmails, keptNotice, momentOf, reasonOfEmail } from './texts.ts';
import { hidden, select } from '../../../pages/kit/form.ts';
import { amountText, timeElement } from '../../../pages/kit/format.ts';
import { readId, readStoredId } from '../../../pages/kit/ids.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { ConsoleResponse, StaffRequest, StaffRoute } from '../../../pages/kit/route.ts';
import { fill, plural, type PageLanguage } from '../../../pages/kit/texts.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';

/** The filters, by their values in the query. */
const statesOf = {
  scheduled: ['scheduled'],
  waiting: waitingStates,
  sent: ['sent'],
  kept: ['kept'],
  failed: ['bounced', 'dead'],
  cancelled: ['cancelled'],
} as const satisfies Readonly<Record<string, readonly EmailState[]>>;

const kindsOf = {
  gift_card: ['gift_card'],
  receipt: ['receipt'],
  top_up: ['top_up'],
  reminder: ['expiry_reminder', 'balance_reminder'],
  delivery_failed: ['delivery_failed'],
} as const satisfies Readonly<Record<string, readonly EmailKind[]>>;

type StateName = keyof typeof statesOf;
type KindName = keyof typeof kindsOf;

/** The emails to accountants are not about a card, so they are another list. */
const accountantKind = 'accountant' as const;
const accountantEmailsMax = 100;

const stateNames = Object.keys(statesOf) as readonly StateName[];
const kindNames = Object.keys(kindsOf) as readonly KindName[];

type Query = {
  readonly state: StateName | null;
  readonly kind: KindName | null;
  /** The emails about whose cards, about which card, by its public id, of which batch, or with which text; null: all. */
  readonly search: { readonly name: 'email' | 'card' | 'batch' | 'text'; readonly value: string } | null;
};

/** The text that a search looks for; null: there is none. */
type Found = {
  readonly subject: NonNullable<WantedEmails['subject']> | SearchedText;
  readonly heading: Markup;
} | null;

function queryOf(page: Page): Query {
  const searched = (['email', 'card', 'batch', 'text'] as const).find(
    (each) => (page.request.query.get(each) ?? '') !== '',
  );
  return {
    search: searched ? { name: searched, value: page.request.query.get(searched) ?? '' } : null,
    state: stateNames.find((name) => name === page.request.query.get('state')) ?? null,
    kind: kindNames.find((name) => name === page.request.query.get('kind')) ?? null,
  };
}

function filterOf({ state, kind }: Query): Omit<WantedEmails, 'subject'> {
  return { ...(state && { states: statesOf[state] }), ...(kind && { kinds: kindsOf[kind] }) };
}

/** Emails with a text in their address, or in the name of their card's recipient. */
function foundText(value: string, language: PageLanguage): Found {
  const parsed = parseText(value, searchedTextMax);
  // No email has a text with such characters, and PostgreSQL does not accept them.
  const searchable = value
    .slice(0, searchedTextMax)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\uFFFD');
  const text = parsed.ok && parsed.value !== null ? parsed.value : searchable;
  const heading = fill(emailTexts[language].search.ofText, {
    text: markup`<strong><bdi>${text}</bdi></strong>`,
  });
  return { subject: { text }, heading };
}

/** The subject of a search. No card has the id 0. */
async function findSubject(page: Page, { search }: Query): Promise<Found> {
  if (!search) return null;
  const { search: text } = page.text.emails;
  if (search.name === 'text') return foundText(search.value, page.language);
  if (search.name === 'email') {
    const parsed = parseEmail(search.value);
    const customerId = parsed.ok ? await page.read(() => customerIdOf(page.store.id, parsed.value)) : 0;
    // No customer has it as a whole, so it can be a part of an address, or one that was corrected since.
    if (customerId === null || customerId === 0) return foundText(search.value, page.language);
    const heading = fill(text.ofAddress, { email: markup`<strong><bdi>${search.value}</bdi></strong>` });
    return { subject: { customerId }, heading };
  }
  if (search.name === 'batch') {
    const batchId = readStoredId(search.value) ?? 0;
    const batch = await page.read(() => findBatch({ storeId: page.store.id, batchId }));
    const link = markup`<a href="${page.basePath}/cards/batches/${search.value}">${batch?.name ?? page.text.batches.unnamed}</a>`;
    return {
      subject: { batchId },
      heading: fill(text.ofBatch, { name: batch ? link : markup`${search.value}` }),
    };
  }
  const cardId = readId(page.services, search.value) ?? 0;
  const card = await page.read(() => findCard(page.store.id, cardId));
  const link = markup`<a class="code nowrap" href="${page.basePath}/cards/${search.value}">•••• ${card?.lastCharacters}</a>`;
  return { subject: { cardId }, heading: fill(text.ofCard, { card: card ? link : markup`${search.value}` }) };
}

/** Another text than an id begins at the first page. */
function positionOf(page: Page): EmailPosition {
  const after = readId(page.services, page.request.query.get('after'));
  if (after !== undefined) return { from: after, isBackwards: true };
  return { from: readId(page.services, page.request.query.get('before')) ?? null, isBackwards: false };
}

function pathOf(
  { frame }: Pick<ConsoleServices, 'frame'>,
  { state, kind, search }: Query,
  place: Readonly<Record<string, string>> = {},
): string {
  const parameters = new URLSearchParams({
    ...(search && { [search.name]: search.value }),
    ...(state && { state }),
    ...(kind && { kind }),
    ...place,
  });
  return `${frame.basePath}/emails${parameters.size > 0 ? '?' : ''}${parameters.toString()}`;
}

async function listPage(page: Page): Promise<ConsoleResponse> {
  if (page.request.query.get('kind') === accountantKind) return await accountantList(page);
  const query = queryOf(page);
  const reads = longReads(page.services);
  const found = await findSubject(page, query);
  const shown = await readPage(reads, page.request, {
    found,
    filter: filterOf(query),
    position: positionOf(page),
  });
  const concerns = await reads.read(() => countEmailConcerns(page.ctx, page.store));
  const { enabled } = await page.read(() => readEmailSettings(page.store.id));
  const text = page.text.emails;
  const off = enabled ? keptEmails(page) : markup`<p class="notice">${text.disabled}</p>`;
  const sentNote = keepsEmails(page.services) ? undefined : text.sentNote;
  const body = markup`<div class="stack">${page.services.canSend ? off : markup`<p class="notice">${text.cannotSend}</p>`}
${undeliveredNotice(page, concerns, query)}
${emailSearchForm(page.services, page.language)}${found ? foundNotice(page.services, page.language, found) : undefined}
${statePills(page.services, page.language, query, concerns)}
${kindForm(page.services, page.language, query)}
${shown.emails.length === 0 ? emptyPanel(page.services, page.language, query, shown) : emailTable(page, shown)}
<div class="row apart"><span class="small soft">${sentNote}</span>${pageLinks(page.services, page.language, query, shown)}</div></div>`;
  return page.show('/emails', { title: text.title, body });
}

/** The newest emails to accountants. */
async function accountantList(page: Page): Promise<ConsoleResponse> {
  const { emails: text, accountant } = page.text;
  const accountants = await page.read(() => listAccountants(page.store.id));
  const emails = await page.read(() => listAccountantEmails(page.store.id, accountantEmailsMax));
  const shown =
    emails.length === 0
      ? markup`<section class="panel empty" role="status"><h2>${accountant.noneSent}</h2></section>`
      : markup`<section class="panel flush" aria-label="${accountant.sent}">${sentTable(page, accountants, emails)}</section>`;
  const query: Query = { state: null, kind: null, search: null };
  const settings = isPermitted(page.member, 'changeSettings')
    ? page.link(accountantPath, accountant.title)
    : undefined;
  const body = markup`<div class="stack">${page.services.canSend ? undefined : markup`<p class="notice">${text.cannotSend}</p>`}
${kindForm(page.services, page.language, query, accountantKind)}
${shown}
<div class="row">${settings}</div></div>`;
  return page.show('/emails', { title: text.title, body });
}

type Wanted = {
  readonly found: Found;
  readonly filter: Omit<WantedEmails, 'subject'>;
  readonly position: EmailPosition;
};

async function readPage(
  reads: Pick<Storage, 'read'>,
  { signedIn: { store } }: StaffRequest,
  { found, filter, position }: Wanted,
): Promise<ListedEmails> {
  const subject = found?.subject;
  if (subject && 'text' in subject)
    return await searchStoreEmails(reads, store.id, { ...filter, ...subject }, position);
  return await reads.read(() =>
    pageOfStoreEmails(store.id, { ...filter, ...(subject && { subject }) }, position),
  );
}

/** On this machine, an owner can read the emails that are kept. */
function keptEmails(page: Page): Markup | undefined {
  const notice = keptNotice(page.services, page.language);
  const mayRead =
    page.services.hasKeptEmails && page.request.isLocal && isPermitted(page.member, 'changeSettings');
  if (!notice || !mayRead) return notice;
  const text = page.text.emails;
  return markup`<p class="notice"><span>${text.keptNotice} <a href="${page.basePath}/dev/mails">${text.keptLink}</a></span></p>`;
}

/** Returns the notice of emails that need attention. The list of the emails does not repeat the link to itself. */
function undeliveredNotice(
  page: Page,
  { undelivered: { count, isExact } }: EmailConcerns,
  query: Query,
): Markup | undefined {
  if (count === 0) return undefined;
  const text = page.text.emails;
  const said = plural(page.language, isExact ? text.undelivered : text.undeliveredAtLeast, count);
  const failed: Query = { state: 'failed', kind: 'gift_card', search: null };
  const isShown = query.state === 'failed' || !isPermitted(page.member, 'changeEmails');
  const link = isShown
    ? undefined
    : markup` <a href="${pathOf(page.services, failed)}">${text.undeliveredAction}</a>`;
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
  const names = stateNames.filter(
    (name) => name !== 'kept' || keepsEmails(services) || query.state === 'kept',
  );
  const links = ([null, ...names] as const).map((state) => {
    const counted = state === 'scheduled' || state === 'waiting' ? concerns[state] : undefined;
    const count = counted && counted.count > 0 ? markup` ${countText(counted, language)}` : undefined;
    const current = state === query.state ? markup` aria-current="true"` : undefined;
    return markup`<a href="${pathOf(services, { ...query, state })}"${current}>${text.states[state ?? 'all']}${count}</a>`;
  });
  return markup`<nav class="pills" aria-label="${text.show}">${links}</nav>`;
}

function foundNotice(
  services: ConsoleServices,
  language: PageLanguage,
  { heading }: NonNullable<Found>,
): Markup {
  const all = pathOf(services, { state: null, kind: null, search: null });
  return markup`
<p class="row apart" role="status"><span>${heading}</span><a class="button" href="${all}">${emailTexts[language].all}</a></p>`;
}

function kindForm(
  { frame }: ConsoleServices,
  language: PageLanguage,
  { state, kind, search }: Query,
  chosen: string = kind ?? '',
): Markup {
  const text = emailTexts[language];
  const options = [
    { value: '', text: text.kinds.all },
    ...([...kindNames, accountantKind] as const).map((name) => ({ value: name, text: text.kinds[name] })),
  ];
  return markup`<form class="filters one" role="search" aria-label="${text.title}" action="${frame.basePath}/emails">${search ? hidden(search.name, search.value) : undefined}${state === null ? undefined : hidden('state', state)}${select({ name: 'kind', label: text.kind, options, value: chosen })}<button class="button">${text.showKind}</button></form>`;
}

function emptyPanel(
  services: ConsoleServices,
  language: PageLanguage,
  query: Query,
  { older }: Pick<ListedEmails, 'older'>,
): Markup {
  const text = emailTexts[language];
  if (query.state === null && query.kind === null && query.search === null)
    return markup`<section class="panel empty" role="status"><h2>${text.none}</h2><p><span class="soft">${text.noneText}</span></p></section>`;
  if (older !== null) {
    const more = pathOf(services, query, { before: String(services.ctx.keys.publicIds.of(older)) });
    return markup`<section class="panel empty" role="status"><h2>${text.search.continueTitle}</h2><p><span class="soft">${text.search.continueText}</span></p><p><a class="button" rel="next" href="${more}">${text.search.continue}</a></p></section>`;
  }
  const all = pathOf(services, { state: null, kind: null, search: null });
  return markup`<section class="panel empty" role="status"><h2>${text.noMatch}</h2><p><a class="button" href="${all}">${text.all}</a></p></section>`;
}

function emailTable(page: Page, { emails }: ListedEmails): Markup {
  const { caption, title, columns } = page.text.emails;
  return markup`<section class="panel flush" aria-label="${title}"><table class="table lines emails" role="table"><caption class="sr">${caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${columns.to}</th><th scope="col" role="columnheader">${columns.what}</th><th scope="col" role="columnheader">${columns.state}</th><th scope="col" role="columnheader">${columns.reason}</th><th scope="col" role="columnheader" class="sum">${columns.when}</th></tr></thead><tbody role="rowgroup">
${emails.map((listed) => emailRow(page, listed))}</tbody></table></section>`;
}

function emailRow(page: Page, listed: ListedEmail): Markup {
  const text = page.text.emails;
  const { email, card: of } = listed;
  const { publicIds } = page.ctx.keys;
  const path = `${page.basePath}/emails/${String(publicIds.of(email.id))}`;
  const card = markup`<a class="soft code nowrap" href="${page.basePath}/cards/${String(publicIds.of(email.cardId))}">•••• ${of.lastCharacters}</a>`;
  const amount = amountText({ minor: of.initialValue, currency: page.store.currency }, page.language);
  const name =
    of.recipientName === null
      ? undefined
      : markup`${fill(text.forName, { name: markup`<bdi>${of.recipientName}</bdi>` })} `;
  // The address of an erased person is empty.
  const to = email.address === '' ? markup`<em>${text.erased}</em>` : email.address;
  const retry =
    email.state === 'deferred' && email.nextAt !== null
      ? markup` ${fill(text.nextTry, { time: page.time(email.nextAt) })}`
      : undefined;
  return markup`<tr role="row"><td role="cell"><a href="${path}">${to}</a></td><td role="cell">${text.kindOf[email.kind]} · <span class="nowrap">${amount}</span><br><span class="small soft">${name}${card}</span></td><td role="cell" class="aside">${emailTag(listed, page.language)}</td><td role="cell" class="small soft whole-line">${reasonOfEmail(email, page.language)}${retry}</td><td role="cell" class="sum soft whole-line">${timeElement(momentOf(email), page.store, page.language)}</td></tr>
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
  get('/emails', 'readStore', listPage),
  ...emailSearchRoutes,
  ...emailPageRoutes,
];
