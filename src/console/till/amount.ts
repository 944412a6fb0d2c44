/** The amount page of the till: what a card has, and its redemption. */

import { unheldOf, type Card } from '../../domain/cards/card.ts';
import { looksLikeLink, parseTypedCode } from '../../domain/cards/code.ts';
import { findCurrency } from '../../domain/money/currency.ts';
import { Fault } from '../../domain/fault.ts';
import { exceeds, subtract, type Money } from '../../domain/money/money.ts';
import { isPermitted } from '../../domain/staff/staff.ts';
import { parseText, referenceLengthMax } from '../../domain/text.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { loadCard } from '../../service/money/money.ts';
import { redeem } from '../../service/staff-actions/redemption.ts';
import { hidden } from '../kit/form.ts';
import { amountText, amountValue, figure, parseTypedAmount } from '../kit/format.ts';
import { findResult, hasResult, keyInput, keyOf, runOnce } from '../kit/once.ts';
import { readById } from '../kit/lookups.ts';
import { byOf } from '../kit/page-context.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fillPlain, type PageLanguage } from '../kit/texts.ts';
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

function cardPage(services: ConsoleServices, request: StaffRequest, form: CardForm): ConsoleResponse {
  const { card, status, total, notice } = form;
  const { ctx, frame } = services;
  const text = tillTexts(request);
  const { member } = request.signedIn;
  const { currency } = card.balance;
  const available = unheldOf(card);
  const path = `${frame.basePath}/till/card/${ctx.keys.publicIds.of(card.id)}`;
  const data = entryData(request, {
    hint: hintOf(request, available),
    note: { text: text.leaves, base: available, change: 'takes' },
    button: text.redeem,
    buttonAmount: text.redeemAmount,
    most: {
      amount: available,
      rest: text.restToPay,
      above: fillPlain(text.above, {
        available: amountText(available, request.language),
        amount: '{amount}',
      }),
    },
  });
  const right = total ? offerOf(services, request, { card, total }) : amountForm(services, request, form);
  const body = markup`${notice}<form class="columns" id="redeem" method="post" action="${path}?k=${form.key}" data-key="${form.key}" data-check="${frame.basePath}${redeemedPath(form.key)}" data-member="${String(member.id)}" data-tail="•••• ${card.lastCharacters}"${data} novalidate>
<button class="sr" tabindex="-1" aria-hidden="true">${text.redeem}</button>
${keyInput(ctx, form.key)}${hidden('currency', currency.code)}${hidden('tail', card.lastCharacters)}
${cardColumn(services, request, card)}
<div>${right}</div></form>
${checkingTemplate(services, request)}`;
  const title = total ? text.offerTitle : text.amountTitle;
  return { status, body: tillPage(services, request, { title, body, isWide: true }) };
}

function hintOf({ language }: Pick<StaffRequest, 'language'>, available: Money): string {
  return fillPlain(tillTexts({ language }).hint, { amount: amountText(available, language) });
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

function amountForm(
  services: ConsoleServices,
  request: StaffRequest,
  { card, key, typed }: Pick<CardForm, 'card' | 'key' | 'typed'>,
): Markup {
  const { language } = request;
  const text = tillTexts(request);
  const available = unheldOf(card);
  const { amountError, referenceError, reference } = typed;
  const entry = amountEntry(request, {
    label: text.amount,
    hint: hintOf(request, available),
    typed: typed.amount,
    error: amountError,
    quick: [
      { amount: available, label: fillPlain(text.all, { amount: amountText(available, language) }) },
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
  return markup`${cardTasks(services, request, { card, current: 'redeem', key })}
${entry}
<div class="folded-row"><details class="folded"${isOpen}><summary>${text.reference}</summary><label class="sr" for="reference">${text.reference}</label><input class="field" id="reference" name="reference" maxlength="255" autocomplete="off" value="${reference}"${invalid}>
${error}</details><a class="button quiet" href="${services.frame.basePath}/till">${text.otherCard}</a></div>
${payButton(text.redeem)}`;
}

/** States what happens if the card has less than the amount. */
function offerOf(
  { ctx, frame }: ConsoleServices,
  request: StaffRequest,
  { card, total }: { readonly card: Card; readonly total: Money },
): Markup {
  const { language } = request;
  const text = tillTexts(request);
  const available = unheldOf(card);
  const shown = (money: Money): string => amountText(money, language);
  const key = keyOf(request) ?? '';
  const path = `${frame.basePath}/till/card/${ctx.keys.publicIds.of(card.id)}?k=${key}`;
  return markup`${hidden('total', amountValue(total, language))}${hidden('choice', amountValue(available, language))}${hidden('reference', formText(request, 'reference'))}
<div class="amount" role="status"><p class="soft">${fillPlain(text.offer, { available: shown(available), total: shown(total) })}</p>
${figure(available, language)}<p><strong>${fillPlain(text.restToPay, { amount: shown(subtract(total, available)) })}</strong></p></div>
<div class="quick two-up"><a class="button" href="${path}" autofocus>${text.otherAmount}</a><a class="button" href="${frame.basePath}/till">${text.otherCard}</a></div>
${payButton(fillPlain(text.redeemAmount, { amount: shown(available) }))}`;
}

/** @throws Fault `not-found` if the path does not have the id of a card. */
async function requireCard(services: ConsoleServices, request: StaffRequest): Promise<Card> {
  const { ctx } = services;
  const { store } = request.signedIn;
  const { card } = await readById(services, request, (id) =>
    loadCard(ctx, { storeId: store.id, cardId: id }),
  );
  return card;
}

/** Leads to a new key of a person who reads cards; others find the card again, by its code or an address. */
function withoutKey(services: ConsoleServices, request: StaffRequest, { id }: Card): ConsoleResponse {
  const { member, session } = request.signedIn;
  const mayOpen = session.tillId === null && isPermitted(member, 'readCards');
  return seeOther(mayOpen ? amountPath(services, request, id) : '/till');
}

async function showCard(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const card = await requireCard(services, request);
  const key = request.query.get('k') ?? '';
  // The key is in the URL, so that Back leads to the form of the same redemption, and from there to its result.
  if (!isKeyOf(services.ctx, key, keyOwner(request, card.id))) return withoutKey(services, request, card);
  if (await hasResult(services, request, key)) return seeOther(redeemedPath(key));
  const { notice, ...typed } = resumedForm(request) ?? { amount: '', reference: '' };
  return await shownCard(services, request, { status: 200, card, key, typed, ...(notice && { notice }) });
}

/** The form, or why the card cannot be redeemed. */
async function shownCard(
  services: ConsoleServices,
  request: StaffRequest,
  form: CardForm,
): Promise<ConsoleResponse> {
  const { card, status } = form;
  const state = tillStateOf(services, request, card);
  if (state === 'active') return cardPage(services, request, form);
  return await unusablePage(services, request, { card, state, status });
}

/** Whether a text that was entered as an amount came from a scanner: it has letters, or more digits than the card. */
function looksScanned(text: string, amount: Money | null, available: Money): boolean {
  if ((/[.,]/.test(text) && !looksLikeLink(text)) || !parseTypedCode(text).ok) return false;
  return amount === null || exceeds(amount, available);
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

function readForm(request: StaffRequest, { card }: { readonly card: Card }): ReadForm {
  const { store } = request.signedIn;
  const text = tillTexts(request);
  const available = unheldOf(card);
  const [choice, amountTyped] = [formText(request, 'choice'), formText(request, 'amount')];
  const entered = choice === '' ? amountTyped : choice;
  const amount = parseTypedAmount(entered, store, request);
  const total = parseTypedAmount(formText(request, 'total'), store, request);
  const reference = parseText(formText(request, 'reference'), referenceLengthMax);
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
    { minor: 245n * 10n ** BigInt(store.currency.decimals - 1), currency: store.currency },
    request.language,
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

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const card = await requireCard(services, request);
  const key = keyOf(request);
  // With a key whose result is no longer stored, the redemption could be a repetition.
  if (key === undefined || !isKeyOf(ctx, key, keyOwner(request, card.id)))
    return withoutKey(services, request, card);
  const form = readForm(request, { card });
  const earlier = await findResult(services, request, key, isTillResult);
  if (earlier) return seeOther(redeemedPath(key, { isOther: isOther(earlier, card, form, ctx) }));
  const offer = (total: Money): Promise<ConsoleResponse> =>
    shownCard(services, request, {
      status: 422,
      card,
      key,
      total,
      typed: { amount: '', reference: formText(request, 'reference') },
    });
  if (!form.isValid) return await shownCard(services, request, { status: 422, card, key, typed: form.typed });
  if (exceeds(form.amount, unheldOf(card))) return await offer(form.total ?? form.amount);
  try {
    return await redeemOnce(services, request, { card, key, form });
  } catch (error) {
    // The card has changed since it was read.
    if (!(error instanceof Fault) || !changed.has(error.code)) throw error;
    const now = await requireCard(services, request);
    const total = form.total ?? form.amount;
    return await shownCard(services, request, {
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
  services: ConsoleServices,
  request: StaffRequest,
  { card, key, form }: { readonly card: Card; readonly key: string; readonly form: ValidForm },
): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { amount, total, reference } = form;
  const { result, isRepeated } = await runOnce<TillResult>(services, request, key, function* run() {
    const redemption = { cardId: card.id, amount, reference, note: null };
    return resultOf(services, { ...(yield* redeem(ctx, byOf(request), redemption)), total });
  });
  const isDifferent = isRepeated && isOther(result, card, form, ctx);
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
  { method: 'GET', path: '/till/card/:id', access: 'useTill', handle: showCard },
  {
    method: 'POST',
    path: '/till/card/:id',
    access: 'useTill',
    handle: submit,
    resumed: (request) =>
      resumedPath(`/till/card/${request.params['id'] ?? ''}`, request, { k: request.form.get('key') ?? '' }),
    unknownPage: (services, request) =>
      unknownPage(services, request, { amount: shownAmount(request.form, request.language) }),
  },
];
