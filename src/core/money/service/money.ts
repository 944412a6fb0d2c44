/** Shared by the operations on a card's money: movements, their errors, releases of holds, and transfers. */

import type { Context } from '../../storage/context.ts';
import { isDisabled, isExpired, isSuspended, unheldOf, type Card } from '../../cards/domain/card.ts';
import { versionTagOf } from '../../cards/service/version.ts';
import { dayOf } from '../../domain/day.ts';
import { movementEvent } from '../../events/domain/event.ts';
import { Fault } from '../../domain/fault.ts';
import { isHoldExpired, type Hold, type HoldStatus } from '../domain/hold.ts';
import { effectOf, redeemedBy, type Movement, type Transfer } from '../domain/ledger.ts';
import { formatMoney } from '../domain/money.ts';
import { holdRecordOf } from '../../cards/domain/record.ts';
import type { Store } from '../../stores/domain/store.ts';
import {
  findCard,
  findCardState,
  lockCard,
  updateBalance,
  type CardKey,
  type ChainEnd,
  type CurrentCard,
  type MoveDemands,
  type LoadedCard,
} from '../../cards/storage/card.ts';
import { recordEvent } from '../../events/storage/event.ts';
import { closeHold, listOpenHolds } from '../storage/hold.ts';
import { RetryTransaction, parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import { recordTransfer, type NewTransfer } from '../storage/transfer.ts';

/** The fields of a movement that a caller can name. */
export type NamedDetails = {
  readonly reference: string | null;
  readonly note: string | null;
  readonly orderId: number | null;
  /** Default: none. */
  readonly orderReference?: string | null;
  readonly externalId?: string | null;
  readonly locationId?: number | null;
};

/** A movement on a card, with the details of its transfer. */
export type MoneyCommand = NamedDetails & {
  readonly store: Store;
  readonly cardId: number;
  readonly actor: string;
  /** The versions of the card that the request accepts (`If-Match`), as `versionTagOf` returns them; null: any. */
  readonly versions: readonly string[] | null;
};

/** @throws Fault `not-found` if the store has no such card. */
export function* requireCard(storeId: number, cardId: number): Script<Card> {
  const card = yield* findCard(storeId, cardId);
  if (!card) throw new Fault('not-found');
  return card;
}

/** The card at present and its expired holds. @throws Fault `not-found` if the store has no such card. */
export function* loadCard(ctx: Context, key: CardKey): Script<LoadedCard> {
  const state = yield* findCardState(key, ctx.clock.earliest());
  if (!state) throw new Fault('not-found');
  return state;
}

/** The card at present. Expired holds reserve nothing, even before they are closed. */
export function* presentCard(ctx: Context, { storeId, id }: Pick<Card, 'storeId' | 'id'>): Script<Card> {
  return (yield* loadCard(ctx, { storeId, cardId: id })).card;
}

/** The present day in the store's time zone. */
export function today(ctx: Context, { timeZone }: Store): string {
  return dayOf(ctx.clock.earliest(), timeZone);
}

/** @throws Fault `precondition-failed` if `versions` does not include the version. */
export function assertVersion(versions: readonly string[] | null, { card, expiredHeld }: CurrentCard): void {
  if (!versions || versions.includes(versionTagOf(card))) return;
  // Some responses have the card with the holds that are expired and still open.
  const minor = card.held.minor + expiredHeld;
  if (expiredHeld > 0n && versions.includes(versionTagOf({ ...card, held: { ...card.held, minor } }))) return;
  throw new Fault('precondition-failed');
}

/** The state of the card that a movement requires. */
export type StateDemands = Omit<MoveDemands, 'version'>;

/** Allows every state of the card. */
export const anyState: StateDemands = { today: null, disabledAllowed: true, suspendedAllowed: true };

/** Requires a usable card. */
export function requireUsableState(ctx: Context, store: Store): StateDemands {
  return { today: today(ctx, store), disabledAllowed: false, suspendedAllowed: false };
}

/** The card of a movement, and the version that was read if the movement depends on it. */
export type CardToMove = { readonly store: Store; readonly cardId: number; readonly version: number | null };

/** Locks and reads a card. @throws Fault `not-found`, or `precondition-failed` if the request excludes its version. */
export function* requireVersion(
  ctx: Context,
  { store, cardId, versions }: Pick<MoneyCommand, 'store' | 'cardId' | 'versions'>,
): Script<LoadedCard> {
  const key = { storeId: store.id, cardId };
  yield* lockCard(key);
  const state = yield* loadCard(ctx, key);
  assertVersion(versions, state);
  return state;
}

/**
 * Locks and reads the card if the request has versions, and returns its version; null if the request has none.
 * @throws Fault `not-found`, `precondition-failed`.
 */
export function* lockNamedVersion(
  ctx: Context,
  { store, cardId, versions }: Pick<MoneyCommand, 'store' | 'cardId' | 'versions'>,
): Script<number | null> {
  if (!versions) return null;
  return (yield* requireVersion(ctx, { store, cardId, versions })).card.version;
}

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

  const expiredHolds = yield* findExpiredHolds(ctx, key);
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

/** The card's expired holds that are not closed yet. */
function* findExpiredHolds(ctx: Context, { storeId, cardId }: CardKey): Script<readonly Hold[]> {
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

/**
 * The details of a movement that follows another one or a hold: it takes over the order and the references of that one,
 * unless the caller names others, but neither the caller's own id nor the location.
 */
export function detailsAfter(
  earlier: Pick<Transfer, 'reference' | 'orderId' | 'orderReference'>,
  named: Partial<NamedDetails>,
): Omit<NamedDetails, 'note'> {
  return {
    reference: named.reference ?? earlier.reference,
    orderId: named.orderId ?? earlier.orderId,
    orderReference: named.orderReference ?? earlier.orderReference,
    externalId: named.externalId ?? null,
    locationId: named.locationId ?? null,
  };
}

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

/** The details of a transfer that its movement and its card do not give. */
type Details = NamedDetails & {
  readonly actor: string;
  readonly holdId?: number;
  readonly reverses?: number;
  /** Default: now. */
  readonly createdAt?: number;
};

/**
 * Records the transfer of a movement.
 * @param card the card after the movement.
 * @param end the end of the card's chain before the transfer.
 */
export function* record(
  ctx: Context,
  { card, end }: { readonly card: Card; readonly end: ChainEnd },
  movement: Movement,
  why: Details,
): Script<Transfer> {
  return yield* recordTransfer(ctx, end, transferOf(ctx, card, { movement, why }));
}

/** The transfer of a movement, before it has a place in the chain. @param card the card after the movement. */
export function transferOf(
  ctx: Context,
  card: Card,
  { movement, why }: { readonly movement: Movement; readonly why: Details },
): NewTransfer {
  return {
    ...movement,
    storeId: card.storeId,
    cardId: card.id,
    balanceAfter: card.balance,
    actor: why.actor,
    reference: why.reference,
    note: why.note,
    orderId: why.orderId,
    orderReference: why.orderReference ?? null,
    externalId: why.externalId ?? null,
    locationId: why.locationId ?? null,
    holdId: why.holdId ?? null,
    reverses: why.reverses ?? null,
    createdAt: why.createdAt ?? ctx.clock.now(),
  };
}

/** The changes of the card by a movement, in minor units. */
export function effect(movement: Movement): Amounts {
  return { balance: effectOf(movement), held: 0n, redeemed: redeemedBy(movement) };
}

/** The details of a transfer that has only an actor and a location. */
export function detailsOfActor(
  { actor, locationId = null }: { readonly actor: string; readonly locationId?: number | null },
  createdAt: number,
): Details {
  return { actor, locationId, createdAt, reference: null, note: null, orderId: null };
}
