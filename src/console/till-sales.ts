/** The till: sell a card, and cancel a sale. Refunds are in `till-refunds.ts`. */

import { parseCode } from '../domain/code.ts';
import { parseEmail, type EmailAddress } from '../domain/email-address.ts';
import { Fault } from '../domain/fault.ts';
import { exceeds, formatMoney, type Money } from '../domain/money.ts';
import type { Secret } from '../domain/secret.ts';
import { markup, type Markup } from '../markup.ts';
import { cancelSale, isCancellable, sellCard } from '../service/counter-entry.ts';
import { retrieve } from '../service/card.ts';
import { findEmailSettings } from '../storage/email.ts';
import { parallel } from '../storage/sql.ts';
import { alert, inputField, hidden } from './form.ts';
import { cardTail, amountText, amountValue, figure, parseTypedAmount } from './format.ts';
import de from './locales/de/till-sales.json' with { type: 'json' };
import en from './locales/en/till-sales.json' with { type: 'json' };
import es from './locales/es/till-sales.json' with { type: 'json' };
import fr from './locales/fr/till-sales.json' with { type: 'json' };
import { findResult, hasFields, hasResult, keyInput, runOnce } from './once.ts';
import { tillPage } from './page.ts';
import { formText } from './request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';
import { fill, fillPlain, type Catalogue } from './texts.ts';
import { atCounter, requireKey, storedAmount, tick } from './till-parts.ts';
import { lockForm } from './till-pin.ts';
import { tillRefundRoutes } from './till-refunds.ts';
import { groupsOfFour, qrPicture, slipLines } from './till-slip.ts';

const texts: Catalogue<typeof en> = { en, de, fr, es };

/** In whole units of the currency, for currencies of about the value of a dollar; times 1,000 without decimals. */
const usualUnits = [10n, 20n, 25n, 50n, 75n, 100n];

/** Addresses are at most 320 characters long. */
const emailLengthMax = 400;
const codeLengthMax = 100;

/** The highest amount that the person can sell; null: there is no limit. */
function highestOf({ signedIn: { store, member } }: StaffRequest): Money | null {
  const limits = [store.issueLimit, member.saleLimit].filter((limit) => limit !== null);
  return limits.toSorted((left, right) => (exceeds(left, right) ? 1 : -1))[0] ?? null;
}

function usualAmounts(request: StaffRequest): readonly Money[] {
  const { currency } = request.signedIn.store;
  const unit = currency.decimals === 0 ? 100n : 10n ** BigInt(currency.decimals);
  const highest = highestOf(request);
  return usualUnits
    .map((count) => ({ minor: count * unit, currency }))
    .filter((amount) => highest === null || !exceeds(amount, highest));
}

/** The first step: the amount. */
function amountPage(
  services: ConsoleServices,
  request: StaffRequest,
  { typed = '', error }: { readonly typed?: string; readonly error?: string } = {},
): ConsoleResponse {
  const { basePath } = services.frame;
  const { language } = request;
  const text = texts[language];
  const highest = highestOf(request);
  const links = usualAmounts(request).map(
    (amount) =>
      markup`<a class="button" href="${basePath}/till/sell?amount=${formatMoney(amount)}">${amountText(amount, language)}</a>`,
  );
  const hint =
    highest === null
      ? text.amountHint
      : fillPlain(text.amountHintLimit, { amount: amountText(highest, language) });
  const body = markup`<h2>${text.sellTitle}</h2>
<nav class="quick" aria-label="${text.usual}">${links}</nav>
<form class="stack" method="get" action="${basePath}/till/sell">
${inputField({ name: 'amount', label: text.amount, value: typed, inputMode: 'decimal', kind: 'amount', hint, error })}
<button class="button first big">${text.continue}</button></form>`;
  const page = { title: text.sellTitle, body, lock: lockForm(services, request) };
  return { status: error === undefined ? 200 : 422, body: tillPage(services, request, page) };
}

type SaleErrors = { readonly code?: string; readonly email?: string };

/** The second step: the card, and its recipient. A code that was typed is not shown again. */
async function cardPage(
  services: ConsoleServices,
  request: StaffRequest,
  {
    amount,
    email = '',
    key,
    errors = {},
  }: {
    readonly amount: Money;
    readonly email?: string;
    readonly key?: string;
    readonly errors?: SaleErrors;
  },
): Promise<ConsoleResponse> {
  const { ctx, storage, frame, canSend } = services;
  const { language, signedIn } = request;
  const text = texts[language];
  const settings = await storage.read(() => findEmailSettings(signedIn.store.id));
  const shown = amountText(amount, language);
  const emailField =
    canSend && settings.enabled
      ? inputField({
          name: 'email',
          label: text.email,
          type: 'email',
          value: email,
          hint: text.emailHint,
          isOptional: true,
          error: errors.email,
        })
      : undefined;
  const body = markup`<div class="amount">${figure(amount, language)}<p><a class="button quiet" href="${frame.basePath}/till/sell">${text.change}</a></p></div>
<form class="stack" method="post" action="${frame.basePath}/till/sell" autocomplete="off">
${keyInput(ctx, key)}${hidden('amount', formatMoney(amount))}
${inputField({
  name: 'code',
  label: text.code,
  kind: 'code',
  hint: text.codeHint,
  isOptional: true,
  error: errors.code,
})}
${emailField}
<button class="button first big" name="how" value="card">${text.sellCard}</button>
<button class="button big" name="how" value="new">${text.sellNew}</button></form>`;
  const title = fillPlain(text.chooseTitle, { amount: shown });
  const status = Object.keys(errors).length === 0 ? 200 : 422;
  const page = { title, body, lock: lockForm(services, request) };
  return { status, body: tillPage(services, request, page) };
}

function amountErrorText({ language, signedIn: { store } }: StaffRequest): string {
  const example = amountValue(
    { minor: 25n * 10n ** BigInt(store.currency.decimals), currency: store.currency },
    language,
  );
  return fillPlain(texts[language].amountInvalid, { example });
}

/** The sentence for an amount above a limit, which the fault names. */
function limitText(fault: Fault, { language, signedIn: { store } }: StaffRequest): string | undefined {
  const text = texts[language];
  const { sale_limit: own, store_limit: ofStore } = fault.extensions ?? {};
  const shown = (limit: string): string => amountText(storedAmount(limit, store), language);
  if (own !== undefined) return fillPlain(text.aboveSaleLimit, { amount: shown(own) });
  return ofStore === undefined ? undefined : fillPlain(text.aboveStoreLimit, { amount: shown(ofStore) });
}

/** What the page of the result shows. */
type SoldResult = {
  readonly card: number;
  readonly entry: number;
  readonly amount: string;
  /** Null: the customer has it on a plastic card. */
  readonly code: string | null;
  readonly email: string | null;
};

const isSold = hasFields<SoldResult>('code', 'entry');

async function sell(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, canSend, storage } = services;
  const { store } = request.signedIn;
  const text = texts[request.language];
  const amount = parseTypedAmount(formText(request, 'amount'), store);
  if (!amount.ok) return amountPage(services, request, { error: amountErrorText(request) });
  const key = requireKey(request);

  const typed = formText(request, 'email').slice(0, emailLengthMax);
  const card = { amount: amount.value, email: typed };
  const email = typed === '' ? null : parseEmail(typed);
  const isNew = request.form.get('how') === 'new';
  const scanned = formText(request, 'code').slice(0, codeLengthMax);
  const code = isNew || scanned === '' ? null : parseCode(scanned);
  const errors: SaleErrors = {
    ...(!isNew && code === null && { code: text.codeMissing }),
    ...(code?.ok === false && { code: text.codeInvalid }),
    ...(email?.ok === false && { email: text.emailInvalid }),
  };
  if (Object.keys(errors).length > 0) return await cardPage(services, request, { ...card, errors });

  const chosen: Secret | null = code?.ok ? code.value : null;
  const recipient: EmailAddress | null = email?.ok ? email.value : null;
  const { enabled } = await storage.read(() => findEmailSettings(store.id));
  const isEmailed = recipient !== null && canSend && enabled;
  try {
    await runOnce<SoldResult>(services, request, key, function* sold() {
      const sale = yield* sellCard(ctx, {
        ...atCounter(request),
        value: amount.value,
        code: chosen,
        recipient,
        ...(isEmailed && { emails: { sendAt: null } }),
      });
      const { publicIds } = ctx.keys;
      return {
        card: publicIds.of(sale.card.id),
        entry: publicIds.of(sale.transferId),
        amount: formatMoney(amount.value),
        code: chosen ? null : sale.code.reveal(),
        email: isEmailed ? recipient.address : null,
      };
    });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'invalid-parameter') throw error;
    // The code can be taken by a concurrent submission of the same form.
    if (await hasResult(services, request, key)) return seeOther(`/till/sold/${key}`);
    const limit = limitText(error, request);
    if (limit !== undefined)
      return amountPage(services, request, {
        typed: amountValue(amount.value, request.language),
        error: limit,
      });
    if (!error.errors?.['code']) throw error;
    return await cardPage(services, request, { ...card, key, errors: { code: text.codeTaken } });
  }
  return seeOther(`/till/sold/${key}`);
}

async function soldPage(
  services: ConsoleServices,
  request: StaffRequest,
  problem?: string,
): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn, params } = request;
  const { store } = signedIn;
  const text = texts[language];
  const { key = '' } = params;
  const result = await findResult(services, request, key, isSold);
  const cardId = result && ctx.keys.publicIds.read(result.card);
  const entryId = result && ctx.keys.publicIds.read(result.entry);
  if (!result || cardId === undefined || entryId === undefined) throw new Fault('not-found');
  const cardKey = { storeId: store.id, cardId };
  const [card, mayCancel] = await storage.read(() =>
    parallel(retrieve(store.id, cardId), isCancellable(ctx, cardKey, entryId)),
  );
  const tail = cardTail(card.lastCharacters);
  const isCancelled = card.disabledAt !== null;
  const title = isCancelled ? text.cancelledTitle : text.soldTitle;
  const code = isCancelled ? null : result.code;
  const amount = storedAmount(result.amount, store);
  const sentence = isCancelled
    ? fill(text.cancelled, { card: tail })
    : markup`<strong>${fill(text.soldCard, { card: tail })}</strong>`;
  const emailed =
    result.email === null || isCancelled
      ? undefined
      : markup`<br>${fillPlain(text.emailed, { address: result.email })}`;
  const cancel = mayCancel
    ? markup`<form class="stack" method="post" action="${frame.basePath}/till/sold/${key}/cancel">${keyInput(ctx)}<button class="button bad">${text.cancel}</button><p class="hint">${text.cancelHint}</p></form>`
    : undefined;
  const body = markup`<div class="stack noprint">
${problem === undefined ? undefined : alert(problem)}
<div class="paid${isCancelled ? ' wait' : ''}" role="status">${tick}<div>${figure(amount, language)}</div><p>${sentence}${emailed}</p></div>
${code === null ? undefined : codeBlock(request, code)}
<div class="quick two-up"><a class="button" href="${frame.basePath}/till/receipts/${String(result.entry)}">${text.receipt}</a>${code === null ? undefined : markup`<button class="button" type="button" data-print hidden>${text.print}</button>`}</div>
${cancel}
<a class="button" href="${frame.basePath}/till/sell">${text.sellAnother}</a>
<a class="button first big" href="${frame.basePath}/till">${text.next}</a></div>
${code === null ? undefined : slip(request, { code, amount, entry: result.entry })}`;
  const page = { title, body, lock: lockForm(services, request) };
  return { status: problem === undefined ? 200 : 422, body: tillPage(services, request, page) };
}

function codeBlock({ language }: StaffRequest, code: string): Markup {
  const text = texts[language];
  return markup`<section class="panel stack" aria-label="${text.codeLabel}"><div class="qr shown">${qrPicture(code, text.qr)}</div>
<p class="codeline shown" id="new-code">${groupsOfFour(code)}</p>
<p class="center"><button class="button" type="button" data-copy="new-code" data-copied="${text.copied}" hidden>${text.copy}</button></p>
<p class="notice">${text.codeOnce}</p></section>`;
}

/** The slip for the customer, which only paper shows. */
function slip(
  { language, signedIn: { store } }: StaffRequest,
  { code, amount, entry }: { readonly code: string; readonly amount: Money; readonly entry: number },
): Markup {
  const text = texts[language];
  return markup`<article class="receipt only-print"><header><h2>${store.name}</h2><p>${text.slipTitle}</p></header>
<div class="center"><p>${figure(amount, language)}</p><div class="qr">${qrPicture(code, text.qr)}</div><p class="code">${groupsOfFour(code)}</p><p>${text.slipUse}</p></div>
${slipLines([[text.receiptNumber, groupsOfFour(String(entry))]])}</article>`;
}

async function cancelSold(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { key: saleKey = '' } = request.params;
  const result = await findResult(services, request, saleKey, isSold);
  const transferId = result && ctx.keys.publicIds.read(result.entry);
  if (transferId === undefined) throw new Fault('not-found');
  const key = requireKey(request);
  try {
    await runOnce(services, request, key, function* cancelled() {
      const { transferId: entry } = yield* cancelSale(ctx, { ...atCounter(request), transferId });
      return { entry: ctx.keys.publicIds.of(entry) };
    });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'undo-window-closed') throw error;
    if (await hasResult(services, request, key)) return seeOther(`/till/sold/${saleKey}`);
    return await soldPage(services, request, texts[request.language].notCancellable);
  }
  return seeOther(`/till/sold/${saleKey}`);
}

export const tillSaleRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/till/sell',
    access: 'useTill',
    async handle(services, request) {
      const typed = request.query.get('amount');
      if (typed === undefined) return amountPage(services, request);
      const amount = parseTypedAmount(typed, request.signedIn.store);
      if (!amount.ok)
        return amountPage(services, request, { typed: typed.slice(0, 40), error: amountErrorText(request) });
      return await cardPage(services, request, { amount: amount.value });
    },
  },
  { method: 'POST', path: '/till/sell', access: 'useTill', handle: sell },
  {
    method: 'GET',
    path: '/till/sold/:key',
    access: 'useTill',
    handle: (services, request) => soldPage(services, request),
  },
  { method: 'POST', path: '/till/sold/:key/cancel', access: 'useTill', handle: cancelSold },
  ...tillRefundRoutes,
];
