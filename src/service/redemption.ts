/** Redemptions at the counter, and their undoing. */

import type { Context } from '../context.ts';
import type { Card } from '../domain/card.ts';
import { Fault } from '../domain/fault.ts';
import type { Transfer } from '../domain/ledger.ts';
import { formatMoney, type Money } from '../domain/money.ts';
import { actorOf, isPermitted, type StaffMember } from '../domain/staff.ts';
import { scopes, type Store } from '../domain/store.ts';
import { findTransfer } from '../storage/transfer.ts';
import type { Script } from '../storage/sql.ts';
import { assertMay, assertMayRefund } from './counter.ts';
import { debit, reverse } from './spend.ts';
import { recordAction } from './staff.ts';

/** A member of staff, and the till on which the person works; null: a browser that is not enrolled. */
type AtCounter = {
  readonly store: Store;
  readonly member: Pick<StaffMember, 'id'>;
  readonly tillId: number | null;
};

/**
 * Debits an amount of a usable card, and adds it to the audit log.
 * @throws Fault as `debit` and `assertMay` do.
 */
export function* redeem(
  ctx: Context,
  {
    store,
    member,
    tillId,
    cardId,
    amount,
    reference,
  }: AtCounter & { readonly cardId: number; readonly amount: Money; readonly reference: string | null },
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  yield* assertMay(store, member, 'useTill');
  const redeemed = yield* debit(ctx, {
    store,
    cardId,
    actor: actorOf(member),
    reference,
    note: null,
    orderId: null,
    versions: null,
    amount,
    partial: false,
  });
  const { transfer } = redeemed;
  const details = { amount: formatMoney(amount), entry: ctx.keys.publicIds.of(transfer.id) };
  const by = { staffId: member.id, tillId };
  yield* recordAction(ctx, by, {
    storeId: store.id,
    action: 'card-redeemed',
    subjectId: cardId,
    details,
  });
  return redeemed;
}

/** How long a person can undo an own redemption without being allowed to refund its amount. */
const undoPeriodMs = 15 * 60 * 1_000;

/** Whether an own redemption, made at an instant (ms), can be undone without being allowed to refund its amount. */
export function isUndoable(ctx: Context, redeemedAt: number): boolean {
  return ctx.clock.now() < redeemedAt + undoPeriodMs;
}

/**
 * Reverses a redemption as a whole. After 15 minutes it is a refund, and so is the undoing of another person's redemption,
 * which only managers can do.
 * @throws Fault `not-found` if it is not a redemption; `insufficient-scope` if another person made it; those of
 * `assertMayRefund`; and those of `reverse`, such as `reversal-exceeds-transaction` if any of it was reversed before.
 */
export function* undoRedemption(
  ctx: Context,
  { store, member, tillId, transferId }: AtCounter & { readonly transferId: number },
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const { role } = yield* assertMay(store, member, 'useTill');
  const redeemed = yield* findTransfer(store.id, transferId);
  if (redeemed?.kind !== 'debit') throw new Fault('not-found');
  const isOwn = redeemed.actor === actorOf(member);
  if (!isOwn && !isPermitted(role, 'changeCards')) throw new Fault('insufficient-scope');
  const { amount, cardId } = redeemed;
  if (!isOwn || !isUndoable(ctx, redeemed.createdAt))
    yield* assertMayRefund({ storeId: store.id, id: member.id }, amount);
  const undone = yield* reverse(ctx, {
    store,
    transferId,
    amount,
    actor: actorOf(member),
    note: null,
    scopes,
    versionsOf: () => null,
  });
  const details = {
    amount: formatMoney(amount),
    entry: ctx.keys.publicIds.of(undone.transfer.id),
    undoes: ctx.keys.publicIds.of(transferId),
  };
  const by = { staffId: member.id, tillId };
  yield* recordAction(ctx, by, { storeId: store.id, action: 'card-refunded', subjectId: cardId, details });
  return undone;
}
