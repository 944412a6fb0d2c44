/** The amount page of the till: what a card has, and its redemption. */

import { availableOf, type Card } from '../domain/card.ts';
import { parseTypedCode } from '../domain/code.ts';
import { findCurrency } from '../domain/currency.ts';
import { dayOf } from '../domain/day.ts';
import { Fault } from '../domain/fault.ts';
import { exceeds, formatMoney, subtract, type Money } from '../domain/money.ts';
import { isPermitted } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { parseText, referenceLengthMax } from '../domain/text.ts';
import { markup, type Markup } from '../markup.ts';
import { redeem } from '../service/redemption.ts';
import { findCardById, recordUnknownCard } from '../service/staff-lookup.ts';
import { hidden } from './form.ts';
import {
  cardTail,
  amountText,
  amountValue,
  dayText,
  figure,
  moneyParts,
  parseTypedAmount,
} from './format.ts';
import { findResult, hasResult, keyInput, keyOf, runOnce } from './once.ts';
import type { PageFrame } from './frame.ts';
import { searcherOf } from './lookups.ts';
import { formText } from './request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';
import { fillPlain, type PageLanguage } from './texts.ts';
import { framed, shortAmount, tillStateOf, tillTexts, type TillState } from './till-frame.ts';
import { isCurrent } from './till-key.ts';
import { isTillResult, redeemedPath, type Redeemed, type TillResult } from './till-result.ts';
import { amountPath } from './till-scan.ts';
import { checkingTemplate, unknownPage } from './till-unknown.ts';
import { readId } from './ids.ts';

/** What was typed, and what is wrong with it. */
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
};

function cardPage(services: ConsoleServices, request: StaffRequest, form: CardForm): ConsoleResponse {
  const { card, status, total } = form;
  const { basePath } = services.frame;
  const text = tillTexts(request);
  const state = tillStateOf(services, request, card);
  const others = markup`<div class="quick only-wide"><a class="button" href="${basePath}/till">${text.otherCard}</a><a class="button" href="${basePath}/till/refund">${text.refund}</a><a class="button" href="${basePath}/till/sell">${text.sellShort}</a></div>`;
  const left = markup`<div>${cardShown(request, card)}${factsOf(request, card, state)}${others}</div>`;
  if (state !== 'active') {
    const body = markup`<div class="columns">${left}<div>${unusable(services, request, { card, state })}</div></div>`;
    return { status, body: framed(services, request, { title: text.amountTitle, body, isWide: true }) };
  }
  const right = total
    ? offerOf(services, request, { card, total })
    : amountForm(services.frame, request, { card, typed: form.typed });
  const { ctx, frame } = services;
  const { member } = request.signedIn;
  const { currency } = card.balance;
  const path = `${frame.basePath}/till/card/${ctx.keys.publicIds.of(card.id)}`;
  const body = markup`<form class="columns" id="redeem" method="post" action="${path}?k=${form.key}" data-key="${form.key}" data-check="${frame.basePath}${redeemedPath(form.key)}" data-member="${String(member.id)}" data-currency="${currency.code}" data-decimals="${currency.decimals}" data-available="${formatMoney(availableOf(card))}" data-tail="•••• ${card.lastCharacters}" data-leaves="${text.leaves}" data-rest="${text.restToPay}" data-hint="${fillPlain(text.hint, { amount: amountText(availableOf(card), request.language) })}" data-redeem="${text.redeem}" data-redeem-amount="${text.redeemAmount}" novalidate>
<button class="sr" tabindex="-1" aria-hidden="true">${text.redeem}</button>
${keyInput(ctx, form.key)}${hidden('currency', currency.code)}${hidden('tail', card.lastCharacters)}
${left}
<div>${right}</div></form>
${checkingTemplate(services, request)}`;
  return {
    status,
    body: framed(services, request, {
      title: total ? text.offerTitle : text.amountTitle,
      body,
      isWide: true,
    }),
  };
}

/** The card: a drawing on a tablet, one line on a phone. */
function cardShown({ language, signedIn }: StaffRequest, card: Card): Markup {
  const text = tillTexts({ language });
  const available = availableOf(card);
  const tail = cardTail(card.lastCharacters);
  const held =
    card.held.minor > 0n
      ? ` · ${fillPlain(text.heldSmall, { amount: amountText(card.held, language) })}`
      : '';
  return markup`<div class="only-wide"><div class="gift"><svg class="knot" viewBox="0 0 48 48" aria-hidden="true"><path d="M24 24C12 6 2 13 8 20c4 4 11 4 16 4 5 0 12 0 16-4 6-7-4-14-16 4zM24 24c-3 7-7 11-11 15M24 24c3 7 7 11 11 15"/></svg><span class="shop">${signedIn.store.name}</span><span class="tail">•••• ${card.lastCharacters}</span>${figure(available, language)}</div></div>
<div class="found only-narrow"><span class="mini" aria-hidden="true"></span><div><strong>${card.recipientName ?? text.giftCard}</strong><br><span class="small soft">${tail}${held}</span></div><div class="end">${figure(available, language)}<br><span class="small soft">${text.availableSmall}</span></div></div>`;
}

const stateTags = {
  active: 'good',
  empty: 'ended',
  held: 'wait',
  disabled: 'bad',
  expired: 'ended',
} as const satisfies Record<TillState, string>;

function factsOf({ language, signedIn }: StaffRequest, card: Card, state: TillState): Markup {
  const text = tillTexts({ language });
  const { timeZone } = signedIn.store;
  const shown = state === 'held' ? 'active' : state;
  const sold = fillPlain(text.soldValue, {
    day: dayText(dayOf(card.createdAt, timeZone), language),
    amount: amountText(card.initialValue, language),
  });
  const held =
    card.held.minor > 0n
      ? markup`<dt>${text.held}</dt><dd class="sum">${amountText(card.held, language)}</dd>`
      : undefined;
  return markup`<section class="panel only-wide" aria-label="${text.card}"><div class="row apart"><strong>${card.recipientName ?? text.giftCard}</strong><span class="tag ${stateTags[state]}">${text[shown]}</span></div>
<dl class="facts"><dt>${text.available}</dt><dd class="sum">${amountText(availableOf(card), language)}</dd>${held}<dt>${text.sold}</dt><dd class="sum">${sold}</dd><dt>${text.expires}</dt><dd class="sum">${card.expiresOn === null ? text.never : dayText(card.expiresOn, language)}</dd></dl></section>`;
}

function unusable(
  { ctx, frame }: ConsoleServices,
  request: StaffRequest,
  { card, state }: { readonly card: Card; readonly state: Exclude<TillState, 'active'> },
): Markup {
  const text = tillTexts(request);
  const reasons = {
    disabled: text.cardDisabled,
    expired: text.cardExpired,
    empty: text.cardEmpty,
    held: text.cardHeld,
  };
  const page = isPermitted(request.signedIn.member.role, 'readCards')
    ? markup`<p><a class="button" href="${frame.basePath}/cards/${ctx.keys.publicIds.of(card.id)}">${text.cardPage}</a></p>`
    : undefined;
  return markup`<p class="notice" role="alert">${reasons[state]}</p>${page}
<a class="button first big" href="${frame.basePath}/till" autofocus>${text.nextCard}</a>`;
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

const digits = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '00', '0'] as const;

function amountForm(
  { basePath }: PageFrame,
  { language }: StaffRequest,
  { card, typed }: { readonly card: Card; readonly typed: Typed },
): Markup {
  const text = tillTexts({ language });
  const available = availableOf(card);
  const quick = [
    { value: available, label: fillPlain(text.all, { amount: amountText(available, language) }) },
    ...roundAmounts(available).map((value) => ({ value, label: shortAmount(value, language) })),
  ].map(
    ({ value, label }) =>
      markup`<button class="button" name="choice" value="${formatMoney(value)}">${label}</button>`,
  );
  const keys = digits.map((digit) => markup`<button type="button" data-digit="${digit}">${digit}</button>`);
  const { amountError, referenceError } = typed;
  const hint = fillPlain(text.hint, { amount: amountText(available, language) });
  const zero = amountValue({ minor: 0n, currency: available.currency }, language);
  return markup`<div class="amount"><label class="soft" for="amount">${text.amount}</label>
<div class="entry">${symbolOf(available, language, 'before')}<input class="typed" id="amount" name="amount" size="6" inputmode="decimal" maxlength="100" autocomplete="off" enterkeyhint="done" placeholder="${zero}" value="${typed.amount}" required autofocus aria-describedby="amount-note${amountError === undefined ? '' : ' amount-error'}"${amountError === undefined ? undefined : markup` aria-invalid="true"`}>${symbolOf(available, language, 'after')}</div>
<p class="soft" id="amount-note" aria-live="polite">${hint}</p>
${amountError === undefined ? undefined : markup`<p class="error" id="amount-error" role="alert">${amountError}</p>`}</div>
<div class="quick" role="group" aria-label="${text.quick}">${quick}</div>
<div class="pad" role="group" aria-label="${text.keypad}" hidden>${keys}<button type="button" data-digit="delete" aria-label="${text.deleteDigit}">⌫</button></div>
<div class="receiptline"><label for="reference">${text.reference}</label><input class="field" id="reference" name="reference" maxlength="255" autocomplete="off" value="${typed.reference}"${referenceError === undefined ? undefined : markup` aria-invalid="true" aria-describedby="reference-error"`}>
${referenceError === undefined ? undefined : markup`<p class="error" id="reference-error" role="alert">${referenceError}</p>`}</div>
<p class="only-narrow narrow-links"><a class="button quiet" href="${basePath}/till">${text.otherCard}</a></p>
<button class="button first big" id="redeem-button">${text.redeem}</button>`;
}

/** The currency of an amount, if the language puts it before or after the number. */
function symbolOf(money: Money, language: PageLanguage, place: 'before' | 'after'): Markup | undefined {
  const parts = moneyParts(money, language);
  const index = parts.findIndex(({ type }) => type === 'currency');
  const isBefore = index < parts.findIndex(({ type }) => type === 'integer');
  if (isBefore !== (place === 'before')) return undefined;
  return markup`<small aria-hidden="true">${parts[index]?.value ?? ''}</small>`;
}

/** States what happens if the card has less than the amount. */
function offerOf(
  { ctx, frame }: ConsoleServices,
  request: StaffRequest,
  { card, total }: { readonly card: Card; readonly total: Money },
): Markup {
  const { language } = request;
  const text = tillTexts(request);
  const available = availableOf(card);
  const shown = (money: Money): string => amountText(money, language);
  const key = keyOf(request) ?? '';
  const path = `${frame.basePath}/till/card/${ctx.keys.publicIds.of(card.id)}?k=${key}`;
  return markup`${hidden('total', formatMoney(total))}${hidden('choice', formatMoney(available))}${hidden('reference', formText(request, 'reference'))}
<div class="amount" role="status"><p class="soft">${fillPlain(text.offer, { available: shown(available), total: shown(total) })}</p>
${figure(available, language)}<p><strong>${fillPlain(text.restToPay, { amount: shown(subtract(total, available)) })}</strong></p></div>
<div class="quick two-up"><a class="button" href="${path}">${text.otherAmount}</a><a class="button" href="${frame.basePath}/till">${text.otherCard}</a></div>
<button class="button first big" autofocus>${fillPlain(text.redeemAmount, { amount: shown(available) })}</button>`;
}

/** @throws Fault `not-found` if the path does not have the id of a card. */
async function requireCard(services: ConsoleServices, request: StaffRequest): Promise<Card> {
  const { ctx, storage } = services;
  const id = readId(services, request.params['id']);
  if (id === undefined) throw new Fault('not-found');
  const searcher = searcherOf(services, request);
  const found = await storage.read(() => findCardById(ctx, searcher, id));
  if (found) return found.card;
  await storage.write(() => recordUnknownCard(ctx, searcher));
  throw new Fault('not-found');
}

async function showCard(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const card = await requireCard(services, request);
  const key = request.query.get('k') ?? '';
  // The key is in the URL, so that Back leads to the form of the same redemption, and from there to its result.
  if (!isCurrent(services.ctx, key)) return seeOther(amountPath(services, card.id));
  if (await hasResult(services, request, key)) return seeOther(redeemedPath(key));
  return cardPage(services, request, { status: 200, card, key, typed: { amount: '', reference: '' } });
}

/** Whether a text that was entered as an amount came from a scanner: it has letters, or more digits than the card. */
function looksScanned(text: string, amount: Money | null, available: Money): boolean {
  if (/[.,]/.test(text) || !parseTypedCode(text).ok) return false;
  return amount === null || exceeds(amount, available);
}

type ReadForm =
  | { readonly isValid: false; readonly typed: Typed }
  | {
      readonly isValid: true;
      readonly amount: Money;
      /** What the customer pays in all; null: no more than the amount. */
      readonly total: Money | null;
      readonly reference: string | null;
    };

function readForm(request: StaffRequest, { card }: { readonly card: Card }): ReadForm {
  const { store } = request.signedIn;
  const text = tillTexts(request);
  const available = availableOf(card);
  const [choice, amountTyped] = [formText(request, 'choice'), formText(request, 'amount')];
  const entered = choice === '' ? amountTyped : choice;
  const amount = parseTypedAmount(entered, store);
  const total = parseTypedAmount(formText(request, 'total'), store);
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
  if (key === undefined || !isCurrent(ctx, key)) return seeOther(amountPath(services, card.id));
  const form = readForm(request, { card });
  const earlier = await findResult(services, request, key, isTillResult);
  if (earlier) return seeOther(redeemedPath(key, { isOther: isOther(earlier, card, form, ctx) }));
  const offer = (total: Money): ConsoleResponse =>
    cardPage(services, request, {
      status: 422,
      card,
      key,
      total,
      typed: { amount: '', reference: formText(request, 'reference') },
    });
  if (!form.isValid) return cardPage(services, request, { status: 422, card, key, typed: form.typed });
  if (exceeds(form.amount, availableOf(card))) return offer(form.total ?? form.amount);
  try {
    return await redeemOnce(services, request, { card, key, form });
  } catch (error) {
    // The card has changed since it was read.
    if (!(error instanceof Fault) || !changed.has(error.code)) throw error;
    const now = await requireCard(services, request);
    const total = form.total ?? form.amount;
    return cardPage(services, request, {
      status: 422,
      card: now,
      key,
      typed: { amount: '', reference: '' },
      ...(exceeds(total, availableOf(now)) && { total }),
    });
  }
}

const changed: ReadonlySet<string> = new Set(['insufficient-balance', 'card-disabled', 'card-expired']);

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
  const { store, member, session } = request.signedIn;
  const { amount, total, reference } = form;
  const { result, isRepeated } = await runOnce<TillResult>(services, request, key, function* run() {
    const { tillId } = session;
    const redeemed = yield* redeem(ctx, { store, member, tillId, cardId: card.id, amount, reference });
    return resultOf(services, { ...redeemed, total });
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
    available: String(availableOf(card).minor),
    total: total && String(total.minor),
    tail: card.lastCharacters,
    name: card.recipientName,
    at: transfer.createdAt,
  };
}

/** The amount of a form as the page shows it, of a store that is not known; undefined: it has none. */
function shownAmount(form: ReadonlyMap<string, string>, language: PageLanguage): Markup | undefined {
  const currency = findCurrency((form.get('currency') ?? '').slice(0, 3));
  const typed = form.get('choice') ?? form.get('amount') ?? '';
  // A code could be in the field.
  if (!/^[\s\p{Sc}]*\d{1,7}(?:[.,]\d*)?[\s\p{Sc}]*$/u.test(typed.slice(0, 40))) return undefined;
  const amount = currency && parseTypedAmount(typed.trim(), { currency } satisfies Pick<Store, 'currency'>);
  return amount?.ok ? figure(amount.value, language) : undefined;
}

export const tillAmountRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/till/card/:id', access: 'useTill', handle: showCard },
  {
    method: 'POST',
    path: '/till/card/:id',
    access: 'useTill',
    handle: submit,
    unknownPage: (services, request) =>
      unknownPage(services, request, { amount: shownAmount(request.form, request.language) }),
  },
];
