/** The till: refund a redemption to its card, and add money to a card. */

import type { Card } from '../../domain/cards/card.ts';
import { typedCodeLengthMax } from '../../domain/cards/code.ts';
import { Fault } from '../../domain/fault.ts';
import { formatMoney, type Money } from '../../domain/money/money.ts';
import { markup } from '../../platform/markup.ts';
import { retrieve } from '../../service/cards/card.ts';
import { findRefundable, findRefundableCard, refundToCard } from '../../service/staff-actions/refund.ts';
import { topUpCard } from '../../service/staff-actions/sale.ts';
import { findForRefund } from '../../service/staff/lookup.ts';
import { usualAmounts } from '../../service/books/usual-amounts.ts';
import type { Script } from '../../storage/sql/sql.ts';
import { inputField } from '../kit/form.ts';
import { cardTail, amountText, amountValue, figure, parseTypedAmount } from '../kit/format.ts';
import { readById, runSearch } from '../kit/lookups.ts';
import { findResult, hasFields, hasResult, keyInput, runOnce } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
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
import { fill, fillPlain } from '../kit/texts.ts';
import { cameraFrame, cameraScripts } from './camera.ts';
import { cardColumn, cardTasks } from './card.ts';
import { amountEntry, entryData, nextCardBar, payButton } from './entry.ts';
import { tillPage, taskHeading } from './page.ts';
import { storedAmount, requireKey, tick } from './parts.ts';
import { refundPage, refundTexts, type Shown } from './refund-form.ts';
import { resumedForm, resumedPath } from './resume.ts';

const texts = refundTexts;

function page(
  services: ConsoleServices,
  request: StaffRequest,
  { status = 200, ...shown }: Parameters<typeof tillPage>[2] & { readonly status?: 200 | 404 | 422 },
): PageResponse {
  return { status, body: tillPage(services, request, shown) };
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
  const body = markup`${taskHeading(services, request, { title: text.title })}
<div class="columns"><div>${cameraFrame(services, request)}</div>
<div><form class="entry-form" data-code method="post" action="${basePath}/till/refund/find" autocomplete="off">
${inputField({ name: 'find', label: text.find, kind: 'code', hint: text.findHint, hasFocus: true, error })}
${payButton(text.findButton)}</form></div></div>`;
  return page(services, request, { status, title: text.title, body, isWide: true, scripts: cameraScripts });
}

async function find(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const text = texts[request.language];
  const typed = formText(request, 'find');
  if (typed === '' || typed.length > typedCodeLengthMax)
    return findPage(services, request, 422, text.findMissing);
  const outcome = await runSearch(services, request, (searcher) => findForRefund(ctx, searcher, typed));
  if (outcome.kind === 'missed' || outcome.kind === 'unsold')
    return findPage(services, request, 404, text.notFound);
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

/** The page of a card with its redemptions, one of which is refunded. */
async function cardPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { store } = request.signedIn;
  const found = await readById(services, request, (cardId) =>
    findRefundableCard({ storeId: store.id, cardId }),
  );
  const [chosen] = found.redemptions;
  return refundPage(services, request, { ...found, ...(chosen && { chosen }) });
}

function loadRedemption(services: ConsoleServices, request: StaffRequest) {
  return readById(services, request, (id) => findRefundable(request.signedIn.store.id, id));
}

async function entryPage(
  services: ConsoleServices,
  request: StaffRequest,
  shown: Shown = {},
): Promise<ConsoleResponse> {
  const found = await loadRedemption(services, request);
  const resumed = resumedForm(request);
  return refundPage(services, request, {
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
  const typed = formText(request, 'amount').slice(0, typedCodeLengthMax);
  const amount = parseTypedAmount(typed, request.signedIn.store, request);
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
  const { id: transferId } = (await loadRedemption(services, request)).chosen.transfer;
  return await change(services, request, {
    show: (shown) => entryPage(services, request, shown),
    *run(amount) {
      const { transfer, card } = yield* refundToCard(ctx, byOf(request), { transferId, amount, note: null });
      return resultOf(services, { card, entryId: transfer.id, amount, isTopUp: false });
    },
  });
}

function loadCardOf(services: ConsoleServices, request: StaffRequest): Promise<Card> {
  return readById(services, request, (id) => retrieve(request.signedIn.store.id, id));
}

async function topUpPage(
  services: ConsoleServices,
  request: StaffRequest,
  { typed = '', key, error }: Shown = {},
): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { store, member } = request.signedIn;
  const text = texts[request.language];
  const card = await loadCardOf(services, request);
  const usual = await storage.read(() => usualAmounts(store, member.saleLimit));
  const resumed = resumedForm(request);
  const path = `${frame.basePath}/till/refund/card/${String(ctx.keys.publicIds.of(card.id))}/add`;
  const data = entryData(request, {
    hint: text.topUpHint,
    note: { text: text.willHave, base: card.balance, change: 'adds' },
    button: text.topUpButton,
    buttonAmount: text.topUpAmountButton,
  });
  const entry = amountEntry(request, {
    label: text.topUpAmount,
    hint: text.topUpHint,
    typed: resumed?.amount ?? typed,
    error,
    quick: usual.map((amount) => ({ amount })),
  });
  const body = markup`${resumed?.notice}<form class="columns entry-form" method="post" action="${path}"${data}>${keyInput(ctx, key)}
${cardColumn(services, request, card)}
<div>${cardTasks(services, request, { card, current: 'add' })}
${entry}
${payButton(text.topUpButton)}</div></form>`;
  const status = error === undefined ? 200 : 422;
  return page(services, request, { status, title: text.topUpTitle, body, isWide: true });
}

async function topUp(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { id: cardId } = await loadCardOf(services, request);
  return await change(services, request, {
    show: (shown) => topUpPage(services, request, shown),
    *run(amount) {
      const { transfer, card } = yield* topUpCard(ctx, byOf(request), { cardId, amount });
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
${nextCardBar(services, text.next)}`;
  return page(services, request, { title: result.isTopUp ? text.addedTitle : text.doneTitle, body });
}

const changing = { access: 'changeCards' } as const;

export const tillRefundRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/till/refund',
    access: 'useTill',
    usesWebAssembly: true,
    handle: (services, request) => Promise.resolve(findPage(services, request)),
  },
  { method: 'POST', path: '/till/refund/find', access: 'useTill', usesWebAssembly: true, handle: find },
  { method: 'GET', path: '/till/refund/card/:id', access: 'useTill', handle: cardPage },
  {
    method: 'GET',
    path: '/till/refund/card/:id/add',
    ...changing,
    handle: (services, request) => topUpPage(services, request),
  },
  {
    method: 'POST',
    path: '/till/refund/card/:id/add',
    ...changing,
    handle: topUp,
    resumed: (request) => resumedPath(`/till/refund/card/${request.params['id'] ?? ''}/add`, request),
  },
  {
    method: 'GET',
    path: '/till/refund/entry/:id',
    access: 'useTill',
    handle: (services, request) => entryPage(services, request),
  },
  {
    method: 'POST',
    path: '/till/refund/entry/:id',
    access: 'useTill',
    handle: refund,
    resumed: (request) => resumedPath(`/till/refund/entry/${request.params['id'] ?? ''}`, request),
  },
  { method: 'GET', path: '/till/refund/done/:key', access: 'useTill', handle: donePage },
];
