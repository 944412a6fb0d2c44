/** The card of a request at present, in a version that the request accepts. */

import type { Card } from '../domain/card.ts';
import { versionTagOf } from './version.ts';
import {
  findCard,
  findCardState,
  lockCard,
  type CardKey,
  type CurrentCard,
  type LoadedCard,
} from '../storage/card.ts';
import { Fault } from '../../domain/fault.ts';
import type { Context } from '../../storage/context.ts';
import type { Store } from '../../stores/domain/store.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** @throws Fault `not-found` if the store has no such card. */
export function* requireCard(storeId: number, cardId: number): Script<Card> {
  const card = yield* findCard(storeId, cardId);
  if (!card) throw new Fault('not-found');
  return card;
}

/** The card at present and its expired holds. @throws Fault `not-found` if the store has no such card. */
export function* loadCard(ctx: Context, key: CardKey): Script<LoadedCard> {
  const state = yield* findCardState(key, ctx.clock.earliest());
  if (!state) throw new Fault('not-found');
  return state;
}

/** The card at present. Expired holds reserve nothing, even before they are closed. */
export function* presentCard(ctx: Context, { storeId, id }: Pick<Card, 'storeId' | 'id'>): Script<Card> {
  return (yield* loadCard(ctx, { storeId, cardId: id })).card;
}

/** @throws Fault `precondition-failed` if `versions` does not include the version. */
export function assertVersion(versions: readonly string[] | null, { card, expiredHeld }: CurrentCard): void {
  if (!versions || versions.includes(versionTagOf(card))) return;
  // Some responses have the card with the holds that are expired and still open.
  const minor = card.held.minor + expiredHeld;
  if (expiredHeld > 0n && versions.includes(versionTagOf({ ...card, held: { ...card.held, minor } }))) return;
  throw new Fault('precondition-failed');
}

/** The card of a request. */
type VersionedKey = {
  readonly store: Store;
  readonly cardId: number;
  /** The versions that the request accepts (`If-Match`), as `versionTagOf` returns them; null: any. */
  readonly versions: readonly string[] | null;
};

/** Locks and reads a card. @throws Fault `not-found`, or `precondition-failed` if the request excludes its version. */
export function* requireVersion(ctx: Context, { store, cardId, versions }: VersionedKey): Script<LoadedCard> {
  const key = { storeId: store.id, cardId };
  yield* lockCard(key);
  const state = yield* loadCard(ctx, key);
  assertVersion(versions, state);
  return state;
}

/**
 * Locks and reads the card if the request has versions, and returns its version; null if the request has none.
 * @throws Fault `not-found`, `precondition-failed`.
 */
export function* lockNamedVersion(
  ctx: Context,
  { store, cardId, versions }: VersionedKey,
): Script<number | null> {
  if (!versions) return null;
  return (yield* requireVersion(ctx, { store, cardId, versions })).card.version;
}
