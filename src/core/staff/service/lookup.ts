/**
 * Searches of staff for cards and receipts. Failed ones use up a budget of the member of staff, which is as large as that of
 * an API client, so codes, addresses and ids cannot be guessed.
 */

import type { Context } from '../../storage/context.ts';
import type { Card } from '../../cards/domain/card.ts';
import { spendStateOf } from '../../cards/domain/state.ts';
import { readGivenCode, type Reading, type Readings } from '../../cards/domain/given-code.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import type { Fault } from '../../domain/fault.ts';
import type { Transfer } from '../../money/domain/ledger.ts';
import { actorOf, isPermitted, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../../stores/domain/store.ts';
import { findRefilledAt, type LookupCaller } from '../../stores/storage/lookup-throttle.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findTransfer } from '../../money/storage/transfer.ts';
import { findStockedCode, type StockedCode } from '../../stocks/storage/code.ts';
import { listUsableCards } from '../../cards/storage/usable-cards.ts';
import { lookUp, usesByKind, type UsesByKind } from '../../cards/service/lookup.ts';
import {
  failuresLeft,
  releaseLookups,
  reserveLookups,
  tooManyLookups,
  type Budget,
} from '../../cards/service/lookup-throttle.ts';
import { today } from '../../stores/service/day.ts';

/** The member who searches, and the failed searches per hour that the service allows if the store has no limit. */
export type Searcher = {
  readonly store: Store;
  readonly member: Pick<StaffMember, 'id' | 'role' | 'locationIds'>;
  readonly perHour: number;
};

/** The failed lookups per hour of a member of staff. */
export function lookupsPerHour({ store, perHour }: Pick<Searcher, 'store' | 'perHour'>): number {
  return store.lookupFailuresPerHour ?? perHour;
}

function budgetOf(
  ctx: Context,
  searcher: Searcher,
): { readonly caller: LookupCaller; readonly budget: Budget } {
  const { store, member } = searcher;
  return {
    caller: { storeId: store.id, caller: actorOf(member) },
    budget: { now: ctx.wallClock.now(), perHour: lookupsPerHour(searcher) },
  };
}

type Found<Result> = Exclude<SearchOutcome<Result>, { readonly kind: 'throttled' }>;

const missed: Found<never> = Object.freeze({ kind: 'missed', retired: [], stocked: [] });

/** The result of a search; `throttled`: it did not run, because the budget is exhausted. */
export type SearchOutcome<Result> =
  | { readonly kind: 'found'; readonly result: Result }
  | ({ readonly kind: 'missed' } & UsesByKind)
  /** The code is of a printed card that the member may sell. */
  | { readonly kind: 'unsold'; readonly reading: Reading; readonly stocked: StockedCode }
  | { readonly kind: 'throttled'; readonly fault: Fault };

/**
 * Runs a search within the budget. A failure is used up before the search and returned if it finds something, so that
 * concurrent searches cannot exceed the budget.
 * @param isCounted whether a result uses up the budget as a failure does. Default: none does.
 */
function* searchWithinBudget<Result>(
  ctx: Context,
  searcher: Searcher,
  search: () => Script<Found<Result>>,
  isCounted: (result: Result) => boolean = () => false,
): Script<SearchOutcome<Result>> {
  const { caller, budget } = budgetOf(ctx, searcher);
  const fault = yield* reserveLookups(caller, budget);
  if (fault) return { kind: 'throttled', fault };
  const found = yield* search();
  const isFound = found.kind === 'found' ? !isCounted(found.result) : found.kind === 'unsold';
  if (isFound) yield* releaseLookups(caller, budget, 1);
  return found;
}

/** A card, and the reading of the given code that is its code. */
export type FoundCard = { readonly card: Card; readonly reading: Reading };

/** Finds the card with a code; a printed card only for a member who may sell it. */
function* searchCode(
  ctx: Context,
  { store, member }: Searcher,
  readings: Readings,
): Script<Found<FoundCard>> {
  const found = yield* lookUp(ctx, { store, readings, usableOnly: false });
  if (found.kind === 'found') return { kind: 'found', result: found };
  const { use } = found;
  if (use?.kind === 'stocked' && isPermitted(member, 'useTill')) {
    const stocked = yield* findStockedCode({ storeId: store.id, lookup: use.lookup });
    if (stocked?.soldAt === null && stocked.voidedAt === null)
      return { kind: 'unsold', reading: use.reading, stocked };
  }
  return { kind: 'missed', ...usesByKind(use ? [use] : []) };
}

/**
 * Finds the card with a code, which can be one that is not usable: the person has the whole code. For a member who cannot
 * read cards, such a card uses up the budget as an unknown code does. A member who may sell it finds a printed card.
 */
export function* findCardByCode(
  ctx: Context,
  searcher: Searcher,
  readings: Readings,
): Script<SearchOutcome<FoundCard>> {
  const { store, member } = searcher;
  const isCounted = ({ card }: FoundCard): boolean =>
    !isPermitted(member, 'readCards') && spendStateOf(card, today(ctx, store)) !== 'active';
  return yield* searchWithinBudget(ctx, searcher, () => searchCode(ctx, searcher, readings), isCounted);
}

/** The refunded entries: the entry of a receipt, or one of the entries of a card. */
export type RefundTarget =
  | { readonly kind: 'entry'; readonly transfer: Transfer }
  | { readonly kind: 'card'; readonly cardId: number; readonly reading: Reading };

/**
 * Finds a receipt or a card, which can be one that is not usable.
 * @param typed the number of a receipt, or a code.
 */
export function* findForRefund(
  ctx: Context,
  searcher: Searcher,
  typed: string,
): Script<SearchOutcome<RefundTarget>> {
  const { store } = searcher;
  return yield* searchWithinBudget(ctx, searcher, function* search(): Script<Found<RefundTarget>> {
    const number = typed.replaceAll(/[\s-]/g, '');
    const id = /^\d{16}$/.test(number) ? ctx.keys.publicIds.read(Number(number)) : undefined;
    const transfer = id === undefined ? undefined : yield* findTransfer(store.id, id);
    if (transfer) return { kind: 'found', result: { kind: 'entry', transfer } };
    const readings = readGivenCode(typed);
    if (!readings.ok) return missed;
    const found = yield* lookUp(ctx, { store, readings: readings.value, usableOnly: false });
    return found.kind === 'found'
      ? { kind: 'found', result: { kind: 'card', cardId: found.card.id, reading: found.reading } }
      : { kind: 'missed', ...usesByKind(found.use ? [found.use] : []) };
  });
}

/** Finds the cards of a customer or recipient that can be spent, newest first. */
export function* findCardsByEmail(
  ctx: Context,
  searcher: Searcher,
  { address, limit }: { readonly address: EmailAddress; readonly limit: number },
): Script<SearchOutcome<readonly Card[]>> {
  const { store } = searcher;
  return yield* searchWithinBudget(ctx, searcher, function* search(): Script<Found<readonly Card[]>> {
    const day = today(ctx, store);
    const found = yield* listUsableCards(store.id, { address, today: day, now: ctx.clock.earliest(), limit });
    return found.length === 0 ? missed : { kind: 'found', result: found.map(({ card }) => card) };
  });
}

/** Reads by an id. @throws Fault `too-many-misses` if the budget is exhausted, because the id could be a guess. */
export function* readWithinBudget<Result>(
  ctx: Context,
  searcher: Searcher,
  read: () => Script<Result>,
): Script<Result> {
  const { caller, budget } = budgetOf(ctx, searcher);
  const refilledAt = (yield* findRefilledAt(caller)) ?? 0;
  if (failuresLeft(refilledAt, budget) < 1) throw tooManyLookups(refilledAt, budget);
  return yield* read();
}

/**
 * Reserves lookups for codes that are looked for, or records that an id was not found.
 * @param count at most `lookupsPerHour`.
 * @param record runs in the same transaction.
 * @throws Fault `too-many-misses` if fewer are left.
 */
export function* reserveStaffLookups(
  ctx: Context,
  searcher: Searcher,
  count: number,
  record?: () => Script<unknown>,
): Script<void> {
  const { caller, budget } = budgetOf(ctx, searcher);
  const fault = yield* reserveLookups(caller, budget, count);
  if (fault) throw fault;
  if (record) yield* record();
}

/** Gives back the lookups of codes that the store has not used. */
export function* releaseStaffLookups(ctx: Context, searcher: Searcher, count: number): Script<void> {
  const { caller, budget } = budgetOf(ctx, searcher);
  yield* releaseLookups(caller, budget, count);
}
