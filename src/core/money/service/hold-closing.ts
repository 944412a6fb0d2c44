/** The end of a hold: captured, released or expired. */

import type { Card } from '../../cards/domain/card.ts';
import { holdRecordOf } from '../../cards/domain/record.ts';
import { loadCard } from '../../cards/service/present-card.ts';
import { updateBalance, type CardKey, type LoadedCard } from '../../cards/storage/card.ts';
import { movementEvent } from '../../events/domain/event.ts';
import { recordEvent } from '../../events/storage/event.ts';
import { isHoldExpired, type Hold, type HoldStatus } from '../domain/hold.ts';
import { anyState } from './card-demands.ts';
import { closeHold, listOpenHolds } from '../storage/hold.ts';
import type { Context } from '../../storage/context.ts';
import { RetryTransaction, parallel, type Script } from '../../../database/sql/sql.ts';

/** The card's expired holds that are not closed yet. */
export function* expiredHoldsOf(ctx: Context, { storeId, cardId }: CardKey): Script<readonly Hold[]> {
  const now = ctx.clock.earliest();
  return (yield* listOpenHolds(storeId, cardId)).filter((hold) => isHoldExpired(hold, now));
}

/** Closes expired holds and publishes their release. */
export function* closeExpiredHolds(ctx: Context, expiredHolds: readonly Hold[]): Script<void> {
  const releases = expiredHolds.map((hold) =>
    releaseHold(ctx, hold, { status: 'expired', closedAt: hold.expiresAt, version: null }),
  );
  yield* parallel(...releases);
}

/** A hold and its card after the operation. */
export type Held = { readonly hold: Hold; readonly card: Card };

/** The result of closing a hold. */
export type Closing = {
  readonly status: Exclude<HoldStatus, 'open'>;
  /** The captured amount in minor units; the rest is released. */
  readonly captured: bigint;
  readonly closedAt: number;
  /** The version that the card must still have; null: any. */
  readonly version: number | null;
};

/**
 * Closes an open hold: debits the captured amount and releases the rest. The card is always locked before the hold, which
 * prevents deadlocks.
 * @throws RetryTransaction if the hold was closed concurrently, or the card has another version.
 */
export function* settleHold(
  ctx: Context,
  hold: Hold,
  { status, captured, closedAt, version }: Closing,
): Script<Held & Pick<LoadedCard, 'chainEnd'>> {
  const key = { storeId: hold.storeId, cardId: hold.cardId };
  const amounts = { balance: -captured, held: -hold.amount.minor, redeemed: captured };
  const [isMoved, isClosed, { card, chainEnd }] = yield* parallel(
    updateBalance(key, amounts, { ...anyState, version }),
    closeHold(hold, { status, captured, closedAt }),
    loadCard(ctx, key),
  );
  if (!isClosed) throw new RetryTransaction('the hold was closed concurrently');
  if (!isMoved && version !== null) throw new RetryTransaction('the card has changed since it was read');
  if (!isMoved) throw new Error(`the hold ${hold.id} was not part of what its card held`);
  const { currency } = hold.amount;
  return { hold: { ...hold, status, captured: { minor: captured, currency }, closedAt }, card, chainEnd };
}

/** Releases an open hold, and publishes the release. @throws RetryTransaction as `settleHold` does. */
export function* releaseHold(
  ctx: Context,
  open: Hold,
  closing: Omit<Closing, 'captured'> & { readonly status: 'voided' | 'expired' },
): Script<Held> {
  const { hold, card } = yield* settleHold(ctx, open, { ...closing, captured: 0n });
  const details = { hold: holdRecordOf(ctx.keys.publicIds, hold, ctx.clock.earliest()) };
  yield* recordEvent(ctx, movementEvent(ctx.keys.publicIds, 'gift_card.hold_released', card, details));
  return { hold, card };
}
