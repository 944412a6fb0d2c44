/**
 * Searches for a card at the counter. Failed ones use up a budget of the member of staff, which is as large as that of an
 * API client, so codes, addresses and ids cannot be guessed.
 */

import type { Context } from '../context.ts';
import type { Card } from '../domain/card.ts';
import type { EmailAddress } from '../domain/email-address.ts';
import type { Fault } from '../domain/fault.ts';
import type { Secret } from '../domain/secret.ts';
import { actorOf, isPermitted, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { findCardState, type CurrentCard } from '../storage/card.ts';
import {
  findRefilledAt,
  insertFailedLookup,
  returnShare,
  type LookupCaller,
} from '../storage/lookup-throttle.ts';
import { resolved, type Script } from '../storage/sql.ts';
import { listUsableCards } from '../storage/usable-cards.ts';
import { lookUp } from './card.ts';
import { failuresLeft, lookupPeriodMs, tooManyLookups } from './lookup-throttle.ts';
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

/** What a search returned; `throttled`: it did not run, because the budget is exhausted. */
export type SearchOutcome<Result> =
  | { readonly kind: 'found'; readonly result: Result }
  | { readonly kind: 'missed' }
  | { readonly kind: 'throttled'; readonly fault: Fault };

/**
 * Runs a search within the budget. A failure is used up before the search and returned if it finds something, so that
 * concurrent searches cannot exceed the budget.
 */
function* searchWithinBudget<Result>(
  ctx: Context,
  searcher: Searcher,
  search: () => Script<Result | undefined>,
): Script<SearchOutcome<Result>> {
  const { caller, now, perHour } = budgetOf(ctx, searcher);
  const shareMs = Math.floor(lookupPeriodMs / perHour);
  const periods = { periodMs: lookupPeriodMs, aheadMaxMs: 2 * lookupPeriodMs };
  if ((yield* insertFailedLookup(caller, { now, shareMs, ...periods })) === undefined) {
    const refilledAt = (yield* findRefilledAt(caller)) ?? now;
    return { kind: 'throttled', fault: tooManyLookups(refilledAt, { now, perHour }) };
  }
  const result = yield* search();
  if (result === undefined) return { kind: 'missed' };
  yield* returnShare(caller, shareMs);
  return { kind: 'found', result };
}

/**
 * Finds the card with a code. A member who cannot read cards finds only usable ones, as an API client without
 * `read_gift_cards` does.
 * @param codes a typed code, and what it can have been misread from.
 * @param recordRetired is called with the id of a card whose replaced code it is.
 */
export function* findCardByCode(
  ctx: Context,
  searcher: Searcher,
  {
    codes,
    recordRetired,
  }: { readonly codes: readonly Secret[]; readonly recordRetired: (cardId: number) => void },
): Script<SearchOutcome<Card>> {
  const { store, member } = searcher;
  const usableOnly = !isPermitted(member.role, 'readCards');
  return yield* searchWithinBudget(ctx, searcher, function* search() {
    for (const code of codes) {
      const found = yield* lookUp(ctx, { store, code, usableOnly });
      if (found.kind === 'found') return found.card;
      if (found.hadBy !== null) recordRetired(found.hadBy);
    }
    return undefined;
  });
}

/** Finds the cards of a customer or recipient that can be spent, newest first. */
export function* findCardsByEmail(
  ctx: Context,
  searcher: Searcher,
  { address, limit }: { readonly address: EmailAddress; readonly limit: number },
): Script<SearchOutcome<readonly Card[]>> {
  const { store } = searcher;
  return yield* searchWithinBudget(ctx, searcher, function* search() {
    const day = today(ctx, store);
    const found = yield* listUsableCards(store.id, { address, today: day, now: ctx.clock.earliest(), limit });
    return found.length === 0 ? undefined : found.map(({ card }) => card);
  });
}

/** Records that a public id was not one of a card. @throws Fault `too-many-misses` if the budget is exhausted. */
export function* recordUnknownCard(ctx: Context, searcher: Searcher): Script<void> {
  const outcome = yield* searchWithinBudget(ctx, searcher, () => resolved(undefined));
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
