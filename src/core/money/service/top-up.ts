/** Top-ups: sales of more value on existing cards. */

import type { Card } from '../../cards/domain/card.ts';
import { holderOf, topUpOccasion } from '../../emails/domain/email.ts';
import { cardUpdateEvents, movementEvent } from '../../events/domain/event.ts';
import { FieldErrors } from '../../domain/fault.ts';
import { topUpOf, type Transfer } from '../domain/ledger.ts';
import { exceeds, type Money } from '../domain/money.ts';
import { transactionOf } from '../../cards/domain/record.ts';
import type { Store } from '../../stores/domain/store.ts';
import { replaceCard, type CardKey } from '../../cards/storage/card.ts';
import { findChangeEnd, recordChange, type ChangeEnd } from '../../cards/storage/change.ts';
import type { Context } from '../../storage/context.ts';
import { enqueueEmail } from '../../emails/storage/email.ts';
import { recordEvent } from '../../events/storage/event.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { applyMovement, effect, readNothing } from './apply-movement.ts';
import { lockNamedVersion } from '../../cards/service/present-card.ts';
import { record, type MoneyCommand } from './transfer.ts';
import { requireUsableState } from './card-demands.ts';
import { largestBalance, limitError, type MovementResult } from './spend.ts';

/**
 * Sells more value on a usable card: on its own account, with the card's VAT, and with a receipt to the card's holder.
 * @param expiresOn a later last valid day of the card; null: it stays.
 * @param notify whether the holder gets a receipt by email, if there is one.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`, `card-expired`, or `invalid-parameter` if the balance
 * would exceed the store's limit, or the day is not later.
 */
export function* topUp(
  ctx: Context,
  command: MoneyCommand & {
    readonly amount: Money;
    readonly expiresOn: string | null;
    readonly notify: boolean;
  },
): Script<MovementResult> {
  const { store, actor, amount, expiresOn, notify } = command;
  const movement = topUpOf(amount);
  const version = yield* lockNamedVersion(ctx, command);
  const readEnd: (key: CardKey) => Script<ChangeEnd | null> =
    expiresOn === null ? readNothing : findChangeEnd;
  const target = { ...command, version };
  const moved = yield* applyMovement(ctx, target, effect(movement), requireUsableState(ctx, store), readEnd);
  const { card, chainEnd: end, seen: changeEnd } = moved;
  assertAllowed(store, card, expiresOn);
  const transfer = yield* record(ctx, { card, end }, movement, command);
  const { publicIds } = ctx.keys;
  const transaction = transactionOf(publicIds, transfer);
  yield* recordEvent(ctx, movementEvent(publicIds, 'gift_card.credited', card, { transaction }));
  if (notify) yield* enqueueReceipt(ctx, card, transfer);
  if (expiresOn === null || changeEnd === null || expiresOn === card.expiresOn) return { transfer, card };
  const extended: Card = { ...card, expiresOn, version: card.version + 1 };
  yield* replaceCard(card, extended);
  yield* recordChange(ctx, { before: card, after: extended, end: changeEnd, actor });
  for (const event of cardUpdateEvents(publicIds, extended, { expiresOn })) yield* recordEvent(ctx, event);
  return { transfer, card: extended };
}

/** @param card the card after the movement. @throws Fault `invalid-parameter` with all errors. */
function assertAllowed(store: Store, card: Card, expiresOn: string | null): void {
  const errors = new FieldErrors();
  const limit = store.issueLimit ?? largestBalance(card.balance.currency);
  if (exceeds(card.balance, limit)) errors.add('amount', limitError(limit, card.balance));
  if (expiresOn !== null && card.expiresOn === null)
    errors.add('expires_on', 'cannot be set, because the gift card never expires');
  if (expiresOn !== null && card.expiresOn !== null && expiresOn < card.expiresOn)
    errors.add('expires_on', `cannot be before ${card.expiresOn}, the gift card's last valid day`);
  errors.throwIfAny();
}

function* enqueueReceipt(ctx: Context, card: Card, { id }: Pick<Transfer, 'id'>): Script<void> {
  const holder = holderOf(card);
  if (!holder) return;
  yield* enqueueEmail(ctx, {
    storeId: card.storeId,
    cardId: card.id,
    kind: 'top_up',
    address: holder.email,
    code: null,
    sendAt: null,
    occasion: topUpOccasion(id),
  });
}
