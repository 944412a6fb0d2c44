/**
 * Finds cards by codes that members of staff scan or type. Failed lookups use the person's own budget, as those of a
 * caller of the API do: a share is used before the lookup, so that concurrent ones cannot exceed the budget, and returned
 * if a card has the code.
 */

import type { Context } from '../context.ts';
import type { Card } from '../domain/card.ts';
import type { Secret } from '../domain/secret.ts';
import type { StaffMember } from '../domain/staff.ts';
import { actorOf } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { findRefilledAt, returnShare } from '../storage/lookup-throttle.ts';
import type { Script } from '../storage/sql.ts';
import { lookUp } from './card.ts';
import {
  lookupPeriodMs,
  recordFailedLookup,
  recordRetiredCodeUses,
  tooManyLookups,
} from './lookup-throttle.ts';

export type StaffLookup =
  | { readonly kind: 'found'; readonly card: Card }
  /** The card had the code, and has another one now. */
  | { readonly kind: 'replaced'; readonly cardId: number }
  | { readonly kind: 'unknown' };

/**
 * @param perHour how many lookups of a person can fail per hour, unless the store has another limit.
 * @throws Fault `too-many-misses`.
 */
export function* lookUpForStaff(
  ctx: Context,
  {
    store,
    member,
    code,
    perHour: perHourDefault,
  }: {
    readonly store: Store;
    readonly member: Pick<StaffMember, 'id'>;
    readonly code: Secret;
    readonly perHour: number;
  },
): Script<StaffLookup> {
  const caller = { storeId: store.id, caller: actorOf(member) };
  const budget = { now: ctx.clock.now(), perHour: store.lookupFailuresPerHour ?? perHourDefault };
  if ((yield* recordFailedLookup(caller, budget)) === undefined)
    throw tooManyLookups((yield* findRefilledAt(caller)) ?? budget.now, budget);
  const found = yield* lookUp(ctx, { store, code, usableOnly: false });
  if (found.kind === 'found') {
    yield* returnShare(caller, Math.floor(lookupPeriodMs / budget.perHour));
    return { kind: 'found', card: found.card };
  }
  if (found.hadBy === null) return { kind: 'unknown' };
  yield* recordRetiredCodeUses(ctx, [{ storeId: store.id, cardId: found.hadBy }]);
  return { kind: 'replaced', cardId: found.hadBy };
}
