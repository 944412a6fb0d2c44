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
import type { Script } from '../storage/sql.ts';

/** What misses are counted for: `search ada@example.com`, `token 7`, `client 192.0.2.1`. */
export type MissBudget = { readonly subject: string; readonly missesMax: number };

export const missPeriodMs = 60 * 60 * 1_000;

/** @throws Fault `too-many-misses` if any of the budgets is used up. */
export function* checkMissBudgets(
  ctx: Context,
  storeId: number,
  budgets: readonly MissBudget[],
): Script<void> {
  const now = ctx.clock.now();
  for (const { subject, missesMax } of budgets) {
    const misses = yield* listMisses(storeId, digestOf(ctx, storeId, subject), now - missPeriodMs);
    const oldest = misses[misses.length - missesMax];
    if (oldest === undefined) continue;
    const retryAfterSeconds = Math.max(1, Math.ceil((oldest + missPeriodMs - now) / 1_000));
    throw new Fault('too-many-misses', { retryAfterSeconds });
  }
}

/** Counts a miss in every budget. @throws Fault `too-many-misses` if one was used up already. */
export function* countMiss(ctx: Context, storeId: number, budgets: readonly MissBudget[]): Script<void> {
  yield* checkMissBudgets(ctx, storeId, budgets);
  for (const { subject } of budgets) {
    yield* insertMiss(storeId, digestOf(ctx, storeId, subject), {
      id: ctx.chance.id(),
      missedAt: ctx.clock.now(),
    });
  }
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
  yield* countMiss(ctx, storeId, budgets);
  const card = hadBy === null ? undefined : yield* findCard(storeId, hadBy);
  if (card) yield* announce(ctx, retiredCodeUsed(card));
}
