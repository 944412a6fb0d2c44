/** Finds what is refunded at the counter: a redemption by the number of its receipt, or a card by its code. */

import type { Context } from '../context.ts';
import { parseCode } from '../domain/code.ts';
import type { Transfer } from '../domain/ledger.ts';
import { actorOf, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { findRefilledAt, insertFailedLookup, returnShare } from '../storage/lookup-throttle.ts';
import type { Script } from '../storage/sql.ts';
import { findTransfer } from '../storage/transfer.ts';
import { lookUp } from './card.ts';
import { lookupPeriodMs, recordRetiredCodeUses } from './lookup-throttle.ts';

/** Failed searches per hour of one person, if the store has no limit of its own. */
const failuresPerHour = 100;

export type FoundForRefund =
  | { readonly kind: 'entry'; readonly transfer: Transfer }
  | { readonly kind: 'card'; readonly cardId: number }
  | { readonly kind: 'missed' }
  | { readonly kind: 'throttled'; readonly waitMs: number };

/**
 * Finds a receipt or a card. A failure is used up before the search, so that concurrent searches cannot exceed the
 * budget, and returned if something is found.
 * @param typed a receipt number or a code.
 */
export function* findForRefund(
  ctx: Context,
  { store, member, typed }: { readonly store: Store; readonly member: StaffMember; readonly typed: string },
): Script<FoundForRefund> {
  const caller = { storeId: store.id, caller: actorOf(member) };
  const shareMs = Math.floor(lookupPeriodMs / (store.lookupFailuresPerHour ?? failuresPerHour));
  const periods = { periodMs: lookupPeriodMs, aheadMaxMs: 2 * lookupPeriodMs };
  const now = ctx.clock.now();
  if ((yield* insertFailedLookup(caller, { now, shareMs, ...periods })) === undefined) {
    const refilledAt = (yield* findRefilledAt(caller)) ?? now;
    return { kind: 'throttled', waitMs: Math.max(1, refilledAt - now - (lookupPeriodMs - shareMs)) };
  }
  const found = yield* search(ctx, store, typed);
  if (found.kind !== 'missed') yield* returnShare(caller, shareMs);
  return found;
}

function* search(ctx: Context, store: Store, typed: string): Script<FoundForRefund> {
  const number = typed.replaceAll(/[\s-]/g, '');
  const id = /^\d{16}$/.test(number) ? ctx.keys.publicIds.read(Number(number)) : undefined;
  const transfer = id === undefined ? undefined : yield* findTransfer(store.id, id);
  if (transfer) return { kind: 'entry', transfer };
  const code = parseCode(typed);
  if (!code.ok) return { kind: 'missed' };
  const found = yield* lookUp(ctx, { store, code: code.value, usableOnly: false });
  if (found.kind === 'found') return { kind: 'card', cardId: found.card.id };
  if (found.hadBy !== null) yield* recordRetiredCodeUses(ctx, [{ storeId: store.id, cardId: found.hadBy }]);
  return { kind: 'missed' };
}
