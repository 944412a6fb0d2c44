/**
 * The permissions of staff at the counter: the role and the limits of the person, read again in the transaction of
 * the change, so that a new limit, another role or a disabled account counts at once.
 */

import type { Context } from '../../storage/context.ts';
import { addDays, dayOf, startOfDay } from '../../domain/day.ts';
import { Fault } from '../../domain/fault.ts';
import { exceeds, formatMoney, type Money } from '../../money/domain/money.ts';
import { actorOf, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../../stores/domain/store.ts';
import { lockStaffMember } from '../storage/staff.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { sumRefundsBy, sumSaleRefundsBy } from '../storage/refund-sums.ts';
import { sumReversalsBy } from '../../money/storage/transfer.ts';

/**
 * Checks an amount that a member sells: the value of a new card, or what is added to a card.
 * @param member as stored.
 * @throws Fault `invalid-parameter` on `amount`, with the extension `sale_limit`, above the limit.
 */
export function assertSaleLimit({ saleLimit }: StaffMember, amount: Money): void {
  if (!saleLimit || !exceeds(amount, saleLimit)) return;
  const text = formatMoney(saleLimit);
  throw new Fault('invalid-parameter', {
    detail: `The amount is above the person's limit of ${text} ${saleLimit.currency.code}.`,
    errors: { amount: [`must be at most ${text}, the person's limit`] },
    extensions: { sale_limit: text },
  });
}

/** A person can undo an own redemption for this time without being allowed to refund its amount. */
const undoPeriodMs = 15 * 60 * 1_000;

/** Whether an own redemption, made at an instant (ms), can be undone without being allowed to refund its amount. */
export function isUndoable(ctx: Context, redeemedAt: number): boolean {
  return ctx.clock.now() < redeemedAt + undoPeriodMs;
}

type Refund = { readonly transferId: number; readonly amount: Money };

/**
 * Checks the amount of a refund: the person's refunds of one entry, and those of one day, are at most the limit in sum.
 * @param member as stored.
 * @param refund.transferId the entry that is refunded.
 * @throws Fault `invalid-parameter` on `amount` above what is left, with the extensions `refund_limit` and `refund_left`.
 */
export function* assertRefundLimit(
  ctx: Context,
  store: Store,
  member: StaffMember,
  { transferId, amount }: Refund,
): Script<void> {
  if (!member.refundLimit) return;
  const ofDay = yield* lockRefundsOfDay(ctx, store, member);
  const ofEntry = yield* sumReversalsBy(actorOf(member), store.id, transferId);
  assertWithin(member.refundLimit, ofEntry > ofDay ? ofEntry : ofDay, amount);
}

/**
 * Makes a refund of an online sale within the person's limit of a day. Its amount is known only after it was made.
 * @param member as stored.
 * @param refund returns the amount, or null if nothing was refunded.
 * @throws Fault as `assertRefundLimit` does.
 */
export function* withinRefundLimit<Result>(
  ctx: Context,
  { store, member }: { readonly store: Store; readonly member: StaffMember },
  { refund, amountOf }: { refund: () => Script<Result>; amountOf: (result: Result) => Money | null },
): Script<Result> {
  if (!member.refundLimit) return yield* refund();
  const ofDay = yield* lockRefundsOfDay(ctx, store, member);
  const result = yield* refund();
  const amount = amountOf(result);
  if (amount) assertWithin(member.refundLimit, ofDay, amount);
  return result;
}

/** Sums the refunds of a member on the present day, of which no other one can be made until the transaction ends. */
function* lockRefundsOfDay(ctx: Context, store: Store, member: StaffMember): Script<bigint> {
  yield* lockStaffMember(store.id, member.id);
  // The lock can be held until the next day.
  const day = dayOf(ctx.clock.now(), store.timeZone);
  const period = {
    fromAt: startOfDay(day, store.timeZone),
    untilAt: startOfDay(addDays(day, 1), store.timeZone),
    undoMs: undoPeriodMs,
  };
  const by = { storeId: store.id, actor: actorOf(member) };
  const [ofCards, ofSales] = yield* parallel(
    sumRefundsBy(by, period),
    sumSaleRefundsBy(by, { ...period, currency: store.currency }),
  );
  return ofCards + ofSales;
}

/** @param refunded what was refunded before, in minor units. */
function assertWithin(refundLimit: Money, refunded: bigint, amount: Money): void {
  const minor = refundLimit.minor > refunded ? refundLimit.minor - refunded : 0n;
  const left = { minor, currency: refundLimit.currency };
  // The refund of a payment in another currency cannot be compared.
  if (amount.currency.code === left.currency.code && !exceeds(amount, left)) return;
  const [limitText, leftText] = [formatMoney(refundLimit), formatMoney(left)];
  throw new Fault('invalid-parameter', {
    detail: `The person can refund ${leftText} ${left.currency.code} more, of a limit of ${limitText}.`,
    errors: { amount: [`must be at most ${leftText}, which is left of the person's limit of ${limitText}`] },
    extensions: { refund_limit: limitText, refund_left: leftText },
  });
}
