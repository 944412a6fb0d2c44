/** The till: refund a redemption to its card, and add money to a card. */

import type { Card } from '../../../core/cards/domain/card.ts';
import { givenCodeLengthMax } from '../../../core/cards/domain/given-code.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import { markup } from '../../../platform/markup.ts';
import { retrieve } from '../../../core/cards/service/card.ts';
import { findRefundable, findRefundableCard, refundToCard } from '../service/refund.ts';
import { topUpCard } from '../service/sale.ts';
import { findForRefund } from '../../../core/staff/service/lookup.ts';
import { usualAmounts } from '../service/usual-amounts.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { cardTail, amountText, amountValue, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { runSearch } from '../../../pages/kit/lookups.ts';
import { findResult, hasFields, hasResult, keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRequest,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { cameraFrame, cameraScripts } from './camera.ts';
import { cardColumn, cardTasks } from './card.ts';
import { amountEntry, entryData, nextCardBar, payButton } from './entry.ts';
import { tillPage, taskHeading } from './page.ts';
import { storedAmount, requireKey, tick } from './parts.ts';
import { refundPage, refundTexts, type Shown } from './refund-form.ts';
import { resumedForm, resumedPath } from './resume.ts';
import { scannerCookies } from './scanner.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

const texts = refundTexts;

function response(
  page: Page,
  { status = 200, ...shown }: Parameters<typeof tillPage>[2] & { readonly status?: 200 | 404 | 422 },
): PageResponse {
  return { status, body: tillPage(page.services, page.request, shown) };
}

function findPage(page: Page, status: 200 | 404 | 422 = 200, error?: string): PageResponse {
  const text = texts[page.language];
  // A code that was typed is not shown again.
  const body = markup`${taskHeading(page, { title: text.title })}
<div class="columns"><div>${cameraFrame(page)}</div>
<div><form class="entry-form" data-code method="post" action="${page.basePath}/till/refund/find" autocomplete="off">
${inputField({ name: 'find', label: text.find, kind: 'code', hint: text.findHint, hasFocus: true, error })}
${payButton(text.findButton)}</form></div></div>`;
  return response(page, { status, title: text.title, body, isWide: true, scripts: cameraScripts });
}

async function find(page: Page): Promise<ConsoleResponse> {
  const text = texts[page.language];
  const typed = page.typed('find');
  if (typed === '' || typed.length > givenCodeLengthMax) return findPage(page, 422, text.findMissing);
  const outcome = await runSearch(page.services, page.request, (searcher) =>
    findForRefund(page.ctx, searcher, typed),
  );
  if (outcome.kind === 'missed' || outcome.kind === 'unsold') return findPage(page, 404, text.notFound);
  if (outcome.kind === 'throttled') {
    const { retryAfterSeconds = 1 } = outcome.fault;
    return throttled(findPage(page, 422, text.tooMany), retryAfterSeconds * 1_000);
  }
  const { publicIds } = page.ctx.keys;
  const found = outcome.result;
  switch (found.kind) {
    case 'card':
      return seeOther(`/till/refund/card/${publicIds.of(found.cardId)}`, scannerCookies(page, found.reading));
    case 'entry': {
      const { transfer } = found;
      const isRedemption = transfer.kind === 'debit' || transfer.kind === 'capture';
      return isRedemption
        ? seeOther(`/till/refund/entry/${publicIds.of(transfer.id)}`)
        : seeOther(`/till/refund/card/${publicIds.of(transfer.cardId)}`);
    }
  }
}

/** The page of a card with its redemptions, one of which is refunded. */
async function cardPage(page: Page): Promise<ConsoleResponse> {
  const found = await page.readById((cardId) => findRefundableCard({ storeId: page.store.id, cardId }));
  const [chosen] = found.redemptions;
  return refundPage(page, { ...found, ...(chosen && { chosen }) });
}

function loadRedemption(page: Page) {
  return page.readById((id) => findRefundable(page.store.id, id));
}

async function entryPage(page: Page, shown: Shown = {}): Promise<ConsoleResponse> {
  const found = await loadRedemption(page);
  const resumed = resumedForm(page);
  return refundPage(page, {
    ...found,
    ...shown,
    ...(resumed && { typed: resumed.amount, notice: resumed.notice }),
  });
}

/** The content of the page of the result. */
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
  const {
    refund_limit: refundLimit,
    refund_left: refundLeft,
    sale_limit: saleLimit,
    reversible,
  } = fault.extensions ?? {};
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
      if (fault.errors?.['location_id']) return undefined;
      if (refundLimit !== undefined && refundLeft !== undefined)
        return fillPlain(text.aboveRefundLimit, { limit: shown(refundLimit), left: shown(refundLeft) });
      if (saleLimit !== undefined) return fillPlain(text.aboveSaleLimit, { amount: shown(saleLimit) });
      return text.aboveStoreLimit;
    default:
      return undefined;
  }
}

function invalidAmountText(page: Page): string {
  const { currency } = page.store;
  const example = amountValue({ minor: 25n * 10n ** BigInt(currency.decimals), currency }, page.language);
  return fillPlain(texts[page.language].amountInvalid, { example });
}

/** Runs a change once, and shows the form with a sentence if it was rejected. */
async function change(
  page: Page,
  {
    show,
    run,
  }: {
    readonly show: (shown: Shown) => Promise<ConsoleResponse>;
    readonly run: (amount: Money) => Script<DoneResult>;
  },
): Promise<ConsoleResponse> {
  const typed = page.typed('amount').slice(0, givenCodeLengthMax);
  const amount = parseTypedAmount(typed, page.store, page.request);
  const key = requireKey(page);
  if (!amount.ok) return await show({ typed, key, error: invalidAmountText(page) });
  try {
    await page.once(key, () => run(amount.value));
  } catch (error) {
    const sentence = error instanceof Fault ? faultText(error, page.request) : undefined;
    if (sentence === undefined) throw error;
    // A concurrent submission of the same form can have used up the amount.
    if (!(await hasResult(page.services, page.request, key)))
      return await show({ typed, key, error: sentence });
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

async function refund(page: Page): Promise<ConsoleResponse> {
  const { id: transferId } = (await loadRedemption(page)).chosen.transfer;
  return await change(page, {
    show: (shown) => entryPage(page, shown),
    *run(amount) {
      const { transfer, card } = yield* refundToCard(page.ctx, page.by, { transferId, amount, note: null });
      return resultOf(page.services, { card, entryId: transfer.id, amount, isTopUp: false });
    },
  });
}

function loadCardOf(page: Page): Promise<Card> {
  return page.readById((id) => retrieve(page.store.id, id));
}

async function topUpPage(page: Page, { typed = '', key, error }: Shown = {}): Promise<ConsoleResponse> {
  const text = texts[page.language];
  const card = await loadCardOf(page);
  const usual = await page.read(() => usualAmounts(page.store, page.member.saleLimit));
  const resumed = resumedForm(page);
  const path = `${page.basePath}/till/refund/card/${String(page.publicId(card.id))}/add`;
  const data = entryData(page, {
    hint: text.topUpHint,
    note: { text: text.willHave, base: card.balance, change: 'adds' },
    button: text.topUpButton,
    buttonAmount: text.topUpAmountButton,
  });
  const entry = amountEntry(page, {
    label: text.topUpAmount,
    hint: text.topUpHint,
    typed: resumed?.amount ?? typed,
    error,
    quick: usual.map((amount) => ({ amount })),
  });
  const body = markup`${resumed?.notice}<form class="columns entry-form" method="post" action="${path}"${data}>${keyInput(page.ctx, key)}
${cardColumn(page, card)}
<div>${cardTasks(page, { card, current: 'add' })}
${entry}
${payButton(text.topUpButton)}</div></form>`;
  const status = error === undefined ? 200 : 422;
  return response(page, { status, title: text.topUpTitle, body, isWide: true });
}

async function topUp(page: Page): Promise<ConsoleResponse> {
  const { id: cardId } = await loadCardOf(page);
  return await change(page, {
    show: (shown) => topUpPage(page, shown),
    *run(amount) {
      const { transfer, card } = yield* topUpCard(page.ctx, page.by, { cardId, amount });
      return resultOf(page.services, { card, entryId: transfer.id, amount, isTopUp: true });
    },
  });
}

async function donePage(page: Page): Promise<ConsoleResponse> {
  const text = texts[page.language];
  const result = await findResult(page.services, page.request, page.param('key'), isDone);
  const cardId = result && page.ctx.keys.publicIds.read(result.card);
  if (!result || cardId === undefined) throw new Fault('not-found');
  const card = await page.read(() => retrieve(page.store.id, cardId));
  const balance = amountText(storedAmount(result.balance, page.store), page.language);
  const sentence = fill(result.isTopUp ? text.added : text.done, { card: cardTail(card.lastCharacters) });
  const body = markup`<div class="paid" role="status">${tick}<div>${figure(storedAmount(result.amount, page.store), page.language)}</div><p><strong>${sentence}</strong><br>${fillPlain(text.balanceNow, { amount: balance })}</p></div>
<a class="button" href="${page.basePath}/till/receipts/${String(result.entry)}">${text.receipt}</a>
${nextCardBar(page.services, text.next)}`;
  return response(page, { title: result.isTopUp ? text.addedTitle : text.doneTitle, body });
}

export const tillRefundRoutes: readonly StaffRoute[] = [
  get('/till/refund', 'useTill', (page) => findPage(page), { usesWebAssembly: true }),
  post('/till/refund/find', 'useTill', find, { usesWebAssembly: true }),
  get('/till/refund/card/:id', 'useTill', cardPage),
  get('/till/refund/card/:id/add', 'changeCards', (page) => topUpPage(page)),
  post('/till/refund/card/:id/add', 'changeCards', topUp, {
    resumed: (request) => resumedPath(`/till/refund/card/${request.params['id'] ?? ''}/add`, request),
  }),
  get('/till/refund/entry/:id', 'useTill', (page) => entryPage(page)),
  post('/till/refund/entry/:id', 'useTill', refund, {
    resumed: (request) => resumedPath(`/till/refund/entry/${request.params['id'] ?? ''}`, request),
  }),
  get('/till/refund/done/:key', 'useTill', donePage),
];
