/**
 * The budget of failed searches: 10 misses an hour per store and address, whatever client they
 * come from. Four characters could be guessed otherwise.
 */

import type { Context } from '../context.ts';
import type { EmailAddress } from '../domain/email.ts';
import { Fault } from '../domain/fault.ts';
import type { Store } from '../domain/store.ts';
import { insertSearchMiss, listSearchMisses } from '../storage/search-miss.ts';
import type { Script } from '../storage/sql.ts';

export type SearchBudget = {
  readonly missesMax: number;
  readonly periodMs: number;
};

/** @throws Fault `too-many-misses` if the address has no misses left. */
export function* checkSearchBudget(
  ctx: Context,
  { missesMax, periodMs }: SearchBudget,
  { store, address }: { readonly store: Store; readonly address: EmailAddress },
): Script<void> {
  const now = ctx.clock.now();
  const misses = yield* listSearchMisses(store.id, digestOf(ctx, store, address), now - periodMs);
  const oldest = misses[misses.length - missesMax];
  if (oldest === undefined) return;
  const retryAfterSeconds = Math.max(1, Math.ceil((oldest + periodMs - now) / 1_000));
  throw new Fault('too-many-misses', { retryAfterSeconds });
}

/** Counts a search that found nothing. @throws Fault `too-many-misses` if the address had no misses left. */
export function* countSearchMiss(
  ctx: Context,
  budget: SearchBudget,
  searched: { readonly store: Store; readonly address: EmailAddress },
): Script<void> {
  yield* checkSearchBudget(ctx, budget, searched);
  const { store, address } = searched;
  yield* insertSearchMiss(store.id, digestOf(ctx, store, address), {
    id: ctx.chance.id(),
    missedAt: ctx.clock.now(),
  });
}

function digestOf({ keys }: Context, store: Store, { key }: EmailAddress): Uint8Array {
  return keys.digest('search', `${store.id} ${key}`);
}
