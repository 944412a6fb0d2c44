/** Lists the transfers and holds of a card in pages. */

import type { Card } from '../../cards/domain/card.ts';
import { Fault } from '../../domain/fault.ts';
import type { Hold } from '../domain/hold.ts';
import type { Transfer } from '../domain/ledger.ts';
import type { CardKey } from '../../cards/storage/card.ts';
import type { Context } from '../../storage/context.ts';
import { findHold, listHoldsAfter, listHoldsBefore } from '../storage/hold.ts';
import { resolved, parallel, type Script } from '../../../database/sql/sql.ts';
import { findTransfer, listTransfersAfter, listTransfersBefore } from '../storage/transfer.ts';
import { presentCard, requireCard } from '../../cards/service/present-card.ts';

/** The newest page, or the page before or after an item. `before` and `after` are ids. */
export type PageRequest = {
  readonly limit: number;
  readonly before: number | null;
  readonly after: number | null;
};

export type ListPage<T> = {
  /** Newest first. */
  readonly items: readonly T[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
};

/** A transfer and its card at present. @throws Fault `not-found`. */
export function* showMovement(
  ctx: Context,
  storeId: number,
  transferId: number,
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const transfer = yield* findTransfer(storeId, transferId);
  if (!transfer) throw new Fault('not-found');
  return { transfer, card: yield* presentCard(ctx, { storeId, id: transfer.cardId }) };
}

/** @throws Fault `not-found`; `invalid-query` if `before` or `after` is not the id of a transfer of the card. */
export function* listCardTransfers(
  key: CardKey,
  { limit, before, after }: PageRequest,
): Script<ListPage<Transfer>> {
  const card = requireCard(key.storeId, key.cardId);
  const id = after ?? before;
  if (id === null) {
    const newest = listTransfersBefore(key, { before: null, limit: limit + 1 });
    const [, found] = yield* parallel(card, newest);
    return olderPage(found, { limit, isFirst: true });
  }
  const [, named] = yield* parallel(card, findTransfer(key.storeId, id));
  const { sequence: place } = requirePlace(key, after === null ? 'before' : 'after', named);
  return after === null
    ? olderPage(yield* listTransfersBefore(key, { before: id, limit: limit + 1 }), { limit, isFirst: false })
    : newerPage(yield* listTransfersAfter(key, { after: place, limit: limit + 1 }), limit);
} // prettier-ignore

/** @throws Fault `not-found`; `invalid-query` if `before` or `after` is not the id of a hold of the card. */
export function* listCardHolds(key: CardKey, { limit, before, after }: PageRequest): Script<ListPage<Hold>> {
  const id = after ?? before;
  const [, named, found] = yield* parallel(
    requireCard(key.storeId, key.cardId),
    id === null ? resolved(undefined) : findHold(key.storeId, id),
    after === null
      ? listHoldsBefore(key, { before: before ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 })
      : listHoldsAfter(key, { after, limit: limit + 1 }),
  );
  if (id !== null) requirePlace(key, after === null ? 'before' : 'after', named);
  return after === null ? olderPage(found, { limit, isFirst: before === null }) : newerPage(found, limit);
}

/** @throws Fault `invalid-query` if there is no such item, or it belongs to another card. */
export function requirePlace<T extends { readonly cardId: number }>(
  { cardId }: CardKey,
  name: 'before' | 'after',
  found: T | undefined,
): T {
  if (found?.cardId === cardId) return found;
  throw new Fault('invalid-query', { errors: { [name]: ['must be the id of an entry in this list'] } });
}

/** @param found the items of the page, and one more if there are older ones. */
export function olderPage<T>(
  found: readonly T[],
  { limit, isFirst }: { readonly limit: number; readonly isFirst: boolean },
): ListPage<T> {
  return { items: found.slice(0, limit), hasOlder: found.length > limit, hasNewer: !isFirst };
}

/** @param found the items of the page, oldest first, and one more if there are newer ones. */
export function newerPage<T>(found: readonly T[], limit: number): ListPage<T> {
  return { items: found.slice(0, limit).toReversed(), hasOlder: true, hasNewer: found.length > limit };
}

/** @throws Fault `not-found` if the store has no such transfer. */
export function* showTransfer(storeId: number, id: number): Script<Transfer> {
  const transfer = yield* findTransfer(storeId, id);
  if (!transfer) throw new Fault('not-found');
  return transfer;
}
