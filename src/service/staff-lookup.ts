/**
 * Searches of staff for cards and receipts. Failed ones use up a budget of the member of staff, which is as large as that of
 * an API client, so codes, addresses and ids cannot be guessed.
 */

import type { Context } from '../context.ts';
import type { Card } from '../domain/card.ts';
import { parseCode } from '../domain/code.ts';
import type { EmailAddress } from '../domain/email-address.ts';
import type { Fault } from '../domain/fault.ts';
import type { Transfer } from '../domain/ledger.ts';
import type { Secret } from '../domain/secret.ts';
import { actorOf, isPermitted, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { findCardState, type CurrentCard } from '../storage/card.ts';
import { findRefilledAt, returnShare, type LookupCaller } from '../storage/lookup-throttle.ts';
import { resolved, type Script } from '../storage/sql.ts';
import { findTransfer } from '../storage/transfer.ts';
import { listUsableCards } from '../storage/usable-cards.ts';
import { lookUp } from './card.ts';
import { failuresLeft, lookupPeriodMs, recordFailedLookup, tooManyLookups } from './lookup-throttle.ts';
import { today } from './money.ts';

/** Who searches, and how many failed searches the service allows per hour if the store has no limit of its own. */
export type Searcher = {
  readonly store: Store;
  readonly member: Pick<StaffMember, 'id' | 'role'>;
  readonly perHour: number;
};

function budgetOf(ctx: Context, { store, member, perHour }: Searcher) {
  const caller: LookupCaller = { storeId: store.id, caller: actorOf(member) };
  return { caller, now: ctx.clock.now(), perHour: store.lookupFailuresPerHour ?? perHour };
}

type Found<Result> = Exclude<SearchOutcome<Result>, { readonly kind: 'throttled' }>;

const missed: Found<never> = Object.freeze({ kind: 'missed', retired: [] });

/** What a search returned; `throttled`: it did not run, because the budget is exhausted. */
export type SearchOutcome<Result> =
  | { readonly kind: 'found'; readonly result: Result }
  /** With the cards that had the code before they were given another one. */
  | { readonly kind: 'missed'; readonly retired: readonly number[] }
  | { readonly kind: 'throttled'; readonly fault: Fault };

/**
 * Runs a search within the budget. A failure is used up before the search and returned if it finds something, so that
 * concurrent searches cannot exceed the budget.
 */
function* searchWithinBudget<Result>(
  ctx: Context,
  searcher: Searcher,
  search: () => Script<Found<Result>>,
): Script<SearchOutcome<Result>> {
  const { caller, now, perHour } = budgetOf(ctx, searcher);
  if ((yield* recordFailedLookup(caller, { now, perHour })) === undefined) {
    const refilledAt = (yield* findRefilledAt(caller)) ?? now;
    return { kind: 'throttled', fault: tooManyLookups(refilledAt, { now, perHour }) };
  }
  const found = yield* search();
  if (found.kind === 'found') yield* returnShare(caller, Math.floor(lookupPeriodMs / perHour));
  return found;
}

/** @param codes a typed code, and what it can have been misread from. */
function* searchCodes(
  ctx: Context,
  store: Store,
  { codes, usableOnly }: { readonly codes: readonly Secret[]; readonly usableOnly: boolean },
): Script<Found<Card>> {
  const retired: number[] = [];
  for (const code of codes) {
    const found = yield* lookUp(ctx, { store, code, usableOnly });
    if (found.kind === 'found') return { kind: 'found', result: found.card };
    if (found.hadBy !== null) retired.push(found.hadBy);
  }
  return { kind: 'missed', retired };
}

/**
 * Finds the card with a code. A member who cannot read cards finds only usable ones, as an API client without
 * `read_gift_cards` does.
 * @param codes a typed code, and what it can have been misread from.
 */
export function* findCardByCode(
  ctx: Context,
  searcher: Searcher,
  codes: readonly Secret[],
): Script<SearchOutcome<Card>> {
  const { store, member } = searcher;
  const usableOnly = !isPermitted(member.role, 'readCards');
  return yield* searchWithinBudget(ctx, searcher, () => searchCodes(ctx, store, { codes, usableOnly }));
}

/** What is refunded: the entry of a receipt, or one of the entries of a card. */
export type RefundTarget =
  | { readonly kind: 'entry'; readonly transfer: Transfer }
  | { readonly kind: 'card'; readonly cardId: number };

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
    const code = parseCode(typed);
    if (!code.ok) return missed;
    const found = yield* searchCodes(ctx, store, { codes: [code.value], usableOnly: false });
    return found.kind === 'missed'
      ? found
      : { kind: 'found', result: { kind: 'card', cardId: found.result.id } };
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

/** Records that a public id was not one of a card. @throws Fault `too-many-misses` if the budget is exhausted. */
export function* recordUnknownCard(ctx: Context, searcher: Searcher): Script<void> {
  const outcome = yield* searchWithinBudget(ctx, searcher, () => resolved(missed));
  if (outcome.kind === 'throttled') throw outcome.fault;
}

/**
 * The card with an id, at present.
 * @throws Fault `too-many-misses` if the budget is exhausted, because the id could be a guess.
 */
export function* findCardById(
  ctx: Context,
  searcher: Searcher,
  cardId: number,
): Script<CurrentCard | undefined> {
  const { caller, now, perHour } = budgetOf(ctx, searcher);
  const refilledAt = (yield* findRefilledAt(caller)) ?? 0;
  if (failuresLeft(refilledAt, { now, perHour }) < 1) throw tooManyLookups(refilledAt, { now, perHour });
  return yield* findCardState({ storeId: searcher.store.id, cardId }, ctx.clock.earliest());
}
