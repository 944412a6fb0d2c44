/**
 * What the operations on a card's money share: finding out why a guarded movement was refused,
 * releasing holds that have run out, and recording what moved.
 */

import type { Context } from '../context.ts';
import { availableOf, isDisabled, isExpired, type Card } from '../domain/card.ts';
import { dayOf } from '../domain/day.ts';
import { cardMoved } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { hasRunOut, type Hold } from '../domain/hold.ts';
import { effectOf, type Movement, type Transfer } from '../domain/ledger.ts';
import { formatMoney } from '../domain/money.ts';
import { holdRecordOf } from '../domain/record.ts';
import type { Store } from '../domain/store.ts';
import { findCard, moveBalance, type MoveDemands } from '../storage/card.ts';
import { announce } from '../storage/event.ts';
import { closeHold, listOpenHolds } from '../storage/hold.ts';
import { Rerun, type Script } from '../storage/sql.ts';
import { recordTransfer } from '../storage/transfer.ts';

/** Who moves money, on which card, and what is to be written beside it. */
export type MoneyCommand = {
  readonly store: Store;
  readonly cardId: number;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly orderId: number | null;
  /** The versions of the card that the caller would change; null: any. */
  readonly versions: readonly number[] | null;
};

/** @throws Fault `not-found` if the store has no such card. */
export function* requireCard(storeId: number, cardId: number): Script<Card> {
  const card = yield* findCard(storeId, cardId);
  if (!card) throw new Fault('not-found');
  return card;
}

/** The card as it stands now: holds that have run out reserve nothing, closed yet or not. Writes nothing. */
export function* presentCard(ctx: Context, card: Card): Script<Card> {
  if (card.held.minor === 0n) return card;
  const now = ctx.clock.now();
  const open = yield* listOpenHolds(card.storeId, card.id);
  const runOut = open
    .filter((hold) => hasRunOut(hold, now))
    .reduce((sum, { amount }) => sum + amount.minor, 0n);
  return { ...card, held: { minor: card.held.minor - runOut, currency: card.held.currency } };
}

export function today(ctx: Context, { timeZone }: Store): string {
  return dayOf(ctx.clock.now(), timeZone);
}

/** @throws Fault `not-found`, or `precondition-failed` if the card is none of the versions that the caller would change. */
export function* requireVersion({
  store,
  cardId,
  versions,
}: Pick<MoneyCommand, 'store' | 'cardId' | 'versions'>): Script<Card> {
  const card = yield* requireCard(store.id, cardId);
  if (versions && !versions.includes(card.version)) throw new Fault('precondition-failed');
  return card;
}

/** What the card's state has to be for a movement. */
export type StateDemands = Omit<MoveDemands, 'version'>;

/** Demands nothing of the card's state. */
export const anyState: StateDemands = { today: null, disabledAllowed: true };

/** Demands a usable card. */
export function usable(ctx: Context, store: Store): StateDemands {
  return { today: today(ctx, store), disabledAllowed: false };
}

/** The card to move money of, and the version that it was read in, if the movement depends on what was read. */
export type MovedCard = { readonly store: Store; readonly cardId: number; readonly version: number | null };

/** The version that a movement depends on because the caller names versions; null: none is named. */
export function* namedVersion(
  command: Pick<MoneyCommand, 'store' | 'cardId' | 'versions'>,
): Script<number | null> {
  return command.versions && (yield* requireVersion(command)).version;
}

type Amounts = { readonly balance: bigint; readonly held: bigint };

/**
 * Moves a card's balance and holds in one guarded statement. If it is refused, holds that have run
 * out are released and it is tried once more; then the reason is told.
 * @returns the card after it.
 * @throws Fault `not-found`, `card-disabled`, `card-expired`, `insufficient-balance`; Rerun if the card is another
 * version, or would allow it by now.
 */
export function* move(
  ctx: Context,
  { store, cardId, version }: MovedCard,
  moved: Amounts,
  demands: StateDemands,
): Script<Card> {
  const where = { storeId: store.id, cardId };
  if (!(yield* moveBalance(where, moved, { ...demands, version }))) {
    const card = yield* requireCard(store.id, cardId);
    if (version !== null && card.version !== version)
      throw new Rerun('the card has changed since it was read');
    const released = yield* releaseRunOutHolds(ctx, card);
    // Each release is a change of the card, and one of this script's own doing.
    const versionNow = version === null ? null : version + released;
    const retried = released > 0 && (yield* moveBalance(where, moved, { ...demands, version: versionNow }));
    if (!retried) {
      const later = yield* requireCard(store.id, cardId);
      if (versionNow !== null && later.version !== versionNow)
        throw new Rerun('the card has changed meanwhile');
      refuseMove(later, moved, demands);
    }
  }
  return yield* presentCard(ctx, yield* requireCard(store.id, cardId));
}

/** Tells why a card did not allow a movement. It was read later: if it would allow it by now, the script starts over. */
function refuseMove(card: Card, moved: Amounts, { today: day, disabledAllowed }: StateDemands): never {
  if (!disabledAllowed && isDisabled(card)) throw new Fault('card-disabled');
  if (day !== null && isExpired(card, day)) throw new Fault('card-expired');
  if (availableOf(card).minor + moved.balance < moved.held) throw insufficientBalance(card);
  throw new Rerun('the card allows by now what it did not');
}

/** The refusal of more than there is: it names what there is. */
function insufficientBalance(card: Card): Fault {
  const available = formatMoney(availableOf(card));
  return new Fault('insufficient-balance', {
    detail: `The gift card has ${available} ${card.balance.currency.code} available.`,
    errors: { amount: [`exceeds what is available: ${available}`] },
    extensions: { available },
  });
}

/** Closes the card's holds that have run out, and answers how many there were. */
export function* releaseRunOutHolds(ctx: Context, card: Card): Script<number> {
  if (card.held.minor === 0n) return 0;
  const now = ctx.clock.now();
  const open = yield* listOpenHolds(card.storeId, card.id);
  const runOut = open.filter((hold) => hasRunOut(hold, now));
  for (const hold of runOut)
    yield* releaseHold(ctx, hold, { status: 'expired', closedAt: hold.expiresAt, version: null });
  return runOut.length;
}

/**
 * Gives back what an open hold reserves, and tells of it.
 * @returns the hold as it is then.
 * @throws Rerun if it was closed meanwhile, or the card is another version.
 */
export function* releaseHold(
  ctx: Context,
  hold: Hold,
  {
    status,
    closedAt,
    version,
  }: {
    readonly status: 'voided' | 'expired';
    readonly closedAt: number;
    /** The version that the card must still be; null: any. */
    readonly version: number | null;
  },
): Script<Hold> {
  if (!(yield* closeHold(hold, { status, captured: 0n, closedAt })))
    throw new Rerun('the hold was closed meanwhile');
  const where = { storeId: hold.storeId, cardId: hold.cardId };
  const freed = yield* moveBalance(
    where,
    { balance: 0n, held: -hold.amount.minor },
    { ...anyState, version },
  );
  if (!freed && version !== null) throw new Rerun('the card has changed since it was read');
  if (!freed) throw new Error(`the hold ${hold.id} was not part of what its card held`);
  const closed: Hold = { ...hold, status, closedAt };
  const card = yield* requireCard(hold.storeId, hold.cardId);
  yield* announce(
    ctx,
    cardMoved('gift_card.hold_released', card, { hold: holdRecordOf(closed, ctx.clock.now()) }),
  );
  return closed;
}

/** Records the transfer that explains a movement of the card, which `card` shows as it is after it. */
export function* record(
  ctx: Context,
  card: Card,
  movement: Movement,
  why: Pick<Transfer, 'actor' | 'reference' | 'note' | 'orderId'> & {
    readonly holdId?: number;
    readonly reverses?: number;
  },
): Script<Transfer> {
  const transfer = yield* recordTransfer(ctx, {
    ...movement,
    storeId: card.storeId,
    cardId: card.id,
    balanceAfter: card.balance,
    actor: why.actor,
    reference: why.reference,
    note: why.note,
    orderId: why.orderId,
    holdId: why.holdId ?? null,
    reverses: why.reverses ?? null,
    createdAt: ctx.clock.now(),
  });
  return transfer;
}

/** What a movement asks of the card's balance. */
export function effect(movement: Movement): { readonly balance: bigint; readonly held: bigint } {
  return { balance: effectOf(movement), held: 0n };
}
