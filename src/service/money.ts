/**
 * What the operations on a card's money share: finding out why a guarded movement was refused,
 * releasing holds that have run out, and recording what moved.
 */

import type { Context } from '../context.ts';
import { availableOf, isDisabled, isExpired, type Card } from '../domain/card.ts';
import { dayOf } from '../domain/day.ts';
import { cardMoved } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { hasRunOut, type Hold, type HoldStatus } from '../domain/hold.ts';
import { effectOf, type Movement, type Transfer } from '../domain/ledger.ts';
import { formatMoney } from '../domain/money.ts';
import { holdRecordOf } from '../domain/record.ts';
import type { Store } from '../domain/store.ts';
import {
  findCard,
  findStanding,
  lockCard,
  moveBalance,
  type CardKey,
  type MoveDemands,
  type Standing,
} from '../storage/card.ts';
import { announce } from '../storage/event.ts';
import { closeHold, listOpenHolds } from '../storage/hold.ts';
import { Rerun, together, type Script } from '../storage/sql.ts';
import { recordTransfer, type ChainEnd } from '../storage/transfer.ts';

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

/** A card as it stands now. @throws Fault `not-found` if the store has no such card. */
export function* requireStanding(ctx: Context, key: CardKey): Script<Standing> {
  const standing = yield* findStanding(key, ctx.clock.earliest());
  if (!standing) throw new Fault('not-found');
  return standing;
}

/** The card as it stands now: holds that have run out reserve nothing, closed yet or not. Writes nothing. */
export function* presentCard(ctx: Context, { storeId, id }: Pick<Card, 'storeId' | 'id'>): Script<Card> {
  return (yield* requireStanding(ctx, { storeId, cardId: id })).card;
}

export function today(ctx: Context, { timeZone }: Store): string {
  return dayOf(ctx.clock.earliest(), timeZone);
}

/** @throws Fault `precondition-failed` if that is none of the versions that the caller would change. */
export function refuseVersion(versions: readonly number[] | null, version: number): void {
  if (versions && !versions.includes(version)) throw new Fault('precondition-failed');
}

/** What the card's state has to be for a movement. */
export type StateDemands = Omit<MoveDemands, 'version'>;

/** Demands nothing of the card's state. */
const anyState: StateDemands = { today: null, disabledAllowed: true };

/** Demands a usable card. */
export function usable(ctx: Context, store: Store): StateDemands {
  return { today: today(ctx, store), disabledAllowed: false };
}

/** The card to move money of, and the version that it was read in, if the movement depends on what was read. */
export type MovedCard = { readonly store: Store; readonly cardId: number; readonly version: number | null };

/**
 * The version that a movement depends on because the caller names versions; null: none is named.
 * @throws Fault `not-found`, `precondition-failed`.
 */
export function* namedVersion({
  store,
  cardId,
  versions,
}: Pick<MoneyCommand, 'store' | 'cardId' | 'versions'>): Script<number | null> {
  if (!versions) return null;
  yield* lockCard({ storeId: store.id, cardId });
  const { version } = yield* requireCard(store.id, cardId);
  refuseVersion(versions, version);
  return version;
}

type Amounts = { readonly balance: bigint; readonly held: bigint };

/**
 * Moves a card's balance and holds in one guarded statement. If it is refused, holds that have run
 * out are released and it is tried once more; then the reason is told.
 * @param look what else is to be read. Like the card it is read behind the movement and goes out
 * together with it: the card's row is this script's own by then.
 * @returns the card after it, as it stands, and what was seen.
 * @throws Fault `not-found`, `card-disabled`, `card-expired`, `insufficient-balance`; Rerun if the card is another
 * version, or would allow it by now.
 */
export function* move<T>(
  ctx: Context,
  { store, cardId, version }: MovedCard,
  moved: Amounts,
  demands: StateDemands,
  look: (key: CardKey) => Script<T>,
): Script<{ readonly card: Card; readonly seen: T }> {
  const key = { storeId: store.id, cardId };
  const tried = yield* attempt(ctx, key, moved, { ...demands, version }, look);
  if (tried.isMoved) return tried;
  if (tried.runOut === 0n) return refuseMove(tried.card, moved, demands);

  const runOut = yield* runOutHoldsOf(ctx, key);
  // Each release is a change of the card, and one of this script's own doing.
  const versionNow = version === null ? null : version + runOut.length;
  const [, retried] = yield* together(
    closeRunOutHolds(ctx, runOut),
    attempt(ctx, key, moved, { ...demands, version: versionNow }, look),
  );
  return retried.isMoved ? retried : refuseMove(retried.card, moved, demands);
}

/** Moves money if the card allows it, and reads the card and what else is to be seen behind that. */
function* attempt<T>(
  ctx: Context,
  key: CardKey,
  moved: Amounts,
  demands: MoveDemands,
  look: (key: CardKey) => Script<T>,
): Script<Standing & { readonly isMoved: boolean; readonly seen: T }> {
  const [isMoved, { card, runOut }, seen] = yield* together(
    moveBalance(key, moved, demands),
    requireStanding(ctx, key),
    look(key),
  );
  if (!isMoved && demands.version !== null && card.version !== demands.version)
    throw new Rerun('the card has changed since it was read');
  return { card, runOut, isMoved, seen };
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

/** The card's holds that have run out and are not closed yet. */
function* runOutHoldsOf(ctx: Context, { storeId, cardId }: CardKey): Script<readonly Hold[]> {
  const now = ctx.clock.earliest();
  return (yield* listOpenHolds(storeId, cardId)).filter((hold) => hasRunOut(hold, now));
}

/** Closes holds that have run out. */
export function* closeRunOutHolds(ctx: Context, runOut: readonly Hold[]): Script<void> {
  const releases = runOut.map((hold) =>
    releaseHold(ctx, hold, { status: 'expired', closedAt: hold.expiresAt, version: null }),
  );
  yield* together(...releases);
}

/** A hold that was closed, and its card after it, as it stands. */
export type Held = { readonly hold: Hold; readonly card: Card };

/** How a hold is closed. */
export type Closing = {
  readonly status: Exclude<HoldStatus, 'open'>;
  /** Minor units that a capture takes; the rest goes back. */
  readonly captured: bigint;
  readonly closedAt: number;
  /** The version that the card must still be; null: any. */
  readonly version: number | null;
};

/**
 * Closes an open hold: its card gets back what it reserved, less what is captured.
 * The card comes before the hold here, as everywhere: so no two scripts wait for each other's row.
 * @throws Rerun if it was closed meanwhile, or the card is another version.
 */
export function* settleHold(
  ctx: Context,
  hold: Hold,
  { status, captured, closedAt, version }: Closing,
): Script<Held> {
  const key = { storeId: hold.storeId, cardId: hold.cardId };
  const amounts = { balance: -captured, held: -hold.amount.minor };
  const [isMoved, isClosed, { card }] = yield* together(
    moveBalance(key, amounts, { ...anyState, version }),
    closeHold(hold, { status, captured, closedAt }),
    requireStanding(ctx, key),
  );
  if (!isClosed) throw new Rerun('the hold was closed meanwhile');
  if (!isMoved && version !== null) throw new Rerun('the card has changed since it was read');
  if (!isMoved) throw new Error(`the hold ${hold.id} was not part of what its card held`);
  const { currency } = hold.amount;
  return { hold: { ...hold, status, captured: { minor: captured, currency }, closedAt }, card };
}

/** Gives back all that an open hold reserves, and tells of it. @throws Rerun as `settleHold` does. */
export function* releaseHold(
  ctx: Context,
  open: Hold,
  closing: Omit<Closing, 'captured'> & { readonly status: 'voided' | 'expired' },
): Script<Held> {
  const { hold, card } = yield* settleHold(ctx, open, { ...closing, captured: 0n });
  const told = { hold: holdRecordOf(ctx.keys.publicIds, hold, ctx.clock.earliest()) };
  yield* announce(ctx, cardMoved(ctx.keys.publicIds, 'gift_card.hold_released', card, told));
  return { hold, card };
}

/**
 * Records the transfer that explains a movement of the card, which `card` shows as it is after it.
 * @param end the end of the card's chain so far.
 */
export function* record(
  ctx: Context,
  { card, end }: { readonly card: Card; readonly end: ChainEnd },
  movement: Movement,
  why: Pick<Transfer, 'actor' | 'reference' | 'note' | 'orderId'> & {
    readonly holdId?: number;
    readonly reverses?: number;
    /** Now, unless told. */
    readonly createdAt?: number;
  },
): Script<Transfer> {
  return yield* recordTransfer(ctx, end, {
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
    createdAt: why.createdAt ?? ctx.clock.now(),
  });
}

/** What a movement asks of the card's balance. */
export function effect(movement: Movement): Amounts {
  return { balance: effectOf(movement), held: 0n };
}
