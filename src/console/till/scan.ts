/** The first page of the till: find a card by its code, or by the email of its customer. */

import { unheldOf, type Card } from '../../domain/cards/card.ts';
import { parseTypedCode, typedCodeLengthMax } from '../../domain/cards/code.ts';
import { parseEmail } from '../../domain/email-address.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { findCardByCode, findCardsByEmail, type SearchOutcome } from '../../service/staff/lookup.ts';
import { inputField } from '../kit/form.ts';
import { cardTail, amountText } from '../kit/format.ts';
import { runSearch } from '../kit/lookups.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type PageResponse,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fillPlain, plural } from '../kit/texts.ts';
import { activationPage } from './activation.ts';
import { cameraFrame, cameraScripts } from './camera.ts';
import { tillTexts } from './frame.ts';
import { tillPage, taskHeading } from './page.ts';
import { pendingSection } from './pending.ts';
import { newKey, type KeyOwner } from './key.ts';

/** Cards of one address that the page lists. */
const choiceMax = 20;
const emailLengthMax = 320;

type Status = 200 | 404 | 422;

function scanPage(
  services: ConsoleServices,
  request: StaffRequest,
  status: Status,
  error?: string,
): PageResponse {
  const { basePath } = services.frame;
  const { member } = request.signedIn;
  const text = tillTexts(request);
  const described =
    error === undefined ? undefined : markup` aria-invalid="true" aria-describedby="code-error"`;
  const body = markup`${pendingSection(request, member.id)}
<div class="columns"><div>${cameraFrame(services, request)}</div>
<div><form data-code method="post" action="${basePath}/till/find"><label class="sr" for="code">${text.code}</label>
<div class="search-line"><input class="field code" id="code" name="code" maxlength="${typedCodeLengthMax}" autocapitalize="off" autocomplete="off" autocorrect="off" spellcheck="false" enterkeyhint="search" placeholder="${text.placeholder}" required autofocus${described}><button class="button first">${text.find}</button></div>
${error === undefined ? undefined : markup`<p class="error" id="code-error" role="alert">${error}</p>`}</form>
<nav class="quick" aria-label="${text.others}"><a class="button" href="${basePath}/till/sell">${text.sellShort}</a><a class="button" href="${basePath}/till/refund">${text.refund}</a><a class="button" href="${basePath}/till/day">${text.day}</a></nav></div></div>`;
  return {
    status,
    body: tillPage(services, request, { title: text.title, body, isWide: true, scripts: cameraScripts }),
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
export function amountPath(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  request: Pick<StaffRequest, 'signedIn'>,
  cardId: number,
): string {
  return `/till/card/${ctx.keys.publicIds.of(cardId)}?k=${newKey(ctx, keyOwner(request, cardId))}`;
}

export function keyOwner({ signedIn }: Pick<StaffRequest, 'signedIn'>, cardId: number): KeyOwner {
  const { store, member } = signedIn;
  return { storeId: store.id, staffId: member.id, cardId };
}

async function find(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const text = tillTexts(request);
  const typed = formText(request, 'code');
  if (typed.includes('@')) return await findByEmail(services, request, typed);
  const codes = parseTypedCode(typed);
  if (!codes.ok) return scanPage(services, request, 422, text.notCode);
  const found = await runSearch(services, request, (searcher) => findCardByCode(ctx, searcher, codes.value));
  if (found.kind === 'found') return seeOther(amountPath(services, request, found.result.id));
  if (found.kind === 'unsold') return await activationPage(services, request, found);
  const tail = codes.value[0]?.reveal().slice(-4) ?? '';
  const isReplaced = found.kind === 'missed' && found.retired.length > 0;
  return missPage(found, request, {
    missed: fillPlain(isReplaced ? text.replacedCode : text.unknownCode, { tail }),
    pageOf: (error) => scanPage(services, request, 404, error),
  });
}

type EmailForm = {
  readonly status: Status;
  readonly email: string;
  readonly error?: string;
  readonly cards?: readonly Card[];
};

function emailPage(
  services: ConsoleServices,
  request: StaffRequest,
  { status, email, error, cards = [] }: EmailForm,
): PageResponse {
  const { basePath } = services.frame;
  const text = tillTexts(request);
  const shown = cards.slice(0, choiceMax);
  const more =
    cards.length > choiceMax
      ? markup`<p class="small soft">${fillPlain(text.chooseMax, { count: choiceMax })}</p>`
      : undefined;
  const list =
    shown.length === 0
      ? undefined
      : markup`<section class="stack" aria-labelledby="choice"><h2 id="choice">${text.choose}</h2><ul class="matches">${shown.map((card) => choiceOf(services, request, card))}</ul>${more}</section>`;
  const body = markup`${taskHeading(services, request, { title: text.emailTitle })}
<form class="stack" method="post" action="${basePath}/till/email">
${inputField({ name: 'email', label: text.email, type: 'email', value: email, error })}
<button class="button ${shown.length === 0 ? 'first big' : ''}">${text.emailFind}</button></form>
${list}`;
  return { status, body: tillPage(services, request, { title: text.emailTitle, body }) };
}

function choiceOf(services: ConsoleServices, request: StaffRequest, card: Card): Markup {
  const text = tillTexts(request);
  const path = `${services.frame.basePath}${amountPath(services, request, card.id)}`;
  return markup`<li><a class="found" href="${path}"><span class="mini" aria-hidden="true"></span><span><strong>${card.recipientName ?? text.giftCard}</strong><br><span class="small soft">${cardTail(card.lastCharacters)}</span></span><span class="end"><strong>${amountText(unheldOf(card), request.language)}</strong><br><span class="small soft">${text.availableSmall}</span></span></a></li>
`;
}

async function findByEmail(
  services: ConsoleServices,
  request: StaffRequest,
  typed: string,
): Promise<ConsoleResponse> {
  const { ctx } = services;
  const text = tillTexts(request);
  const email = typed.slice(0, emailLengthMax);
  const address = parseEmail(email);
  if (!address.ok) return emailPage(services, request, { status: 422, email, error: text.notEmail });
  const searched = { address: address.value, limit: choiceMax + 1 };
  const found = await runSearch(services, request, (searcher) => findCardsByEmail(ctx, searcher, searched));
  if (found.kind === 'found')
    return emailPage(services, request, { status: 200, email, cards: found.result });
  return missPage(found, request, {
    missed: text.unknownEmail,
    pageOf: (error) => emailPage(services, request, { status: 404, email, error }),
  });
}

export const tillScanRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/till',
    access: 'useTill',
    usesWebAssembly: true,
    handle: (services, request) => Promise.resolve(scanPage(services, request, 200)),
  },
  {
    method: 'GET',
    path: '/till/find',
    access: 'useTill',
    // Reloading a page of this address requests it again.
    handle: () => Promise.resolve(seeOther('/till')),
  },
  { method: 'POST', path: '/till/find', access: 'useTill', usesWebAssembly: true, handle: find },
  {
    method: 'GET',
    path: '/till/email',
    access: 'useTill',
    handle: (services, request) => Promise.resolve(emailPage(services, request, { status: 200, email: '' })),
  },
  {
    method: 'POST',
    path: '/till/email',
    access: 'useTill',
    handle: (services, request) => findByEmail(services, request, formText(request, 'email')),
  },
];
