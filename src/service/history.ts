/** What happened to a card: its transfers and holds, in pages. */

import { Fault } from '../domain/fault.ts';
import type { Hold } from '../domain/hold.ts';
import type { Transfer } from '../domain/ledger.ts';
import { findHold, listHoldsAfter, listHolds } from '../storage/hold.ts';
import type { Script } from '../storage/sql.ts';
import { findTransfer, listTransfersAfter, listTransfersBefore } from '../storage/transfer.ts';
import { requireCard } from './money.ts';

/** Which page: the newest, or those older than the id `before`, or newer than the id `after`. */
export type PageRequest = {
  readonly limit: number;
  readonly before: number | null;
  readonly after: number | null;
};

export type Page<T> = {
  /** Newest first. */
  readonly items: readonly T[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
};

type CardKey = { readonly storeId: number; readonly cardId: number };

/** @throws Fault `not-found`; `invalid-query` if the page would start at a transfer that is not the card's. */
export function* listCardTransfers(
  key: CardKey,
  { limit, before, after }: PageRequest,
): Script<Page<Transfer>> {
  yield* requireCard(key.storeId, key.cardId);
  if (after !== null) {
    const from = requirePlace(key, 'after', yield* findTransfer(key.storeId, after));
    return newerPage(yield* listTransfersAfter(key, { after: from.sequence, limit: limit + 1 }), limit);
  }
  const from = before === null ? null : requirePlace(key, 'before', yield* findTransfer(key.storeId, before));
  const older = yield* listTransfersBefore(key, {
    before: from?.sequence ?? Number.MAX_SAFE_INTEGER,
    limit: limit + 1,
  });
  return olderPage(older, { limit, isFirst: before === null });
}

/** @throws Fault `not-found`; `invalid-query` if the page would start at a hold that is not the card's. */
export function* listCardHolds(key: CardKey, { limit, before, after }: PageRequest): Script<Page<Hold>> {
  yield* requireCard(key.storeId, key.cardId);
  if (after !== null) {
    const from = requirePlace(key, 'after', yield* findHold(key.storeId, after));
    return newerPage(yield* listHoldsAfter(key, { after: from.id, limit: limit + 1 }), limit);
  }
  const from = before === null ? null : requirePlace(key, 'before', yield* findHold(key.storeId, before));
  const older = yield* listHolds(key, { before: from?.id ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 });
  return olderPage(older, { limit, isFirst: before === null });
}

export function requirePlace<T extends { readonly cardId: number }>(
  { cardId }: CardKey,
  name: 'before' | 'after',
  found: T | undefined,
): T {
  if (found?.cardId === cardId) return found;
  throw new Fault('invalid-query', { errors: { [name]: ['names nothing in this history'] } });
}

/** One more than the limit was asked for, to see whether there are more. */
export function olderPage<T>(
  found: readonly T[],
  { limit, isFirst }: { readonly limit: number; readonly isFirst: boolean },
): Page<T> {
  return { items: found.slice(0, limit), hasOlder: found.length > limit, hasNewer: !isFirst };
}

export function newerPage<T>(found: readonly T[], limit: number): Page<T> {
  return { items: found.slice(0, limit).toReversed(), hasOlder: true, hasNewer: found.length > limit };
}

/** @throws Fault `not-found` if the store has no such transfer. */
export function* showTransfer(storeId: number, id: number): Script<Transfer> {
  const transfer = yield* findTransfer(storeId, id);
  if (!transfer) throw new Fault('not-found');
  return transfer;
}
