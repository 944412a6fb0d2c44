/** Begins online sales: a submitted form becomes one row, however often it is submitted. */

import { dayOf } from '../../../core/domain/day.ts';
import { mailboxOf } from '../../../core/domain/email-address.ts';
import { Fault, FieldErrors } from '../../../core/domain/fault.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { PaymentSession } from '../domain/payment.ts';
import {
  exceedsLimit,
  formErrors,
  formErrorText,
  unpaidForms,
  type DayLimit,
  type SalePage,
} from '../domain/rules.ts';
import {
  codeShownDays,
  isSaleKey,
  keyOfSale,
  type OnlineSale,
  type SaleForm,
  type SaleKey,
} from '../domain/sale.ts';
import { dayMs, waitAfter } from '../domain/schedule.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { idsAt } from '../../../platform/random.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import { isTokenOf, saleIdIn } from '../storage/order-link.ts';
import type { StoreProvider } from '../storage/provider.ts';
import {
  countUnpaidForms,
  findSaleOfForm,
  findStoredSale,
  insertSale,
  openSaleCode,
  sumPaidSales,
  updateSale,
  type SaleTraces,
  type StoredSale,
} from '../storage/sale.ts';
import { lockSalePage } from '../storage/settings.ts';
import { parallel, RetryTransaction, type Script } from '../../../database/sql/sql.ts';
import { assertStoreOpen, findStoreByDomain } from '../../../core/stores/storage/store.ts';
import { traceDigest, startOfToday } from './limits.ts';
import { findSaleSettings, isSelling, pageOf } from './settings.ts';
import { requireSale } from './settle.ts';
import { demandsWork, isWorkDone } from './work.ts';

export { saleToken } from '../storage/order-link.ts';

/** A store that sells online. */
export type BuyPage = {
  readonly store: Store;
  readonly page: SalePage;
  /** The provider of new sales; null: none was set up. */
  readonly provider: StoreProvider | null;
  /** Whether visitors can buy. A provider that takes no real money sells to visitors only in a sandbox. */
  readonly isOpen: boolean;
  /** Whether a browser has to do work before a form is accepted. */
  readonly asksWork: boolean;
};

/**
 * The buy page of a store; undefined: there is no such store, or it never set one up. @param domain in lower case.
 * @throws Fault `store-closed`.
 */
export function* findBuyPage(ctx: Context, domain: string): Script<BuyPage | undefined> {
  const record = yield* findStoreByDomain(domain);
  if (!record) return undefined;
  assertStoreOpen(record);
  const { store } = record;
  const settings = yield* findSaleSettings(ctx, store);
  if (!settings.isSaved) return undefined;
  const provider = settings.providers.find(({ isActive }) => isActive) ?? null;
  const asksWork = yield* demandsWork(ctx, settings.page);
  return { store, page: settings.page, provider, isOpen: isSelling(settings), asksWork };
}

export type SaleRequest = {
  readonly buy: BuyPage;
  readonly form: SaleForm;
  /** The key of the rendered form. */
  readonly key: string;
  /** The visitor's network, as `networkOf` of `http/client-address.ts` returns it. */
  readonly network: string;
  readonly language: string;
  /** Whether a signed-in owner tries the page, which then need not be open. */
  readonly isTrial: boolean;
  /** The result of the browser's work; absent: it did none. */
  readonly work?: string;
};

const languageLengthMax = 35;
const minuteSeconds = 60;

/**
 * @returns the sale of the form, and whether it is new. A repeated form with other content changes nothing.
 * @throws Fault `not-found` if the page is closed, `too-many-requests` with the extension `limit` (`address`, `network`,
 * `store` or `work`), `invalid-parameter`.
 */
export function* beginSale(
  ctx: Context,
  { buy, form, key, network, language, isTrial, work = '' }: SaleRequest,
): Script<{ readonly sale: OnlineSale; readonly isNew: boolean }> {
  const { store, page, provider } = buy;
  if (!isSaleKey(key) || language.length > languageLengthMax) throw new Fault('invalid-request');
  const earlier = yield* findSaleOfForm(store.id, key);
  if (earlier) return { sale: earlier, isNew: false };
  if (!provider || !(buy.isOpen || isTrial)) throw new Fault('not-found');
  assertForm(ctx, buy, form);
  if (buy.asksWork && !isTrial && !isWorkDone(key, work))
    throw new Fault('too-many-requests', { retryAfterSeconds: minuteSeconds, extensions: { limit: 'work' } });
  const traces = {
    network: traceDigest(ctx, 'network', network),
    mailbox: traceDigest(ctx, 'mailbox', mailboxOf(form.buyer.key)),
    fingerprint: null,
  };
  yield* assertLimits(ctx, { store, page, amount: form.amount, traces });
  const now = ctx.clock.now();
  const none: Money = { minor: 0n, currency: form.amount.currency };
  const sale: StoredSale = {
    storeId: store.id,
    id: ctx.random.id(),
    key,
    provider: provider.kind,
    isTest: provider.isTest,
    ...form,
    buyerAddress: form.buyer.address,
    buyerKey: form.buyer.key,
    recipientAddress: form.recipient && form.recipient.address,
    recipientKey: form.recipient && form.recipient.key,
    language,
    createdAt: now,
    sessionId: null,
    sessionUrl: null,
    sessionExpiresAt: null,
    paymentId: null,
    state: 'new',
    method: null,
    ...traces,
    cardCountry: null,
    isBankChecked: null,
    isRisky: false,
    reviewReasons: [],
    returnReason: null,
    cardId: null,
    issueId: null,
    sealedCode: null,
    dispute: null,
    disputedAt: null,
    disputed: none,
    stoppedAt: null,
    paid: none,
    refunded: none,
    loss: none,
    owed: none,
    paidAt: null,
    decidedAt: null,
    reviewUntil: null,
    // The caller creates the session at once. The background run does it if the process ends before.
    nextAt: now + waitAfter(1),
    attempts: 0,
    hintedAt: null,
    noticeAt: null,
    noticeAttempts: 0,
    erasedAt: null,
  };
  if (!(yield* insertSale(sale))) throw new RetryTransaction('the form was submitted at the same time');
  return { sale, isNew: true };
}

/** @throws Fault `invalid-parameter`. */
function assertForm(ctx: Context, { store, page }: BuyPage, form: SaleForm): void {
  const errors = new FieldErrors();
  for (const error of formErrors(form, page, dayOf(ctx.clock.now(), store.timeZone)))
    errors.add(error.field, formErrorText(error, page));
  if (form.amount.currency.code !== store.currency.code)
    errors.add('amount', `must be in ${store.currency.code}`);
  if (errors.any) throw new Fault('invalid-parameter', { errors: errors.toErrors() });
}

const hourSeconds = 3_600;

/**
 * Unpaid forms count by number for some minutes. Amounts count when they are paid: those of a day here, and again when this
 * sale is paid. @throws Fault `too-many-requests`.
 */
function* assertLimits(
  ctx: Context,
  {
    store,
    page,
    amount,
    traces,
  }: { readonly store: Store; readonly page: SalePage; readonly amount: Money; readonly traces: SaleTraces },
): Script<void> {
  yield* lockSalePage(store.id);
  const { periodMs, ...most } = unpaidForms;
  const since = idsAt(ctx.clock.now() - periodMs);
  const [forms, sold] = yield* parallel(
    countUnpaidForms(store.id, traces, { since, limit: most.ofNetwork }),
    sumPaidSales(store.id, traces, startOfToday(ctx, store)),
  );
  if (page.addressLimit !== null && forms.ofAddress >= most.ofAddress)
    throw limited('address', periodMs / 1_000);
  if (page.networkLimit !== null && forms.ofNetwork >= most.ofNetwork)
    throw limited('network', periodMs / 1_000);
  const exceeded = (['address', 'network', 'store'] as const satisfies readonly DayLimit[]).find((limit) =>
    exceedsLimit(page, limit, sold[limit], amount),
  );
  if (exceeded !== undefined) throw limited(exceeded, hourSeconds);
}

function limited(limit: DayLimit, retryAfterSeconds: number): Fault {
  return new Fault('too-many-requests', { retryAfterSeconds, extensions: { limit } });
}

/** Records the session of a new sale. A sale that has one does not change. @throws Fault `not-found`, `store-closed`. */
export function* recordSession(ctx: Context, key: SaleKey, session: PaymentSession): Script<OnlineSale> {
  const { sale } = yield* requireSale(key);
  if (sale.sessionId !== null) return sale;
  const opened: StoredSale = {
    ...sale,
    sessionId: session.id,
    sessionUrl: session.url,
    sessionExpiresAt: session.expiresAt,
    state: sale.state === 'new' ? 'open' : sale.state,
    attempts: 0,
    nextAt: ctx.clock.now() + waitAfter(2),
  };
  yield* updateSale(opened);
  return opened;
}

/** A sale as its buyer sees it. */
export type OpenSale = {
  readonly store: Store;
  readonly sale: OnlineSale;
  /** The code of a card for oneself, for 30 days and while the card was not stopped; null: none. */
  readonly code: Secret | null;
};

/** Opens the link of an order; undefined: it is not one of the store. @throws Fault `store-closed`. */
export function* openSale(ctx: Context, domain: string, token: string): Script<OpenSale | undefined> {
  const saleId = saleIdIn(ctx, token);
  const record = yield* findStoreByDomain(domain);
  if (!record || saleId === undefined) return undefined;
  assertStoreOpen(record);
  const { store } = record;
  const sale = yield* findStoredSale({ storeId: store.id, saleId });
  if (!sale || !isTokenOf(ctx, sale, token)) return undefined;
  return { store, sale, code: yield* shownCode(ctx, store, sale) };
}

function* shownCode(ctx: Context, store: Store, sale: StoredSale): Script<Secret | null> {
  const { dispute, refunded, amount, decidedAt } = sale;
  const isStopped = (dispute !== null && dispute !== 'won') || refunded.minor >= amount.minor;
  if (!sale.sealedCode || isStopped || decidedAt === null) return null;
  const { delayMinutes } = yield* pageOf(store);
  const now = ctx.clock.now();
  const isShown = now >= decidedAt + delayMinutes * 60_000 && now < decidedAt + codeShownDays * dayMs;
  return isShown ? openSaleCode(ctx, keyOfSale(sale), sale) : null;
}
