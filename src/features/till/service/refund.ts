/** Refunds by staff: redemptions at the counter, and entries of a card in the office. */

import type { Context } from '../../../core/storage/context.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import { subtract, type Money } from '../../../core/money/domain/money.ts';
import type { Scope } from '../../../core/stores/domain/store.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findTransfer, listTransfersBefore, sumReversals } from '../../../core/money/storage/transfer.ts';
import { requireCard } from '../../../core/cards/service/present-card.ts';
import { reverse } from '../../../core/money/service/spend.ts';
import { moveAsStaff, movementOf, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { assertRefundLimit } from '../../../core/staff/service/limits.ts';

/** An entry, and what of it can still be refunded. */
export type Refundable = { readonly transfer: Transfer; readonly left: Money };

/** Entries of a card that are examined for redemptions. */
const examinedMax = 20;

function isRedemption({ kind }: Transfer): boolean {
  return kind === 'debit' || kind === 'capture';
}

function* refundableOf(transfer: Transfer): Script<Refundable> {
  const { storeId, id, amount } = transfer;
  const minor = yield* sumReversals(storeId, id);
  return { transfer, left: subtract(amount, { minor, currency: amount.currency }) };
}

/** A card with the newest of its redemptions of which something is left to refund. */
export type RefundableCard = { readonly card: Card; readonly redemptions: readonly Refundable[] };

/** @throws Fault `not-found`. */
export function* findRefundableCard({ storeId, cardId }: CardKey): Script<RefundableCard> {
  const [card, redemptions] = yield* parallel(
    requireCard(storeId, cardId),
    listRefundable({ storeId, cardId }),
  );
  return { card, redemptions };
}

function* listRefundable(key: CardKey): Script<readonly Refundable[]> {
  const transfers = yield* listTransfersBefore(key, { before: null, limit: examinedMax });
  const found = yield* parallel(...transfers.filter(isRedemption).map(refundableOf));
  return found.filter(({ left }) => left.minor > 0n);
}

/** A redemption, and its card. @throws Fault `not-found` if it is not the id of a redemption. */
export function* findRefundable(
  storeId: number,
  transferId: number,
): Script<RefundableCard & { readonly chosen: Refundable }> {
  const transfer = yield* findTransfer(storeId, transferId);
  if (!transfer || !isRedemption(transfer)) throw new Fault('not-found');
  const chosen = yield* refundableOf(transfer);
  return { ...(yield* findRefundableCard({ storeId, cardId: transfer.cardId })), chosen };
}

/** An entry of a card's ledger. @throws Fault `not-found` if the card has no such entry. */
export function* findEntry({ storeId, cardId }: CardKey, transferId: number): Script<Refundable> {
  const transfer = yield* findTransfer(storeId, transferId);
  if (transfer?.cardId !== cardId) throw new Fault('not-found');
  return yield* refundableOf(transfer);
}

type Refund = { readonly transferId: number; readonly amount: Money; readonly note: string | null };

type Refunded = { readonly transfer: Transfer; readonly card: Card };

/**
 * Refunds a redemption to its card at the counter, in whole or in part, within the person's limit.
 * @throws Fault `not-found` if it is not a redemption; those of `moveAsStaff`, `assertRefundLimit` and `reverse`.
 */
export function* refundToCard(ctx: Context, by: ByStaff, refund: Refund): Script<Refunded> {
  return yield* refundAs(ctx, by, { ...refund, permission: 'useTill', scopes: ['redeem_gift_cards'] });
}

/**
 * Refunds any entry that can be reversed, in whole or in part, within the person's limit.
 * @throws Fault those of `moveAsStaff`, `assertRefundLimit` and `reverse`.
 */
export function* refundEntry(ctx: Context, by: ByStaff, refund: Refund): Script<Refunded> {
  const scopes = ['redeem_gift_cards', 'write_gift_cards'] as const;
  return yield* refundAs(ctx, by, { ...refund, permission: 'changeCards', scopes });
}

type Way = { readonly permission: 'useTill' | 'changeCards'; readonly scopes: readonly Scope[] };

function* refundAs(
  ctx: Context,
  by: ByStaff,
  { transferId, amount, note, permission, scopes }: Refund & Way,
): Script<Refunded> {
  const { store } = by;
  return yield* moveAsStaff(ctx, by, {
    permission,
    *change({ member, actor, locationId }) {
      yield* assertRefundLimit(ctx, store, member, { transferId, amount });
      const transfer = permission === 'useTill' ? yield* findTransfer(store.id, transferId) : undefined;
      if (permission === 'useTill' && !(transfer && isRedemption(transfer))) throw new Fault('not-found');
      return yield* reverse(ctx, {
        store,
        transferId,
        amount,
        actor,
        locationId,
        note,
        scopes,
        versionsOf: () => null,
      });
    },
    entryOf: ({ transfer }) => ({
      action: 'card-refunded',
      subjectId: transfer.cardId,
      details: { ...movementOf(ctx, transfer), refunds: ctx.keys.publicIds.of(transferId) },
    }),
  });
}
