/** Redemptions at the counter, and their undoing. */

import type { Context } from '../../../core/storage/context.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { scopes } from '../../../core/stores/domain/store.ts';
import { findTransfer, sumReversals } from '../../../core/money/storage/transfer.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { moveAsStaff, movementOf, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { assertRefundLimit, isUndoable } from '../../../core/staff/service/limits.ts';
import { assertMay } from '../../../core/staff/service/permission.ts';
import { loadCard } from '../../../core/cards/service/present-card.ts';
import { debit, reverse } from '../../../core/money/service/spend.ts';

type Redemption = {
  readonly cardId: number;
  readonly amount: Money;
  readonly reference: string | null;
  readonly note: string | null;
};

/**
 * Debits an amount of a usable card.
 * @throws Fault as `debit` and `moveAsStaff` do.
 */
export function* redeem(
  ctx: Context,
  by: ByStaff,
  redemption: Redemption,
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  return yield* moveAsStaff(ctx, by, {
    permission: 'useTill',
    change: ({ actor, locationId }) =>
      debit(ctx, {
        store: by.store,
        actor,
        locationId,
        orderId: null,
        versions: null,
        partial: false,
        ...redemption,
      }),
    entryOf: ({ transfer }) => ({
      action: 'card-redeemed',
      subjectId: transfer.cardId,
      details: movementOf(ctx, transfer),
    }),
  });
}

export type UndoableRedemption = {
  readonly transfer: Transfer;
  /** Minor units that were reversed. */
  readonly reversed: bigint;
  readonly card: Card;
};

/** Returns the reversed amount of an entry, in minor units. */
export function* sumReversed(storeId: number, transferId: number): Script<bigint> {
  return yield* sumReversals(storeId, transferId);
}

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
 * `assertRefundLimit`; and those of `reverse`, such as `reversal-exceeds-transaction` if any of it was reversed before.
 */
export function* undoRedemption(
  ctx: Context,
  by: ByStaff,
  transferId: number,
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const { store } = by;
  return yield* moveAsStaff(ctx, by, {
    permission: 'useTill',
    *change({ member, actor, locationId }) {
      const redeemed = yield* findTransfer(store.id, transferId);
      if (redeemed?.kind !== 'debit') throw new Fault('not-found');
      const isOwn = redeemed.actor === actor;
      if (!isOwn && !isPermitted(member, 'changeCards')) throw new Fault('insufficient-scope');
      const { amount } = redeemed;
      if (!isOwn || !isUndoable(ctx, redeemed.createdAt))
        yield* assertRefundLimit(ctx, store, member, { transferId, amount });
      return yield* reverse(ctx, {
        store,
        transferId,
        amount,
        actor,
        locationId,
        note: null,
        scopes,
        versionsOf: () => null,
      });
    },
    entryOf: ({ transfer }) => ({
      action: 'card-refunded',
      subjectId: transfer.cardId,
      details: { ...movementOf(ctx, transfer), undoes: ctx.keys.publicIds.of(transferId) },
    }),
  });
}

/** Checks that a person may end the key of a redemption. @throws Fault as `assertMay` does. */
export function* endRedemptionKey<Result>({ store, member }: ByStaff, result: Result): Script<Result> {
  yield* assertMay(store, member, 'useTill');
  return result;
}
