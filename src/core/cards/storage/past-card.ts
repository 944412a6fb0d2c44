/** The state of cards at an instant: their balances, holds, and the changes to undo. `instant` is in ms and included. */

import type { CardChange } from '../domain/change.ts';
import type { EmailStatus } from '../domain/state.ts';
import { holdSecondsMax } from '../../money/domain/hold.ts';
import { idsAt } from '../../../platform/random.ts';
import { expiryKnownAt } from '../../money/storage/hold.ts';
import { changeColumnsOf, toChange, type ChangeRow } from './change.ts';
import {
  all,
  parallel,
  part,
  sql,
  toNumber,
  ValueList,
  type Script,
  type Statement,
} from '../../../database/sql/sql.ts';

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

/**
 * Runs a statement for one card, or another one for each list of cards: a list of one card would cost as much as a whole
 * list.
 */
function* readRows<Row>(
  ids: readonly number[],
  ofOne: (id: number) => Statement<Row>,
  ofMany: (ids: ValueList) => Statement<Row>,
): Script<readonly (readonly Row[])[]> {
  const [id = 0, ...others] = ids;
  if (ids.length === 0) return [];
  if (others.length === 0) return [yield* all(ofOne(id))];
  return yield* parallel(...chunksOf(ids).map((chunk) => all(ofMany(new ValueList(chunk)))));
}

function amountsIn(found: readonly (readonly AmountRow[])[]): ReadonlyMap<number, bigint> {
  return new Map(found.flat().map((row) => [toNumber(row.card_id), row.amount]));
}

/** A balance in minor units after an entry, and the time of the entry. */
export type BalanceAt = { readonly minor: bigint; readonly at: number };

/**
 * Returns the cards' balances after the last entry of their chains at the instant, or before it. The order
 * is that of the chain, because clocks of processes differ. A long chain is walked from the next entry of the index that
 * contains every 32nd.
 */
export function* balancesAt(
  storeId: number,
  ids: readonly number[],
  instant: number,
): Script<ReadonlyMap<number, BalanceAt>> {
  const head = part`
    with recursive walked (card_id, previous_id, created_at, balance_after) as (
      select t.card_id, t.previous_id, t.created_at, t.balance_after from gift_cards g
      join transfers t on t.store_id = g.store_id and t.id = coalesce((
          select n.id from transfers n
          where n.store_id = ${storeId} and n.card_id = g.id and n.sequence % 32 = 0
            and n.sequence = 32 + coalesce((
              select m.sequence from transfers m
              where m.store_id = ${storeId} and m.card_id = g.id and m.sequence % 32 = 0
                and m.created_at <= ${instant}
              order by m.sequence desc limit 1
            ), 0)
        ), g.last_transfer_id)
      where g.store_id = ${storeId}`;
  const tail = part`
      union all
      select t.card_id, t.previous_id, t.created_at, t.balance_after from walked w
      cross join transfers t where t.store_id = ${storeId} and t.id = w.previous_id and w.created_at > ${instant}
    )
    select w.card_id, w.balance_after as amount, w.created_at from walked w where w.created_at <= ${instant}`;
  type Row = AmountRow & { readonly created_at: bigint };
  const found = yield* readRows(
    ids,
    (id) => sql<Row>`${head} and g.id = ${id} ${tail}`,
    (list) => sql<Row>`${head} and g.id in (${list}) ${tail}`,
  );
  return new Map(
    found.flat().map((row) => [toNumber(row.card_id), { minor: row.amount, at: toNumber(row.created_at) }]),
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
  const head = part`
    select card_id, cast(sum(amount) as bigint) as amount from holds
    where store_id = ${storeId} and id between ${oldest} and ${newest}
      and created_at <= ${instant} and expires_at > ${instant} and (closed_at is null or closed_at > ${instant})
      and ${expiryKnownAt(storeId, instant)} > ${instant}`;
  const found = yield* readRows(
    ids,
    (id) => sql<AmountRow>`${head} and card_id = ${id} group by card_id`,
    (list) => sql<AmountRow>`${head} and card_id in (${list}) group by card_id`,
  );
  return amountsIn(found);
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
  const head = part`
    with recursive walked (id, previous_id, depth) as (
      select c.id, c.previous_id, 1 from gift_cards g
      cross join card_changes c
      where c.store_id = g.store_id and c.id = g.last_change_id and g.store_id = ${storeId} and c.created_at > ${instant}`;
  const tail = part`
      union all
      select c.id, c.previous_id, w.depth + 1 from walked w
      cross join card_changes c where c.store_id = ${storeId} and c.id = w.previous_id and c.created_at > ${instant} and w.depth <= ${undoneMax}
    )
    select ${changeColumnsOf('c')} from walked w
    cross join card_changes c where c.store_id = ${storeId} and c.id = w.id
    order by w.depth limit ${undoneMax + 1}`;
  const found = yield* readRows(
    ids,
    (id) => sql<ChangeRow>`${head} and g.id = ${id} ${tail}`,
    (list) => sql<ChangeRow>`${head} and g.id in (${list}) ${tail}`,
  );
  if (found.some(({ length }) => length > undoneMax)) return undefined;
  return Map.groupBy(found.flat().map(toChange), ({ cardId }) => cardId);
}

type EmailRow = {
  readonly card_id: bigint;
  readonly state: Exclude<EmailStatus, 'none'>;
  readonly send_at: bigint;
  readonly first_at: bigint | null;
  readonly ended_at: bigint | null;
};

/**
 * Returns the status that the newest email with each card's code had at the instant. Cards without such an email are
 * absent, and those whose emails were deleted since.
 */
export function* emailStatusesAt(
  storeId: number,
  ids: readonly number[],
  instant: number,
): Script<ReadonlyMap<number, EmailStatus>> {
  const head = part`
    select e.card_id, e.state, e.send_at, e.first_at, e.ended_at from gift_cards g
    join email_deliveries e on e.store_id = g.store_id and e.card_id = g.id and e.id = (
      select n.id from email_deliveries n
      where n.store_id = ${storeId} and n.card_id = g.id and n.kind = 'gift_card' and n.created_at <= ${instant}
      order by n.id desc limit 1)
    where g.store_id = ${storeId}`;
  const found = yield* readRows(
    ids,
    (id) => sql<EmailRow>`${head} and g.id = ${id}`,
    (list) => sql<EmailRow>`${head} and g.id in (${list})`,
  );
  return new Map(found.flat().map((row) => [toNumber(row.card_id), emailStatusIn(row, instant)]));
}

function emailStatusIn(email: EmailRow, instant: number): EmailStatus {
  if (email.ended_at !== null && email.ended_at <= instant) return email.state;
  if (email.first_at !== null && email.first_at <= instant) return 'deferred';
  return email.send_at > instant ? 'scheduled' : 'queued';
}
