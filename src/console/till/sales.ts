/** The till: sell a card, and cancel a sale. Refunds are in `till-refunds.ts`. */

import { parseCode } from '../../domain/cards/code.ts';
import { parseEmail, type EmailAddress } from '../../domain/email-address.ts';
import { Fault } from '../../domain/fault.ts';
import type { Money } from '../../domain/money/money.ts';
import { Secret } from '../../platform/secret.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { cancelSale, findSale } from '../../service/staff-actions/sale.ts';
import { qrPageOf } from '../cards/recipient-page.ts';
import { qrSvg } from '../kit/code-view.ts';
import { emailTexts, keepsEmails } from '../emails/texts.ts';
import { alert } from '../kit/form.ts';
import { cardTail, amountValue, figure, parseTypedAmount } from '../kit/format.ts';
import { checkCodes } from '../kit/lookups.ts';
import { findResult, hasResult, keyInput, runOnce } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fill, fillPlain } from '../kit/texts.ts';
import { nextCardBar } from './entry.ts';
import { tillPage } from './page.ts';
import { requireKey, storedAmount, tick } from './parts.ts';
import { resumedForm, resumedPath } from './resume.ts';
import { activationRoutes } from './activation.ts';
import { tillRefundRoutes } from './refunds.ts';
import {
  amountPage,
  soldCardPage,
  saleTexts,
  sendsEmails,
  wayIn,
  type SaleErrors,
  type Way,
} from './sale-forms.ts';
import { aboveHighest, amountErrorText, isSold, limitText, rejections, sellOnce } from './selling.ts';
import { groupsOfFour, slipLines } from './slip.ts';

const texts = saleTexts;

/** Addresses are at most 320 characters long. */
const emailLengthMax = 400;
const codeLengthMax = 100;
const typedLengthMax = 40;

type SentCard = { readonly amount: Money; readonly way: Way; readonly email: string; readonly key: string };

/** The form with a sentence about a fault. @throws the fault if it is not about a field. */
async function rejectedPage(
  services: ConsoleServices,
  request: StaffRequest,
  fault: Fault,
  sent: SentCard,
): Promise<ConsoleResponse> {
  const text = texts[request.language];
  if (fault.code === 'too-many-misses') {
    const page = await soldCardPage(services, request, { ...sent, errors: { code: text.tooMany } });
    return throttled(page, (fault.retryAfterSeconds ?? 1) * 1_000);
  }
  const { amount, way } = sent;
  const typed = amountValue(amount, request.language);
  const error = limitText(fault, request);
  if (error !== undefined) return await amountPage(services, request, { typed, way, error });
  if (!fault.errors?.['code']) throw fault;
  const isUnknown = request.signedIn.store.stockRequired && fault.code !== 'already-activated';
  const code = isUnknown ? text.codeNotInStock : text.codeTaken;
  return await soldCardPage(services, request, { ...sent, errors: { code } });
}

async function sell(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { store } = request.signedIn;
  const { form } = request;
  const text = texts[request.language];
  const way = wayIn(form.get('how'));
  const typedAmount = formText(request, 'amount').slice(0, typedLengthMax);
  const amount = parseTypedAmount(typedAmount, store, request);
  const wrong = amount.ok ? aboveHighest(amount.value, request) : amountErrorText(request);
  if (!amount.ok || wrong !== undefined)
    return await amountPage(services, request, { typed: typedAmount, way, ...(wrong && { error: wrong }) });
  const key = requireKey(request);
  // The first step has neither a code nor an address.
  const isFirstStep = (way === 'card' && !form.has('code')) || (way === 'email' && !form.has('email'));
  if (isFirstStep) {
    const shown = amountValue(amount.value, request.language);
    return seeOther(`/till/sell?${new URLSearchParams({ amount: shown, how: way }).toString()}`);
  }

  const typed = formText(request, 'email').slice(0, emailLengthMax);
  const card = { amount: amount.value, way, email: typed };
  const email = typed === '' && way !== 'email' ? null : parseEmail(typed);
  const scanned = formText(request, 'code').slice(0, codeLengthMax);
  const code = way !== 'card' || scanned === '' ? null : parseCode(scanned);
  const errors: SaleErrors = {
    ...(way === 'card' && code === null && { code: text.codeMissing }),
    ...(code?.ok === false && { code: text.codeInvalid }),
    ...(email?.ok === false && { email: text.emailInvalid }),
  };
  if (Object.keys(errors).length > 0) return await soldCardPage(services, request, { ...card, key, errors });

  const chosen: Secret | null = code?.ok ? code.value : null;
  const recipient: EmailAddress | null = email?.ok ? email.value : null;
  const isEmailed = recipient !== null && (await sendsEmails(services, request));
  const sold = {
    value: amount.value,
    code: chosen,
    recipient,
    ...(isEmailed && { emails: { sendAt: null } }),
  };
  try {
    await checkCodes(services, request, { count: chosen ? 1 : 0 }, async () => ({
      result: await sellOnce(services, request, key, sold),
      taken: 0,
    }));
  } catch (error) {
    if (!(error instanceof Fault) || !rejections.has(error.code) || error.errors?.['location_id'])
      throw error;
    // The code can be taken by an earlier or concurrent submission of the same form.
    if (!(await hasResult(services, request, key)))
      return await rejectedPage(services, request, error, { ...card, key });
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
  const { card, isCancellable } = await storage.read(() => findSale(ctx, cardKey, entryId));
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
      : markup`<br>${fillPlain(keepsEmails(services) ? emailTexts[language].keptTo : text.emailed, { address: result.email })}`;
  const cancel = isCancellable
    ? markup`<form class="stack" method="post" action="${frame.basePath}/till/sold/${key}/cancel">${keyInput(ctx)}<button class="button bad">${text.cancel}</button><p class="hint">${text.cancelHint}</p></form>`
    : undefined;
  const body = markup`<div class="stack noprint">
${problem === undefined ? undefined : alert(problem)}${result.isTried && !isCancelled ? alert(text.tried) : undefined}
<div class="paid${isCancelled ? ' wait' : ''}" role="status">${tick}<div>${figure(amount, language)}</div><p>${sentence}${emailed}</p></div>
${code === null ? undefined : codeBlock(services, request, code)}
<div class="quick two-up"><a class="button" href="${frame.basePath}/till/receipts/${String(result.entry)}">${text.receipt}</a>${code === null ? undefined : markup`<button class="button" type="button" data-print hidden>${text.print}</button>`}</div>
${cancel}
<a class="button" href="${frame.basePath}/till/sell">${text.sellAnother}</a>
${nextCardBar(services, text.next)}</div>
${code === null ? undefined : slip(services, request, { code, amount, entry: result.entry })}`;
  return { status: problem === undefined ? 200 : 422, body: tillPage(services, request, { title, body }) };
}

/** The QR code of a new code, which a phone's camera opens. */
function newCodeQr(
  services: ConsoleServices,
  { language, signedIn }: StaffRequest,
  code: string,
  className: 'qr' | 'qr shown',
): Markup {
  const page = qrPageOf(services, signedIn.store);
  return markup`<div class="${className}">${qrSvg(new Secret(code), { page, label: texts[language].qr })}</div>`;
}

function codeBlock(services: ConsoleServices, request: StaffRequest, code: string): Markup {
  const text = texts[request.language];
  return markup`<section class="panel stack" aria-label="${text.codeLabel}">${newCodeQr(services, request, code, 'qr shown')}
<p class="codeline shown" id="new-code">${groupsOfFour(code)}</p>
<p class="center"><button class="button" type="button" data-copy="new-code" data-copied="${text.copied}" hidden>${text.copy}</button></p>
<p class="notice">${text.codeOnce}</p></section>`;
}

/** The slip for the customer, which only paper shows. */
function slip(
  services: ConsoleServices,
  request: StaffRequest,
  { code, amount, entry }: { readonly code: string; readonly amount: Money; readonly entry: number },
): Markup {
  const { language, signedIn } = request;
  const { store } = signedIn;
  const text = texts[language];
  return markup`<article class="receipt only-print"><header><h2>${store.name}</h2><p>${text.slipTitle}</p></header>
<div class="center"><p>${figure(amount, language)}</p>${newCodeQr(services, request, code, 'qr')}<p class="code">${groupsOfFour(code)}</p><p>${text.slipUse}</p></div>
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
      const { id } = yield* cancelSale(ctx, byOf(request), transferId);
      return { entry: ctx.keys.publicIds.of(id) };
    });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'undo-window-closed') throw error;
    if (await hasResult(services, request, key)) return seeOther(`/till/sold/${saleKey}`);
    return await soldPage(services, request, texts[request.language].notCancellable);
  }
  return seeOther(`/till/sold/${saleKey}`);
}

export const tillSaleRoutes: readonly StaffRoute[] = [
  ...activationRoutes,
  {
    method: 'GET',
    path: '/till/sell',
    access: 'useTill',
    usesWebAssembly: true,
    async handle(services, request) {
      const { query } = request;
      const typed = query.get('amount')?.slice(0, typedLengthMax);
      const way = wayIn(query.get('how'));
      const resumed = resumedForm(request);
      if (typed === undefined || resumed)
        return await amountPage(services, request, {
          way,
          ...(resumed && { typed: resumed.amount, notice: resumed.notice }),
        });
      const amount = parseTypedAmount(typed, request.signedIn.store, request);
      if (!amount.ok)
        return await amountPage(services, request, { typed, way, error: amountErrorText(request) });
      return await soldCardPage(services, request, { amount: amount.value, way });
    },
  },
  {
    method: 'POST',
    path: '/till/sell',
    access: 'useTill',
    usesWebAssembly: true,
    handle: sell,
    resumed: (request) => resumedPath('/till/sell', request, { how: wayIn(request.form.get('how')) }),
  },
  {
    method: 'GET',
    path: '/till/sold/:key',
    access: 'useTill',
    handle: (services, request) => soldPage(services, request),
  },
  { method: 'POST', path: '/till/sold/:key/cancel', access: 'useTill', handle: cancelSold },
  ...tillRefundRoutes,
];
