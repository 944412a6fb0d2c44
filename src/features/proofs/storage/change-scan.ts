/** Queries of the verification of changes: cards with the end of their chains, and changes that no chain contains. */

import { trackedFieldNames, type FieldName, type FieldValue } from '../../../core/cards/domain/change.ts';
import type { ChangeEnd } from '../../../core/cards/storage/change.ts';
import { all, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { Fragment } from '../../../database/sql/fragments.ts';

/** A card with changes, with the values that its row has. */
export type ChangedCard = {
  readonly cardId: number;
  readonly createdAt: number;
  readonly end: ChangeEnd;
  readonly values: ReadonlyMap<FieldName, FieldValue>;
  /** Whether the card has another code than its first one. */
  readonly hasOtherCode: boolean;
};

const columnOf = (field: FieldName): string => (field === 'code' ? 'last_characters' : field);

const trackedColumns = new Fragment(() =>
  trackedFieldNames.map((field) => `g.${columnOf(field)} as tracked_${field}`).join(', '),
);

type CardRow = {
  readonly id: bigint;
  readonly created_at: bigint;
  readonly last_change_id: bigint | null;
  readonly change_count: bigint;
  readonly change_hash: Uint8Array | null;
  readonly code_lookup: bigint | null;
} & { readonly [K in FieldName as `tracked_${K}`]: string | bigint | null };

/** Returns the cards that have an end of a chain of changes, with ids above `after`, ordered by id. */
export function* listChangedCards(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly ChangedCard[]> {
  const rows = yield* all(sql<CardRow>`
    select g.id, g.created_at, g.last_change_id, g.change_count, g.change_hash, g.code_lookup, ${trackedColumns}
    from gift_cards g
    where g.store_id = ${storeId} and g.id > ${after}
      and (g.change_count <> 0 or g.last_change_id is not null or g.change_hash is not null)
    order by g.id limit ${limit}`);
  return rows.map((row) => ({
    cardId: Number(row.id),
    createdAt: Number(row.created_at),
    end: {
      changeId: row.last_change_id === null ? null : Number(row.last_change_id),
      count: Number(row.change_count),
      hash: row.change_hash,
    },
    values: new Map(
      trackedFieldNames.map((field) => {
        const value = row[`tracked_${field}`];
        return [field, typeof value === 'bigint' ? Number(value) : value];
      }),
    ),
    hasOtherCode: row.code_lookup !== null,
  }));
}

/** Returns the expiry with which the cards with ids above `after` and at most `upTo` were issued. Only changed cards. */
export function* listIssuedTerms(
  storeId: number,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Script<ReadonlyMap<number, string | null>> {
  const rows = yield* all(sql<{ chain_of: bigint; issued_expires_on: string | null }>`
    with recursive chain (chain_of, id, previous_id, sequence) as (
      select g.id, t.id, t.previous_id, t.sequence from gift_cards g
      join transfers t on t.store_id = ${storeId} and t.id = g.last_transfer_id
      where g.store_id = ${storeId} and g.id > ${after} and g.id <= ${upTo} and g.change_count > 0
      union all
      select l.chain_of, t.id, t.previous_id, t.sequence from chain l
      join transfers t on t.store_id = ${storeId} and t.id = l.previous_id
      where t.sequence < l.sequence
    )
    select l.chain_of, t.issued_expires_on from chain l
    join transfers t on t.store_id = ${storeId} and t.id = l.id
    where l.sequence = 1`);
  return new Map(rows.map((row) => [Number(row.chain_of), row.issued_expires_on]));
}

/** Returns cards without changes that differ from what they were issued with. Only cards created at `from` or later. */
export function* listUnrecordedChanges(
  storeId: number,
  { from, limit }: { readonly from: number; readonly limit: number },
): Script<readonly number[]> {
  const rows = yield* all(sql<{ id: bigint }>`
    select g.id from transfers t
    join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    where t.store_id = ${storeId} and t.sequence = 1 and g.change_count = 0 and g.created_at >= ${from}
      and (g.disabled_at is not null or g.code_lookup is not null or g.suspended_at is not null
        or g.suspend_reason is not null
        or g.expires_on is distinct from t.issued_expires_on)
    order by g.id limit ${limit}`);
  return rows.map(({ id }) => Number(id));
}

/** Returns the number of the store's changes. */
export function* countChanges(storeId: number): Script<number> {
  const { count } = yield* one(sql<{ count: bigint }>`
    select count(*) as count from card_changes where store_id = ${storeId}`);
  return toNumber(count);
}

/** A change that is neither the end of its card's chain nor before another change. */
export type LooseChange = { readonly id: number; readonly cardId: number; readonly hasCard: boolean };

/** Returns changes that no chain contains, or the last one of several. */
export function* listLooseChanges(storeId: number, limit: number): Script<readonly LooseChange[]> {
  const rows = yield* all(sql<{ id: bigint; card_id: bigint; known: bigint | null }>`
    with loose as (
      select id from card_changes where store_id = ${storeId}
      except select previous_id from card_changes where store_id = ${storeId} and previous_id is not null
      except select last_change_id from gift_cards where store_id = ${storeId} and last_change_id is not null
    )
    select c.id, c.card_id, g.id as known from loose l
    join card_changes c on c.store_id = ${storeId} and c.id = l.id
    left join gift_cards g on g.store_id = c.store_id and g.id = c.card_id
    order by c.id limit ${limit}`);
  return rows.map((row) => ({
    id: Number(row.id),
    cardId: Number(row.card_id),
    hasCard: row.known !== null,
  }));
}
