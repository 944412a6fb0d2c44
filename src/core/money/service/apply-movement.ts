/** Changes the balance of a card, and says why it cannot be changed. */

import { isDisabled, isExpired, isSuspended, unheldOf, type Card } from '../../cards/domain/card.ts';
import { loadCard } from '../../cards/service/present-card.ts';
import { updateBalance, type CardKey, type MoveDemands, type LoadedCard } from '../../cards/storage/card.ts';
import { Fault } from '../../domain/fault.ts';
import { effectOf, redeemedBy, type Movement } from '../domain/ledger.ts';
import { formatMoney } from '../domain/money.ts';
import type { StateDemands } from './card-demands.ts';
import { expiredHoldsOf, closeExpiredHolds } from './hold-closing.ts';
import type { Context } from '../../storage/context.ts';
import type { Store } from '../../stores/domain/store.ts';
import { RetryTransaction, parallel, resolved, type Script } from '../../../database/sql/sql.ts';

/** The card of a movement, and the version that was read if the movement depends on it. */
export type CardToMove = { readonly store: Store; readonly cardId: number; readonly version: number | null };

/** For a movement that needs only its card. */
export function readNothing(): Script<null> {
  return resolved(null);
}

type Amounts = Parameters<typeof updateBalance>[1];

/**
 * Changes a card's balance and holds in one guarded statement. If the card does not allow it, expired holds are released
 * and the statement is retried once.
 * @param readAlso reads more rows together with the movement and after it, when the card is locked.
 * @returns the card after the movement, and the result of `readAlso`.
 * @throws Fault `not-found`, `card-disabled`, `card-expired`, `card-suspended`, `insufficient-balance`; RetryTransaction if the
 * card has another version, or now allows the movement.
 */
export function* applyMovement<T>(
  ctx: Context,
  { store, cardId, version }: CardToMove,
  amounts: Amounts,
  demands: StateDemands,
  readAlso: (key: CardKey) => Script<T>,
): Script<Pick<LoadedCard, 'card' | 'chainEnd'> & { readonly seen: T }> {
  const key = { storeId: store.id, cardId };
  const tried = yield* tryMovement(ctx, key, amounts, { ...demands, version }, readAlso);
  if (tried.isMoved) return tried;
  if (tried.expiredHeld === 0n) return rejectMovement(tried.card, amounts, demands);

  const expiredHolds = yield* expiredHoldsOf(ctx, key);
  // Each release adds one version.
  const versionAfter = version === null ? null : version + expiredHolds.length;
  const [, retried] = yield* parallel(
    closeExpiredHolds(ctx, expiredHolds),
    tryMovement(ctx, key, amounts, { ...demands, version: versionAfter }, readAlso),
  );
  return retried.isMoved ? retried : rejectMovement(retried.card, amounts, demands);
}

/** Applies a movement if the card allows it, and reads the card and the result of `readAlso` after it. */
function* tryMovement<T>(
  ctx: Context,
  key: CardKey,
  amounts: Amounts,
  demands: MoveDemands,
  readAlso: (key: CardKey) => Script<T>,
): Script<LoadedCard & { readonly isMoved: boolean; readonly seen: T }> {
  const [isMoved, state, seen] = yield* parallel(
    updateBalance(key, amounts, demands),
    loadCard(ctx, key),
    readAlso(key),
  );
  if (!isMoved && demands.version !== null && state.card.version !== demands.version)
    throw new RetryTransaction('the card has changed since it was read');
  return { ...state, isMoved, seen };
}

/** Throws the reason why a card did not allow a movement; RetryTransaction if the card, which was read later, now allows it. */
function rejectMovement(
  card: Card,
  amounts: Amounts,
  { today: day, disabledAllowed, suspendedAllowed }: StateDemands,
): never {
  if (!disabledAllowed && isDisabled(card)) throw new Fault('card-disabled');
  if (day !== null && isExpired(card, day)) throw new Fault('card-expired');
  if (!suspendedAllowed && isSuspended(card)) throw new Fault('card-suspended');
  if (unheldOf(card).minor + amounts.balance < amounts.held) throw insufficientBalance(card);
  throw new RetryTransaction('the card has changed and now allows the movement');
}

/** The error of an amount that exceeds the available balance, which it contains. */
function insufficientBalance(card: Card): Fault {
  const available = formatMoney(unheldOf(card));
  return new Fault('insufficient-balance', {
    detail: `The gift card has ${available} ${card.balance.currency.code} available.`,
    errors: { amount: [`must be at most ${available}, the available amount`] },
    extensions: { available },
  });
}

/** The changes of the card by a movement, in minor units. */
export function effect(movement: Movement): Amounts {
  return { balance: effectOf(movement), held: 0n, redeemed: redeemedBy(movement) };
}
