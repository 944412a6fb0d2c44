/**
 * Money that goes back: refunds, and disputes that were lost. The sale and its card are locked, and both are brought to
 * what the refunds and the dispute say, however often and in which order they are read.
 */

import { isDisabled, isSuspended, unheldOf, type Card } from '../../../core/cards/domain/card.ts';
import type { DisputeState } from '../domain/payment.ts';
import { isPaid, type OnlineRefund, type OnlineSale, type RefundRequester } from '../domain/sale.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { lockCard } from '../../../core/cards/storage/card.ts';
import { sumReversals } from '../../../core/money/storage/transfer.ts';
import { insertRefund } from '../storage/refund.ts';
import type { StoredSale } from '../storage/sale.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { resumeCard, suspendCard } from '../../../core/cards/service/suspension.ts';
import { presentCard } from '../../../core/cards/service/present-card.ts';
import { reverse } from '../../../core/money/service/spend.ts';
import { changeCard } from '../../card-pages/service/card.ts';
import { saleActor } from './issuing.ts';

const keyLength = 16;

/** Whether a dispute has taken the money, at least until it is won. */
export function hasTaken(dispute: DisputeState | null): boolean {
  return dispute === 'open' || dispute === 'lost';
}

function sumOf(refunds: readonly OnlineRefund[]): bigint {
  return refunds
    .filter(({ state }) => state !== 'failed')
    .reduce((sum, { amount }) => sum + amount.minor, 0n);
}

function largerOf(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function lesserOf(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** The card of an issued sale, and what of its issue was reversed. */
type Reversed = { readonly card: Card; readonly reversed: bigint };

/** Reverses a part of the issue, as far as the card has it unheld. Null: all that it has. */
function* reverseUpTo(
  ctx: Context,
  {
    store,
    sale,
    cardId,
    issueId,
    actor,
    wanted,
  }: {
    readonly store: Store;
    readonly sale: StoredSale;
    readonly cardId: number;
    readonly issueId: number;
    readonly actor: string;
    readonly wanted: bigint | null;
  },
): Script<Reversed> {
  const key = { storeId: store.id, id: cardId };
  yield* lockCard({ storeId: store.id, cardId });
  const card = yield* presentCard(ctx, key);
  const reversed = yield* sumReversals(store.id, issueId);
  const most = lesserOf(unheldOf(card).minor, sale.amount.minor - reversed);
  const minor = wanted === null ? most : lesserOf(most, wanted - reversed);
  if (minor <= 0n) return { card, reversed };
  const result = yield* reverse(ctx, {
    store,
    transferId: issueId,
    amount: { minor, currency: sale.amount.currency },
    actor,
    scopes: ['write_gift_cards'],
    versionsOf: () => null,
    cancelsSale: true,
  });
  return { card: yield* presentCard(ctx, result.card), reversed: reversed + minor };
}

/** A card of which nothing is left is disabled; one of which a hold is left is suspended until it has ended. */
function* stopCard(
  ctx: Context,
  { store, card, actor }: { readonly store: Store; readonly card: Card; readonly actor: string },
): Script<void> {
  if (isDisabled(card)) return;
  const command = { store, cardId: card.id, actor };
  if (card.balance.minor === 0n) yield* changeCard(ctx, { ...command, changes: { disable: true } });
  else if (card.held.minor > 0n && !isSuspended(card))
    yield* suspendCard(ctx, { ...command, versions: null, reason: null });
}

/** Suspends the card of a disputed sale, and resumes it when the dispute is won. */
function* followDispute(
  ctx: Context,
  {
    store,
    sale,
    cardId,
    isEscalated,
  }: {
    readonly store: Store;
    readonly sale: StoredSale;
    readonly cardId: number;
    readonly isEscalated: boolean;
  },
): Script<number | null> {
  const card = yield* presentCard(ctx, { storeId: store.id, id: cardId });
  const command = { store, cardId, actor: saleActor, versions: null };
  const { dispute, stoppedAt } = sale;
  if (dispute === null || isDisabled(card)) return stoppedAt;
  if (dispute === 'won') {
    // A suspension by staff stays.
    if (stoppedAt !== null && card.suspendedAt === stoppedAt) yield* resumeCard(ctx, command);
    return null;
  }
  if (isSuspended(card)) return stoppedAt;
  // Staff can resume the card in spite of a warning or a dispute, but not before it has begun.
  if (stoppedAt !== null && !isEscalated) return stoppedAt;
  const suspended = yield* suspendCard(ctx, { ...command, reason: null });
  return suspended.card.suspendedAt;
}

/** A sale after its card was brought to what went back. */
export type Converged = {
  readonly sale: StoredSale;
  /** Whether a hold keeps a part on the card that went back. */
  readonly isIncomplete: boolean;
};

/** The facts that decide how much goes back. */
type Facts = {
  readonly store: Store;
  readonly sale: StoredSale;
  readonly refunds: readonly OnlineRefund[];
};

/**
 * Brings a paid sale and its card to its refunds and its dispute.
 * @param isEscalated whether the dispute has just begun.
 */
export function* converge(
  ctx: Context,
  { store, sale, refunds, isEscalated }: Facts & { readonly isEscalated: boolean },
): Script<Converged> {
  const { currency } = sale.paid;
  const amountOf = (minor: bigint): Money => ({ minor, currency });
  const refunded = sumOf(refunds);
  const { cardId, issueId } = sale;
  if (cardId === null || issueId === null) {
    const taken = refunded + (hasTaken(sale.dispute) ? sale.disputed.minor : 0n);
    const owed = sale.state === 'returned' ? largerOf(0n, sale.paid.minor - taken) : 0n;
    return {
      sale: { ...sale, refunded: amountOf(refunded), loss: amountOf(0n), owed: amountOf(owed) },
      isIncomplete: false,
    };
  }
  const taken = refunded + (sale.dispute === 'lost' ? sale.disputed.minor : 0n);
  // An open dispute has taken the money, and can still return it.
  const back = refunded + (hasTaken(sale.dispute) ? sale.disputed.minor : 0n);
  const wanted = { store, sale, cardId, issueId, actor: saleActor, wanted: taken };
  const { card, reversed } = yield* reverseUpTo(ctx, wanted);
  const stoppedAt = yield* followDispute(ctx, { store, sale, cardId, isEscalated });
  if (taken > 0n) yield* stopCard(ctx, { store, card, actor: saleActor });
  const missing = largerOf(0n, lesserOf(taken, sale.amount.minor) - reversed);
  return {
    sale: {
      ...sale,
      stoppedAt,
      refunded: amountOf(refunded),
      loss: amountOf(largerOf(0n, taken - reversed)),
      owed: amountOf(largerOf(0n, reversed - back)),
    },
    isIncomplete: missing > 0n && card.held.minor > 0n,
  };
}

type Request = {
  readonly by: RefundRequester;
  readonly actor: string;
  readonly reason: string | null;
};

/** Inserts a refund that is requested from the provider. */
export function* insertRequested(
  ctx: Context,
  { storeId, id: saleId }: StoredSale,
  { by, actor, reason, amount }: Request & { readonly amount: Money },
): Script<OnlineRefund> {
  const refund: OnlineRefund = {
    storeId,
    saleId,
    id: ctx.random.id(),
    key: Buffer.from(ctx.random.bytes(keyLength)).toString('base64url'),
    by,
    actor,
    reason,
    amount,
    state: 'requested',
    providerId: null,
    detail: null,
    createdAt: ctx.clock.now(),
    settledAt: null,
  };
  yield* insertRefund(refund);
  return refund;
}

/**
 * Takes all that is left off the card of a paid sale and stops it.
 * @returns what is to go back and was not requested: this amount is computed after the stop, under the lock of the card.
 */
export function* takeWhatIsLeft(
  ctx: Context,
  { store, sale, refunds, actor }: Facts & { readonly actor: string },
): Script<bigint> {
  const { cardId, issueId } = sale;
  const refunded = sumOf(refunds);
  if (cardId === null || issueId === null)
    return sale.paid.minor - refunded - (hasTaken(sale.dispute) ? sale.disputed.minor : 0n);
  const { card, reversed } = yield* reverseUpTo(ctx, { store, sale, cardId, issueId, actor, wanted: null });
  yield* stopCard(ctx, { store, card, actor });
  return reversed - refunded - (hasTaken(sale.dispute) ? sale.disputed.minor : 0n);
}

/**
 * The amount that `takeWhatIsLeft` would return now, for people who decide. The refund computes it after the stop of the card,
 * when it can be less.
 */
export function refundableOf(
  { state, amount, paid, refunded, owed, loss, dispute }: OnlineSale,
  card: Card | null,
): Money {
  const amountOf = (minor: bigint): Money => ({ minor: largerOf(0n, minor), currency: paid.currency });
  if (!isPaid(state) || hasTaken(dispute)) return amountOf(0n);
  if (!card) return amountOf(paid.minor - refunded.minor);
  const reversed = refunded.minor + owed.minor - loss.minor;
  const left = lesserOf(unheldOf(card).minor, amount.minor - reversed);
  return amountOf(reversed + left - refunded.minor);
}
