/** The first page of the till: find a card by its code, or by the email of its customer. */

import { availableOf, type Card } from '../domain/card.ts';
import { parseTypedCode } from '../domain/code.ts';
import { parseEmail } from '../domain/email-address.ts';
import { markup, type Markup } from '../markup.ts';
import { findCardByCode, findCardsByEmail, type SearchOutcome } from '../service/staff-lookup.ts';
import { inputField } from './form.ts';
import { cardTail, amountText } from './format.ts';
import { runSearch } from './lookups.ts';
import { formText } from './request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type PageResponse,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';
import { fillPlain, plural } from './texts.ts';
import { framed, tillTexts } from './till-frame.ts';
import { newKey } from './till-key.ts';

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
  const { basePath, assetUrl } = services.frame;
  const { member } = request.signedIn;
  const text = tillTexts(request);
  const described =
    error === undefined ? undefined : markup` aria-invalid="true" aria-describedby="code-error"`;
  const body = markup`<section id="pending" class="panel stack" aria-labelledby="pending-title" aria-live="polite" data-member="${String(member.id)}" data-checking="${text.pendingChecking}" data-redeemed="${text.pendingRedeemed}" data-not="${text.pendingNot}" data-undone="${text.pendingUndone}" data-old="${text.pendingOld}" data-show="${text.show}" hidden><h2 id="pending-title">${text.pendingTitle}</h2><ul></ul></section>
<div class="scan" id="scan" data-detector="${assetUrl('barcode-detector.js')}" data-reader="${assetUrl('zxing-reader.wasm')}" data-denied="${text.cameraDenied}" data-missing="${text.cameraMissing}" data-failed="${text.cameraFailed}" hidden><video id="camera" muted playsinline hidden></video><svg viewBox="0 0 100 100" aria-hidden="true" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"><path d="M4 22V10a6 6 0 0 1 6-6h12M78 4h12a6 6 0 0 1 6 6v12M96 78v12a6 6 0 0 1-6 6H78M22 96H10a6 6 0 0 1-6-6V78"/><path d="M14 50h72" stroke="#d9b061" stroke-width="2"/></svg><p role="status" data-frame="${text.frame}"></p><button class="button" type="button">${text.camera}</button></div>
<form class="stack" id="find" method="post" action="${basePath}/till/find"><div><label for="code">${text.code}</label>
<input class="field code" id="code" name="code" maxlength="100" autocapitalize="characters" autocomplete="off" autocorrect="off" spellcheck="false" enterkeyhint="search" placeholder="KK82 8QS1 87GF 289N" required autofocus${described}>
${error === undefined ? undefined : markup`<p class="error" id="code-error" role="alert">${error}</p>`}</div>
<button class="button first big">${text.find}</button></form>
<p class="center"><a class="button quiet" href="${basePath}/till/email">${text.byEmail}</a></p>
<nav class="quick" aria-label="${text.others}"><a class="button" href="${basePath}/till/sell">${text.sellShort}</a><a class="button" href="${basePath}/till/refund">${text.refund}</a><a class="button" href="${basePath}/till/day">${text.day}</a></nav>`;
  const scripts = ['till.js', 'camera.js'];
  return { status, body: framed(services, request, { title: text.title, body, scripts }) };
}

/** The page after a search that found nothing. @param pageOf the page with a sentence. */
function missPage(
  searched: Exclude<SearchOutcome<unknown>, { readonly kind: 'found' }>,
  request: StaffRequest,
  { missed, pageOf }: { readonly missed: string; readonly pageOf: (error: string) => PageResponse },
): ConsoleResponse {
  if (searched.kind === 'missed') return pageOf(missed);
  const text = tillTexts(request);
  const seconds = searched.fault.retryAfterSeconds ?? 1;
  const minutes = plural(request.language, text.minutes, Math.ceil(seconds / 60));
  return throttled(pageOf(fillPlain(text.tooMany, { minutes })), seconds * 1_000);
}

/** The path of the amount page of a card, with the key of its redemption. */
export function amountPath({ ctx }: Pick<ConsoleServices, 'ctx'>, cardId: number): string {
  return `/till/card/${ctx.keys.publicIds.of(cardId)}?k=${newKey(ctx)}`;
}

async function find(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const text = tillTexts(request);
  const codes = parseTypedCode(formText(request, 'code'));
  if (!codes.ok) return scanPage(services, request, 422, text.notCode);
  const found = await runSearch(services, request, (searcher) => findCardByCode(ctx, searcher, codes.value));
  if (found.kind === 'found') return seeOther(amountPath(services, found.result.id));
  const tail = codes.value[0]?.reveal().slice(-4) ?? '';
  return missPage(found, request, {
    missed: fillPlain(text.unknownCode, { tail }),
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
  const body = markup`<form class="stack" method="post" action="${basePath}/till/email">
${inputField({ name: 'email', label: text.email, type: 'email', value: email, error })}
<button class="button ${shown.length === 0 ? 'first big' : ''}">${text.emailFind}</button></form>
${list}
<p><a class="button quiet" href="${basePath}/till">${text.back}</a></p>`;
  return { status, body: framed(services, request, { title: text.emailTitle, body }) };
}

function choiceOf(services: ConsoleServices, request: StaffRequest, card: Card): Markup {
  const { ctx, frame } = services;
  const text = tillTexts(request);
  const path = `/till/card/${ctx.keys.publicIds.of(card.id)}`;
  return markup`<li><a class="found" href="${frame.basePath}${path}"><span class="mini" aria-hidden="true"></span><span><strong>${card.recipientName ?? text.giftCard}</strong><br><span class="small soft">${cardTail(card.lastCharacters)}</span></span><span class="end"><strong>${amountText(availableOf(card), request.language)}</strong><br><span class="small soft">${text.availableSmall}</span></span></a></li>
`;
}

async function findByEmail(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const text = tillTexts(request);
  const email = formText(request, 'email').slice(0, emailLengthMax);
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
  { method: 'POST', path: '/till/email', access: 'useTill', handle: findByEmail },
];
