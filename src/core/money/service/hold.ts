/** Holds for a checkout: place, show, extend, capture, void and expire. */

import type { Context } from '../../storage/context.ts';
import { formatInstant } from '../../domain/day.ts';
import { movementEvent } from '../../events/domain/event.ts';
import { Fault } from '../../domain/fault.ts';
import { daySeconds, isHoldExpired, type Hold } from '../domain/hold.ts';
import { captureOf } from '../domain/ledger.ts';
import { exceeds, formatMoney, type Money } from '../domain/money.ts';
import { holdRecordOf, transactionOf } from '../../cards/domain/record.ts';
import type { Store } from '../../stores/domain/store.ts';
import { recordEvent } from '../../events/storage/event.ts';
import {
  claimExpiredHolds,
  findHold,
  insertHold,
  lengthenHold,
  listExpiredHolds,
  type HoldKey,
} from '../storage/hold.ts';
import { findTransfer } from '../storage/transfer.ts';
import { updateBalance } from '../../cards/storage/card.ts';
import { parallel, RetryTransaction, type Script } from '../../../database/sql/sql.ts';
import { anyState, requireUsableState } from './card-demands.ts';
import { applyMovement, readNothing } from './apply-movement.ts';
import { detailsAfter, type NamedDetails, record, type MoneyCommand } from './transfer.ts';
import { closeExpiredHolds, releaseHold, settleHold, type Held } from './hold-closing.ts';
import { loadCard, lockNamedVersion, presentCard } from '../../cards/service/present-card.ts';
import type { MovementResult } from './spend.ts';

/**
 * Reserves an amount of a usable card for a number of seconds.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`, `card-expired`, `card-suspended`, `insufficient-balance`.
 */
export function* placeHold(
  ctx: Context,
  command: MoneyCommand & { readonly amount: Money; readonly seconds: number },
): Script<Held> {
  const { store, cardId, amount } = command;
  const version = yield* lockNamedVersion(ctx, command);
  const amounts = { balance: 0n, held: amount.minor };
  const movementScript = applyMovement(
    ctx,
    { store, cardId, version },
    amounts,
    requireUsableState(ctx, store),
    readNothing,
  );
  const { card } = yield* movementScript;
  const latest = ctx.clock.latest();
  // The clock can advance between two readings: the hold lasts its seconds from its creation.
  const now = Math.min(ctx.clock.now(), latest);
  const hold: Hold = {
    storeId: store.id,
    id: ctx.random.id(),
    cardId,
    status: 'open',
    amount,
    captured: { minor: 0n, currency: amount.currency },
    actor: command.actor,
    reference: command.reference,
    note: command.note,
    orderId: command.orderId,
    orderReference: command.orderReference ?? null,
    externalId: command.externalId ?? null,
    locationId: command.locationId ?? null,
    createdAt: now,
    expiresAt: latest + command.seconds * 1_000,
    closedAt: null,
  };
  yield* insertHold(hold);
  yield* recordEvent(
    ctx,
    movementEvent(ctx.keys.publicIds, 'gift_card.held', card, {
      hold: holdRecordOf(ctx.keys.publicIds, hold, ctx.clock.earliest()),
    }),
  );
  return { hold, card };
}

/** A hold and its card at present. @throws Fault `not-found`. */
export function* showHold(ctx: Context, storeId: number, holdId: number): Script<Held> {
  const hold = yield* findHold(storeId, holdId);
  if (!hold) throw new Fault('not-found');
  return { hold, card: yield* presentCard(ctx, { storeId, id: hold.cardId }) };
}

/** A capture, and its hold and card at present. @throws Fault `not-found`. */
export function* showCapture(
  ctx: Context,
  storeId: number,
  transferId: number,
): Script<MovementResult & Held> {
  const transfer = yield* findTransfer(storeId, transferId);
  if (!transfer || transfer.holdId === null) throw new Fault('not-found');
  return { transfer, ...(yield* showHold(ctx, storeId, transfer.holdId)) };
}

type HoldCommand = {
  readonly store: Store;
  readonly holdId: number;
  /** Returns the versions of a card that the request accepts (`If-Match`); null: any. */
  readonly versionsOf: (cardId: number) => readonly string[] | null;
};

/** @throws Fault `not-found`, `precondition-failed`, `hold-expired`, `hold-closed`. */
function* requireOpenHold(
  ctx: Context,
  { store, holdId, versionsOf }: HoldCommand,
): Script<{ readonly held: Hold; readonly version: number | null }> {
  const held = yield* findHold(store.id, holdId);
  if (!held) throw new Fault('not-found');
  const { cardId } = held;
  const version = yield* lockNamedVersion(ctx, { store, cardId, versions: versionsOf(cardId) });
  if (held.status === 'expired' || isHoldExpired(held, ctx.clock.earliest())) throw new Fault('hold-expired');
  if (held.status !== 'open') throw new Fault('hold-closed', { detail: `The hold is ${held.status}.` });
  return { held, version };
}

/**
 * Debits an amount of a hold and releases the rest, even if the card has expired or was suspended since.
 * @param amount null: the whole hold.
 * @throws Fault `not-found`, `precondition-failed`, `hold-expired`, `hold-closed`, `capture-exceeds-hold`.
 */
export function* capture(
  ctx: Context,
  command: HoldCommand & { readonly amount: Money | null; readonly actor: string } & Partial<NamedDetails>,
): Script<MovementResult & Held> {
  const { held, version } = yield* requireOpenHold(ctx, command);
  const amount = command.amount ?? held.amount;
  if (exceeds(amount, held.amount)) {
    const reserved = formatMoney(held.amount);
    throw new Fault('capture-exceeds-hold', {
      detail: `The hold reserves ${reserved} ${held.amount.currency.code}.`,
      errors: { amount: [`must be at most ${reserved}, the amount of the hold`] },
      extensions: { held: reserved },
    });
  }
  const now = ctx.clock.now();
  const closing = { status: 'captured', captured: amount.minor, closedAt: now, version } as const;
  const { hold: closed, card, chainEnd: end } = yield* settleHold(ctx, held, closing);
  const transfer = yield* record(ctx, { card, end }, captureOf(amount), {
    actor: command.actor,
    ...detailsAfter(held, command),
    note: command.note ?? held.note,
    holdId: held.id,
    createdAt: now,
  });
  const hold = holdRecordOf(ctx.keys.publicIds, closed, now);
  yield* recordEvent(
    ctx,
    movementEvent(ctx.keys.publicIds, 'gift_card.redeemed', card, {
      transaction: transactionOf(ctx.keys.publicIds, transfer),
      hold,
    }),
  );
  if (exceeds(held.amount, amount))
    yield* recordEvent(ctx, movementEvent(ctx.keys.publicIds, 'gift_card.hold_released', card, { hold }));
  return { transfer, hold: closed, card };
}

/**
 * Extends a hold to a number of seconds from now, even if its card has expired since. It never shortens a hold: if it
 * lasts longer already, nothing changes.
 * @throws Fault `not-found`, `precondition-failed`, `hold-expired`, `hold-closed`; `invalid-parameter` on `expires_in`
 * beyond the store's limit, which names the latest time.
 */
export function* extendOpenHold(
  ctx: Context,
  command: HoldCommand & { readonly seconds: number; readonly actor: string },
): Script<Held> {
  const { held, version } = yield* requireOpenHold(ctx, command);
  const key = { storeId: held.storeId, cardId: held.cardId };
  const expiresAt = ctx.clock.latest() + command.seconds * 1_000;
  if (expiresAt <= held.expiresAt)
    return { hold: held, card: yield* presentCard(ctx, { ...key, id: held.cardId }) };
  assertInHoldLimit(command.store, held, expiresAt);
  const [isMoved, isExtended, { card }] = yield* parallel(
    updateBalance(key, { balance: 0n, held: 0n }, { ...anyState, version }),
    lengthenHold({
      storeId: held.storeId,
      holdId: held.id,
      expiresAt,
      previousExpiresAt: held.expiresAt,
      actor: command.actor,
      createdAt: ctx.clock.now(),
    }),
    loadCard(ctx, key),
  );
  if (!isMoved || !isExtended)
    throw new RetryTransaction('the hold or its card has changed since it was read');
  const hold = { ...held, expiresAt };
  yield* recordEvent(
    ctx,
    movementEvent(ctx.keys.publicIds, 'gift_card.hold_extended', card, {
      hold: holdRecordOf(ctx.keys.publicIds, hold, ctx.clock.earliest()),
    }),
  );
  return { hold, card };
}

/** @throws Fault `invalid-parameter` if a hold would last longer than its store allows. */
function assertInHoldLimit({ holdLimitDays }: Store, { createdAt }: Hold, expiresAt: number): void {
  const latestAt = createdAt + holdLimitDays * daySeconds * 1_000;
  if (expiresAt <= latestAt) return;
  const latest = formatInstant(latestAt);
  throw new Fault('invalid-parameter', {
    detail: `The hold can last until ${latest}.`,
    errors: {
      expires_in: [
        `must end at ${latest} at the latest, ${holdLimitDays} days after the creation of the hold`,
      ],
    },
  });
}

/** Releases a hold. @throws Fault `not-found`, `precondition-failed`, `hold-expired`, `hold-closed`. */
export function* voidOpenHold(ctx: Context, command: HoldCommand): Script<Held> {
  const { held, version } = yield* requireOpenHold(ctx, command);
  return yield* releaseHold(ctx, held, { status: 'voided', closedAt: ctx.clock.now(), version });
}

/** Returns up to `limit` holds of all stores that have expired. */
export function* findExpiredHolds(ctx: Context, limit: number): Script<readonly HoldKey[]> {
  return yield* listExpiredHolds(ctx.clock.earliest(), limit);
}

/**
 * Closes holds that have expired, except those that another process closes. The fixed order of the cards prevents
 * deadlocks.
 * @returns the number of closed holds.
 */
export function* expireHolds(ctx: Context, found: readonly HoldKey[]): Script<number> {
  const expiredHolds = yield* claimExpiredHolds(found, ctx.clock.earliest());
  yield* closeExpiredHolds(
    ctx,
    expiredHolds.toSorted((left, right) =>
      left.storeId === right.storeId ? left.cardId - right.cardId : left.storeId - right.storeId,
    ),
  );
  return expiredHolds.length;
}
