/** Queries of the verification: used external ids with their objects, and cards with the batches that issued them. */

import type { ExternalKind } from '../../../core/domain/external-id.ts';
import { all, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

/** The kinds of objects whose rows have the text of their external id. */
export type NamedKind = Exclude<ExternalKind, 'online_sale'>;

/** A used external id, and the object that has it. */
export type UsedId = {
  readonly kind: NamedKind;
  readonly digest: Uint8Array;
  readonly objectId: number;
  /** Null: the object does not exist. */
  readonly cardId: number | null;
  /** The external id in the row of the object; null: it has none, or it was erased. */
  readonly text: string | null;
  /** When the card was created (ms), if the object is one. */
  readonly createdAt: number | null;
};

/** Returns the used external ids after one of them, in the order of their kinds and digests. */
export function* listUsedIds(
  storeId: number,
  { after, limit }: { readonly after: Pick<UsedId, 'kind' | 'digest'> | null; readonly limit: number },
): Script<readonly UsedId[]> {
  const { kind, digest } = after ?? { kind: '', digest: new Uint8Array() };
  const rows = yield* all(sql<{
    kind: NamedKind;
    digest: Uint8Array;
    object_id: bigint;
    card_id: bigint | null;
    external_id: string | null;
    created_at: bigint | null;
  }>`
    select x.kind, x.digest, x.object_id, coalesce(g.id, t.card_id, h.card_id) as card_id,
      coalesce(g.external_id, t.external_id, h.external_id) as external_id, g.created_at
    from external_ids x
    left join gift_cards g on x.kind = 'card' and g.store_id = x.store_id and g.id = x.object_id
    left join transfers t on x.kind = 'transaction' and t.store_id = x.store_id and t.id = x.object_id
    left join holds h on x.kind = 'hold' and h.store_id = x.store_id and h.id = x.object_id
    where x.store_id = ${storeId} and (x.kind, x.digest) > (${kind}, ${digest})
      and x.object_id is not null and x.kind <> 'online_sale'
    order by x.kind, x.digest limit ${limit}`);
  return rows.map((row) => ({
    kind: row.kind,
    digest: row.digest,
    objectId: Number(row.object_id),
    cardId: row.card_id === null ? null : Number(row.card_id),
    text: row.external_id,
    createdAt: row.created_at === null ? null : Number(row.created_at),
  }));
}

/** Counts the objects of a store that have an external id. */
export function* countNamed(storeId: number): Script<Readonly<Record<NamedKind, number>>> {
  const { cards, transfers, holds } = yield* one(sql<{ cards: bigint; transfers: bigint; holds: bigint }>`
    select
      (select count(*) from gift_cards where store_id = ${storeId} and external_id is not null) as cards,
      (select count(*) from transfers where store_id = ${storeId} and external_id is not null) as transfers,
      (select count(*) from holds where store_id = ${storeId} and external_id is not null) as holds`);
  return { card: toNumber(cards), transaction: toNumber(transfers), hold: toNumber(holds) };
}

/** Returns objects that have an external id, for which none was used. */
export function* listUnusedNames(
  storeId: number,
  limit: number,
): Script<readonly Pick<UsedId, 'kind' | 'objectId' | 'cardId'>[]> {
  const rows = yield* all(sql<{ kind: NamedKind; id: bigint; card_id: bigint }>`
    select 'card' as kind, id, id as card_id from gift_cards
    where store_id = ${storeId} and external_id is not null and id not in (
      select object_id from external_ids where store_id = ${storeId} and kind = 'card' and object_id is not null)
    union all
    select 'transaction', id, card_id from transfers
    where store_id = ${storeId} and external_id is not null and id not in (
      select object_id from external_ids where store_id = ${storeId} and kind = 'transaction' and object_id is not null)
    union all
    select 'hold', id, card_id from holds
    where store_id = ${storeId} and external_id is not null and id not in (
      select object_id from external_ids where store_id = ${storeId} and kind = 'hold' and object_id is not null)
    limit ${limit}`);
  return rows.map((row) => ({ kind: row.kind, objectId: Number(row.id), cardId: Number(row.card_id) }));
}

/** Returns the ids of the batches of a store above `after`, in order. */
export function* listBatchIds(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly number[]> {
  const rows = yield* all(sql<{ id: bigint }>`
    select id from batches where store_id = ${storeId} and id > ${after} order by id limit ${limit}`);
  return rows.map(({ id }) => Number(id));
}

/** Returns the ids of the cards that the parts of a batch have issued, as the parts list them. */
export function* listIssuedIds(
  storeId: number,
  batchId: number,
  { from, limit }: { readonly from: number; readonly limit: number },
): Script<readonly { readonly part: number; readonly cardIds: readonly number[] }[]> {
  const rows = yield* all(sql<{ part: bigint; card_ids: string }>`
    select part, card_ids from batch_parts
    where store_id = ${storeId} and batch_id = ${batchId} and part >= ${from} and card_ids is not null
    order by part limit ${limit}`);
  return rows.map((row) => ({
    part: Number(row.part),
    cardIds: row.card_ids
      .split(',')
      .filter((id) => id !== '')
      .map(Number),
  }));
}

/** Returns the ids above `after` of the cards that name a batch, in order. */
export function* listNamingCards(
  storeId: number,
  batchId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly number[]> {
  const rows = yield* all(sql<{ id: bigint }>`
    select id from gift_cards where store_id = ${storeId} and batch_id = ${batchId} and id > ${after}
    order by id limit ${limit}`);
  return rows.map(({ id }) => Number(id));
}
