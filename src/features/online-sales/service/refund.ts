/** Refunds of online sales: the card stops first, then the provider pays. */

import { addDays, dayOf } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { ProviderOutcome, ProviderRefund } from '../domain/payment.ts';
import {
  isPaid,
  type OnlineRefund,
  type OnlineSale,
  type RefundRequester,
  type SaleKey,
} from '../domain/sale.ts';
import { withdrawalsPerDay } from '../domain/rules.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { countWithdrawals, listRefunds, refundsMax, updateRefund } from '../storage/refund.ts';
import { lockSalePage } from '../storage/settings.ts';
import { findStoredSale, type StoredSale } from '../storage/sale.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { hasTaken, insertRequested, takeWhatIsLeft } from './going-back.ts';
import { startOfToday } from './limits.ts';
import { requireSale, returned, settlePaid, settledBy } from './settle.ts';

/** The days for which a buyer can withdraw from the contract (2011/83/EU, article 9), after that of the payment. */
const withdrawalDays = 14;

/** The last day on which a buyer can withdraw. */
export function withdrawalEndOf(
  { paidAt, createdAt }: Pick<OnlineSale, 'paidAt' | 'createdAt'>,
  { timeZone }: Pick<Store, 'timeZone'>,
): string {
  return addDays(dayOf(paidAt ?? createdAt, timeZone), withdrawalDays);
}

export type RefundDemand = SaleKey & {
  readonly reason: string | null;
  readonly by: Exclude<RefundRequester, 'provider'>;
  readonly actor: string;
};

/**
 * Stops the card of a paid sale and requests the refund of what is left. Money goes back to its payment only.
 * @throws Fault `not-found`; `not-reversible` if nothing is left to refund, or a dispute has taken the money;
 * `undo-window-closed` if the buyer can no longer withdraw, `too-many-requests` if the buyer has done it too often today.
 */
export function* requestRefund(
  ctx: Context,
  { by, actor, reason, ...key }: RefundDemand,
): Script<OnlineRefund> {
  const { store, sale: locked } = yield* requireSale(key);
  if (!isPaid(locked.state)) throw notRefundable('The sale was not paid.');
  if (hasTaken(locked.dispute)) throw notRefundable('The buyer disputes the payment.');
  const now = ctx.clock.now();
  if (by === 'buyer' && dayOf(now, store.timeZone) > withdrawalEndOf(locked, store))
    throw new Fault('undo-window-closed');
  if (by === 'buyer') yield* assertWithdrawals(ctx, store, locked);
  const ended = by === 'buyer' ? 'refunded' : 'staff';
  const sale = locked.state === 'review' ? returned(locked, { reason: ended, now }) : locked;
  const refunds = yield* listRefunds(key);
  if (refunds.length >= refundsMax) throw notRefundable('The sale has too many refunds.');
  const minor = yield* takeWhatIsLeft(ctx, { store, sale, refunds, actor });
  if (minor <= 0n) throw notRefundable('Nothing is left to refund.');
  const amount = { minor, currency: sale.paid.currency };
  const refund = yield* insertRequested(ctx, sale, { by, actor, reason, amount });
  const changed = { ...sale, attempts: 0 };
  yield* settlePaid(ctx, { store, before: locked, sale: changed, refunds: [...refunds, refund] });
  return refund;
}

const hourSeconds = 3_600;

/** @throws Fault `too-many-requests` with the extension `limit`. */
function* assertWithdrawals(ctx: Context, store: Store, sale: StoredSale): Script<void> {
  yield* lockSalePage(store.id);
  const withdrawals = yield* countWithdrawals(store.id, sale, startOfToday(ctx, store));
  if (withdrawals >= withdrawalsPerDay)
    throw new Fault('too-many-requests', {
      retryAfterSeconds: hourSeconds,
      extensions: { limit: 'withdrawals' },
    });
}

function notRefundable(detail: string): Fault {
  return new Fault('not-reversible', { detail });
}

/** A refund that the provider is asked for. */
export type RequestedRefund = { readonly sale: OnlineSale; readonly refund: OnlineRefund };

/** The refunds of a sale that the provider has not confirmed, the oldest first. */
export function* listRequested(key: SaleKey): Script<readonly RequestedRefund[]> {
  const sale = yield* findStoredSale(key);
  if (!sale || sale.paymentId === null) return [];
  const refunds = yield* listRefunds(key);
  return refunds.filter(({ state }) => state === 'requested').map((refund) => ({ sale, refund }));
}

/**
 * Records what the provider has returned for a refund. A refund that it has rejected is named among those that staff can
 * request again; an unknown outcome is found out by reading the payment.
 */
export function* recordRefund(
  ctx: Context,
  { storeId, saleId, id }: Pick<OnlineRefund, 'storeId' | 'saleId' | 'id'>,
  outcome: ProviderOutcome<ProviderRefund>,
): Script<OnlineSale> {
  const key = { storeId, saleId };
  const { store, sale } = yield* requireSale(key);
  const refunds = yield* listRefunds(key);
  const refund = refunds.find((each) => each.id === id);
  // Another process has read what became of it.
  if (!refund || refund.state !== 'requested' || outcome.kind === 'unknown') return sale;
  const settled: OnlineRefund =
    outcome.kind === 'done'
      ? settledBy(ctx, refund, outcome.value)
      : { ...refund, state: 'failed', detail: outcome.detail, settledAt: ctx.clock.now() };
  yield* updateRefund(settled);
  const merged = refunds.map((each) => (each.id === id ? settled : each));
  return yield* settlePaid(ctx, { store, before: sale, sale, refunds: merged });
}
