/** The transfer that a movement adds to the ledger, and its details. */

import type { Card } from '../../cards/domain/card.ts';
import type { ChainEnd } from '../../cards/storage/card.ts';
import type { Movement, Transfer } from '../domain/ledger.ts';
import { recordTransfer, type NewTransfer } from '../storage/transfer.ts';
import type { Context } from '../../storage/context.ts';
import type { Store } from '../../stores/domain/store.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** The fields of a movement that a caller can name. */
export type NamedDetails = {
  readonly reference: string | null;
  readonly note: string | null;
  readonly orderId: number | null;
  /** Default: none. */
  readonly orderReference?: string | null;
  readonly externalId?: string | null;
  readonly locationId?: number | null;
};

/** A movement on a card, with the details of its transfer. */
export type MoneyCommand = NamedDetails & {
  readonly store: Store;
  readonly cardId: number;
  readonly actor: string;
  /** The versions of the card that the request accepts (`If-Match`), as `versionTagOf` returns them; null: any. */
  readonly versions: readonly string[] | null;
};

/**
 * The details of a movement that follows another one or a hold: it takes over the order and the references of that one,
 * unless the caller names others, but neither the caller's own id nor the location.
 */
export function detailsAfter(
  earlier: Pick<Transfer, 'reference' | 'orderId' | 'orderReference'>,
  named: Partial<NamedDetails>,
): Omit<NamedDetails, 'note'> {
  return {
    reference: named.reference ?? earlier.reference,
    orderId: named.orderId ?? earlier.orderId,
    orderReference: named.orderReference ?? earlier.orderReference,
    externalId: named.externalId ?? null,
    locationId: named.locationId ?? null,
  };
}

/** The details of a transfer that its movement and its card do not give. */
type Details = NamedDetails & {
  readonly actor: string;
  readonly holdId?: number;
  readonly reverses?: number;
  /** Default: now. */
  readonly createdAt?: number;
};

/**
 * Records the transfer of a movement.
 * @param card the card after the movement.
 * @param end the end of the card's chain before the transfer.
 */
export function* record(
  ctx: Context,
  { card, end }: { readonly card: Card; readonly end: ChainEnd },
  movement: Movement,
  why: Details,
): Script<Transfer> {
  return yield* recordTransfer(ctx, end, transferOf(ctx, card, { movement, why }));
}

/** The transfer of a movement, before it has a place in the chain. @param card the card after the movement. */
export function transferOf(
  ctx: Context,
  card: Card,
  { movement, why }: { readonly movement: Movement; readonly why: Details },
): NewTransfer {
  return {
    ...movement,
    storeId: card.storeId,
    cardId: card.id,
    balanceAfter: card.balance,
    actor: why.actor,
    reference: why.reference,
    note: why.note,
    orderId: why.orderId,
    orderReference: why.orderReference ?? null,
    externalId: why.externalId ?? null,
    locationId: why.locationId ?? null,
    holdId: why.holdId ?? null,
    reverses: why.reverses ?? null,
    createdAt: why.createdAt ?? ctx.clock.now(),
  };
}

/** The details of a transfer that has only an actor and a location. */
export function detailsOfActor(
  { actor, locationId = null }: { readonly actor: string; readonly locationId?: number | null },
  createdAt: number,
): Details {
  return { actor, locationId, createdAt, reference: null, note: null, orderId: null };
}
