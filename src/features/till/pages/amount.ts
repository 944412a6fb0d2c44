/** The amount page of the till: what a card has, and its redemption. */

import { unheldOf, type Card } from '../../../core/cards/domain/card.ts';
import { readGivenCode } from '../../../core/cards/domain/given-code.ts';
import { findCurrency } from '../../../core/money/domain/currency.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { exceeds, subtract, type Money } from '../../../core/money/domain/money.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { parseText, referenceLengthMax } from '../../../core/domain/text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { loadCard } from '../../../core/cards/service/present-card.ts';
import { redeem } from '../service/redemption.ts';
import { hidden } from '../../../pages/kit/form.ts';
import { amountValue, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { findResult, hasResult, keyInput, runOnce } from '../../../pages/kit/once.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { cardColumn, cardTasks } from './card.ts';
import { amountEntry, entryData, payButton } from './entry.ts';
import { tillStateOf, tillTexts } from './frame.ts';
import { isKeyOf } from './key.ts';
import { tillPage } from './page.ts';
import { unusablePage } from './unusable.ts';
import { isTillResult, redeemedPath, type Redeemed, type TillResult } from './result.ts';
import { resumedForm, resumedPath } from './resume.ts';
import { amountPath, keyOwner } from './scan.ts';
import { checkingTemplate, repeatedValues, unknownPage } from './unknown.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

/** The typed text, and its error. */
type Typed = {
  readonly amount: string;
  readonly reference: string;
  readonly amountError?: string;
  readonly referenceError?: string;
};

type CardForm = {
  readonly status: 200 | 422;
  readonly card: Card;
  readonly key: string;
  readonly typed: Typed;
  /** An amount that exceeds what the card has: the page offers to redeem what there is. */
  readonly total?: Money;
  /** Above the form: after a session that had ended. */
  readonly notice?: Markup;
};

function cardPage(page: Page, form: CardForm): ConsoleResponse {
  const { card, status, total, notice } = form;
  const text = tillTexts(page.request);
  const { currency } = card.balance;
  const available = unheldOf(card);
  const path = `${page.basePath}/till/card/${page.publicId(card.id)}`;
  const data = entryData(page, {
    hint: hintOf(page, available),
    note: { text: text.leaves, base: available, change: 'takes' },
    button: text.redeem,
    buttonAmount: text.redeemAmount,
    most: {
      amount: available,
      rest: text.restToPay,
      above: fillPlain(text.above, {
        available: page.amount(available),
        amount: '{amount}',
      }),
    },
  });
  const right = total ? offerOf(page, { card, total }) : amountForm(page, form);
  const body = markup`${notice}<form class="columns" id="redeem" method="post" action="${path}?k=${form.key}" data-key="${form.key}" data-check="${page.basePath}${redeemedPath(form.key)}" data-member="${String(page.member.id)}" data-tail="•••• ${card.lastCharacters}"${data} novalidate>
<button class="sr" tabindex="-1" aria-hidden="true">${text.redeem}</button>
${keyInput(page.ctx, form.key)}${hidden('currency', currency.code)}${hidden('tail', card.lastCharacters)}
${cardColumn(page, card)}
<div>${right}</div></form>
${checkingTemplate(page)}`;
  const title = total ? text.offerTitle : text.amountTitle;
  return { status, body: tillPage(page.services, page.request, { title, body, isWide: true }) };
}

function hintOf(page: Page, available: Money): string {
  return fillPlain(tillTexts({ language: page.language }).hint, { amount: page.amount(available) });
}

/** Two round amounts below what is available, such as €10 and €20 of €47. */
function roundAmounts(available: Money): readonly Money[] {
  const { currency, minor } = available;
  const unit = 10n ** BigInt(currency.decimals);
  const rounds: Money[] = [];
  for (let power = unit; power < minor; power *= 10n)
    for (const factor of [1n, 2n, 5n])
      if (power * factor < minor) rounds.push({ minor: power * factor, currency });
  return rounds.slice(-2);
}

function amountForm(page: Page, { card, key, typed }: Pick<CardForm, 'card' | 'key' | 'typed'>): Markup {
  const text = tillTexts(page.request);
  const available = unheldOf(card);
  const { amountError, referenceError, reference } = typed;
  const entry = amountEntry(page, {
    label: text.amount,
    hint: hintOf(page, available),
    typed: typed.amount,
    error: amountError,
    quick: [
      { amount: available, label: fillPlain(text.all, { amount: page.amount(available) }) },
      ...roundAmounts(available).map((amount) => ({ amount })),
    ],
  });
  const isOpen = reference !== '' || referenceError !== undefined ? markup` open` : undefined;
  const [invalid, error] =
    referenceError === undefined
      ? []
      : [
          markup` aria-invalid="true" aria-describedby="reference-error"`,
          markup`<p class="error" id="reference-error" role="alert">${referenceError}</p>`,
        ];
  return markup`${cardTasks(page, { card, current: 'redeem', key })}
${entry}
<div class="folded-row"><details class="folded"${isOpen}><summary>${text.reference}</summary><label class="sr" for="reference">${text.reference}</label><input class="field" id="reference" name="reference" maxlength="255" autocomplete="off" value="${reference}"${invalid}>
${error}</details><a class="button quiet" href="${page.basePath}/till">${text.otherCard}</a></div>
${payButton(text.redeem)}`;
}

/** States what happens if the card has less than the amount. */
function offerOf(page: Page, { card, total }: { readonly card: Card; readonly total: Money }): Markup {
  const text = tillTexts(page.request);
  const available = unheldOf(card);
  const shown = (money: Money): string => page.amount(money);
  const key = page.key ?? '';
  const path = `${page.basePath}/till/card/${page.publicId(card.id)}?k=${key}`;
  return markup`${hidden('total', amountValue(total, page.language))}${hidden('choice', amountValue(available, page.language))}${hidden('reference', page.typed('reference'))}
<div class="amount" role="status"><p class="soft">${fillPlain(text.offer, { available: shown(available), total: shown(total) })}</p>
${figure(available, page.language)}<p><strong>${fillPlain(text.restToPay, { amount: shown(subtract(total, available)) })}</strong></p></div>
<div class="quick two-up"><a class="button" href="${path}" autofocus>${text.otherAmount}</a><a class="button" href="${page.basePath}/till">${text.otherCard}</a></div>
${payButton(fillPlain(text.redeemAmount, { amount: shown(available) }))}`;
}

/** @throws Fault `not-found` if the path does not have the id of a card. */
async function requireCard(page: Page): Promise<Card> {
  const { card } = await page.readById((id) => loadCard(page.ctx, { storeId: page.store.id, cardId: id }));
  return card;
}

/** Leads to a new key of a person who reads cards; others find the card again, by its code or an address. */
function withoutKey(page: Page, { id }: Card): ConsoleResponse {
  const mayOpen = page.request.signedIn.session.tillId === null && isPermitted(page.member, 'readCards');
  return seeOther(mayOpen ? amountPath(page, id) : '/till');
}

async function showCard(page: Page): Promise<ConsoleResponse> {
  const card = await requireCard(page);
  const key = page.request.query.get('k') ?? '';
  // The key is in the URL, so that Back leads to the form of the same redemption, and from there to its result.
  if (!isKeyOf(page.ctx, key, keyOwner(page, card.id))) return withoutKey(page, card);
  if (await hasResult(page.services, page.request, key)) return seeOther(redeemedPath(key));
  const { notice, ...typed } = resumedForm(page) ?? { amount: '', reference: '' };
  return await shownCard(page, { status: 200, card, key, typed, ...(notice && { notice }) });
}

/** The form, or why the card cannot be redeemed. */
async function shownCard(page: Page, form: CardForm): Promise<ConsoleResponse> {
  const { card, status } = form;
  const state = tillStateOf(page, card);
  if (state === 'active') return cardPage(page, form);
  return await unusablePage(page, { card, state, status });
}

/**
 * Whether a text that was entered as an amount came from a scanner: it is a code and not an amount, or an
 * amount above that of the card.
 */
function looksScanned(text: string, amount: Money | null, available: Money): boolean {
  if (!readGivenCode(text).ok) return false;
  const isDecimal = /[.,]/.test(text);
  return amount === null ? !isDecimal || /[^\d.,\s]/.test(text) : !isDecimal && exceeds(amount, available);
}

type ReadForm =
  | { readonly isValid: false; readonly typed: Typed }
  | {
      readonly isValid: true;
      readonly amount: Money;
      /** The total that the customer pays; null: the amount. */
      readonly total: Money | null;
      readonly reference: string | null;
    };

function readForm(page: Page, { card }: { readonly card: Card }): ReadForm {
  const text = tillTexts(page.request);
  const available = unheldOf(card);
  const [choice, amountTyped] = [page.typed('choice'), page.typed('amount')];
  const entered = choice === '' ? amountTyped : choice;
  const amount = parseTypedAmount(entered, page.store, page.request);
  const total = parseTypedAmount(page.typed('total'), page.store, page.request);
  const reference = parseText(page.typed('reference'), referenceLengthMax);
  const isScanned = looksScanned(entered, amount.ok ? amount.value : null, available);
  if (amount.ok && reference.ok && !isScanned && entered.length <= amountLengthMax) {
    const isPart = total.ok && exceeds(total.value, amount.value);
    return {
      isValid: true,
      amount: amount.value,
      total: isPart ? total.value : null,
      reference: reference.value,
    };
  }
  const example = amountValue(
    { minor: 245n * 10n ** BigInt(page.store.currency.decimals - 1), currency: page.store.currency },
    page.language,
  );
  return {
    isValid: false,
    typed: {
      // A page never contains a code.
      amount: isScanned || amountTyped.length > amountLengthMax ? '' : amountTyped,
      reference: reference.ok ? (reference.value ?? '') : '',
      ...(!amount.ok && { amountError: fillPlain(text.notAmount, { example }) }),
      ...(isScanned && { amountError: text.codeAsAmount }),
      ...(!reference.ok && { referenceError: text.notReference }),
    },
  };
}

const amountLengthMax = 40;

async function submit(page: Page): Promise<ConsoleResponse> {
  const card = await requireCard(page);
  const key = page.key;
  // With a key whose result is no longer stored, the redemption could be a repetition.
  if (key === undefined || !isKeyOf(page.ctx, key, keyOwner(page, card.id))) return withoutKey(page, card);
  const form = readForm(page, { card });
  const earlier = await findResult(page.services, page.request, key, isTillResult);
  if (earlier) return seeOther(redeemedPath(key, { isOther: isOther(earlier, card, form, page.ctx) }));
  const offer = (total: Money): Promise<ConsoleResponse> =>
    shownCard(page, {
      status: 422,
      card,
      key,
      total,
      typed: { amount: '', reference: page.typed('reference') },
    });
  if (!form.isValid) return await shownCard(page, { status: 422, card, key, typed: form.typed });
  if (exceeds(form.amount, unheldOf(card))) return await offer(form.total ?? form.amount);
  try {
    return await redeemOnce(page, { card, key, form });
  } catch (error) {
    // The card has changed since it was read.
    if (!(error instanceof Fault) || !changed.has(error.code)) throw error;
    const now = await requireCard(page);
    const total = form.total ?? form.amount;
    return await shownCard(page, {
      status: 422,
      card: now,
      key,
      typed: { amount: '', reference: '' },
      ...(exceeds(total, unheldOf(now)) && { total }),
    });
  }
}

const changed: ReadonlySet<string> = new Set([
  'insufficient-balance',
  'card-disabled',
  'card-expired',
  'card-suspended',
]);

type ValidForm = Extract<ReadForm, { readonly isValid: true }>;

/** Whether a form that was submitted again had another card or amount than the result. */
function isOther(
  result: TillResult,
  { id }: Card,
  form: ReadForm,
  { keys }: Pick<ConsoleServices['ctx'], 'keys'>,
): boolean {
  if (result.state !== 'redeemed' || !form.isValid) return false;
  const { amount, total } = form;
  const isSameAmount =
    result.amount === String(amount.minor) || result.total === String((total ?? amount).minor);
  return result.card !== keys.publicIds.of(id) || !isSameAmount;
}

async function redeemOnce(
  page: Page,
  { card, key, form }: { readonly card: Card; readonly key: string; readonly form: ValidForm },
): Promise<ConsoleResponse> {
  const { amount, total, reference } = form;
  const { result, isRepeated } = await runOnce<TillResult>(page.services, page.request, key, function* run() {
    const redemption = { cardId: card.id, amount, reference, note: null };
    return resultOf(page.services, { ...(yield* redeem(page.ctx, page.by, redemption)), total });
  });
  const isDifferent = isRepeated && isOther(result, card, form, page.ctx);
  return seeOther(redeemedPath(key, { isOther: isDifferent }));
}

function resultOf(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  {
    transfer,
    card,
    total,
  }: {
    readonly transfer: { readonly id: number; readonly amount: Money; readonly createdAt: number };
    readonly card: Card;
    readonly total: Money | null;
  },
): Redeemed {
  return {
    state: 'redeemed',
    card: ctx.keys.publicIds.of(card.id),
    entry: ctx.keys.publicIds.of(transfer.id),
    amount: String(transfer.amount.minor),
    available: String(unheldOf(card).minor),
    total: total && String(total.minor),
    tail: card.lastCharacters,
    name: card.recipientName,
    at: transfer.createdAt,
  };
}

/** The amount of a form as the page shows it, of a store that is not known; undefined: it has none. */
function shownAmount(form: ReadonlyMap<string, string>, language: PageLanguage): Markup | undefined {
  const currency = findCurrency((form.get('currency') ?? '').slice(0, 3));
  // A code could be in the field, so only values that can be repeated are shown.
  const { choice, amount: typed = '' } = Object.fromEntries(repeatedValues(form));
  const amount = currency && parseTypedAmount(choice ?? typed, { currency }, { language });
  return amount?.ok ? figure(amount.value, language) : undefined;
}

export const tillAmountRoutes: readonly StaffRoute[] = [
  get('/till/card/:id', 'useTill', showCard),
  post('/till/card/:id', 'useTill', submit, {
    resumed: (request) =>
      resumedPath(`/till/card/${request.params['id'] ?? ''}`, request, { k: request.form.get('key') ?? '' }),
    unknownPage: (services, request) =>
      unknownPage(services, request, { amount: shownAmount(request.form, request.language) }),
  }),
];
