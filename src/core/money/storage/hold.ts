/** Holds. `gift_cards.held` caches the total of the open ones; the same script updates it with `updateBalance`. */

import type { Hold, HoldExtension, HoldStatus } from '../domain/hold.ts';
import type { CardKey } from '../../cards/storage/card.ts';
import {
  money,
  columns,
  integer,
  integerOrNull,
  unchanged,
  text,
  textOrNull,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { inChunks, padded } from '../../../database/sql/chunks.ts';
import {
  all,
  first,
  execute,
  parallel,
  part,
  sql,
  toNumber,
  type Part,
  type Script,
} from '../../../database/sql/sql.ts';
import { forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { ofOpenStore } from '../../stores/storage/store.ts';

const holds = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  card_id: integer('cardId'),
  status: unchanged<HoldStatus>()('status'),
  amount: money('amount'),
  captured: money('captured'),
  actor: text('actor'),
  reference: textOrNull('reference'),
  note: textOrNull('note'),
  order_id: integerOrNull('orderId'),
  order_reference: textOrNull('orderReference'),
  external_id: textOrNull('externalId'),
  location_id: integerOrNull('locationId'),
  created_at: integer('createdAt'),
  expires_at: integer('expiresAt'),
  closed_at: integerOrNull('closedAt'),
});

export type HoldRow = RowOf<typeof holds>;

export { holds as holdColumns };

const toHold: (row: HoldRow) => Hold = holds.read;

export function* insertHold(hold: Hold): Script<void> {
  yield* execute(sql`
    insert into holds (${holds.names}) values (${holds.values(hold)})`);
}

/** Returns undefined if the store has no hold with this id. */
export function* findHold(storeId: number, id: number): Script<Hold | undefined> {
  const row = yield* first(sql<HoldRow>`
    select ${holds.of('h')}, g.currency from holds h
    join gift_cards g on g.store_id = h.store_id and g.id = h.card_id
    where h.store_id = ${storeId} and h.id = ${id}`);
  return row && toHold(row);
}

/** Returns a card's holds with ids below `before`, newest first. */
export function* listHoldsBefore(
  { storeId, cardId }: CardKey,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly Hold[]> {
  const rows = yield* all(sql<HoldRow>`
    select ${holds.of('h')}, g.currency from holds h
    join gift_cards g on g.store_id = h.store_id and g.id = h.card_id
    where h.store_id = ${storeId} and h.card_id = ${cardId} and h.id < ${before}
    order by h.id desc limit ${limit}`);
  return rows.map(toHold);
}

/** Returns a card's holds with ids above `after`, oldest first. */
export function* listHoldsAfter(
  { storeId, cardId }: CardKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Hold[]> {
  const rows = yield* all(sql<HoldRow>`
    select ${holds.of('h')}, g.currency from holds h
    join gift_cards g on g.store_id = h.store_id and g.id = h.card_id
    where h.store_id = ${storeId} and h.card_id = ${cardId} and h.id > ${after}
    order by h.id limit ${limit}`);
  return rows.map(toHold);
}

/** Returns a card's open holds, including expired ones. */
export function* listOpenHolds(storeId: number, cardId: number): Script<readonly Hold[]> {
  const rows = yield* all(sql<HoldRow>`
    select ${holds.of('h')}, g.currency from holds h
    join gift_cards g on g.store_id = h.store_id and g.id = h.card_id
    where h.store_id = ${storeId} and h.card_id = ${cardId} and h.status = 'open'
    order by h.id`);
  return rows.map(toHold);
}

export type HoldKey = Pick<Hold, 'storeId' | 'id'>;

/** Returns expired open holds of all stores, the earliest expiry first. */
export function* listExpiredHolds(now: number, limit: number): Script<readonly HoldKey[]> {
  const rows = yield* all(sql<{ store_id: bigint; id: bigint }>`
    select store_id, id from holds where status = 'open' and expires_at <= ${now} and ${ofOpenStore}
    order by expires_at limit ${limit}`);
  return rows.map((row) => ({ storeId: toNumber(row.store_id), id: toNumber(row.id) }));
}

/**
 * Returns those of the holds that are open and have expired, and locks them and their cards until the transaction ends.
 * It skips rows that another transaction has locked.
 */
export function* claimExpiredHolds(found: readonly HoldKey[], now: number): Script<readonly Hold[]> {
  const claimed = yield* parallel(
    ...inChunks(found).map(({ storeId, chunk }) =>
      all(sql<HoldRow>`
        select ${holds.of('h')}, g.currency from holds h
        join gift_cards g on g.store_id = h.store_id and g.id = h.card_id
        where h.store_id = ${storeId} and h.id in (${padded(
          chunk.map(({ id }) => id),
          0,
        )})
          and h.status = 'open' and h.expires_at <= ${now} ${forUpdateSkipLocked}`),
    ),
  );
  return claimed.flat().map(toHold);
}

const extensions = columns({
  store_id: integer('storeId'),
  hold_id: integer('holdId'),
  expires_at: integer('expiresAt'),
  previous_expires_at: integer('previousExpiresAt'),
  actor: text('actor'),
  created_at: integer('createdAt'),
});

/**
 * Extends an open hold, and records its earlier expiry, by which reads of the past know that it was open.
 * @returns false if it is not open, or has another expiry than the extension replaces.
 */
export function* lengthenHold(extension: HoldExtension): Script<boolean> {
  const { storeId, holdId, expiresAt, previousExpiresAt } = extension;
  const row = yield* first(sql<{ id: bigint }>`
    update holds set expires_at = ${expiresAt}
    where store_id = ${storeId} and id = ${holdId} and status = 'open' and expires_at = ${previousExpiresAt}
    returning id`);
  if (!row) return false;
  yield* execute(sql`
    insert into hold_extensions (${extensions.names}) values (${extensions.values(extension)})`);
  return true;
}

/** Returns the last extension of each of a store's holds that has one. */
export function* listLastExtensions(
  storeId: number,
  holdIds: readonly number[],
): Script<readonly HoldExtension[]> {
  const found = yield* parallel(
    ...holdIds.map((id) =>
      first(sql<RowOf<typeof extensions>>`
        select ${extensions.names} from hold_extensions
        where store_id = ${storeId} and hold_id = ${id} order by expires_at desc limit 1`),
    ),
  );
  return found.flatMap((row) => (row ? [extensions.read(row)] : []));
}

/** An expression: when a hold of a store would have expired, as far as that was known at an instant (ms). */
export function expiryKnownAt(storeId: number, instant: number): Part {
  return part`coalesce((
      select min(x.previous_expires_at) from hold_extensions x
      where x.store_id = ${storeId} and x.hold_id = holds.id and x.created_at > ${instant}
    ), holds.expires_at)`;
}

/** Closes an open hold. Returns false if it is not open. */
export function* closeHold(
  { storeId, id }: Pick<Hold, 'storeId' | 'id'>,
  {
    status,
    captured,
    closedAt,
  }: { readonly status: Exclude<HoldStatus, 'open'>; readonly captured: bigint; readonly closedAt: number },
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update holds set status = ${status}, captured = ${captured}, closed_at = ${closedAt}
    where store_id = ${storeId} and id = ${id} and status = 'open'
    returning id`);
  return row !== undefined;
}
