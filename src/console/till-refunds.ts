/** The till: refund a redemption to its card, and add money to a card. */

import { isDisabled, type Card } from '../domain/card.ts';
import { Fault } from '../domain/fault.ts';
import { formatMoney, type Money } from '../domain/money.ts';
import { isPermitted } from '../domain/staff.ts';
import { markup, type Markup } from '../markup.ts';
import { retrieve } from '../service/card.ts';
import { refundableOf, refundToCard, topUpCard, type Refundable } from '../service/counter-entry.ts';
import { findForRefund } from '../service/staff-lookup.ts';
import { parallel, type Script } from '../storage/sql.ts';
import { findTransfer, listTransfersBefore } from '../storage/transfer.ts';
import { alert, inputField } from './form.ts';
import { cardTail, amountText, amountValue, figure, parseTypedAmount, timeElement } from './format.ts';
import de from './locales/de/till-refunds.json' with { type: 'json' };
import en from './locales/en/till-refunds.json' with { type: 'json' };
import es from './locales/es/till-refunds.json' with { type: 'json' };
import fr from './locales/fr/till-refunds.json' with { type: 'json' };
import { runSearch } from './lookups.ts';
import { findResult, hasFields, hasResult, keyInput, runOnce } from './once.ts';
import { tillPage } from './page.ts';
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
import { fill, fillPlain, type Catalogue } from './texts.ts';
import { atCounter, storedAmount, requireKey, tick } from './till-parts.ts';
import { lockForm } from './till-pin.ts';
import { idIn } from './ids.ts';

const texts: Catalogue<typeof en> = { en, de, fr, es };

/** Entries of a card that are examined for redemptions. */
const examinedMax = 20;
const typedLengthMax = 100;

function page(
  services: ConsoleServices,
  request: StaffRequest,
  {
    status = 200,
    title,
    body,
  }: { readonly status?: 200 | 404 | 422; readonly title: string; readonly body: Markup },
): PageResponse {
  return { status, body: tillPage(services, request, { title, body, lock: lockForm(services, request) }) };
}

function findPage(
  services: ConsoleServices,
  request: StaffRequest,
  status: 200 | 404 | 422 = 200,
  error?: string,
): PageResponse {
  const text = texts[request.language];
  const { basePath } = services.frame;
  // A code that was typed is not shown again.
  const body = markup`<h2>${text.title}</h2>
<form class="stack" method="post" action="${basePath}/till/refund/find" autocomplete="off">
${inputField({ name: 'find', label: text.find, kind: 'code', hint: text.findHint, error })}
<button class="button first big">${text.findButton}</button></form>
<p class="center"><a class="button quiet" href="${basePath}/till">${text.next}</a></p>`;
  return page(services, request, { status, title: text.title, body });
}

async function find(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const text = texts[request.language];
  const typed = formText(request, 'find');
  if (typed === '' || typed.length > typedLengthMax)
    return findPage(services, request, 422, text.findMissing);
  const outcome = await runSearch(services, request, (searcher) => findForRefund(ctx, searcher, typed));
  if (outcome.kind === 'missed') return findPage(services, request, 404, text.notFound);
  if (outcome.kind === 'throttled') {
    const { retryAfterSeconds = 1 } = outcome.fault;
    return throttled(findPage(services, request, 422, text.tooMany), retryAfterSeconds * 1_000);
  }
  const { publicIds } = ctx.keys;
  const found = outcome.result;
  switch (found.kind) {
    case 'card':
      return seeOther(`/till/refund/card/${publicIds.of(found.cardId)}`);
    case 'entry': {
      const { transfer } = found;
      const isRedemption = transfer.kind === 'debit' || transfer.kind === 'capture';
      return isRedemption
        ? seeOther(`/till/refund/entry/${publicIds.of(transfer.id)}`)
        : seeOther(`/till/refund/card/${publicIds.of(transfer.cardId)}`);
    }
  }
}

function* listRefundable(storeId: number, cardId: number): Script<readonly Refundable[]> {
  const transfers = yield* listTransfersBefore({ storeId, cardId }, { before: null, limit: examinedMax });
  const found = yield* parallel(...transfers.map((transfer) => refundableOf(storeId, transfer)));
  return found.filter((each) => each !== undefined).filter(({ left }) => left.minor > 0n);
}

/** The card of a page: its last characters and its balance. */
function cardBlock({ language }: StaffRequest, card: Card): Markup {
  const text = texts[language];
  return markup`<div class="found"><span class="mini"></span><div>${cardTail(card.lastCharacters)}</div><div class="end">${figure(card.balance, language)}<br><span class="small soft">${text.balance}</span></div></div>`;
}

async function cardPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn } = request;
  const { store, member, session } = signedIn;
  const text = texts[language];
  const cardId = idIn(services, request);
  const [card, redemptions] = await storage.read(() =>
    parallel(retrieve(store.id, cardId), listRefundable(store.id, cardId)),
  );
  const items = redemptions.map(({ transfer, left }) => {
    const path = `${frame.basePath}/till/refund/entry/${String(ctx.keys.publicIds.of(transfer.id))}`;
    const shown = amountText(transfer.amount, language);
    return markup`<li class="row apart"><div>${timeElement(transfer.createdAt, store, language)}<br><strong>${shown}</strong> ${text.redeemedAt}<br><span class="small soft">${fillPlain(text.left, { amount: amountText(left, language) })}</span></div><a class="button" href="${path}" aria-label="${fillPlain(text.refundOf, { amount: shown })}">${text.refundThis}</a></li>
`;
  });
  const list =
    items.length === 0
      ? markup`<p class="empty">${text.none}</p>`
      : markup`<ul class="entries">${items}</ul>`;
  const mayTopUp = session.tillId === null && isPermitted(member.role, 'changeCards');
  const topUpLink = mayTopUp
    ? markup`<a class="button" href="${frame.basePath}/till/refund/card/${String(ctx.keys.publicIds.of(cardId))}/add">${text.topUp}</a>`
    : undefined;
  const body = markup`${isDisabled(card) ? alert(text.disabled) : undefined}${cardBlock(request, card)}
<section class="panel" aria-labelledby="list"><h2 id="list">${text.cardTitle}</h2>${list}</section>
${topUpLink}<a class="button" href="${frame.basePath}/till/refund">${text.other}</a>`;
  return page(services, request, { title: text.cardTitle, body });
}

type Shown = { readonly typed?: string; readonly key?: string; readonly error?: string };

async function loadRedemption(
  services: ConsoleServices,
  request: StaffRequest,
): Promise<Refundable & { readonly card: Card }> {
  const { storage } = services;
  const { store } = request.signedIn;
  const id = idIn(services, request);
  return await storage.read(function* load() {
    const transfer = yield* findTransfer(store.id, id);
    const refundable = transfer && (yield* refundableOf(store.id, transfer));
    if (!refundable) throw new Fault('not-found');
    return { ...refundable, card: yield* retrieve(store.id, refundable.transfer.cardId) };
  });
}

async function entryPage(
  services: ConsoleServices,
  request: StaffRequest,
  { typed, key, error }: Shown = {},
): Promise<ConsoleResponse> {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const text = texts[language];
  const { transfer, left, card } = await loadRedemption(services, request);
  const isRefundable = left.minor > 0n && !isDisabled(card);
  const path = `${frame.basePath}/till/refund/entry/${String(ctx.keys.publicIds.of(transfer.id))}`;
  const form = isRefundable
    ? markup`<form class="stack" method="post" action="${path}">${keyInput(ctx, key)}
${inputField({
  name: 'amount',
  label: text.amount,
  value: typed ?? amountValue(left, language),
  inputMode: 'decimal',
  kind: 'amount',
  hint: fillPlain(text.amountHint, { amount: amountText(left, language) }),
  error,
})}
<button class="button first big">${text.refund}</button></form>`
    : alert(left.minor === 0n ? text.allRefunded : text.disabled);
  const body = markup`${cardBlock(request, card)}
<section class="panel" aria-labelledby="entry"><h2 id="entry">${text.redemptionTitle}</h2><p>${timeElement(transfer.createdAt, store, language)}<br><strong>${amountText(transfer.amount, language)}</strong> ${text.redeemedAt}</p></section>
${form}
<a class="button" href="${frame.basePath}/till/refund">${text.other}</a>`;
  const status = error === undefined ? 200 : 422;
  return page(services, request, { status, title: text.title, body });
}

/** What the page of the result shows. */
type DoneResult = {
  readonly card: number;
  readonly entry: number;
  readonly amount: string;
  readonly balance: string;
  readonly isTopUp: boolean;
};

const isDone = hasFields<DoneResult>('entry', 'balance');

/** The sentence for a fault of a refund or a top-up; undefined: it is not one that the person can correct. */
function faultText(fault: Fault, { language, signedIn: { store } }: StaffRequest): string | undefined {
  const text = texts[language];
  const shown = (limit: string): string => amountText(storedAmount(limit, store), language);
  const { refund_limit: refundLimit, sale_limit: saleLimit, reversible } = fault.extensions ?? {};
  switch (fault.code) {
    case 'card-disabled':
      return text.disabled;
    case 'card-expired':
      return text.expired;
    case 'reversal-exceeds-transaction':
      return reversible === undefined || storedAmount(reversible, store).minor === 0n
        ? text.allRefunded
        : fillPlain(text.aboveLeft, { amount: shown(reversible) });
    case 'invalid-parameter':
      if (refundLimit !== undefined) return fillPlain(text.aboveRefundLimit, { amount: shown(refundLimit) });
      if (saleLimit !== undefined) return fillPlain(text.aboveSaleLimit, { amount: shown(saleLimit) });
      return text.aboveStoreLimit;
    default:
      return undefined;
  }
}

function invalidAmountText({ language, signedIn: { store } }: StaffRequest): string {
  const { currency } = store;
  const example = amountValue({ minor: 25n * 10n ** BigInt(currency.decimals), currency }, language);
  return fillPlain(texts[language].amountInvalid, { example });
}

/** Runs a change once, and shows the form with a sentence if it was rejected. */
async function change(
  services: ConsoleServices,
  request: StaffRequest,
  {
    show,
    run,
  }: {
    readonly show: (shown: Shown) => Promise<ConsoleResponse>;
    readonly run: (amount: Money) => Script<DoneResult>;
  },
): Promise<ConsoleResponse> {
  const typed = formText(request, 'amount').slice(0, typedLengthMax);
  const amount = parseTypedAmount(typed, request.signedIn.store);
  const key = requireKey(request);
  if (!amount.ok) return await show({ typed, key, error: invalidAmountText(request) });
  try {
    await runOnce(services, request, key, () => run(amount.value));
  } catch (error) {
    const sentence = error instanceof Fault ? faultText(error, request) : undefined;
    if (sentence === undefined) throw error;
    // A concurrent submission of the same form can have used up the amount.
    if (!(await hasResult(services, request, key))) return await show({ typed, key, error: sentence });
  }
  return seeOther(`/till/refund/done/${key}`);
}

function resultOf(
  { ctx }: ConsoleServices,
  {
    card,
    entryId,
    amount,
    isTopUp,
  }: { readonly card: Card; readonly entryId: number; readonly amount: Money; readonly isTopUp: boolean },
): DoneResult {
  const { publicIds } = ctx.keys;
  return {
    card: publicIds.of(card.id),
    entry: publicIds.of(entryId),
    amount: formatMoney(amount),
    balance: formatMoney(card.balance),
    isTopUp,
  };
}

async function refund(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const transferId = idIn(services, request);
  return await change(services, request, {
    show: (shown) => entryPage(services, request, shown),
    *run(amount) {
      const { transfer, card } = yield* refundToCard(ctx, { ...atCounter(request), transferId, amount });
      return resultOf(services, { card, entryId: transfer.id, amount, isTopUp: false });
    },
  });
}

async function topUpPage(
  services: ConsoleServices,
  request: StaffRequest,
  { typed = '', key, error }: Shown = {},
): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const text = texts[request.language];
  const cardId = idIn(services, request);
  const card = await storage.read(() => retrieve(request.signedIn.store.id, cardId));
  const path = `${frame.basePath}/till/refund/card/${String(ctx.keys.publicIds.of(cardId))}`;
  const body = markup`${cardBlock(request, card)}
<form class="stack" method="post" action="${path}/add">${keyInput(ctx, key)}
${inputField({ name: 'amount', label: text.topUpAmount, value: typed, inputMode: 'decimal', kind: 'amount', hint: text.topUpHint, error })}
<button class="button first big">${text.topUpButton}</button></form>
<a class="button" href="${path}">${text.cardTitle}</a>`;
  const status = error === undefined ? 200 : 422;
  return page(services, request, { status, title: text.topUpTitle, body });
}

async function topUp(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const cardId = idIn(services, request);
  return await change(services, request, {
    show: (shown) => topUpPage(services, request, shown),
    *run(amount) {
      const { transfer, card } = yield* topUpCard(ctx, { ...atCounter(request), cardId, amount });
      return resultOf(services, { card, entryId: transfer.id, amount, isTopUp: true });
    },
  });
}

async function donePage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn, params } = request;
  const { store } = signedIn;
  const text = texts[language];
  const result = await findResult(services, request, params['key'] ?? '', isDone);
  const cardId = result && ctx.keys.publicIds.read(result.card);
  if (!result || cardId === undefined) throw new Fault('not-found');
  const card = await storage.read(() => retrieve(store.id, cardId));
  const balance = amountText(storedAmount(result.balance, store), language);
  const sentence = fill(result.isTopUp ? text.added : text.done, { card: cardTail(card.lastCharacters) });
  const body = markup`<div class="paid" role="status">${tick}<div>${figure(storedAmount(result.amount, store), language)}</div><p><strong>${sentence}</strong><br>${fillPlain(text.balanceNow, { amount: balance })}</p></div>
<a class="button" href="${frame.basePath}/till/receipts/${String(result.entry)}">${text.receipt}</a>
<a class="button first big" href="${frame.basePath}/till">${text.next}</a>`;
  return page(services, request, { title: result.isTopUp ? text.addedTitle : text.doneTitle, body });
}

const changing = { access: 'changeCards' } as const;

export const tillRefundRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/till/refund',
    access: 'useTill',
    handle: (services, request) => Promise.resolve(findPage(services, request)),
  },
  { method: 'POST', path: '/till/refund/find', access: 'useTill', handle: find },
  { method: 'GET', path: '/till/refund/card/:id', access: 'useTill', handle: cardPage },
  {
    method: 'GET',
    path: '/till/refund/card/:id/add',
    ...changing,
    handle: (services, request) => topUpPage(services, request),
  },
  { method: 'POST', path: '/till/refund/card/:id/add', ...changing, handle: topUp },
  {
    method: 'GET',
    path: '/till/refund/entry/:id',
    access: 'useTill',
    handle: (services, request) => entryPage(services, request),
  },
  { method: 'POST', path: '/till/refund/entry/:id', access: 'useTill', handle: refund },
  { method: 'GET', path: '/till/refund/done/:key', access: 'useTill', handle: donePage },
];
