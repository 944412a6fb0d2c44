/**
 * Settles online sales: called with what the provider returned for the session of a sale, never with the content of a hint.
 * It can be repeated, delayed, or run by two processes at once: the sale is locked, and brought to what the payment says.
 */

import assert from 'node:assert/strict';
import { Fault } from '../../../core/domain/fault.ts';
import { equal, type Money } from '../../../core/money/domain/money.ts';
import type { Payment, ProviderDispute, ProviderRefund } from '../domain/payment.ts';
import { reviewReasonsOf } from '../domain/rules.ts';
import {
  isPaid,
  keyOfSale,
  type OnlineRefund,
  type OnlineSale,
  type ReturnReason,
  type SaleKey,
} from '../domain/sale.ts';
import { nextReadAt, trialMs, unrecordedMs } from '../domain/schedule.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { insertRefund, listRefunds, refundsMax, updateRefund } from '../storage/refund.ts';
import { hasBought, lockSale, sumPaidSales, updateSale, type StoredSale } from '../storage/sale.ts';
import { lockSalePage } from '../storage/settings.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import { assertStoreOpen, findStore } from '../../../core/stores/storage/store.ts';
import { converge, hasTaken, insertRequested, takeWhatIsLeft, type Converged } from './going-back.ts';
import { isIssuable, issueSale, saleActor } from './issuing.ts';
import { traceDigest, startOfToday } from './limits.ts';
import { pageOf } from './settings.ts';

export type LockedSale = { readonly store: Store; readonly sale: StoredSale };

/** A sale, locked, and its store. @throws Fault `not-found`, `store-closed`. */
export function* requireSale(key: SaleKey): Script<LockedSale> {
  const record = yield* findStore(key.storeId);
  if (!record) throw new Fault('not-found');
  assertStoreOpen(record);
  const sale = yield* lockSale(key);
  if (!sale) throw new Fault('not-found');
  return { store: record.store, sale };
}

/** Brings a sale to what its provider has returned for its session. @throws Fault `not-found`, `store-closed`. */
export function* settleSale(ctx: Context, key: SaleKey, payment: Payment): Script<OnlineSale> {
  const { store, sale } = yield* requireSale(key);
  assert(sale.sessionId === payment.sessionId, 'the payment is of another session');
  const settled = isPaid(sale.state) ? sale : yield* settlePayment(ctx, { store, sale, payment });
  if (!isPaid(settled.state)) return yield* save(ctx, sale, { sale: settled, isIncomplete: false }, []);
  const paid = { ...withDispute(settled, payment), paymentId: settled.paymentId ?? payment.paymentId };
  const refunds = yield* mergeRefunds(ctx, paid, payment);
  return yield* settlePaid(ctx, { store, before: sale, sale: paid, refunds });
}

/** Saves a sale with the time at which it is read again. */
function* save(
  ctx: Context,
  before: StoredSale,
  { sale, isIncomplete }: Converged,
  refunds: readonly OnlineRefund[],
): Script<StoredSale> {
  const now = ctx.clock.now();
  const attempts = sale.state === before.state ? sale.attempts : 0;
  const next = nextReadAt({ ...sale, attempts }, { now, refunds, isIncomplete });
  const trialEnd = trialEndOf(ctx, sale);
  // The spent part of a trial does not go back.
  const planned = trialEnd === null || trialEnd <= now ? next : Math.min(next ?? trialEnd, trialEnd);
  // A notification that came after this payment was requested has it read again: a claim would have removed it.
  const nextAt =
    before.hintedAt === null ? planned : Math.min(before.nextAt ?? now, planned ?? Number.POSITIVE_INFINITY);
  const notice = hasNews(before, sale) ? { noticeAt: now, noticeAttempts: 0 } : {};
  const saved = { ...sale, ...notice, attempts, nextAt };
  yield* updateSale(saved);
  return saved;
}

/** Whether an email notifies the buyer of a change: a card that was made has emails of its own. */
function hasNews(before: StoredSale, { state, refunded }: StoredSale): boolean {
  if (state === 'issued') return refunded.minor > before.refunded.minor;
  if (state === before.state) return false;
  const hasEnded = state === 'failed' || state === 'expired';
  return (
    state === 'waiting' ||
    state === 'review' ||
    state === 'returned' ||
    (hasEnded && before.state === 'waiting')
  );
}

/** When the money of a trial goes back; null: it is not one, or it went back. Sandboxes keep their sales. */
function trialEndOf(
  ctx: Context,
  { state, isTest, decidedAt, refunded }: Pick<StoredSale, 'state' | 'isTest' | 'decidedAt' | 'refunded'>,
): number | null {
  if (!isTest || ctx.testClock || state !== 'issued' || decidedAt === null || refunded.minor > 0n)
    return null;
  return decidedAt + trialMs;
}

type Settling = { readonly store: Store; readonly sale: StoredSale; readonly payment: Payment };

/** Settles a sale that is not paid yet, as far as this transaction knows. */
function* settlePayment(ctx: Context, { store, sale, payment }: Settling): Script<StoredSale> {
  const now = ctx.clock.now();
  const paymentId = payment.paymentId ?? sale.paymentId;
  switch (payment.state) {
    case 'open':
    case 'waiting':
      return { ...sale, state: payment.state, paymentId, decidedAt: null };
    case 'expired':
    case 'failed': {
      const decidedAt = sale.state === payment.state ? sale.decidedAt : now;
      return { ...sale, state: payment.state, paymentId, decidedAt };
    }
    case 'paid':
      return yield* settleNewlyPaid(ctx, { store, sale: { ...sale, paymentId }, payment });
  }
}

/** A sale that was just paid: its card is made, or it is reviewed or returned. */
function* settleNewlyPaid(ctx: Context, { store, sale, payment }: Settling): Script<StoredSale> {
  const page = yield* pageOf(store);
  // Payments that are read at the same time count one after another, each on the day on which its turn comes.
  yield* lockSalePage(store.id);
  const now = ctx.clock.now();
  const fingerprint = payment.fingerprint === null ? null : traceDigest(ctx, 'card', payment.fingerprint);
  const none: Money = { minor: 0n, currency: payment.amount.currency };
  const paid: StoredSale = {
    ...sale,
    paid: payment.amount,
    refunded: none,
    disputed: none,
    loss: none,
    owed: none,
    paidAt: now,
    decidedAt: null,
    method: payment.method,
    fingerprint,
    cardCountry: payment.cardCountry,
    isBankChecked: payment.isBankChecked,
    isRisky: payment.isRisky,
  };
  const reason = returnReasonOf(paid, payment);
  if (reason !== null) return returned(paid, { reason, now });
  const [hasBoughtBefore, sold] = yield* parallel(
    sale.buyerKey === null ? resolved(false) : hasBought(store.id, sale.buyerKey),
    sumPaidSales(store.id, paid, startOfToday(ctx, store)),
  );
  const reviewReasons = reviewReasonsOf(page, { sale, payment, isFirst: !hasBoughtBefore, sold });
  if (reviewReasons.length === 0) return yield* issueSale(ctx, { store, page, sale: paid });
  const reviewUntil = now + page.reviewHours * 3_600_000;
  return { ...paid, state: 'review', reviewReasons, reviewUntil };
}

const bySystem = { by: 'system', actor: saleActor, reason: null } as const;

/** The reason for which the card of a paid sale is not made, now or after a review; null: none. */
function returnReasonOf(sale: StoredSale, payment: Payment): ReturnReason | null {
  if (payment.saleKey !== sale.key || !isSameAmount(sale, payment)) return 'mismatch';
  if (payment.refunds.some(({ state }) => state !== 'failed')) return 'refunded';
  if (payment.dispute && payment.dispute.state !== 'won') return 'disputed';
  return isIssuable(sale) ? null : 'deadline';
}

function isSameAmount({ amount }: StoredSale, payment: Payment): boolean {
  return amount.currency.code === payment.amount.currency.code && equal(amount, payment.amount);
}

export function returned(
  sale: StoredSale,
  { reason, now }: { readonly reason: ReturnReason; readonly now: number },
): StoredSale {
  return { ...sale, state: 'returned', returnReason: reason, reviewUntil: null, decidedAt: now };
}

/** A dispute that has ended is not begun again by an older reading of it. */
function withDispute(sale: StoredSale, { dispute }: Payment): StoredSale {
  if (!dispute || isOlder(sale, dispute)) return sale;
  const minor = hasTaken(dispute.state) ? disputedOf(sale, dispute) : 0n;
  const disputed = { minor, currency: sale.paid.currency };
  return { ...sale, dispute: dispute.state, disputedAt: dispute.at, disputed };
}

function isOlder({ dispute, disputedAt }: StoredSale, read: ProviderDispute): boolean {
  const hasEnded = dispute === 'won' || dispute === 'lost';
  const isPending = read.state === 'warning' || read.state === 'open';
  return hasEnded && isPending && read.at <= (disputedAt ?? 0);
}

/** A dispute in another currency, that of the account at the provider, counts as one of the whole payment. */
function disputedOf({ paid }: StoredSale, { amount }: ProviderDispute): bigint {
  const isComparable = amount.currency.code === paid.currency.code;
  return isComparable && amount.minor < paid.minor ? amount.minor : paid.minor;
}

/** Brings the rows of the refunds of a sale to those of its payment, and returns all of them. */
function* mergeRefunds(ctx: Context, sale: StoredSale, payment: Payment): Script<readonly OnlineRefund[]> {
  const stored = yield* listRefunds(keyOfSale(sale));
  const merged = new Map(stored.map((refund) => [refund.key, refund]));
  for (const read of payment.refunds) {
    const known = stored.find(({ key, providerId }) => key === read.refundKey || providerId === read.id);
    if (!known && (read.state === 'failed' || merged.size >= refundsMax)) continue;
    const refund = known ? settledBy(ctx, known, read) : refundOfProvider(ctx, sale, read);
    if (!known) yield* insertRefund(refund);
    else if (refund !== known) yield* updateRefund(refund);
    merged.set(refund.key, refund);
  }
  return yield* dropExcess(ctx, sale, [...merged.values()]);
}

const excessDetail = 'The payment was refunded or disputed at the provider.';

/** Refunds that were made at the provider, and a dispute, leave less for those that it was not asked for yet. */
function* dropExcess(
  ctx: Context,
  sale: StoredSale,
  refunds: readonly OnlineRefund[],
): Script<readonly OnlineRefund[]> {
  const made = refunds.filter(({ state }) => state === 'pending' || state === 'paid');
  const disputed = hasTaken(sale.dispute) ? sale.disputed.minor : 0n;
  let left = made.reduce((rest, { amount }) => rest - amount.minor, sale.paid.minor - disputed);
  const kept: OnlineRefund[] = [];
  for (const refund of refunds) {
    const isExcess = refund.state === 'requested' && refund.amount.minor > left;
    if (refund.state === 'requested' && !isExcess) left -= refund.amount.minor;
    const settledAt = ctx.clock.now();
    // If it was sent after all, the next reading of the payment has it.
    const failed: OnlineRefund = { ...refund, state: 'failed', detail: excessDetail, settledAt };
    if (isExcess) yield* updateRefund(failed);
    kept.push(isExcess ? failed : refund);
  }
  return kept;
}

/** A refund as the provider has it. The same object: nothing has changed. */
export function settledBy(ctx: Context, refund: OnlineRefund, read: ProviderRefund): OnlineRefund {
  const isSame =
    refund.state === read.state && refund.providerId === read.id && refund.amount.minor === read.amount.minor;
  if (isSame) return refund;
  const settledAt = read.state === 'pending' ? null : ctx.clock.now();
  const amount = { ...refund.amount, minor: read.amount.minor };
  return { ...refund, state: read.state, providerId: read.id, amount, settledAt };
}

function refundOfProvider(ctx: Context, sale: StoredSale, read: ProviderRefund): OnlineRefund {
  return {
    storeId: sale.storeId,
    saleId: sale.id,
    id: ctx.random.id(),
    key: read.refundKey ?? `provider ${read.id}`,
    by: 'provider',
    actor: saleActor,
    reason: null,
    amount: read.amount,
    state: read.state,
    providerId: read.id,
    detail: null,
    createdAt: ctx.clock.now(),
    settledAt: read.state === 'pending' ? null : ctx.clock.now(),
  };
}

/** The reason for which a sale in review is returned without a decision of staff; null: it stays in review. */
function endOfReview(sale: StoredSale, refunds: readonly OnlineRefund[], now: number): ReturnReason | null {
  if (refunds.some(({ state }) => state !== 'failed')) return 'refunded';
  if (sale.dispute !== null && sale.dispute !== 'won') return 'disputed';
  return now >= (sale.reviewUntil ?? now) ? 'deadline' : null;
}

/** Brings a paid sale and its card to what went back, and requests what has to go back. */
export function* settlePaid(
  ctx: Context,
  {
    store,
    before,
    sale: read,
    refunds: known,
  }: LockedSale & { readonly before: StoredSale; readonly refunds: readonly OnlineRefund[] },
): Script<StoredSale> {
  const now = ctx.clock.now();
  const ended = read.state === 'review' ? endOfReview(read, known, now) : null;
  const sale = ended === null ? read : returned(read, { reason: ended, now });
  const refunds = [...known, ...(yield* requestOwed(ctx, { store, sale, refunds: known, now }))];
  const isEscalated = sale.dispute !== before.dispute && hasTaken(sale.dispute) && !hasTaken(before.dispute);
  return yield* save(ctx, before, yield* converge(ctx, { store, sale, refunds, isEscalated }), refunds);
}

/**
 * Requests the refund of a sale that has no card, and of a trial that has ended. After a refund that failed, staff decide:
 * it would fail again.
 */
function* requestOwed(
  ctx: Context,
  {
    store,
    sale,
    refunds,
    now,
  }: LockedSale & { readonly refunds: readonly OnlineRefund[]; readonly now: number },
): Script<readonly OnlineRefund[]> {
  const trialEnd = trialEndOf(ctx, sale);
  const isEnded = trialEnd !== null && now >= trialEnd;
  if (sale.state !== 'returned' && !isEnded) return [];
  if (refunds.some(({ state }) => state === 'failed') || hasTaken(sale.dispute)) return [];
  const minor = yield* takeWhatIsLeft(ctx, { store, sale, refunds, actor: saleActor });
  if (minor <= 0n) return [];
  const amount = { minor, currency: sale.paid.currency };
  return [yield* insertRequested(ctx, sale, { ...bySystem, amount })];
}

/** Ends a sale whose session was never recorded, so that it was never shown to its buyer. */
export function* expireUnrecorded(ctx: Context, key: SaleKey): Script<OnlineSale> {
  const { sale } = yield* requireSale(key);
  const now = ctx.clock.now();
  if (sale.state !== 'new' || now < sale.createdAt + unrecordedMs) return sale;
  const expired: StoredSale = { ...sale, state: 'expired', decidedAt: now, nextAt: null };
  yield* updateSale(expired);
  return expired;
}
