/** The result of a redemption: what was redeemed, its undoing, and its cancellation. */

import { createHash } from 'node:crypto';
import { Fault } from '../../../core/domain/fault.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { isUndoable } from '../../../core/staff/service/limits.ts';
import { endRedemptionKey, sumReversed, undoRedemption } from '../service/redemption.ts';
import { alert } from '../../../pages/kit/form.ts';
import { cardTail, amountText, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { findResult, hasFields, isKey, keyInput, runOnce, type Json } from '../../../pages/kit/once.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { nextCardBar, payButton } from './entry.ts';
import { tillTexts } from './frame.ts';
import { isCurrent } from './key.ts';
import { tillPage } from './page.ts';
import { tick } from './parts.ts';
import { checkingTemplate, repeatedInputs } from './unknown.ts';
import { readId } from '../../../pages/kit/ids.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

/** A redemption. Amounts are in minor units of the store's currency, and ids are public ones. */
export type Redeemed = {
  readonly state: 'redeemed';
  readonly card: number;
  readonly entry: number;
  readonly amount: string;
  /** The available amount after it. */
  readonly available: string;
  /** The total that the customer paid; null: the card was enough. */
  readonly total: string | null;
  /** The last characters of the code. */
  readonly tail: string;
  readonly name: string | null;
  /** Instant in ms. */
  readonly at: number;
};

/** The result of a key. A cancelled one can never redeem. */
export type TillResult = Redeemed | { readonly state: 'cancelled' };

export function isTillResult(result: Json): result is TillResult {
  return hasFields<TillResult>('state')(result) && ['redeemed', 'cancelled'].includes(result.state);
}

/** @param isOther whether the form was submitted again with another amount. */
export function redeemedPath(key: string, { isOther = false }: { readonly isOther?: boolean } = {}): string {
  return `/till/redeemed/${key}${isOther ? '?differs' : ''}`;
}

/** The key of the undoing of the redemption with a key. */
function undoKeyOf(key: string): string {
  return createHash('sha256').update(`undo ${key}`).digest('base64url').slice(0, 22);
}

const back: Markup = markup`<svg class="tick" viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="24" cy="24" r="21"/><path d="M30 31c4-9-5-14-14-10m5-6-6 6 7 5"/></svg>`;

function nextCard(page: Page): Markup {
  return nextCardBar(page.services, tillTexts(page.request).nextCard, { hasFocus: true });
}

/** A form that finds the next card, which the script submits with a code that was scanned on this page. */
export function nextForm({ frame }: ConsoleServices): Markup {
  return markup`<form id="next" method="post" action="${frame.basePath}/till/find" hidden><input type="hidden" name="code" value=""></form>`;
}

type Shown = { readonly result: Redeemed; readonly key: string; readonly error?: string };

async function redeemedPage(page: Page, { result, key, error }: Shown): Promise<ConsoleResponse> {
  const text = tillTexts(page.request);
  const entryId = readId(page.services, String(result.entry)) ?? 0;
  const reversed = await page.read(() => sumReversed(page.store.id, entryId));
  const moneyOf = (minor: string): Money => ({ minor: BigInt(minor), currency: page.store.currency });
  const amount = moneyOf(result.amount);
  const isUndone = reversed >= amount.minor;
  const tail = cardTail(result.tail);
  if (isUndone) return undoneShown(page, { amount: figure(amount, page.language), tail, key });
  const left = amountText(moneyOf(result.available), page.language);
  const leftText =
    result.name === null
      ? fillPlain(text.left, { amount: left })
      : fillPlain(text.leftFor, { amount: left, name: result.name });
  const rest =
    result.total === null
      ? undefined
      : markup`<p class="rest"><strong>${fillPlain(text.restToPay, { amount: amountText(moneyOf(String(BigInt(result.total) - amount.minor)), page.language) })}</strong></p>`;
  const mayUndo =
    reversed === 0n && (isUndoable(page.ctx, result.at) || isPermitted(page.member, 'changeCards'));
  const undoForm = mayUndo
    ? markup`<form method="post" action="${page.basePath}/till/redeemed/${key}/undo"><button class="button bad">${text.undo}</button></form>`
    : undefined;
  const differs = page.request.query.has('differs') ? alert(text.differs) : undefined;
  const body = markup`${error === undefined ? differs : alert(error)}<div class="paid" role="status" data-key="${key}" data-result="redeemed">${tick}<div>${figure(amount, page.language)}</div><p><strong>${fill(text.redeemedFrom, { tail })}</strong><br>${leftText}</p>${rest}</div>
<div class="quick two-up"><a class="button" href="${page.basePath}/till/receipts/${result.entry}">${text.receipt}</a>${undoForm}</div>${nextForm(page.services)}
${nextCard(page)}`;
  return {
    status: error === undefined ? 200 : 422,
    body: tillPage(page.services, page.request, { title: text.redeemedTitle, body }),
  };
}

/** @param page the amount and the card, and the key of the redemption if it is known. */
export function undoneShown(
  page: Page,
  { amount, tail, key = '' }: { readonly amount: Markup; readonly tail: Markup; readonly key?: string },
): ConsoleResponse {
  const text = tillTexts(page.request);
  const body = markup`<div class="paid" role="status" data-key="${key}" data-result="undone">${back}<div>${amount}</div><p><strong>${fill(text.undone, { tail })}</strong><br>${text.undoneNote}</p></div>${nextForm(page.services)}
${nextCard(page)}`;
  return { status: 200, body: tillPage(page.services, page.request, { title: text.undoneTitle, body }) };
}

function cancelledPage(page: Page, key: string): ConsoleResponse {
  const text = tillTexts(page.request);
  const body = markup`<div class="paid" role="status" data-key="${key}" data-result="cancelled">${back}<p><strong>${text.cancelled}</strong><br>${text.cancelledNote}</p></div>${nextForm(page.services)}
${nextCard(page)}`;
  return { status: 200, body: tillPage(page.services, page.request, { title: text.cancelledTitle, body }) };
}

/** Offers to try a redemption again that has not happened. Its fields are in the query. */
function notRedeemedPage(page: Page, key: string): ConsoleResponse {
  const text = tillTexts(page.request);
  const card = page.request.query.get('card') ?? '';
  if (!isKey(key) || readId(page.services, card) === undefined) throw new Fault('not-found');
  if (!isCurrent(page.ctx, key)) {
    const made = isPermitted(page.member, 'readCards')
      ? markup`<p><a class="button" href="${page.basePath}/cards/${card}">${text.cardPage}</a></p>`
      : undefined;
    const body = markup`<p class="notice" role="status" data-key="${key}" data-result="old">${text.tooOld}</p>
${made}${nextCard(page)}`;
    return { status: 200, body: tillPage(page.services, page.request, { title: text.tooOldTitle, body }) };
  }
  const amount = parseTypedAmount(
    (page.request.query.get('choice') ?? page.request.query.get('amount') ?? '').trim(),
    page.store,
    page.request,
  );
  const shown = amount.ok ? figure(amount.value, page.language) : undefined;
  const typedTail = page.request.query.get('tail') ?? '';
  const lastCharacters = /^[0-9a-z]{4}$/.test(typedTail) ? typedTail : '????';
  const { currency } = page.store;
  const body = markup`<div class="paid wait" role="status" data-result="none"><div>${shown}</div><p><strong>${fill(text.notRedeemed, { tail: cardTail(lastCharacters) })}</strong></p><p>${text.notRedeemedNote}</p></div>
<div class="quick two-up"><a class="button" href="${page.basePath}/till">${text.nextCustomer}</a><form method="post" action="${page.basePath}${redeemedPath(key)}/cancel"><button class="button bad">${text.cancel}</button></form></div>
<form class="stack" id="redeem" method="post" action="${page.basePath}/till/card/${card}?k=${key}" data-key="${key}" data-check="${page.basePath}${redeemedPath(key)}" data-member="${String(page.member.id)}" data-currency="${currency.code}" data-decimals="${currency.decimals}" data-tail="•••• ${lastCharacters}">${keyInput(page.ctx, key)}${repeatedInputs(page.request.query)}${payButton(text.tryAgain)}</form>
${checkingTemplate(page)}`;
  return { status: 200, body: tillPage(page.services, page.request, { title: text.notRedeemedTitle, body }) };
}

async function showResult(page: Page): Promise<ConsoleResponse> {
  const key = page.param('key');
  const result = await findResult(page.services, page.request, key, isTillResult);
  if (!result) return notRedeemedPage(page, key);
  if (result.state === 'cancelled') return cancelledPage(page, key);
  return await redeemedPage(page, { result, key });
}

/** Reverses a redemption once, and shows why if that is not possible. */
async function undoOnce(page: Page, { result, key }: Shown): Promise<ConsoleResponse> {
  const transferId = readId(page.services, String(result.entry)) ?? 0;
  try {
    await page.once(undoKeyOf(key), function* run() {
      const { transfer } = yield* undoRedemption(page.ctx, page.by, transferId);
      return { state: 'undone', entry: page.publicId(transfer.id) };
    });
    return seeOther(redeemedPath(key));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const text = undoError(page, error);
    if (text === undefined) throw error;
    return await redeemedPage(page, { result, key, error: text });
  }
}

export function undoError(page: Page, { code, errors }: Fault): string | undefined {
  const text = tillTexts(page.request);
  if (errors?.['location_id']) return undefined;
  switch (code) {
    case 'reversal-exceeds-transaction':
      return text.undoExceeds;
    case 'card-disabled':
      return text.undoDisabled;
    case 'insufficient-scope':
      return text.undoNotAllowed;
    case 'invalid-parameter':
      return text.undoNotAllowed;
    default:
      return undefined;
  }
}

async function undo(page: Page): Promise<ConsoleResponse> {
  const key = page.param('key');
  const result = await findResult(page.services, page.request, key, isTillResult);
  if (!result) throw new Fault('not-found');
  if (result.state === 'cancelled') return seeOther(redeemedPath(key));
  return await undoOnce(page, { result, key });
}

/** Closes a key, so that a request that arrives later redeems nothing, and undoes the redemption if there was one. */
async function cancel(page: Page): Promise<ConsoleResponse> {
  const key = page.param('key');
  if (!isCurrent(page.ctx, key)) throw new Fault('not-found');
  const { result } = await runOnce<TillResult>(page.services, page.request, key, () =>
    endRedemptionKey(page.by, { state: 'cancelled' }),
  );
  if (result.state === 'cancelled') return seeOther(redeemedPath(key));
  return await undoOnce(page, { result, key });
}

export const tillResultRoutes: readonly StaffRoute[] = [
  get('/till/redeemed/:key', 'useTill', showResult),
  post('/till/redeemed/:key/undo', 'useTill', undo),
  post('/till/redeemed/:key/cancel', 'useTill', cancel),
];
