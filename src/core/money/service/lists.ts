/** Lists of a store's transfers and holds: filtered, newest first, and page by page. */

import type { Context } from '../../storage/context.ts';
import { holdSecondsMax, type Hold, type HoldStatus } from '../domain/hold.ts';
import type { Transfer, TransferKind } from '../domain/ledger.ts';
import type { Store } from '../../stores/domain/store.ts';
import {
  indexedFilterOf,
  listHoldsOf,
  listTransfersOf,
  newest,
  type ListStretch,
  type MovementFilter,
  type Stretch,
} from '../storage/list.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { PlacesOfEntries } from '../../stores/domain/location.ts';
import { allInstants, rangeOf } from '../../cards/service/filter.ts';
import { cursorOf, readCursor, type CursorScope } from '../../requests/service/cursor.ts';

/** The parsed filters of a request, by the names of its parameters. */
type SentMovementFilters = {
  readonly reference?: string;
  readonly order_reference?: string;
  readonly external_id?: string;
  readonly order_id?: number;
  readonly location_id?: PlacesOfEntries;
  readonly actor?: string;
  readonly created_at_min?: number;
  readonly created_at_max?: number;
};

type ListCommand<Sent> = {
  readonly store: Store;
  readonly sent: SentMovementFilters & Sent;
  readonly cursor: string | undefined;
  readonly limit: number;
};

export type MovementPage<T> = {
  /** Newest first. It can be short, or empty, and still have a next page. */
  readonly items: readonly T[];
  /** Null: this is the last page. */
  readonly nextCursor: string | null;
};

/** Rows that one request reads in the order of the table, and through an index, each somewhere in the table. */
const rowsMax = { walk: 10_000, indexed: 2_000 } as const;

/** @throws Fault `invalid-query` if the ends of the range are in the wrong order. */
function filterOf(sent: SentMovementFilters): MovementFilter {
  const { created_at_min: min, created_at_max: max } = sent;
  return {
    reference: sent.reference ?? null,
    orderReference: sent.order_reference ?? null,
    externalId: sent.external_id ?? null,
    orderId: sent.order_id ?? null,
    places: sent.location_id ?? null,
    actor: sent.actor ?? null,
    createdAt: rangeOf('created_at', { min, max }, allInstants),
  };
}

/** A page of the store's transfers. @throws Fault `invalid-query` as `pageOf` does. */
export function* pageOfTransfers(
  ctx: Context,
  { store, sent, cursor, limit }: ListCommand<{ readonly kind?: TransferKind }>,
): Script<MovementPage<Transfer>> {
  const filter = { ...filterOf(sent), kind: sent.kind ?? null };
  const scope = ['transactions', store.id, filter];
  return yield* pageOf(ctx, { scope, filter, cursor, limit }, (stretch) =>
    listTransfersOf(store.id, filter, stretch),
  );
}

const holdLifeMax = holdSecondsMax * 1_000;

/** A page of the store's holds. @throws Fault `invalid-query` as `pageOf` does. */
export function* pageOfHolds(
  ctx: Context,
  { store, sent, cursor, limit }: ListCommand<{ readonly status?: HoldStatus }>,
): Script<MovementPage<Hold>> {
  const filter = { ...filterOf(sent), status: sent.status ?? null };
  const scope = ['holds', store.id, filter];
  const now = ctx.clock.earliest();
  // No older hold is open, so the list of open ones ends there.
  const oldest = now - holdLifeMax;
  const given = filter.createdAt ?? allInstants;
  const createdAt =
    filter.status === 'open' ? { ...given, min: Math.max(given.min, oldest) } : filter.createdAt;
  return yield* pageOf(ctx, { scope, filter, cursor, limit }, (stretch) =>
    listHoldsOf(store.id, { ...filter, createdAt, now }, stretch),
  );
}

/** @throws Fault `invalid-query` if the cursor is not one of this list with these filters. */
function* pageOf<T extends { readonly id: number }>(
  ctx: Context,
  {
    scope,
    filter,
    cursor,
    limit,
  }: {
    readonly scope: CursorScope;
    readonly filter: MovementFilter;
    readonly cursor: string | undefined;
    readonly limit: number;
  },
  list: (stretch: Stretch) => Script<ListStretch<T>>,
): Script<MovementPage<T>> {
  const { publicIds } = ctx.keys;
  let max = newest;
  if (cursor !== undefined) {
    // The cursor has what is written below.
    const [before] = readCursor(ctx, scope, cursor) as [number];
    max = (publicIds.read(before) ?? 0) - 1;
  }
  const { found, end } = yield* list({
    max,
    rowsMax: indexedFilterOf(filter) === null ? rowsMax.walk : rowsMax.indexed,
    limit: limit + 1,
  });
  const items = found.slice(0, limit);
  const last = found.length > limit ? (items.at(-1)?.id ?? null) : end;
  return { items, nextCursor: last === null ? null : cursorOf(ctx, scope, [publicIds.of(last)]) };
}
