/** The table of the online sales of a month, for accountants: it has neither names nor codes of people. */

import { dayOf } from '../../../core/domain/day.ts';
import type { ExportCell } from '../../../core/tables/domain/export-table.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import { readVat } from '../../../core/money/domain/vat.ts';
import type { ProviderKind } from '../domain/payment.ts';
import { isPaid, type OnlineSale, type ReturnReason } from '../domain/sale.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { listPeriodSales, type PeriodSale } from '../storage/month.ts';
import { listUnknownPayments, type UnknownPayment } from '../storage/movement.ts';
import type { SalePeriod } from '../storage/sale-lists.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { periodOf } from './list.ts';

/**
 * Amounts are those of the month, so each is in the table of one month. `open_amount` is the part of a payment for which
 * there is now neither a card nor a refund, and `no_card` the reason.
 */
export const monthColumns = [
  'sale',
  'day',
  'provider',
  'payment_id',
  'currency',
  'paid',
  'fee',
  'payout',
  'refunded',
  'disputed',
  'gift_card',
  'vat_kind',
  'no_card',
  'open_amount',
] as const;

type MonthRow = Readonly<
  Record<Exclude<(typeof monthColumns)[number], 'provider' | 'no_card'>, ExportCell>
> & {
  readonly provider: ProviderKind;
  readonly isTest: boolean;
  readonly no_card: CardlessReason | null;
};

/**
 * The reason for which a payment has no card. `unpaid`: the provider has listed the payment, and the sale was not found
 * paid. `unknown`: it names a sale that the store does not have. `owed`: the card was taken back, and its refund has failed.
 */
type CardlessReason = ReturnReason | 'review' | 'unpaid' | 'unknown' | 'owed';

function reasonOf({ state, returnReason, owed }: OnlineSale): CardlessReason | null {
  if (state === 'returned') return returnReason;
  if (state === 'review') return 'review';
  if (!isPaid(state)) return 'unpaid';
  return owed.minor > 0n ? 'owed' : null;
}

function cellOf(money: Money): ExportCell {
  return { decimal: formatMoney(money) };
}

type Place = {
  readonly ctx: Pick<Context, 'keys'>;
  readonly store: Pick<Store, 'id' | 'timeZone'>;
  readonly period: SalePeriod;
};

function rowOf({ ctx, store, period }: Place, found: PeriodSale): MonthRow {
  const { sale, vat, refunded, fee, movedIn, payoutId } = found;
  const { publicIds } = ctx.keys;
  const cell = (minor: bigint) => cellOf({ minor, currency: sale.paid.currency });
  const isIn = (at: number | null): boolean => at !== null && at >= period.from && at < period.to;
  const reason = reasonOf(sale);
  const held = sale.state === 'review' ? sale.paid.minor - sale.refunded.minor - sale.disputed.minor : 0n;
  // Only the provider knows the amount of such a payment, and nothing was decided about it.
  const unpaid = reason === 'unpaid' ? (movedIn ?? 0n) : 0n;
  return {
    sale: String(publicIds.of(sale.id)),
    day: dayOf(sale.paidAt ?? sale.createdAt, store.timeZone),
    provider: sale.provider,
    isTest: sale.isTest,
    payment_id: sale.paymentId,
    currency: sale.paid.currency.code,
    paid: cell(isIn(sale.paidAt) ? sale.paid.minor : unpaid),
    fee: fee === null ? null : cell(fee),
    payout: payoutId,
    refunded: cell(refunded),
    disputed: cell(isIn(sale.disputedAt) ? sale.disputed.minor : 0n),
    gift_card: sale.cardId === null ? null : String(publicIds.of(sale.cardId)),
    vat_kind: vat === null || vat === '' ? null : readVat(vat).kind,
    no_card: reason,
    open_amount: reason === null ? null : cell(held + unpaid + sale.owed.minor),
  };
}

function unknownRow({ store }: Place, payment: UnknownPayment): MonthRow {
  const { provider, isTest, paymentId, amount, fee, payoutId, at } = payment;
  const none = cellOf({ ...amount, minor: 0n });
  return {
    sale: null,
    day: dayOf(at, store.timeZone),
    provider,
    isTest,
    payment_id: paymentId,
    currency: amount.currency.code,
    paid: cellOf(amount),
    fee: cellOf(fee),
    payout: payoutId,
    refunded: none,
    disputed: none,
    gift_card: null,
    vat_kind: null,
    no_card: 'unknown',
    open_amount: cellOf(amount),
  };
}

/** A part of a table, and where the next one begins; null: it was the last one. */
export type MonthPart = { readonly rows: readonly MonthRow[]; readonly next: number | null };

/** @param month `YYYY-MM`. @param after 0, or `next` of the part before. */
export function* listMonthSales(
  ctx: Pick<Context, 'keys'>,
  store: Pick<Store, 'id' | 'timeZone'>,
  { month, after, limit }: { readonly month: string; readonly after: number; readonly limit: number },
): Script<MonthPart> {
  const place: Place = { ctx, store, period: periodOf(month, store.timeZone) };
  const found = yield* listPeriodSales(store.id, place.period, { after, limit });
  const rows = found.map((each) => rowOf(place, each));
  if (found.length === limit) return { rows, next: found.at(-1)?.sale.id ?? null };
  const unknown = yield* listUnknownPayments(store.id, place.period);
  return { rows: [...rows, ...unknown.map((each) => unknownRow(place, each))], next: null };
}
