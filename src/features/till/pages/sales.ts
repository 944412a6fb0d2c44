/** The till: sell a card, and cancel a sale. Refunds are in `refunds.ts`. */

import { barcodeOf } from '../../../core/cards/domain/symbol.ts';
import type { PaperMm } from '../../../core/staff/domain/till-paper.ts';
import { notInStock } from '../../../core/stocks/service/activation.ts';
import { newCodeErrorText } from '../../../pages/kit/code-errors.ts';
import { openedCode } from './sealed-code.ts';
import { notStockPage } from './not-stock.ts';
import {
  chosenOf,
  givenCodeLengthMax,
  readChosenCode,
  type ChosenCode,
} from '../../../core/cards/domain/given-code.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { Secret } from '../../../platform/secret.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { cancelSale, findSale } from '../service/sale.ts';
import { qrPageOf } from '../../card-pages/pages/recipient-page.ts';
import { qrSvg } from '../../../pages/kit/code-view.ts';
import { keepsEmails } from '../../emails/pages/texts.ts';
import { alert } from '../../../pages/kit/form.ts';
import { cardTail, amountValue, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { checkCodes } from '../../../pages/kit/lookups.ts';
import { findResult, hasResult, keyInput } from '../../../pages/kit/once.ts';
import { seeOther, throttled, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { nextCardBar } from './entry.ts';
import { tillPage } from './page.ts';
import { requireKey, storedAmount, tick } from './parts.ts';
import { scannerCookies } from './scanner.ts';
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
import { identityOf, type ShownIdentity } from '../../../pages/kit/identity.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { groupsOfFour, paperOf, slipArticle, slipLines, slipFoot, slipHead, slipSymbols } from './slip.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

const texts = saleTexts;

/** Addresses are at most 320 characters long. */
const emailLengthMax = 400;
const typedLengthMax = 40;

type SentCard = {
  readonly amount: Money;
  readonly way: Way;
  readonly email: string;
  readonly key: string;
  /** The code that was scanned; null: the sale has none. */
  readonly code: ChosenCode | null;
};

/** The form with a sentence about a fault. @throws the fault if it is not about a field. */
async function rejectedPage(page: Page, fault: Fault, sent: SentCard): Promise<ConsoleResponse> {
  const text = texts[page.language];
  if (fault.code === 'too-many-misses') {
    const shown = await soldCardPage(page, { ...sent, errors: { code: text.tooMany } });
    return throttled(shown, (fault.retryAfterSeconds ?? 1) * 1_000);
  }
  const { amount, way } = sent;
  const typed = amountValue(amount, page.language);
  const error = limitText(fault, page.request);
  if (error !== undefined) return await amountPage(page, { typed, way, error });
  const messages = fault.errors?.['code'];
  if (!messages) throw fault;
  const newError = sent.code?.newError ?? null;
  if (messages.includes(notInStock) && sent.code && newError === null) {
    const isUnused = (fault.failedLookups ?? 0) === 0;
    const mayBeOwn = page.store.stockRequired === 'ask' && isUnused;
    return notStockPage(page, { ...sent, code: sent.code.code, mayBeOwn });
  }
  const reasons = newError === null ? messages : [...messages, newError];
  const code = newCodeErrorText(reasons, page.text.newCodes) ?? text.codeTaken;
  return await soldCardPage(page, { ...sent, errors: { code } });
}

async function sell(page: Page): Promise<ConsoleResponse> {
  const text = texts[page.language];
  const way = wayIn(page.request.form.get('how'));
  const typedAmount = page.typed('amount').slice(0, typedLengthMax);
  const amount = parseTypedAmount(typedAmount, page.store, page.request);
  const wrong = amount.ok ? aboveHighest(amount.value, page.request) : amountErrorText(page);
  if (!amount.ok || wrong !== undefined)
    return await amountPage(page, { typed: typedAmount, way, ...(wrong && { error: wrong }) });
  const key = requireKey(page);
  // The first step has neither a code nor an address.
  const isFirstStep =
    (way === 'card' && !page.request.form.has('code')) ||
    (way === 'email' && !page.request.form.has('email'));
  if (isFirstStep) {
    const shown = amountValue(amount.value, page.language);
    return seeOther(`/till/sell?${new URLSearchParams({ amount: shown, how: way }).toString()}`);
  }

  const typed = page.typed('email').slice(0, emailLengthMax);
  const card = { amount: amount.value, way, email: typed };
  const email = typed === '' && way !== 'email' ? null : parseEmail(typed);
  const scanned = page.typed('code').slice(0, givenCodeLengthMax + 1);
  const code = way !== 'card' || scanned === '' ? null : readChosenCode(scanned);
  const errors: SaleErrors = {
    ...(way === 'card' && code === null && { code: text.codeMissing }),
    ...(code?.ok === false && {
      code: newCodeErrorText([code.error], page.text.newCodes) ?? page.text.newCodes.length,
    }),
    ...(email?.ok === false && { email: text.emailInvalid }),
  };
  if (Object.keys(errors).length > 0) return await soldCardPage(page, { ...card, key, errors });
  return await sellChosen(page, { ...card, key, code: code?.ok ? code.value : null });
}

/** Sells a card once. @param options.isOwn whether its code is that of a card of the shop's own, if it is in no stock. */
async function sellChosen(
  page: Page,
  { amount, code, key, ...sent }: SentCard,
  { isOwn = false }: { readonly isOwn?: boolean } = {},
): Promise<ConsoleResponse> {
  const email = sent.email === '' ? null : parseEmail(sent.email);
  const recipient: EmailAddress | null = email?.ok ? email.value : null;
  const isEmailed = recipient !== null && (await sendsEmails(page));
  const sold = {
    value: amount,
    code,
    recipient,
    isOwn,
    ...(isEmailed && { emails: { sendAt: null } }),
  };
  try {
    const { result } = await checkCodes(page.services, page.request, { count: code ? 1 : 0 }, async () => ({
      result: await sellOnce(page, key, sold),
      taken: 0,
    }));
    return seeOther(`/till/sold/${key}`, scannerCookies(page, result));
  } catch (error) {
    if (!(error instanceof Fault) || !rejections.has(error.code) || error.errors?.['location_id'])
      throw error;
    // The code can be taken by an earlier or concurrent submission of the same form.
    if (!(await hasResult(page.services, page.request, key)))
      return await rejectedPage(page, error, { ...sent, amount, code, key });
    return seeOther(`/till/sold/${key}`);
  }
}

async function soldPage(page: Page, problem?: string): Promise<ConsoleResponse> {
  const text = texts[page.language];
  const { key = '' } = page.request.params;
  const result = await findResult(page.services, page.request, key, isSold);
  const cardId = result && page.ctx.keys.publicIds.read(result.card);
  const entryId = result && page.ctx.keys.publicIds.read(result.entry);
  if (!result || cardId === undefined || entryId === undefined) throw new Fault('not-found');
  const cardKey = { storeId: page.store.id, cardId };
  const { card, isCancellable } = await page.read(() => findSale(page.ctx, cardKey, entryId));
  const tail = cardTail(card.lastCharacters);
  const isCancelled = card.disabledAt !== null;
  const title = isCancelled ? text.cancelledTitle : text.soldTitle;
  const code = isCancelled ? null : result.code;
  const amount = storedAmount(result.amount, page.store);
  const sentence = isCancelled
    ? fill(text.cancelled, { card: tail })
    : markup`<strong>${fill(text.soldCard, { card: tail })}</strong>`;
  const emailed =
    result.email === null || isCancelled
      ? undefined
      : markup`<br>${fillPlain(keepsEmails(page.services) ? page.text.emails.keptTo : text.emailed, { address: result.email })}`;
  const cancel = isCancellable
    ? markup`<form class="stack" method="post" action="${page.basePath}/till/sold/${key}/cancel">${keyInput(page.ctx)}<button class="button bad">${text.cancel}</button><p class="hint">${text.cancelHint}</p></form>`
    : undefined;
  const identity = identityOf(await page.read(() => readEmailSettings(page.store.id)));
  const paperMm = await paperOf(page);
  const body = markup`<div class="stack noprint">
${problem === undefined ? undefined : alert(problem)}${result.isTried && !isCancelled ? alert(text.tried) : undefined}
<div class="paid${isCancelled ? ' wait' : ''}" role="status">${tick}<div>${figure(amount, page.language)}</div><p>${sentence}${emailed}</p></div>
${code === null ? undefined : codeBlock(page, code)}
<div class="quick two-up"><a class="button" href="${page.basePath}/till/receipts/${String(result.entry)}">${text.receipt}</a>${code === null ? undefined : markup`<button class="button" type="button" data-print hidden>${text.print}</button>`}</div>
${cancel}
<a class="button" href="${page.basePath}/till/sell">${text.sellAnother}</a>
${nextCardBar(page.services, text.next)}</div>
${code === null ? undefined : slip(page, { code, amount, entry: result.entry, identity, paperMm })}`;
  return {
    status: problem === undefined ? 200 : 422,
    body: tillPage(page.services, page.request, { title, body }),
  };
}

/** The QR code of a new code, which a phone's camera opens. */
function newCodeQr(page: Page, code: string): Markup {
  const made = qrPageOf(page.services, page.store);
  return qrSvg(new Secret(code), { page: made, label: texts[page.language].qr });
}

function codeBlock(page: Page, code: string): Markup {
  const text = texts[page.language];
  return markup`<section class="panel stack" aria-label="${text.codeLabel}"><div class="qr shown">${newCodeQr(page, code)}</div>
<p class="codeline shown" id="new-code">${groupsOfFour(code)}</p>
<p class="center"><button class="button" type="button" data-copy="new-code" data-copied="${text.copied}" hidden>${text.copy}</button></p>
<p class="notice">${text.codeOnce}</p></section>`;
}

/** The slip for the customer, which only paper shows. */
function slip(
  page: Page,
  {
    code,
    amount,
    entry,
    identity,
    paperMm,
  }: {
    readonly code: string;
    readonly amount: Money;
    readonly entry: number;
    readonly identity: ShownIdentity;
    readonly paperMm: PaperMm;
  },
): Markup {
  const text = texts[page.language];
  const location = page.request.signedIn.workplace ?? undefined;
  const symbols = slipSymbols(newCodeQr(page, code), barcodeOf(new Secret(code)), paperMm);
  return slipArticle(
    { paperMm },
    markup`${slipHead(page, { identity, location, heading: 'h2' })}
<div class="center"><p>${text.slipTitle}</p><p>${figure(amount, page.language)}</p>${symbols}<p class="code">${groupsOfFour(code)}</p><p>${text.slipUse}</p></div>
${slipLines([[text.receiptNumber, groupsOfFour(String(entry))]])}${slipFoot(page, identity)}`,
  );
}

async function cancelSold(page: Page): Promise<ConsoleResponse> {
  const { key: saleKey = '' } = page.request.params;
  const result = await findResult(page.services, page.request, saleKey, isSold);
  const transferId = result && page.ctx.keys.publicIds.read(result.entry);
  if (transferId === undefined) throw new Fault('not-found');
  const key = requireKey(page);
  try {
    await page.once(key, function* cancelled() {
      const { id } = yield* cancelSale(page.ctx, page.by, transferId);
      return { entry: page.publicId(id) };
    });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'undo-window-closed') throw error;
    if (await hasResult(page.services, page.request, key)) return seeOther(`/till/sold/${saleKey}`);
    return await soldPage(page, texts[page.language].notCancellable);
  }
  return seeOther(`/till/sold/${saleKey}`);
}

/** Sells a card of the shop's own, whose code is in no stock, and is sealed in the form. */
async function sellOwn(page: Page): Promise<ConsoleResponse> {
  const amount = parseTypedAmount(page.typed('amount').slice(0, typedLengthMax), page.store, page.request);
  const code = openedCode(page);
  if (!code || !amount.ok) return seeOther('/till/sell');
  const email = page.typed('email').slice(0, emailLengthMax);
  const sent = {
    amount: amount.value,
    way: 'card',
    email,
    key: requireKey(page),
    code: chosenOf(code),
  } as const;
  return await sellChosen(page, sent, { isOwn: true });
}

export const tillSaleRoutes: readonly StaffRoute[] = [
  ...activationRoutes,
  get(
    '/till/sell',
    'useTill',
    async (page) => {
      const typed = page.request.query.get('amount')?.slice(0, typedLengthMax);
      const how = page.request.query.get('how');
      const way = wayIn(how);
      const resumed = resumedForm(page);
      if (typed === undefined || resumed)
        return await amountPage(page, {
          ...(how !== undefined && { way }),
          ...(resumed && { typed: resumed.amount, notice: resumed.notice }),
        });
      const amount = parseTypedAmount(typed, page.store, page.request);
      if (!amount.ok) return await amountPage(page, { typed, way, error: amountErrorText(page) });
      return await soldCardPage(page, { amount: amount.value, way });
    },
    { usesWebAssembly: true },
  ),
  post('/till/sell/own', 'changeCards', sellOwn, { usesWebAssembly: true }),
  post('/till/sell', 'useTill', sell, {
    usesWebAssembly: true,
    resumed: (request) => resumedPath('/till/sell', request, { how: wayIn(request.form.get('how')) }),
  }),
  get('/till/sold/:key', 'useTill', (page) => soldPage(page)),
  post('/till/sold/:key/cancel', 'useTill', cancelSold),
  ...tillRefundRoutes,
];
