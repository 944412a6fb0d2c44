/** The first page of the till: find a card by its code, or by the email of its customer. */

import { unheldOf, type Card } from '../../../core/cards/domain/card.ts';
import { lastCharactersOf } from '../../../core/cards/domain/code.ts';
import { givenCodeLengthMax, readGivenCode } from '../../../core/cards/domain/given-code.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { findCardByCode, findCardsByEmail, type SearchOutcome } from '../../../core/staff/service/lookup.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { cardTail, amountText } from '../../../pages/kit/format.ts';
import { runSearch } from '../../../pages/kit/lookups.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRequest,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import { activationPage } from './activation.ts';
import { cameraFrame, cameraScripts } from './camera.ts';
import { tillTexts } from './frame.ts';
import { tillPage, taskHeading } from './page.ts';
import { dueScannerNotice, scannerCookies } from './scanner.ts';
import { pendingSection } from './pending.ts';
import { newKey, type KeyOwner } from './key.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

/** Cards of one address that the page lists. */
const choiceMax = 20;
const emailLengthMax = 320;

type Status = 200 | 404 | 422;

/** The amount that the register has passed with a link. A script shows it: only the browser has what is after `#`. */
function linkedNotice({ store: { currency }, request }: Page): Markup {
  const text = tillTexts(request);
  return markup`<div class="notice till-linked" id="linked" role="status" data-currency="${currency.code}" data-decimals="${currency.decimals}" data-text="${text.linked}" data-invalid="${text.linkInvalid}" hidden><span></span><button class="button quiet" type="button">${text.unlink}</button></div>
`;
}

function scanPage(page: Page, status: Status, error?: string): PageResponse {
  const text = tillTexts(page.request);
  const described =
    error === undefined ? undefined : markup` aria-invalid="true" aria-describedby="code-error"`;
  const due = status === 200 ? dueScannerNotice(page) : undefined;
  const body = markup`${due?.notice}${pendingSection(page.request, page.member.id)}
<div class="columns"><div>${cameraFrame(page)}</div>
<div>${linkedNotice(page)}<form data-code method="post" action="${page.basePath}/till/find"><label class="sr" for="code">${text.code}</label>
<div class="search-line"><input class="field code" id="code" name="code" maxlength="${givenCodeLengthMax}" autocapitalize="off" autocomplete="off" autocorrect="off" spellcheck="false" enterkeyhint="search" placeholder="${text.placeholder}" required autofocus${described}><button class="button first">${text.find}</button></div>
${error === undefined ? undefined : markup`<p class="error" id="code-error" role="alert">${error}</p>`}</form>
<nav class="quick" aria-label="${text.others}"><a class="button" href="${page.basePath}/till/sell">${text.sellShort}</a><a class="button" href="${page.basePath}/till/refund">${text.refund}</a><a class="button" href="${page.basePath}/till/day">${text.day}</a></nav></div></div>`;
  return {
    status,
    ...(due && { cookies: due.cookies }),
    body: tillPage(page.services, page.request, {
      title: text.title,
      body,
      isWide: true,
      scripts: cameraScripts,
    }),
  };
}

/** The page after a search that found nothing. @param pageOf the page with a sentence. */
function missPage(
  searched: Exclude<SearchOutcome<unknown>, { readonly kind: 'found' }>,
  request: StaffRequest,
  { missed, pageOf }: { readonly missed: string; readonly pageOf: (error: string) => PageResponse },
): ConsoleResponse {
  if (searched.kind !== 'throttled') return pageOf(missed);
  const text = tillTexts(request);
  const seconds = searched.fault.retryAfterSeconds ?? 1;
  const minutes = plural(request.language, text.minutes, Math.ceil(seconds / 60));
  return throttled(pageOf(fillPlain(text.tooMany, { minutes })), seconds * 1_000);
}

/** The path of the amount page of a card that the person has found, with the key of its redemption. */
export function amountPath(page: Page, cardId: number): string {
  return `/till/card/${page.publicId(cardId)}?k=${newKey(page.ctx, keyOwner(page, cardId))}`;
}

export function keyOwner(page: Page, cardId: number): KeyOwner {
  return { storeId: page.store.id, staffId: page.member.id, cardId };
}

async function find(page: Page): Promise<ConsoleResponse> {
  const text = tillTexts(page.request);
  const typed = page.typed('code');
  if (typed.includes('@')) return await findByEmail(page, typed);
  const readings = readGivenCode(typed);
  if (!readings.ok) return scanPage(page, 422, text.notCode);
  const found = await runSearch(page.services, page.request, (searcher) =>
    findCardByCode(page.ctx, searcher, readings.value),
  );
  if (found.kind === 'found')
    return seeOther(amountPath(page, found.result.card.id), scannerCookies(page, found.result.reading));
  if (found.kind === 'unsold')
    return { ...(await activationPage(page, found)), cookies: scannerCookies(page, found.reading) };
  const tail = lastCharactersOf(readings.value[0].code);
  const isReplaced = found.kind === 'missed' && found.retired.length > 0;
  return missPage(found, page.request, {
    missed: fillPlain(isReplaced ? text.replacedCode : text.unknownCode, { tail }),
    pageOf: (error) => scanPage(page, 404, error),
  });
}

type EmailForm = {
  readonly status: Status;
  readonly email: string;
  readonly error?: string;
  readonly cards?: readonly Card[];
};

function emailPage(page: Page, { status, email, error, cards = [] }: EmailForm): PageResponse {
  const text = tillTexts(page.request);
  const shown = cards.slice(0, choiceMax);
  const more =
    cards.length > choiceMax
      ? markup`<p class="small soft">${fillPlain(text.chooseMax, { count: choiceMax })}</p>`
      : undefined;
  const list =
    shown.length === 0
      ? undefined
      : markup`<section class="stack" aria-labelledby="choice"><h2 id="choice">${text.choose}</h2><ul class="matches">${shown.map((card) => choiceOf(page, card))}</ul>${more}</section>`;
  const body = markup`${taskHeading(page, { title: text.emailTitle })}
<form class="stack" method="post" action="${page.basePath}/till/email">
${inputField({ name: 'email', label: text.email, type: 'email', value: email, error })}
<button class="button ${shown.length === 0 ? 'first big' : ''}">${text.emailFind}</button></form>
${list}`;
  return { status, body: tillPage(page.services, page.request, { title: text.emailTitle, body }) };
}

function choiceOf(page: Page, card: Card): Markup {
  const text = tillTexts(page.request);
  const path = `${page.basePath}${amountPath(page, card.id)}`;
  return markup`<li><a class="found" href="${path}"><span class="mini" aria-hidden="true"></span><span><strong>${card.recipientName ?? text.giftCard}</strong><br><span class="small soft">${cardTail(card.lastCharacters)}</span></span><span class="end"><strong>${amountText(unheldOf(card), page.language)}</strong><br><span class="small soft">${text.availableSmall}</span></span></a></li>
`;
}

async function findByEmail(page: Page, typed: string): Promise<ConsoleResponse> {
  const text = tillTexts(page.request);
  const email = typed.slice(0, emailLengthMax);
  const address = parseEmail(email);
  if (!address.ok) return emailPage(page, { status: 422, email, error: text.notEmail });
  const searched = { address: address.value, limit: choiceMax + 1 };
  const found = await runSearch(page.services, page.request, (searcher) =>
    findCardsByEmail(page.ctx, searcher, searched),
  );
  if (found.kind === 'found') return emailPage(page, { status: 200, email, cards: found.result });
  return missPage(found, page.request, {
    missed: text.unknownEmail,
    pageOf: (error) => emailPage(page, { status: 404, email, error }),
  });
}

export const tillScanRoutes: readonly StaffRoute[] = [
  get('/till', 'useTill', (page) => scanPage(page, 200), { usesWebAssembly: true }),
  get('/till/find', 'useTill', () => seeOther('/till')),
  post('/till/find', 'useTill', find, { usesWebAssembly: true }),
  get('/till/email', 'useTill', (page) => emailPage(page, { status: 200, email: '' })),
  post('/till/email', 'useTill', (page) => findByEmail(page, page.typed('email'))),
];
