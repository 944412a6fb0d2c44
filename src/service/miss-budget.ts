/**
 * Budgets of misses: how often a search or lookup may find nothing within an hour. Four characters
 * of a code, or a whole one, could be guessed otherwise.
 */

import type { Context } from '../context.ts';
import { retiredCodeUsed } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { findCard } from '../storage/card.ts';
import { announce } from '../storage/event.ts';
import { insertMiss, listMisses } from '../storage/miss.ts';
import { constant, together, type Script } from '../storage/sql.ts';

/** What misses are counted for: `search ada@example.com`, `token 7`, `client 192.0.2.1`. */
export type MissBudget = { readonly subject: string; readonly missesMax: number };

export const missPeriodMs = 60 * 60 * 1_000;

/** @throws Fault `too-many-misses` if any of the budgets is used up. */
export function* checkMissBudgets(
  ctx: Context,
  storeId: number,
  budgets: readonly MissBudget[],
): Script<void> {
  yield* lookAtBudgets(ctx, storeId, budgets);
}

/**
 * Counts a miss in every budget. The number that it gets says how many there were: whoever counts
 * another one meanwhile takes it, and then it is looked at anew.
 * @throws Fault `too-many-misses` if one was used up already.
 */
export function* countMiss(ctx: Context, storeId: number, budgets: readonly MissBudget[]): Script<void> {
  for (const { digest, last } of yield* lookAtBudgets(ctx, storeId, budgets)) {
    yield* insertMiss(storeId, digest, { id: last + 1, missedAt: ctx.clock.now() });
  }
}

/** The subjects of budgets and the numbers of their last misses. @throws Fault `too-many-misses`. */
function* lookAtBudgets(
  ctx: Context,
  storeId: number,
  budgets: readonly MissBudget[],
): Script<readonly { readonly digest: Uint8Array; readonly last: number }[]> {
  const now = ctx.clock.now();
  const looks = budgets.map(function* ({ subject, missesMax }) {
    const digest = digestOf(ctx, storeId, subject);
    const misses = yield* listMisses(storeId, digest);
    const counted = misses.filter(({ missedAt }) => missedAt > now - missPeriodMs);
    const oldest = counted[counted.length - missesMax];
    if (oldest) {
      const retryAfterSeconds = Math.max(1, Math.ceil((oldest.missedAt + missPeriodMs - now) / 1_000));
      throw new Fault('too-many-misses', { retryAfterSeconds });
    }
    return { digest, last: misses.at(-1)?.id ?? 0 };
  });
  return yield* together(...looks);
}

function digestOf({ keys }: Context, storeId: number, subject: string): Uint8Array {
  return keys.digest('miss', `${storeId} ${subject}`);
}

/** Counts a lookup by code that found nothing, and tells of it if a card had that code before. */
export function* noteMiss(
  ctx: Context,
  storeId: number,
  {
    budgets,
    hadBy,
  }: { readonly budgets: readonly MissBudget[]; /** The id of that card. */ readonly hadBy: number | null },
): Script<void> {
  const [, card] = yield* together(
    countMiss(ctx, storeId, budgets),
    hadBy === null ? constant(undefined) : findCard(storeId, hadBy),
  );
  if (card) yield* announce(ctx, retiredCodeUsed(ctx.keys.publicIds, card));
}
