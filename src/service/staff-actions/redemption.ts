/** Redemptions at the counter, and their undoing. */

import type { Context } from '../../storage/context.ts';
import type { Card } from '../../domain/cards/card.ts';
import { Fault } from '../../domain/fault.ts';
import type { Transfer } from '../../domain/money/ledger.ts';
import { formatMoney, type Money } from '../../domain/money/money.ts';
import { actorOf, isPermitted } from '../../domain/staff/staff.ts';
import { scopes } from '../../domain/stores/store.ts';
import { findTransfer, sumReversals } from '../../storage/money/transfer.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { asStaff, type ByStaff } from './as-staff.ts';
import { assertMay, assertMayRefund, isUndoable } from './limits.ts';
import { loadCard } from '../money/money.ts';
import { debit, reverse } from '../money/spend.ts';
import { recordAction } from '../staff/staff.ts';

type Redemption = { readonly cardId: number; readonly amount: Money; readonly reference: string | null };

/**
 * Debits an amount of a usable card, and adds it to the audit log.
 * @throws Fault as `debit` and `assertMay` do.
 */
export function* redeem(
  ctx: Context,
  by: ByStaff,
  { cardId, amount, reference }: Redemption,
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  return yield* asStaff(ctx, by, {
    permission: 'useTill',
    change: ({ actor }) =>
      debit(ctx, {
        store: by.store,
        cardId,
        actor,
        reference,
        note: null,
        orderId: null,
        versions: null,
        amount,
        partial: false,
      }),
    entryOf: ({ transfer }) => ({
      action: 'card-redeemed',
      subjectId: cardId,
      details: { amount: formatMoney(transfer.amount), entry: ctx.keys.publicIds.of(transfer.id) },
    }),
  });
}

export type UndoableRedemption = {
  readonly transfer: Transfer;
  /** Minor units that were reversed. */
  readonly reversed: bigint;
  readonly card: Card;
};

/** @throws Fault `not-found` if it is not the id of a redemption. */
export function* findRedemption(
  ctx: Context,
  storeId: number,
  transferId: number,
): Script<UndoableRedemption> {
  const [transfer, reversed] = yield* parallel(
    findTransfer(storeId, transferId),
    sumReversals(storeId, transferId),
  );
  if (transfer?.kind !== 'debit') throw new Fault('not-found');
  const { card } = yield* loadCard(ctx, { storeId, cardId: transfer.cardId });
  return { transfer, reversed, card };
}

/**
 * Reverses a redemption as a whole. After 15 minutes it is a refund, and so is the undoing of another person's redemption,
 * which only managers can do.
 * @throws Fault `not-found` if it is not a redemption; `insufficient-scope` if another person made it; those of
 * `assertMayRefund`; and those of `reverse`, such as `reversal-exceeds-transaction` if any of it was reversed before.
 */
export function* undoRedemption(
  ctx: Context,
  { store, member, tillId }: ByStaff,
  transferId: number,
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const { role } = yield* assertMay(store, member, 'useTill');
  const redeemed = yield* findTransfer(store.id, transferId);
  if (redeemed?.kind !== 'debit') throw new Fault('not-found');
  const isOwn = redeemed.actor === actorOf(member);
  if (!isOwn && !isPermitted(role, 'changeCards')) throw new Fault('insufficient-scope');
  const { amount, cardId } = redeemed;
  if (!isOwn || !isUndoable(ctx, redeemed.createdAt))
    yield* assertMayRefund(ctx, { store, member, transferId, amount });
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
