/** What cards were at an instant: their balances, holds, and the changes to undo. `instant` is in ms and included. */

import type { CardChange } from '../domain/card-change.ts';
import { holdSecondsMax } from '../domain/hold.ts';
import { idsAt } from '../random.ts';
import { changeColumnsOf, toChange, type ChangeRow } from './card-change.ts';
import { all, parallel, sql, toNumber, ValueList, type Script } from './sql.ts';

/** Cards that one statement reads. */
const readTogether = 50;

/** Lists of ids, each with the same length, because the text of a statement does not change between calls. */
function chunksOf(ids: readonly number[]): readonly (readonly number[])[] {
  return Array.from({ length: Math.ceil(ids.length / readTogether) }, (_, place) => {
    const chunk = ids.slice(place * readTogether, (place + 1) * readTogether);
    // No card has the id 0.
    return [...chunk, ...Array.from({ length: readTogether - chunk.length }, () => 0)];
  });
}

type AmountRow = { readonly card_id: bigint; readonly amount: bigint };

function* amountsOf(
  ids: readonly number[],
  read: (chunk: ValueList) => Script<readonly AmountRow[]>,
): Script<ReadonlyMap<number, bigint>> {
  const found = yield* parallel(...chunksOf(ids).map((chunk) => read(new ValueList(chunk))));
  return new Map(found.flat().map((row) => [toNumber(row.card_id), row.amount]));
}

/**
 * Returns the cards' balances in minor units after the last entry of their chains at the instant, or before it. The order
 * is that of the chain, because clocks of processes differ. A long chain is walked from the next entry of the index that
 * contains every 32nd.
 */
export function* balancesAt(
  storeId: number,
  ids: readonly number[],
  instant: number,
): Script<ReadonlyMap<number, bigint>> {
  return yield* amountsOf(ids, (chunk) =>
    all(sql<AmountRow>`
      with recursive walked (card_id, previous_id, created_at, balance_after) as (
        select t.card_id, t.previous_id, t.created_at, t.balance_after from gift_cards g
        join transfers t on t.store_id = g.store_id and t.id = coalesce((
            select n.id from transfers n
            where n.store_id = g.store_id and n.card_id = g.id and n.sequence % 32 = 0
              and n.sequence = 32 + coalesce((
                select m.sequence from transfers m
                where m.store_id = g.store_id and m.card_id = g.id and m.sequence % 32 = 0
                  and m.created_at <= ${instant}
                order by m.sequence desc limit 1
              ), 0)
          ), g.last_transfer_id)
        where g.store_id = ${storeId} and g.id in (${chunk})
        union all
        select t.card_id, t.previous_id, t.created_at, t.balance_after from walked w
        join transfers t on t.store_id = ${storeId} and t.id = w.previous_id
        where w.created_at > ${instant}
      )
      select card_id, balance_after as amount from walked where created_at <= ${instant}`),
  );
}

const dayMs = 86_400_000;

/** Returns the amounts in minor units that the cards' holds reserved at the instant; cards without holds are absent. */
export function* heldAt(
  storeId: number,
  ids: readonly number[],
  instant: number,
): Script<ReadonlyMap<number, bigint>> {
  // An id follows the clock, here with a tolerance of a day.
  const oldest = Math.max(0, idsAt(instant - holdSecondsMax * 1_000 - dayMs));
  const newest = Math.max(0, idsAt(instant + dayMs));
  return yield* amountsOf(ids, (chunk) =>
    all(sql<AmountRow>`
      select card_id, cast(sum(amount) as bigint) as amount from holds
      where store_id = ${storeId} and card_id in (${chunk}) and id between ${oldest} and ${newest}
        and created_at <= ${instant} and expires_at > ${instant} and (closed_at is null or closed_at > ${instant})
      group by card_id`),
  );
}

/** The most changes that are undone together. */
export const undoneMax = 10_000;

/**
 * Returns the cards' changes after the instant, in the order in which they are undone: the last one first.
 * @returns undefined if there are more than `undoneMax` in a chunk of cards.
 */
export function* listChangesSince(
  storeId: number,
  ids: readonly number[],
  instant: number,
): Script<ReadonlyMap<number, readonly CardChange[]> | undefined> {
  const found = yield* parallel(
    ...chunksOf(ids).map((chunk) =>
      all(sql<ChangeRow>`
        with recursive walked (id, previous_id, depth) as (
          select c.id, c.previous_id, 1 from gift_cards g
          join card_changes c on c.store_id = g.store_id and c.id = g.last_change_id
          where g.store_id = ${storeId} and g.id in (${new ValueList(chunk)}) and c.created_at > ${instant}
          union all
          select c.id, c.previous_id, w.depth + 1 from walked w
          join card_changes c on c.store_id = ${storeId} and c.id = w.previous_id
          where c.created_at > ${instant} and w.depth <= ${undoneMax}
        )
        select ${changeColumnsOf('c')} from walked w
        join card_changes c on c.store_id = ${storeId} and c.id = w.id
        order by w.depth limit ${undoneMax + 1}`),
    ),
  );
  if (found.some(({ length }) => length > undoneMax)) return undefined;
  return Map.groupBy(found.flat().map(toChange), ({ cardId }) => cardId);
}
